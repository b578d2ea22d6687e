"""Phrase structure of a sentence: a tree of labels with words at its leaves."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

TRACE = "-NONE-"
"""The tag of words that are not there."""


@dataclass(frozen=True)
class PhraseTree:
    """A label, and either a word or the constituents below it.

    >>> from partita.data import parse_brackets
    >>> tree = parse_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")[0]
    >>> tree.words, tree.tags
    (('the', 'dog', 'barks'), ('DT', 'NN', 'VBZ'))
    >>> print(tree)
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """

    label: str
    children: tuple["PhraseTree", ...] = ()
    word: str | None = None
    """Of a constituent without children."""

    @property
    def leaves(self) -> Iterator["PhraseTree"]:
        """The words' own constituents, from left to right."""
        # A stack and not a recursion: trees of long lists are deeper than Python's own stack.
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.word is not None:
                yield node
            waiting.extend(reversed(node.children))

    @property
    def words(self) -> tuple[str, ...]:
        """The words, from left to right."""
        return tuple(str(leaf.word) for leaf in self.leaves)

    @property
    def tags(self) -> tuple[str, ...]:
        """The labels of the words' own constituents."""
        return tuple(leaf.label for leaf in self.leaves)

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """First word, last word and label of every constituent of a phrase, from the top down.

        Those of single words, which are their tags, are left out.

        >>> from partita.data import parse_brackets
        >>> parse_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")[0].spans
        [(0, 2, 'S'), (0, 1, 'NP'), (2, 2, 'VP')]
        """
        found: list[tuple[int, int, str]] = []
        self._collect(0, found)
        return found

    def _collect(self, first: int, found: list[tuple[int, int, str]]) -> int:
        """Spans of the phrases from word `first` on; returns the word behind the last."""
        if self.word is not None:
            return first + 1
        place, end = len(found), first
        found.append((first, first, self.label))
        for child in self.children:
            end = child._collect(end, found)
        found[place] = (first, end - 1, self.label)
        return end

    def kept(self, keep: Callable[["PhraseTree"], bool]) -> "PhraseTree | None":
        """The tree of the leaves that are kept; phrases without any are gone, too."""
        if self.word is not None:
            return self if keep(self) else None
        children = tuple(each for child in self.children if (each := child.kept(keep)) is not None)
        return replace(self, children=children) if children else None

    def without_traces(self) -> "PhraseTree | None":
        """Without words that are not there; None if nothing is left.

        >>> from partita.data import parse_brackets
        >>> tree = parse_brackets("(S (NP (-NONE- *)) (VP (VB go)))")[0]
        >>> print(tree.without_traces())
        (S (VP (VB go)))
        """
        return self.kept(lambda leaf: leaf.label != TRACE)

    def without_functions(self) -> "PhraseTree":
        """Labels without what they say of the phrase's function: NP for NP-SBJ-1 or NP=2.

        >>> from partita.data import parse_brackets
        >>> print(parse_brackets("(NP-SBJ (-LRB- -LRB-) (NN a))")[0].without_functions())
        (NP (-LRB- -LRB-) (NN a))
        """
        if self.word is not None:
            return self
        children = tuple(child.without_functions() for child in self.children)
        return PhraseTree(re.split("[-=]", self.label, maxsplit=1)[0] or self.label, children)

    def __str__(self) -> str:
        if self.word is not None:
            return f"({self.label} {self.word})"
        return f"({self.label} {' '.join(map(str, self.children))})"
