"""The report of the demonstration: whole, self-contained, and what it advises works."""

import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest

from partita.cli.parser import build_parser
from partita.demo import STRANDS, TIMED
from partita.demo.page import DemoReport, Section, figure, marked, table
from partita.demo.timing import compare
from partita.show import tree

VOID = {"meta", "link", "br"}


class Outline(HTMLParser):
    """Which elements there are, and whether each is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.names, self.addresses, self.code = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        found = dict(attributes)
        self.addresses += [found[key] for key in ("href", "src") if key in found]
        if tag == "code":
            self.code.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open:
            self.code[-1] += data


def outline(html):
    parser = Outline()
    parser.feed(html)
    assert parser.open == []
    return parser


@pytest.mark.slow
def test_the_page_is_whole_and_needs_no_other_file(report):
    html = report.read_text(encoding="utf-8")
    found = outline(html)
    n_sections = sum(map(len, STRANDS)) + len(TIMED)
    assert found.names.count("section") == n_sections == 11
    assert found.names.count("figure") == found.names.count("svg") >= 10
    assert all(address.startswith(("#", "data:")) for address in found.addresses)
    assert len([address for address in found.addresses if address.startswith("#")]) == n_sections
    # The only addresses are names of formats.
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "nan" not in re.sub(r"<[^>]*>", " ", html).lower().split()


@pytest.mark.slow
def test_progress_is_told_in_sentences(report):
    lines = report.with_suffix(".log").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 12
    assert all(line[0].isupper() and line.endswith(".") for line in lines)


@pytest.mark.slow
def test_commands_and_lines_in_the_report_are_possible(report):
    code = outline(report.read_text(encoding="utf-8")).code
    commands = 0
    for block in code:
        if "<-" in block:
            continue  # the rules of the parser
        python, *command = re.split("^partita ", block, maxsplit=1, flags=re.MULTILINE)
        compile(python, "report", "exec")
        if command:
            words = shlex.split(command[0].replace("\\\n", " ").split(">")[0])
            build_parser().parse_args(words)
            commands += 1
    assert commands >= 6


def test_text_is_escaped():
    section = Section(
        name="one",
        title="a < b",
        what="&",
        see="<see>",
        same="x < y",
        blocks=[
            table(("<h>", "n", "w"), [("<a>", "1 %", marked(["<w>", "v"], 0, 0))], "<c>"),
            figure(tree(["<w>"], [0]), 'a "caption" <b>'),
        ],
        headline=("<1>", "<unit>"),
    )
    html = DemoReport("<title>", "<lead>", [section], {"<fact>": "<value>"}).html()
    found = outline(html)
    assert {"b", "w", "h", "c", "see", "unit", "fact", "value", "lead"}.isdisjoint(found.names)


def test_comparing_methods_finds_their_difference():
    methods = {"right": lambda n: np.full(n, 2.0), "wrong": lambda n: np.full(n, 2.0 + n / 10)}
    times, worst = compare(methods, {"right": 3, "wrong": 2}, (1, 2, 3))
    assert {name: list(found) for name, found in times.items()} == {
        "right": [1, 2, 3],
        "wrong": [1, 2],
    }
    assert abs(worst - 0.1) < 1e-12
