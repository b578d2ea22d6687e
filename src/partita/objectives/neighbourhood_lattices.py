"""The neighbourhoods of Smith and Eisner (2005) as lattices: summed exactly, without a list.

A lattice has every distinct sentence of the neighbourhood once, also the observed one. Its words
are places in the observed sentence; of equal words the first stands for all, so that a model must
score a word alike wherever it stands. `LatticeChains` sums over all sentences and all tags, and
`EvidenceContrast` compares that with the observed sentence:

    tokens = ["the", "cat", "sat"]
    chains = LatticeChains([sentence_lattice(tokens), dynasearch_lattice(tokens)], n_tags=2)
    EvidenceContrast()(PartDistribution.from_flat(chains, scores), np.array([True, False]))
"""

from collections.abc import Callable, Hashable, Sequence

from partita.structures.batch import whole_number
from partita.structures.lattices import State, WordLattice, deterministic

Arcs = dict[State, list[tuple[int | None, State]]]


def sentence_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """The sentence alone.

    >>> list(sentence_lattice("abb").sentences())
    [(0, 1, 1)]
    """
    words = _places(tokens)
    arcs = [(place, place + 1, [word]) for place, word in enumerate(words)]
    return WordLattice(arcs, final=[len(words)])


def deletion_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """The sentence, and without any one word (DEL1WORD); about 2 n states.

    >>> sorted(deletion_lattice("abb").sentences())
    [(0, 1), (0, 1, 1), (1, 1)]
    """
    return _one_change(_places(tokens), deletions=True, transpositions=False)


def transposition_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """The sentence, and with any two neighbouring words exchanged (TRANS1); about 3 n states.

    >>> sorted(transposition_lattice("abc").sentences())
    [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    """
    return _one_change(_places(tokens), deletions=False, transpositions=True)


def deletion_or_transposition_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """The sentence, with one word deleted, or with one pair exchanged (DELORTRANS1).

    >>> sorted(deletion_or_transposition_lattice("ab").sentences())
    [(0,), (0, 1), (1,), (1, 0)]
    """
    return _one_change(_places(tokens), deletions=True, transpositions=True)


def subsequence_deletion_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """The sentence, and without any run of neighbouring words (DEL1SUBSEQ): O(n²) sentences.

    >>> sorted(subsequence_deletion_lattice("abc").sentences())
    [(0,), (0, 1), (0, 1, 2), (0, 2), (1, 2), (2,)]
    """
    words = _places(tokens)
    n = len(words)
    arcs: Arcs = {("before", n): [(None, ("after", n))], ("within", n): [(None, ("after", n))]}
    for place, word in enumerate(words):
        arcs["before", place] = [(word, ("before", place + 1)), (None, ("within", place))]
        arcs["within", place] = [(None, ("within", place + 1)), (None, ("after", place))]
        arcs["after", place] = [(word, ("after", place + 1))]
    return deterministic(arcs, ("before", 0), ("after", n))


def dynasearch_lattice(tokens: Sequence[Hashable]) -> WordLattice:
    """Any number of neighbouring pairs exchanged that do not overlap (DYNASEARCH).

    As many sentences as the Fibonacci number of n + 1, in about 2 n states.

    >>> sorted(dynasearch_lattice("abcd").sentences())
    [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3), (1, 0, 3, 2)]
    """
    words = _places(tokens)
    arcs: Arcs = {place: [(word, place + 1)] for place, word in enumerate(words)}
    for place in range(len(words) - 1):
        arcs[place].append((words[place + 1], ("exchange", place)))
        arcs["exchange", place] = [(words[place], place + 2)]
    return deterministic(arcs, 0, len(words))


def length_lattice(n_words: int, n_choices: int) -> WordLattice:
    """All sentences of `n_words` words out of a vocabulary of `n_choices` (LENGTH).

    Its words are those of the vocabulary. They are summed once, however long the sentence: put
    the lattices of many sentences into one item of `LatticeChains`, and the observed ones,
    `WordLattice`s over the same vocabulary, into another.

    >>> sorted(length_lattice(2, 2).sentences())
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    n_words, n_choices = (
        whole_number("n_words", n_words, 1),
        whole_number("n_choices", n_choices, 1),
    )
    everything = range(n_choices)
    return WordLattice([(place, place + 1, everything) for place in range(n_words)], [n_words])


NEIGHBOURHOODS: dict[str, Callable[[Sequence[Hashable]], WordLattice]] = {
    "del1": deletion_lattice,
    "trans1": transposition_lattice,
    "delortrans1": deletion_or_transposition_lattice,
    "del1subseq": subsequence_deletion_lattice,
    "dynasearch": dynasearch_lattice,
}
"""The neighbourhoods of a sentence by the names of Smith and Eisner, but for LENGTH."""


def _places(tokens: Sequence[Hashable]) -> list[int]:
    """The first place of each token."""
    if not len(tokens):
        raise ValueError(
            "an empty sentence came; expected at least one word: leave the sentence out."
        )
    first: dict[Hashable, int] = {}
    return [first.setdefault(token, place) for place, token in enumerate(tokens)]


def _one_change(words: Sequence[int], *, deletions: bool, transpositions: bool) -> WordLattice:
    """The words with at most one change of the kinds that are allowed."""
    n = len(words)
    arcs: Arcs = {("before", n): [(None, ("after", n))]}
    for place, word in enumerate(words):
        arcs["before", place] = [(word, ("before", place + 1))]
        arcs["after", place] = [(word, ("after", place + 1))]
        if deletions:
            arcs["before", place].append((None, ("after", place + 1)))
        if transpositions and place + 1 < n:
            arcs["before", place].append((words[place + 1], ("exchange", place)))
            arcs["exchange", place] = [(word, ("after", place + 2))]
    return deterministic(arcs, ("before", 0), ("after", n))
