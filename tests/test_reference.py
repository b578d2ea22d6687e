"""The reference shows every public name, every method of it, and what the methods take and give."""

import ast
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import partita

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
SHOWN = set(re.findall(r"^::: ([\w.]+)", PAGES, re.MULTILINE))
WITH_INHERITED = set(
    re.findall(r"^::: ([\w.]+)\n +options:\n +inherited_members: true", PAGES, re.M)
)
# A user who has a structure, a loss or a grammar of his own builds it from the classes of these.
TO_BUILD_WITH = {"distribution", "structures", "features", "objectives", "grammars", "baselines"}
SCRIPTS = [*DOCS.rglob("*.md"), *DOCS.rglob("tutorials/*.py"), *(ROOT / "examples").glob("*.py")]
IMPORT = re.compile(r"^ *from (partita[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def is_shown(home, name):
    return not home.startswith("partita.") or bool(SHOWN & {home, f"{home}.{name}"})


def definitions():
    """The public classes and functions of all modules, each with its layer, module and name."""
    for module in pkgutil.walk_packages(partita.__path__, "partita."):
        path = ROOT / "src" / (module.name.replace(".", "/") + ".py")
        for node in ast.parse(path.read_text()).body if path.exists() else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                yield module.name.split(".")[1], module.name, node.name, type(node) is ast.ClassDef


DEFINITIONS = list(definitions())
HOMES = {name: home for _, home, name, is_class in DEFINITIONS if is_class}


def test_the_layers_have_pages():
    folders = {path.name for path in (ROOT / "src" / "partita").iterdir() if path.is_dir()}
    for folder in folders - {"__pycache__", "kernels", "demo"}:
        assert (DOCS / "reference" / f"{folder}.md").exists(), f"{folder} has no reference page"


def test_what_packages_export():
    for package in pkgutil.walk_packages(partita.__path__, "partita."):
        if not package.ispkg or package.name.split(".")[1] in ("kernels", "cli", "demo"):
            continue
        # A package that is shown shows all that it exports.
        exports = (
            [] if package.name in SHOWN else getattr(import_module(package.name), "__all__", [])
        )
        for name in exports:
            home = getattr(getattr(import_module(package.name), name), "__module__", None) or ""
            assert is_shown(home, name), f"{home}.{name} is not shown"


def test_what_one_builds_with():
    for layer, home, name, is_class in DEFINITIONS:
        if layer in TO_BUILD_WITH and (is_class or layer in ("grammars", "baselines")):
            assert is_shown(home, name), f"{home}.{name} is not shown"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_pages_import(path):
    for module, names in IMPORT.findall(path.read_text()):
        for name in re.findall(r"\w+", names.partition("#")[0]):
            found = getattr(import_module(module), name)
            home = found.__name__ if inspect.ismodule(found) else getattr(found, "__module__", "")
            # The short names are in the table of the first page, packages have a page each.
            is_package = hasattr(found, "__path__")
            assert is_package or is_shown(home, name), f"{home}.{name} is not shown"


CLASSES = [
    found for name in sorted(partita.__all__) if inspect.isclass(found := getattr(partita, name))
]


@pytest.mark.parametrize("owner", CLASSES, ids=lambda owner: owner.__name__)
def test_methods_and_what_they_take_and_give(owner):
    has_all = f"{owner.__module__}.{owner.__name__}" in WITH_INHERITED
    for base in owner.__mro__:
        if not base.__module__.startswith("partita."):
            continue
        for name, found in vars(base).items():
            function = getattr(found, "fget", getattr(found, "__func__", found))
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            place = f"{base.__name__}.{name}"
            assert has_all or is_shown(base.__module__, base.__name__), f"{place} is not shown"
            kinds = re.findall(r"\w+", " ".join(map(str, function.__annotations__.values())))
            for kind in {kind for kind in kinds if kind in HOMES}:
                assert is_shown(HOMES[kind], kind), f"{place}: {HOMES[kind]}.{kind} is not shown"
