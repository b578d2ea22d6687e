"""Every Python block of README and docs runs, and what its comments say of a value is true."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page):
    run(page)


def run(page):
    """The blocks of a page are one program; those with prompts show what they print."""
    names = {}
    for block in BLOCK.findall(page.read_text()):
        if block.startswith(">>>"):
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            runner = doctest.DocTestRunner(optionflags=flags)
            test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, page.name, "exec"), names)
    return names


def test_what_the_readme_says_of_its_values():
    names = run(ROOT / "README.md")
    np, pt = names["np"], names["pt"]
    assert names["p"].argmax.tolist() == [0, 1, 1]
    assert round(np.exp(pt.ProjectiveTree(np.zeros((4, 4))).log_partition)) == 12
    assert round(np.exp(pt.SpanningTree(np.zeros((4, 4)), single_root=True).log_partition)) == 9
    assert names["tree"].marginals[1, 2] == 0.0
    assert names["forest"].marginals.round(2).tolist() == [0.73, 1.27, 0.73, 0.27]
    assert names["tagger"].predict([["a", "dog", "sleeps"]]) == [["DET", "NOUN", "VERB"]]
    assert names["result"].reason.startswith("Converged after")


def test_the_files_that_the_docs_name_exist():
    places = [ROOT / "src" / "partita", ROOT / "tests", ROOT]
    for page in PAGES:
        for name in re.findall(r"`((?:\w+/)+\w+\.\w+)", page.read_text()):
            assert any((place / name).exists() for place in places), f"{page.name} names {name}"
