"""The usual neighbourhoods of a sentence as lists, for contrastive estimation.

`partita.objectives.neighbourhood_lattices` has the same as lattices, which cost no more than a few
sentences. Each list has the observed tokens first and then sentences that a learner should find
worse, without repetition; a neighbour is never empty. Put all of them into one batch, with
`Neighbourhoods.of(number of sentences in each neighbourhood)` as the target.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

Token = TypeVar("Token")


def deletions(tokens: Sequence[Token]) -> list[list[Token]]:
    """The sentence, and the sentence without any one word (DEL1WORD of Smith and Eisner).

    >>> deletions(["a", "b", "b"])
    [['a', 'b', 'b'], ['b', 'b'], ['a', 'b']]
    """
    return _different(tokens, _deletions(tokens, longest=1))


def subsequence_deletions(tokens: Sequence[Token]) -> list[list[Token]]:
    """The sentence, and without any run of neighbouring words (DEL1SUBSEQ): O(n²) of them.

    >>> subsequence_deletions(["a", "b", "c"])
    [['a', 'b', 'c'], ['b', 'c'], ['a', 'c'], ['a', 'b'], ['c'], ['a']]
    """
    return _different(tokens, _deletions(tokens, longest=len(tokens)))


def transpositions(tokens: Sequence[Token]) -> list[list[Token]]:
    """The sentence, and with any two neighbouring words exchanged (TRANS1).

    >>> transpositions(["a", "b", "c"])
    [['a', 'b', 'c'], ['b', 'a', 'c'], ['a', 'c', 'b']]
    """
    return _different(tokens, _transpositions(tokens))


def deletions_and_transpositions(tokens: Sequence[Token]) -> list[list[Token]]:
    """The sentence, with one word deleted, and with one pair exchanged (DELORTRANS1).

    >>> deletions_and_transpositions(["a", "b"])
    [['a', 'b'], ['b'], ['a'], ['b', 'a']]
    """
    return _different(tokens, [*_deletions(tokens, longest=1), *_transpositions(tokens)])


def _deletions(tokens: Sequence[Token], longest: int) -> Iterable[list[Token]]:
    for length in range(1, longest + 1):
        for start in range(len(tokens) - length + 1):
            yield [*tokens[:start], *tokens[start + length :]]


def _transpositions(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    for i in range(len(tokens) - 1):
        yield [*tokens[:i], tokens[i + 1], tokens[i], *tokens[i + 2 :]]


def _different(tokens: Sequence[Token], neighbours: Iterable[list[Token]]) -> list[list[Token]]:
    """The observed tokens and those neighbours that are not empty and did not come before."""
    seen = {tuple(sentence): sentence for sentence in [list(tokens), *neighbours] if sentence}
    return list(seen.values())
