"""Every block of code in README and docs runs, and what its comments say of a value is true."""

import contextlib
import doctest
import io
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from partita import samples
from partita.cli import main
from partita.label.server import LabelServer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TUTORIALS = [DOCS / "gallery.py", *sorted((DOCS / "tutorials").glob("*.py"))]
# The pages of tutorials are written from their scripts, which a test of its own runs.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in DOCS.rglob("*.md") if page.with_suffix(".py") not in TUTORIALS),
]
FENCE = re.compile(
    r"^(<!-- (?:not run|needs|run with threads): [^\n]*-->\n)?```(\w*)\n(.*?)^```",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = re.compile(
    r"<!-- not run: (an installation|a cluster|reads .* not part of the package.*) -->\n"
)
NEEDS = re.compile(r"<!-- needs: (.*) -->\n")
INDENTED = re.compile(r"^ {4,}(?:\$ )?(?:partita|pip) ", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
N_SENTENCES = 60


def named(path):
    return str(path.relative_to(ROOT))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with small files under the names that the pages use, and the place to be in."""
    monkeypatch.chdir(tmp_path)
    for part, name in (
        ("train", "train"),
        ("dev", "dev"),
        ("train", "unlabelled"),
        ("train", "text"),
        ("dev", "new"),
    ):
        write(f"{name}.conllu", blocks(samples.path(f"treebank-{part}.conllu")))
    for part in ("train", "dev"):
        write(f"treebank-{part}.conllu", blocks(samples.path(f"treebank-{part}.conllu")))
    write("chunks.txt", blocks(samples.path("chunks-train.txt")))
    write("chunks-dev.txt", blocks(samples.path("chunks-dev.txt")))
    sentences = samples.treebank("dev")[:N_SENTENCES]
    write("raw.txt", [" ".join(sentence.column("FORM")) + "\n" for sentence in sentences])
    write("expectations.txt", ["w=the DET=1.0\n", "w=saw VERB=0.8 NOUN=0.2\n"])
    write("dictionary.txt", ["the DET\n", "a DET\n", "saw VERB NOUN\n"])
    write("template.txt", ["U00:%x[0,0]\n", "U01:%x[-1,0]\n", "B\n"])
    for name in ("ann.txt", "bob.txt"):
        write(name, half_labelled(sentences, known=name[0]))
    for part in ("train", "dev"):
        shutil.copy(f"{part}.conllu", f"en_ewt10-{part}.conllu")
    monkeypatch.setattr(LabelServer, "run", answer_and_end)
    for name in ("rules.txt", "my.rules", "english-rules.txt"):
        shutil.copy(samples.path("arc-rules.txt"), name)
    for part in ("train", "dev"):
        pairs = samples.path(f"bitext-{part}.txt").read_text().splitlines()[:N_SENTENCES]
        links = samples.path(f"bitext-{part}.align").read_text().splitlines()[:N_SENTENCES]
        for prefix in ("", "bitext-"):
            write(f"{prefix}{part}.txt", [pair + "\n" for pair in pairs])
            write(f"{prefix}{part}.align", [link + "\n" for link in links])
        for side, language in enumerate(("en", "de")):
            write(f"{part}.{language}", [pair.split(" ||| ")[side] + "\n" for pair in pairs])
    return tmp_path


def answer_and_end(server):
    """In place of serving the page until Ctrl-C: a few words are told their tags, if it asks."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    server._socket.close()
    sitting = server.sitting
    for tag in {"NOUN", "VERB"}.intersection(sitting.task.about()["labels"]):
        question = sitting.question("a")
        told = {(slot["word"], slot["kind"]): tag for slot in question["slots"]}
        sitting.answer("a", tag, question["sentence"], told, 1.0)


def half_labelled(sentences, known):
    """Words with tags in columns; those without the letter `known` have none that is known."""
    for sentence in sentences:
        for word, tag in zip(sentence.column("FORM"), sentence.column("UPOS"), strict=True):
            yield f"{word}\t{tag if known in word else '?'}\n"
        yield "\n"


def blocks(path):
    """The first sentences of a file with blank lines between them."""
    return [block + "\n\n" for block in path.read_text().split("\n\n")[:N_SENTENCES]]


def write(name, lines):
    Path(name).write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("page", PAGES[1:], ids=named)
def test_code_blocks_run(page, data):
    run(page)


def run(page):
    """The blocks of a page are one program; those with prompts show what they print."""
    names = {}
    for mark, language, block in FENCE.findall(page.read_text()):
        if "run with threads" in mark:
            block = block.replace("ray:2", "2").replace('workers="2"', "workers=2")
        elif mark and not is_there(mark):
            continue
        if language == "python" and block.startswith(">>>"):
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        elif language == "python":
            exec(compile(block, page.name, "exec"), names)
        elif language in ("shell", "console"):
            lines = block.replace("\\\n", " ").splitlines()
            # In a console, what follows a prompt is typed and the rest is printed.
            typed = [line for line in lines if language == "shell" or line.startswith("$ ")]
            for line in typed:
                run_command(line.removeprefix("$ "))
        else:
            assert language in ("", "text", "json", "yaml", "toml"), f"{page}: {language}"
    return names


def is_there(mark):
    """Whether a block is marked by packages that it needs, and all of them are installed."""
    needed = NEEDS.fullmatch(mark)
    return needed is not None and all(map(find_spec, needed[1].split(", ")))


def run_command(line):
    """Run a `partita` command in this process; `> file` takes what it prints."""
    words = shlex.split(line, comments=True)
    # The fixture has the files that this would copy, in small.
    if not words or words[:3] == ["python", "-m", "partita.samples"]:
        return
    if words[0] == "printf":
        Path(words[-1]).write_text(words[1].encode().decode("unicode_escape"))
        return
    assert words[0] == "partita", f"{line!r}: mark the block as <!-- not run: the reason -->"
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    arguments, _, target = (words[1:], None, None)
    if ">" in arguments:
        arguments, (target,) = arguments[: arguments.index(">")], arguments[-1:]
    if arguments[:2] == ["train", "parser"] and "--n-bits" not in arguments:
        # Millions of weights for a few sentences are most of the time that a page takes.
        arguments += ["--n-bits", "14"]
    errors = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = main(arguments)
    assert status == 0, f"{line}\n{errors.getvalue()}"
    if target:
        Path(target).write_bytes(output.buffer.getvalue())


def test_a_block_that_is_not_run_says_why():
    """And there are no more of them, nor other reasons, than README and the first page say."""
    marks = [mark for page in PAGES for mark, _, _ in FENCE.findall(page.read_text())]
    not_run = [mark for mark in marks if "not run" in mark]
    for mark in not_run:
        assert NOT_RUN.fullmatch(mark), mark
    beside_others = [mark for mark in marks if NEEDS.fullmatch(mark) and "," in mark]
    assert (len(not_run), len(beside_others)) == (6, 3)
    for page in (ROOT / "README.md", DOCS / "index.md"):
        text = " ".join(page.read_text().split())
        assert "six that install something, start a cluster or read corpora" in text
        assert "three beside other libraries where those are installed" in text


def test_commands_stand_in_fences():
    for page in PAGES:
        found = INDENTED.search(FENCE.sub("", page.read_text()))
        assert not found, f"{named(page)}: {found}: fence it as ```shell, so that it is run"


@pytest.mark.slow
@pytest.mark.parametrize("script", TUTORIALS, ids=named)
def test_tutorials_print_what_their_pages_say(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tool = runpy.run_path(str(DOCS / "tools" / "run_tutorials.py"))
    written = tool["page"](script, tmp_path)
    difference = tool["difference"](written, script.with_suffix(".md").read_text())
    assert not difference, f"{difference}; if that is right, run: make tutorials"


def test_docstrings_become_markdown():
    """Options with their types, and `<` as such; a class of options is shown as it is in memory."""
    griffe = pytest.importorskip("griffe")
    tool = runpy.run_path(str(DOCS / "tools" / "docstrings.py"))
    text = "Parameters\n----------\nl2, l1 : a number; default 0\n    For <*, tag> or `<s>`."
    shown = "**Parameters**\n\n- `l2`, `l1` : a number; default 0:\n    For &lt;*, tag> or `<s>`."
    assert tool["markdown"](text) == shown
    source = ROOT / "src"
    loaded = griffe.load("partita.estimators.groups", search_paths=[str(source)])
    assert tool["is_declared"](loaded["Penalties"])
    assert "l2 : " in tool["written"](loaded["Penalties"])


@pytest.mark.slow
def test_the_site_builds(tmp_path):
    if not all(map(find_spec, ("mkdocs", "material", "mkdocstrings"))):
        pytest.skip("the tools that build the documentation are not installed: make docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        loaded = re.findall(r'(?:src|<link[^>]* href)="(https?:[^"]*)"', page.read_text())
        assert not loaded, f"{page.name} loads {loaded[0]} from the network"


def test_every_page_is_in_the_contents():
    listed = (ROOT / "mkdocs.yml").read_text()
    linked = (DOCS / "decisions" / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name in listed or page.name in linked, f"{name} is not in mkdocs.yml"


def test_the_readme_runs_and_what_it_says_of_its_values_is_true(data):
    names = run(ROOT / "README.md")
    np, pt = names["np"], names["pt"]
    words = ["She", "saw", "that", "duck"]
    assert names["tagger"].predict([words]) == [["PRON", "VERB", "DET", "NOUN"]]
    assert names["parser"].score(names["dev"]) > 0.75
    assert round(np.exp(pt.ProjectiveTree(np.zeros((4, 4))).log_partition)) == 12
    assert pt.SpanningTree(names["arcs"], single_root=True).marginals[1, 2] == 0.0


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_the_files_that_the_docs_name_exist():
    places = [ROOT / "src" / "partita", ROOT / "tests", ROOT, DOCS]
    for page in PAGES:
        for name in re.findall(r"`((?:\w+/)+[\w-]+\.\w+)", page.read_text()):
            assert any((place / name).exists() for place in places), f"{page.name} names {name}"


def test_the_tests_that_the_docs_name_exist():
    """`folder/test_file.py::test_name`, or `test_file.py::test_name` where the file is unique."""
    for page in PAGES:
        for file, test in re.findall(r"`([\w/]+\.py)::(\w+)", page.read_text()):
            found = [path for path in (ROOT / "tests").rglob("*.py") if str(path).endswith(file)]
            assert len(found) == 1, f"{page.name} names {file}"
            assert f"def {test}(" in found[0].read_text(), f"{page.name} names {file}::{test}"


def test_every_line_of_the_sources_has_a_place_and_a_test():
    lines = (DOCS / "sources.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    for row in rows:
        assert len(row) == 3, row
        what, where, test = row
        if what != "what":
            assert re.search(r"`[\w/-]+\.(py|md)`", where), f"{what}: no file"
            assert re.search(r"`(\w+/test_\w+\.py|make bench-\w+)", test), f"{what}: no test"
