"""The page of benchmarks says which commit was measured, and whether the code has changed since."""

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import page, timing
from benchmarks.page import Section

SOURCES = Path(__file__).parents[1] / "src" / "partita"


@pytest.mark.parametrize("name", page.names())
def test_what_a_benchmark_measures_is_there(name):
    """A folder that has been renamed would never change again."""
    measures = Section.read(name).measures
    assert measures
    assert [path for path in measures if not (SOURCES / path).exists()] == []


@pytest.fixture
def commit(tmp_path, monkeypatch):
    """Changes a file in a new history, and commits it."""
    monkeypatch.setattr(page, "FOLDER", tmp_path / "benchmarks")
    page.FOLDER.mkdir()

    def git(*arguments):
        author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", *author, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def changed(path):
        file = tmp_path / "src" / "partita" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.read_text() + "x" if file.exists() else "x")
        git("add", ".")
        git("commit", "-q", "-m", "changed")
        return git("rev-parse", "--short", "HEAD")

    git("init", "-q")
    changed("text/views.py")
    return changed


def age(measured):
    return Section("a", "A", ("kernels", "text/views.py"), "", {"commit": measured}).age


def test_what_has_changed_since_is_stale(commit):
    measured = commit("kernels/loops.py")
    commit("show/svg.py")
    assert (
        age(measured) == f"Measured at commit {measured}; what it measures has not changed since."
    )
    commit("kernels/loops.py")
    assert age(measured).endswith("1 commit since has changed what it measures.")
    commit("text/views.py")
    assert age(measured) == (
        f"**Stale:** Measured at commit {measured}; 2 commits since have changed what it measures."
    )


def test_unknown_commits_and_none(commit):
    commit("kernels/loops.py")
    assert age("0123abc").startswith("**Stale?**")
    assert age(None).startswith("**Stale:** measured before")


def test_the_page_begins_with_what_is_stale(commit):
    measured = commit("kernels/loops.py")
    fresh = Section("a", "Some Trees", ("text",), "", {"commit": measured})
    old = Section("b", "Aligners, too", ("kernels",), "", {"commit": measured})
    commit("kernels/loops.py")
    assert page.summary([fresh]).startswith("No section is older")
    said, _, _ = page.summary([fresh, old]).partition("\n")
    assert said.endswith("has changed: [Aligners, too](#aligners-too).")


@pytest.mark.parametrize("name", page.names())
def test_a_section_says_first_what_is_measured(name):
    section = Section.read(name)
    before, _, _ = section.text.partition("<details")
    assert section.note.partition("\n\n")[0] in before
    assert section.age in before


# ------------------------------------------------------------------ results of several commits


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Writes the results of a benchmark as of a commit."""
    monkeypatch.setattr(timing, "RESULTS", tmp_path)

    def write(commit, *tables):
        content = {"commit": commit, "tables": [vars(table) for table in tables]}
        (tmp_path / "mine.json").write_text(json.dumps(content))

    return write


def test_tables_that_were_kept_say_of_which_commit(results):
    assert timing.earlier_tables("mine", []) == []
    first, second = timing.Table("One: 1"), timing.Table("Two: 2")
    results("aaa", first, second)
    again = timing.Table("One: 3")
    kept = timing.earlier_tables("mine", [again])
    assert [table.title for table in kept] == ["Two: 2 (of commit aaa)"]
    results("bbb", again, *kept)
    titles = [table.title for table in timing.earlier_tables("mine", [])]
    assert titles == ["One: 3 (of commit bbb)", "Two: 2 (of commit aaa)"]


def test_rows_that_were_kept_say_of_which_commit(results):
    assert timing.earlier_rows("mine", "what", []) == []
    rows = [{"what": "a", "by": 1, "n": 5}, {"what": "a", "by": 2, "n": 6}, {"what": "b", "n": 7}]
    results("aaa", timing.Table("One", rows))
    new = [{"what": "b", "n": 8}]
    kept = timing.earlier_rows("mine", "what", new)
    assert [(row["n"], row["of commit"]) for row in kept] == [(5, "aaa"), (6, "aaa")]
    results("bbb", timing.Table("One", [*new, *kept]))
    again = {row["n"]: row["of commit"] for row in timing.earlier_rows("mine", "what", [])}
    assert again == {8: "bbb", 5: "aaa", 6: "aaa"}
    assert timing.if_earlier(kept[0]) == " (of commit aaa)"
    assert timing.if_earlier(new[0]) == ""
