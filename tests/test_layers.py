"""The architecture holds: imports point downwards, and what is optional stays optional."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import partita

ROOT = Path(partita.__file__).parent
# From the bottom up; a layer may import itself and what stands before it.
LAYERS = [
    {"arrays", "files", "garbage", "memory"},
    {"kept", "show"},
    {"kernels"},
    {"structures"},
    {"distribution", "grammars", "data"},
    {"text", "evaluation", "samples", "baselines"},
    {"features"},
    {"objectives"},
    {"training"},
    {"estimators", "torch"},
    {"demo", "label"},
    {"cli"},
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# What may be imported anywhere; everything else must be imported inside the function that uses it.
REQUIRED = {"numpy", "scipy", "partita"}


def imports(path, top_level_only=False):
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or path.stem in RANKS]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imports(path):
        if name.startswith("partita.") and name != "partita.__version__":
            target = name.split(".")[1]
            assert target in RANKS, f"{path}: {target} is in no layer"
            assert RANKS[target] < RANKS[layer] or target == layer, f"{path} imports {name} upwards"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_optional_packages_are_imported_where_they_are_used(path):
    allowed = REQUIRED | set(sys.stdlib_module_names)
    if path.relative_to(ROOT).parts[0] == "kernels":
        allowed |= {"numba", "llvmlite"}
    if path.relative_to(ROOT).parts[0] == "torch":
        allowed |= {"torch"}
    for name in imports(path, top_level_only=True):
        assert name.split(".")[0] in allowed, f"{path} imports {name} at the top"


def test_few_modules_know_of_threads():
    # Sums over a corpus, answers, long vectors and the like; PyTorch's own calls; compilation.
    allowed = {
        "training/summation.py",
        "training/threads.py",
        "training/workers.py",
        "estimators/answers.py",
        "torch/threads.py",
        "cli/compile.py",
    }
    users = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(name.startswith("concurrent.") for name in imports(path))
    }
    assert users <= allowed


def test_no_two_classes_share_a_name():
    # PyTorch's distributions have the names of those on arrays: that is what they promise.
    places = {}
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[:2] == ("torch", "distributions.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{path.name}:{node.lineno}")
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, "give the later ones a name of their own"


def test_importing_the_package_is_cheap():
    code = "import sys, partita; print('numba' in sys.modules or 'numpy' in sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "False"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="partita has no 'Chain'; it has"):
        partita.Chain  # noqa: B018
