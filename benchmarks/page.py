"""Write docs/benchmarks.md from the results of the last runs: `python -m benchmarks.page`.

A benchmark is a module here, and a note in notes/NAME.md: its title, the folders of src/partita
that it measures, a paragraph of what is measured and how to read it, and then, folded on the page,
what we find, where we lose, and what was tried. Nothing else names it.
"""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.timing import RESULTS, Table, show_help

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
NOTES = FOLDER / "notes"
ORDER = (
    "doors",
    "chains",
    "trees",
    "scaling",
    "torch",
    "first_use",
    "forests",
    "itg",
    "training",
    "tagger",
)
"""What comes first; others follow by their names."""

INTRODUCTION = """# Benchmarks

First what we find in short, what we aim at and miss, and what we aim at and reach; then a section
for each benchmark: what it measures, at which commit, its tables, and what was tried.

Every table is what one run printed; `make bench-NAME` makes it again and `python -m
benchmarks.page` rewrites this page from the results. Times are the best of several runs, but the
machine is shared, and a figure can be off by a third. Ratios are from the same run.

"""

FIGURE = """![Time against size, beside the papers' own ways](../benchmarks/results/scaling.png)

"""
"""The one that stands before all sections."""

COMMANDS = {
    name: f"python -m benchmarks.{name} DATA (or all of make bench-tagger)"
    for name in ("semisupervised", "active")
}
"""Where the benchmark is not run by `make bench-NAME`."""


@dataclass(frozen=True)
class Section:
    """One benchmark: its note and its last result."""

    name: str
    title: str
    measures: tuple[str, ...]
    """Folders and files below src/partita."""
    note: str
    result: dict[str, Any]

    @classmethod
    def read(cls, name: str) -> "Section":
        """From notes/NAME.md and results/NAME.json."""
        title, measures, note = (NOTES / f"{name}.md").read_text().split("\n\n", 2)
        return cls(
            name,
            title.removeprefix("# "),
            tuple(measures.removeprefix("Measures: ").split()),
            note.strip(),
            json.loads((RESULTS / f"{name}.json").read_text()),
        )

    @property
    def link(self) -> str:
        """To the section."""
        anchor = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f"[{self.title}](#{anchor})"

    @cached_property
    def age(self) -> str:
        """Which commit was measured, and what has happened to the measured code since."""
        commit = self.result.get("commit")
        if commit is None:
            return "**Stale:** measured before results knew their commit (16ec99e or earlier)."
        paths = [f"src/partita/{path}" for path in self.measures]
        since = _git("rev-list", "--count", f"{commit.removesuffix('+')}..HEAD", "--", *paths)
        dirty = " with changes that were not committed" if commit.endswith("+") else ""
        text = f"Measured at commit {commit.removesuffix('+')}{dirty}"
        if since is None:
            return f"**Stale?** {text}, which is not in this history."
        if int(since) == 0:
            return f"{text}; what it measures has not changed since."
        commits = "1 commit since has" if int(since) == 1 else f"{since} commits since have"
        return f"**Stale:** {text}; {commits} changed what it measures."

    @property
    def text(self) -> str:
        """The section of the page."""
        machine = self.result["machine"]
        versions = ", ".join(
            f"{package} {number}" for package, number in machine["versions"].items()
        )
        made_by = (
            f"NumPy's matrix product at {machine['dgemm_gflops']} GFLOP/s on one core; Python "
            f"{machine['python']}, {versions}."
        )
        what, _, tried = self.note.partition("\n\n")
        tables = [str(Table(table["title"], table["rows"])) for table in self.result["tables"]]
        if (RESULTS / f"{self.name}.png").exists():
            tables.append(f"\n![Time against size](../benchmarks/results/{self.name}.png)")
        for path in sorted(RESULTS.glob(f"{self.name}-*.svg")):
            title = re.findall(r"<title>(.*?)</title>", path.read_text())[0]
            tables.append(f"\n![{title}](../benchmarks/results/{path.name})")
        lines = [
            f"## {self.title}\n",
            f"    {COMMANDS.get(self.name, f'make bench-{self.name}')}\n",
            f"{what}\n",
            f"{self.age} {machine['processor']}, {machine['cores']} cores.\n",
            # Folded: a reader opens what the summary made them curious about.
            folded(f"Tables: {self.title}", "\n".join([*tables, "", made_by])),
        ]
        if tried:
            lines.append(folded(f"What we find, and what was tried: {self.title}", tried))
        return "\n".join(lines) + "\n"


def folded(title: str, text: str) -> str:
    """Text that a reader opens."""
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text.strip()}\n\n</details>\n'


def _git(*arguments: str) -> str | None:
    done = subprocess.run(
        # Paths behind -- are below the folder where git stands.
        ["git", *arguments],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else None


def names() -> list[str]:
    """The benchmarks that have a note and a result."""
    found = {path.stem for path in NOTES.glob("*.md")} & {
        path.stem for path in RESULTS.glob("*.json")
    }
    return [*(name for name in ORDER if name in found), *sorted(found.difference(ORDER))]


def summary(sections: list[Section]) -> str:
    """The lines that benchmarks put first, and what they aim at; see `write_json`."""
    short = Table("In short, each line from the section that it names")
    missed = Table("Where we lose: what we aim at and do not reach")
    reached = Table("What we aim at and reach")
    for section in sections:
        for line in section.result.get("headlines", ()):
            short.add(**line, section=section.link)
        for line in section.result.get("aims", ()):
            row = {name: line[name] for name in ("what", "aim", "found")}
            (reached if line["reached"] == "yes" else missed).add(**row, section=section.link)
    tables = [f"{table}\n\n" for table in (short, missed, reached) if table.rows]
    return stale(sections) + "".join(tables)


def stale(sections: Sequence[Section]) -> str:
    """Which sections are older than the code that they measure."""
    older = [section.link for section in sections if section.age.startswith("**Stale")]
    if not older:
        return "No section is older than the code that it measures.\n\n"
    return f"**Stale**, since the code that they measure has changed: {', '.join(older)}.\n\n"


TABLE = re.compile(r"(<!-- table of (\w+): (.*?) -->\n).*?(<!-- end of table -->)", re.DOTALL)
"""Where another page shows the table of a benchmark whose title begins so."""


def filled(text: str, sections: Sequence[Section]) -> str:
    """A page with its tables as the last runs have them; what has no result yet stays."""
    results = {section.name: section.result["tables"] for section in sections}

    def table(found: re.Match[str]) -> str:
        first, name, title, last = found.groups()
        for each in results.get(name, ()):
            if each["title"].startswith(title):
                return f"{first}{Table(each['title'], each['rows'])}\n\n{last}"
        return found[0]

    return TABLE.sub(table, text)


def main() -> None:
    """Write the page, and the tables of others that show some of it."""
    sections = [Section.read(name) for name in names()]
    for page in sorted(PAGE.parent.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if TABLE.search(text):
            page.write_text(filled(text, sections), encoding="utf-8")
            print(f"tables written to {page}")
    PAGE.parent.mkdir(exist_ok=True)
    body = "\n".join(section.text for section in sections)
    PAGE.write_text(INTRODUCTION + summary(sections) + FIGURE + body)
    print(f"written to {PAGE}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
