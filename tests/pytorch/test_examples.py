"""The examples learn something from a tiny treebank, with and without labels for all of it."""

import importlib.util
from pathlib import Path

import pytest
import torch

from partita import samples
from partita.data import read_conllu

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    for part, n_sentences in (("train", 80), ("dev", 10)):
        text = samples.path(f"treebank-{part}.conllu").read_text()
        (tmp_path / f"small-{part}.conllu").write_text(
            "\n\n".join(text.split("\n\n")[:n_sentences]) + "\n\n"
        )
    yield tmp_path
    torch.manual_seed(0)


def test_the_tagger_learns(folder, capsys):
    example = load("neural_tagger")
    tagger = example.main([str(folder), *["--epochs", "8", "--batch", "60", "--rate", "0.006"]])
    assert tagger.accuracy(read_conllu(folder / "small-dev.conllu")) > 0.7
    assert capsys.readouterr().out.count("epoch") == 8


def test_the_tagger_learns_from_text_too(folder, capsys):
    example = load("neural_tagger")
    arguments = "--labelled 30 --entropy 0.1 --epochs 12 --batch 60 --rate 0.006"
    tagger = example.main([str(folder), *arguments.split()])
    assert tagger.accuracy(read_conllu(folder / "small-dev.conllu")) > 0.5


def test_the_parser_learns(folder, capsys):
    example = load("neural_parser")
    parser = example.main([str(folder), *["--epochs", "6", "--batch", "60", "--rate", "0.006"]])
    found = parser.compared(read_conllu(folder / "small-dev.conllu"))
    assert found.uas > 0.6
    assert found.las > 0.5
    assert capsys.readouterr().out.count("epoch") == 6


def test_the_parser_learns_from_text_and_rules_too(folder, capsys):
    example = load("neural_parser")
    rules = samples.path("arc-rules.txt")
    arguments = "--labelled 30 --entropy 0.1 --rule-weight 5 --epochs 8 --batch 60 --rate 0.006"
    parser = example.main([str(folder), "--rules", str(rules), *arguments.split()])
    assert parser.compared(read_conllu(folder / "small-dev.conllu")).uas > 0.3


def test_rules_are_met_where_they_can_be(folder):
    example = load("neural_parser")
    from partita.data.arc_rules import read_arc_rules
    from partita.torch import SpanningTree

    sentences = read_conllu(folder / "small-train.conllu")[:10]
    rules = read_arc_rules(samples.path("arc-rules.txt"))
    arcs = [torch.zeros(len(s) + 1, len(s) + 1, requires_grad=True) for s in sentences]
    optimiser = torch.optim.Adam(arcs, lr=0.5)
    distances = []
    for _ in range(30):
        loss = example.distance(SpanningTree(arcs, single_root=True), sentences, rules)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        distances.append(loss.item())
    assert distances[-1] < 0.1 * distances[0]


@pytest.mark.parametrize("name", ["neural_tagger", "neural_parser"])
def test_an_example_is_one_page(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 200
