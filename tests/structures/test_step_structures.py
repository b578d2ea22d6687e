"""Structures out of steps: what their author and their caller can get wrong, and what is shared."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from cases import own_structure
from partita.structures.kept_forests import KeptForests
from partita.structures.part_arrays import PartArray, axes
from partita.structures.step_structures import StepStructures
from partita.structures.tied_forests import TiedForest

Segmentations = own_structure()["Segmentations"]
Segmentation = own_structure()["Segmentation"]


class Selections(StepStructures):
    """Sets of words no two of which are neighbours: the cells of one may be some of another's."""

    def __init__(self, n_words):
        super().__init__(n_words, [PartArray("words", n_axes=1)])

    def forest(self, n_words):
        return self.build(n_words, self.steps(n_words), root=n_words)

    def steps(self, n_words):
        """Node i: the first i words are settled."""
        yield 0, [], None
        for word in range(n_words):
            yield word + 1, [word], None
            yield word + 1, [word - 1] if word else [], ("words", word)

    def structure(self, n_words, words):
        return np.sort(words[:, 0])

    def places(self, n_words, structure, sentence):
        return [structure]


@pytest.mark.parametrize(
    "structure, message",
    [
        ([[0, 2, 0], [2, 4, 1]], None),
        ([[0, 1, 0], [1, 4, 1]], None),
        ([[0, 2, 0], [3, 4, 1]], "the structure of sentence 0 is none"),
        ([[0, 2, 0]], "the structure of sentence 0 is none"),
        ([[2, 4, 1], [0, 2, 0]], "the structure of sentence 0 is none"),
        ([[0, 2, 0], [0, 2, 0]], "the structure of sentence 0 is none"),
        ([[0, 4, 0]], r"segments\[0, 3, 0\]; expected places in an array of shape \(4, 3, 2\)"),
        ([[0, 2, 0], [2, 4, 2]], r"segments\[2, 1, 2\]; expected places"),
        (np.zeros((0, 3), dtype=int), "the structure of sentence 0 is none"),
        ([0, 2, 0], r"have shape \(3,\); expected rows"),
    ],
)
def test_only_structures_of_the_set_are_counted(structure, message):
    p = Segmentation(np.zeros((4, 3, 2)), np.zeros((2, 2)))
    if message is None:
        assert p.score(np.array(structure)) == 0.0
        return
    with pytest.raises(ValueError, match=message):
        p.score(np.array(structure))


def test_structures_that_are_parts_of_larger_ones():
    """Every set of five words is counted if no two of them are neighbours, and refused else."""
    selections, scores = Selections([5]), np.random.default_rng(0).normal(size=5)
    total = 0.0
    for size in range(6):
        for words in combinations(range(5), size):
            if any(b - a == 1 for a, b in pairwise(words)):
                with pytest.raises(ValueError, match="the structure of sentence 0 is none"):
                    selections.counts([np.array(words)])
            else:
                counts = selections.counts([np.array(words, dtype=int)])
                assert np.flatnonzero(counts).tolist() == list(words)
                total += np.exp(scores @ counts)
    np.testing.assert_allclose(selections.infer(scores).log_partition, np.log(total), rtol=1e-12)


def test_resampling_begins_with_the_structure():
    """A step that draws a piece of it anew leaves the rest, so that all of it is there again."""
    scores = np.array([50.0, -np.inf, 50.0, -np.inf, -np.inf])
    rng, given = np.random.default_rng(0), np.array([0, 2])
    found = [Selections([5]).resampled(scores, [given], 1, rng)[0].tolist() for _ in range(50)]
    assert found == [[0, 2]] * 50


def test_the_structure_that_is_none_is_named():
    right, wrong = np.array([[0, 2, 0], [2, 4, 1]]), np.array([[0, 2, 0], [2, 4, 1], [2, 4, 1]])
    p = Segmentation([np.zeros((4, 3, 2))] * 3, np.zeros((2, 2)))
    for place in range(3):
        given = [right, right, right]
        given[place] = wrong
        with pytest.raises(ValueError, match=f"the structure of sentence {place} is none"):
            p.score(given)


def test_a_step_that_no_cell_scores():
    class Wrong(StepStructures):
        def forest(self, n_words):
            return self.build(n_words, [("end", [], ("scores", n_words))], "end")

        def structure(self, n_words, scores):
            return scores

        def places(self, n_words, structure, sentence):
            return [structure]

    with pytest.raises(ValueError, match=r"a step is scored by \('scores', 2\); expected a place"):
        Wrong([2], [PartArray("scores", 1)]).infer(np.zeros(2))


def test_sentences_of_a_length_share_their_forest_also_between_batches():
    first, second = Segmentations([4, 2, 4], 3, 2), Segmentations([4], 3, 2)
    scores = np.random.default_rng(0).normal(size=first.n_parts)
    assert first.infer(scores).log_partition.shape == (3,)
    second.infer(scores[: second.n_parts])
    assert first._by_length[4] is second._by_length[4]
    other = Segmentations([4], 2, 2)
    other.infer(np.zeros(other.n_parts))
    assert other._by_length[4] is not first._by_length[4]


def test_the_last_forests_are_kept_while_they_are_few():
    def built(n_edges):
        n_built.append(n_edges)
        return TiedForest.of([("top", (), 0)] * n_edges, root="top", n_parts=1)

    kept, n_built = KeptForests(most_edges=5), []
    for n_edges in (2, 2, 3, 2, 1, 2, 3, 9, 9, 2):
        kept.get(n_edges, lambda n_edges=n_edges: built(n_edges))
    # 3 was the oldest when 1 came, 1 when 3 came again; 9 are too many to stay, and move nobody.
    assert n_built == [2, 3, 1, 3, 9, 9]
    held = kept.get(9, lambda: built(9))
    assert kept.get(9, lambda: built(9)) is held


def test_the_same_set_has_the_same_arrays_lengths_and_options():
    sets = Segmentations([4, 2], 3, 2)
    assert sets.is_same_set(Segmentations([4, 2], 3, 2))
    for other in (Segmentations([2, 4], 3, 2), Segmentations([4, 2], 2, 2)):
        assert not sets.is_same_set(other)
    other = Segmentations([4, 2], 3, 2)
    other.options = ("nested",)
    assert not sets.is_same_set(other)


def test_axes_along_words_come_first():
    with pytest.raises(ValueError, match="'s n'; expected axes along words first"):
        axes("s n", "the other way around")
    with pytest.raises(ValueError, match="and alike"):
        axes("n n+1", "two lengths")
