"""Aligners by the command: trained, used, judged, and told what is wrong."""

import numpy as np
import pytest

from partita import Aligner
from partita.cli import main
from partita.data.alignments import read_alignments


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bitext")
    rng = np.random.default_rng(0)
    rows = [rng.permutation(8)[: rng.integers(1, 6)] for _ in range(100)]
    source, target = ([[f"{side}{word}" for word in row] for row in rows] for side in "st")
    lines = [" ".join(row) for row in source], [" ".join(row) for row in target]
    (directory / "train.s").write_text("\n".join([*lines[0], "", "s1 " * 250]) + "\n")
    (directory / "train.t").write_text("\n".join([*lines[1], "t1", "t1"]) + "\n")
    (directory / "both").write_text("".join(f"{a} ||| {b}\n" for a, b in zip(*lines, strict=True)))
    (directory / "new.s").write_text("s1 s2 s3\n\nunseen s2\n")
    (directory / "new.t").write_text("t1 t2 t3\nt1\nstrange t2\n")
    (directory / "bad.a").write_text("0-0\n\n1-2\n")
    (directory / "new.a").write_text("0-0 1-1 2?2\n\n0-0 1-1\n")
    train = ["train", "aligner", str(directory / "train.s"), str(directory / "train.t")]
    assert main([*train, "-o", str(directory / "links.model"), "--no-progress"]) == 0
    return directory


def test_training_says_what_it_left_out(run):
    status, _, err = run("train aligner train.s train.t -o other.model --model model1")
    assert status == 0
    assert "Read train.s and train.t: 102 pairs" in err
    assert "Left out: 1 pair with an empty side" in err
    assert "Left out: 1 pair with more than 200 words" in err
    assert "learnt from 100 pairs" in err


def test_one_file_of_both_sides(run):
    assert run("train aligner both -o both.model --also new.s new.t --no-progress")[0] == 0
    one = run("predict both.model new.s --target new.t")[1]
    assert one.split("\n")[0] == "0-0 1-1 2-2"


def test_one_line_for_each_pair(run, files):
    status, out, err = run("predict links.model new.s --target new.t --probability -o found")
    assert status == 0
    assert out == ""
    assert "1 with an empty side" in err
    found = read_alignments(files / "found")
    assert len(found) == 3
    assert found[0].sure == ((0, 0), (1, 1), (2, 2))
    assert all(0.5 <= p <= 1 for p in found[0].probabilities.values())
    assert found[1].links == ()


def test_choices_when_used(run):
    plain = run("predict links.model new.s --target new.t")[1]
    assert plain == run("predict links.model new.s --target new.t --threshold 0.5")[1]
    strict = run("predict links.model new.s --target new.t --threshold 1 --symmetrisation union")[1]
    assert len(strict) < len(plain)
    for decoder in ("viterbi", "risk"):
        status, out, _ = run(f"predict links.model new.s --target new.t --link-decoder {decoder}")
        assert status == 0
        assert out.startswith("0-0 1-1 2-2\n\n")
    skipped = run("predict links.model new.s --target new.t --max-words 2")
    assert skipped[1].startswith("\n\n")
    assert "Left out: 1 pair with more than 2 words" in skipped[2]


def test_drawings(run, files):
    assert run("predict links.model new.s --target new.t --draw pictures")[0] == 0
    assert sorted(path.name for path in (files / "pictures").iterdir()) == ["1.svg", "3.svg"]
    assert "<svg" in (files / "pictures" / "1.svg").read_text()


def test_evaluation(run, files):
    line = "evaluate links.model new.s --target new.t --links new.a --diagram bins.svg"
    status, out, _ = run(line)
    assert status == 0
    assert "AER" in out
    assert "sure links         4" in out
    assert (files / "bins.svg").exists()
    # By batches, the same.
    assert run(f"{line} --batch 1")[:2] == (0, out)
    _, _, err = run("evaluate links.model new.s --target new.t --links new.a --max-words 2")
    assert "Left out: 1 pair with more than 2 words" in err


def test_a_crf_says_what_it_skipped_without_a_terminal(run):
    (status, _, err) = run(
        "train aligner train.s train.t --model crf --workers 1 --gold new.s new.t new.a "
        "-o crf.model --max-iterations 1 --gold-cells 4"
    )
    assert status == 0
    assert "CRF: 102 pairs: " in err
    assert "CRF, target to source: 102 pairs: " in err
    assert "CRF, gold links: 2 pairs: 1 used; skipped: 1 too long" in err
    status, out, _ = run("inspect crf.model")
    assert "conditional random field over ITG derivations, 2 directions, and one that gold" in out


def test_inspection(run):
    status, out, _ = run("inspect links.model --all")
    assert status == 0
    assert "Jumps between source words:" in out
    assert "s1" in out


@pytest.mark.parametrize(
    "line, message",
    [
        ("train aligner train.s new.t -o x", "train.s, line 4: this line has no partner"),
        ("train aligner train.s -o x", "train.s, line 1: found no |||"),
        ("train aligner -o x", "no data came"),
        ("train aligner --gold new.s new.t new.a -o x", "learns from words alone"),
        ("train aligner --model crf --gold new.s new.t new.s -o x", "new.s, line 1: found 's1'"),
        (
            "predict links.model new.s --target new.t --threshold 7",
            "threshold is 7.0; expected above 0, at most 1",
        ),
        ("train aligner both -o x --alpha -1", "alpha is -1.0; expected a number, 0 or more"),
        (
            "train aligner both -o x --model model1 --reach 3",
            "--reach is for --model hmm; the model is 'model1'",
        ),
        ("train aligner both -o x --resume", "resume came without a checkpoint"),
        ("evaluate links.model new.s --target new.t", "name their file by --links"),
        ("evaluate links.model new.s --target new.t --links bad.a", "bad.a, line 3: the link 1-2"),
        ("predict links.model new.s", "new.s, line 1: found no |||"),
        ("predict links.model new.s --target new.t --k-best 3", "--k-best is for"),
    ],
)
def test_mistakes(run, line, message):
    status, _, err = run(line)
    assert status == 2
    assert message in err


def test_training_by_a_cache_writes_the_same_model(run, tmp_path):
    line = "train aligner train.s train.t -o {path} --no-progress"
    plain, cached = tmp_path / "plain", tmp_path / "cached"
    assert run(line, path=plain)[0] == 0
    status, _, err = run(line + " --cache {folder}", path=cached, folder=tmp_path / "kept")
    assert status == 0
    assert "in 1 block" in err
    one, two = (Aligner.load(path).model_.arrays() for path in (plain, cached))
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in two.items()
    }
