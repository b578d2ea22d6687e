"""Translators from the command line: two files or one, questions, and what goes wrong."""

import json
import shlex

import numpy as np
import pytest

from partita import Hiero, Translator
from partita.cli import main
from tests.estimators.small_translation import bitext


def lines(sentences):
    return "".join(" ".join(words) + "\n" for words in sentences)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A bitext, a model of each grammar, and ugly input."""
    directory = tmp_path_factory.mktemp("translations")
    source, target = bitext()
    (directory / "a.fr").write_text(lines(source))
    (directory / "a.en").write_text(lines(target))
    joined = [[*x, "|||", *y] for x, y in zip(source, target, strict=True)]
    (directory / "both.txt").write_text(lines(joined))
    (directory / "ugly.fr").write_text(f"la maison\n\nla grange\n{'la maison ' * 100}\n")
    (directory / "short.en").write_text("the house\n")
    small = {
        "itg": "--n-bits 12 --n-insertions 1 --max-iterations 15",
        "hiero": "--min-count 1",
    }
    one, other = str(directory / "a.fr"), str(directory / "a.en")
    for grammar in ("itg", "hiero"):
        model = str(directory / f"{grammar}.model")
        command = ["train", "translator", one, other, "-o", model, "--grammar", grammar]
        more = f"{small[grammar]} --max-words 8 --workers 1 --no-progress"
        assert main([*command, *shlex.split(more)]) == 0
    return directory


@pytest.mark.parametrize("grammar", ["itg", "hiero"])
def test_a_line_for_each_line(run, grammar):
    status, out, err = run(f"predict {grammar}.model ugly.fr")
    found = out.split("\n")
    assert status == 0
    assert found[0] == "the house"
    assert found[1] == ""
    assert "grange" in found[2]
    assert len(found[3].split()) > 50
    assert found[4:] == [""]
    assert "1 sentences have more than 8 words; translated in pieces" in err
    assert "1 empty lines" in err


def test_of_a_bitext_the_sources_are_translated(run):
    status, out, err = run("predict itg.model both.txt")
    assert (status, out) == (0, run("predict itg.model a.fr")[1])
    assert err.count("Lines are source ||| target: translating their sources\n") == 1


def test_scores_as_json(run):
    status, out, _ = run("evaluate itg.model both.txt --json")
    found = json.loads(out)
    assert status == 0
    assert found["parts"]["score"] == pytest.approx(found["bleu"])
    assert len(found["parts"]["precisions"]) == 4


def test_long_lines_can_be_skipped(run):
    _, out, err = run("predict itg.model ugly.fr --long skip")
    assert out.split("\n")[3] == ""
    assert "skipped" in err


@pytest.mark.parametrize("long", ["cut", "skip"])
def test_the_probability_of_long_lines_is_not_known(run, long):
    status, out, _ = run(f"predict itg.model ugly.fr --long {long} --log-probability")
    assert status == 0
    assert [line.split(" ||| ")[-1] == "nan" for line in out.splitlines()] == [False] * 3 + [True]


def test_more_than_one_answer(run):
    _, out, _ = run("predict itg.model a.fr --k-best 2")
    first = out.split("\n")[0].split(" ||| ")
    assert first[:2] == ["0", "the house"]
    assert float(first[2]) < 0
    _, out, _ = run("predict itg.model a.fr --drawn 3")
    assert out.count("\n") == 3 * len(bitext()[0])
    _, out, _ = run("predict itg.model ugly.fr --drawn 2")
    assert [line[0] for line in out.splitlines()] == list("001122")
    _, out, _ = run("predict itg.model a.fr --drawn 3 --no-replace")
    assert len(set(out.splitlines())) == 3 * len(bitext()[0])
    status, _, err = run("predict itg.model a.fr --no-replace")
    assert (status, "--no-replace came without --drawn" in err) == (2, True)
    _, out, _ = run("predict itg.model a.fr --log-probability --decoder risk --n-samples 20")
    assert " ||| -" in out.split("\n")[0]


@pytest.mark.parametrize("data", ["a.fr --target a.en", "both.txt"])
def test_evaluation(run, data):
    status, out, err = run(f"evaluate itg.model {data}")
    assert status == 0
    assert "\nBLEU    " in out
    assert "\nchrF2   " in out
    assert "Read " in err


def test_inspection(run):
    status, out, _ = run("inspect hiero.model --all")
    assert status == 0
    assert "[X] |||" in out


def test_training_from_one_file_with_held_out_pairs(run, tmp_path):
    model = tmp_path / "one.model"
    small = "--n-bits 10 --max-iterations 1 --workers 1"
    status, _, err = run(f"train translator both.txt -o {model} --held-out a.fr a.en {small}")
    assert status == 0
    assert "Stage 1, latent derivations" in err
    assert "used" in err
    assert model.is_file()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train translator a.fr short.en -o x", "this line has no partner"),
        ("train translator a.fr -o x", "found no |||"),
        ("train translator a.fr a.en -o x --rate -1", "rate is -1.0; expected a number, 0"),
        ("train translator a.fr a.en -o x --held-out a b c", "--held-out has 3 files"),
        (
            "train translator a.fr a.en -o x --grammar hiero --n-bits 3",
            "--n-bits is for --grammar itg; the model is 'hiero'",
        ),
        ("evaluate itg.model a.fr --target short.en", "this line has no partner"),
        ("predict itg.model a.fr --k-best 0", "--k-best is 0; expected 1 or more"),
        ("predict itg.model missing.fr", "missing.fr"),
    ],
)
def test_mistakes_are_one_sentence(run, command, message):
    status, out, err = run(command)
    assert status == 2
    assert out == ""
    assert message in err


def test_both_grammars_have_a_most_of_iterations(run, tmp_path, capsys):
    line = "train translator a.fr a.en -o {path} --no-progress --max-words 8 --workers 1"
    path = tmp_path / "few"
    status, _, err = run(f"{line} --grammar hiero --min-count 1 --max-iterations 1", path=path)
    assert status == 0
    assert "Stopped after 1 iteration" in err
    expected = Translator(grammar=Hiero(min_count=1, max_iterations=1), max_words=8, workers=1)
    expected.set_params(progress=False).fit(*bitext())
    found = Translator.load(path).model_.weights
    np.testing.assert_array_equal(found, expected.model_.weights)
    with pytest.raises(SystemExit):
        main(["train", "translator", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "itg: most passes (default: 3); hiero: most iterations of L-BFGS" in said


@pytest.mark.parametrize("options", ["--n-bits 12 --max-iterations 2", "--grammar hiero"])
def test_training_by_a_cache_writes_the_same_model(run, tmp_path, options):
    line = f"train translator a.fr a.en -o {{path}} --no-progress --max-words 8 {options}"
    plain, cached = tmp_path / "plain", tmp_path / "cached"
    assert run(line, path=plain)[0] == 0
    status, _, err = run(line + " --cache {folder}", path=cached, folder=tmp_path / "kept")
    assert status == 0
    assert "in 1 block" in err
    one, two = (Translator.load(path).model_.arrays() for path in (plain, cached))
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in two.items()
    }
