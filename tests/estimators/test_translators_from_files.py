"""Translators from files: workers read and encode blocks, and the model is that of memory."""

import numpy as np
import pytest

from partita import Hiero, Itg, Translator
from partita.data import bitext_files
from partita.data.bitext_files import BitextFiles
from partita.data.errors import DataError
from partita.estimators.translation import from_files, rule_extraction
from partita.estimators.translation.rule_extraction import (
    LinkRows,
    RuleLimits,
    count_rules,
    merged_rules,
)
from partita.estimators.translation.seams import Seams, neighbours
from partita.text.word_vocabulary import Numbered
from tests.estimators.small_bitext import numbered, random_bitext

GRAMMARS = {"itg": Itg(max_iterations=2, n_bits=12), "hiero": Hiero(n_tuning=15)}
OPTIONS = {"progress": False, "max_words": 8, "n_pairs": 170}


@pytest.fixture(scope="module")
def sides():
    """Pairs of which some are empty, too long, or come twice."""
    source, target = random_bitext(np.random.default_rng(0), n_pairs=150, n_words=12)
    more = [[], ["s1"] * 9, ["s2"]], [["t1"], ["t1"], []]
    return source + more[0] + source[:60], target + more[1] + target[:60]


@pytest.fixture(scope="module")
def paths(sides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bitext")
    for name, side in zip(("source", "target"), sides, strict=True):
        (folder / name).write_text("".join(" ".join(words) + "\n" for words in side))
    return folder / "source", folder / "target"


def stored(model, path):
    """What a model file has, but for what it was learnt from."""
    model.about_ = {}
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("workers", [1, 3])
def test_the_model_is_that_of_memory(grammar, workers, sides, paths, tmp_path, monkeypatch):
    monkeypatch.setattr(from_files, "BATCHES_PER_FILE", 5)
    options = {**OPTIONS, "grammar": GRAMMARS[grammar]}
    expected = Translator(**options, workers=2).fit(*sides)
    found = Translator(**options, workers=workers, cache=tmp_path / "kept").fit(BitextFiles(*paths))
    assert found.counts_ == expected.counts_
    assert found.counts_.n_empty == 2
    assert found.counts_.n_long == 1
    assert found.counts_.n_spare > 0
    assert np.isfinite(found.training_.loss)
    in_memory = stored(expected, tmp_path / "memory")
    assert stored(found, tmp_path / "found") == in_memory
    # What was kept is found again.
    before = {each: each.stat().st_mtime_ns for each in tmp_path.glob("kept*/batches-*")}
    assert before
    again = Translator(**options, workers=workers, cache=tmp_path / "kept").fit(BitextFiles(*paths))
    assert stored(again, tmp_path / "again") == in_memory
    own = [each for each in before if grammar == "itg" or each.parent.name != "kept"]
    assert all(each.stat().st_mtime_ns == before[each] for each in own)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_blocks_are_worth_as_much_as_one(grammar, sides, paths, tmp_path, monkeypatch):
    monkeypatch.setattr(bitext_files, "BLOCK", 500)
    files = BitextFiles(*paths)
    assert len(files.blocks) > 4
    options = {**OPTIONS, "grammar": GRAMMARS[grammar]}
    one, three = (Translator(**options, workers=workers).fit(files) for workers in (1, 3))
    assert stored(one, tmp_path / "one") == stored(three, tmp_path / "three")
    expected = Translator(**options).fit(*sides)
    assert one.counts_.n_pairs == expected.counts_.n_pairs
    assert one.counts_.n_long == expected.counts_.n_long
    assert one.counts_.n_spare >= expected.counts_.n_spare - one.counts_.n_unreachable
    if grammar == "itg":  # by rules, ties between links fall by the last bit of a sum
        assert one.counts_ == expected.counts_
        np.testing.assert_allclose(one.training_.loss, expected.training_.loss, rtol=1e-9)


def test_blocks_without_pairs_to_learn_from(sides, tmp_path, monkeypatch):
    monkeypatch.setattr(bitext_files, "BLOCK", 500)
    path = tmp_path / "both"
    pairs = [" ".join([*x, "|||", *y]) for x, y in zip(*sides, strict=True)]
    path.write_text("\n".join([*pairs[:60], *200 * ["|||"], *pairs[60:]]) + "\n")
    found = Translator(**OPTIONS, grammar=GRAMMARS["itg"]).fit(BitextFiles(path))
    expected = Translator(**OPTIONS, grammar=GRAMMARS["itg"]).fit(*sides)
    assert found.counts_.n_empty == 202
    assert found.counts_.n_used == expected.counts_.n_used
    np.testing.assert_allclose(found.training_.loss, expected.training_.loss, rtol=1e-9)


def test_rules_of_parts_are_those_of_all():
    (_, source, target) = numbered(np.random.default_rng(1), n_pairs=30)
    links = [
        [(i, i) for i in range(min(len(x), len(y)))] for x, y in zip(source, target, strict=True)
    ]
    every = count_rules(source, target, LinkRows.of(links), RuleLimits())
    ends = [0, 7, 7, 20, 30]
    parts = [
        count_rules(
            source.between(*part),
            target.between(*part),
            LinkRows.of(links[slice(*part)]),
            RuleLimits(),
        )
        for part in zip(ends[:-1], ends[1:], strict=True)
    ]
    for found, expected in zip(merged_rules(parts), every, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_rules_are_the_same_for_any_number_of_threads_and_room(n_threads, monkeypatch):
    """Also where the pairs at once have more rules than there is room for at first."""
    (_, source, target) = numbered(np.random.default_rng(2), n_pairs=30)
    links = LinkRows.of(
        [[(i, i) for i in range(min(len(x), len(y)))] for x, y in zip(source, target, strict=True)]
    )
    weights = np.random.default_rng(0).random(30)
    expected = count_rules(source, target, links, RuleLimits(), weights)
    for pairs_at_once, room in ((30, 1), (7, 64), (1, 8)):
        monkeypatch.setattr(rule_extraction, "PAIRS_AT_ONCE", pairs_at_once)
        monkeypatch.setattr(rule_extraction, "ROOM", room)
        found = count_rules(source, target, links, RuleLimits(), weights, n_threads=n_threads)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_neighbours_of_parts_are_those_of_all():
    words, _, target = numbered(np.random.default_rng(1), n_pairs=30)
    every = Seams.learn(target, words[1])
    parts = [target.between(0, 4), target.between(4, 4), target.between(4, 30)]
    found = Seams.merged([neighbours(part, len(words[1])) for part in parts], words[1])
    np.testing.assert_array_equal(found.keys, every.keys)
    np.testing.assert_array_equal(found.counts, every.counts)
    nothing = Numbered(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    assert len(Seams.learn(nothing, words[1]).keys) == 0


def test_mistakes(paths, tmp_path):
    files = BitextFiles(*paths)
    with pytest.raises(ValueError, match="files came with labels"):
        Translator().fit(files, [["the"]])
    with pytest.raises(ValueError, match="files came with labels"):
        Translator().fit(files, sample_weight=[1.0])
    with pytest.raises(ValueError, match="source came without target"):
        Translator().fit([["la"]])
    (tmp_path / "long").write_text("a b c ||| d\n")
    with pytest.raises(ValueError, match=r"learnt from \(1 pairs: 0 used; skipped: 1 too long\)"):
        Translator(max_words=2).fit(BitextFiles(tmp_path / "long"))
    (tmp_path / "wrong").write_text("la ||| the\nmaison house\n")
    with pytest.raises(DataError, match=r"wrong, line 2: found no \|\|\|"):
        Translator().fit(BitextFiles(tmp_path / "wrong"))
