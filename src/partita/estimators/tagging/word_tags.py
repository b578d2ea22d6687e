"""From sentences to the numbers of a hidden Markov model: words, tags that are known, masks."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from partita.arrays import IntArray
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence
from partita.estimators.tagging.hidden_markov import Encoded, Layout
from partita.estimators.tagging.word_symbols import WordSymbols

Words = Sequence[str | None] | Sentence
"""A sentence: its words, None for one that is missing; or a sentence of a data file."""
Tags = Sequence[str | None] | None
"""The tags of a sentence, None or `?` for one that is not known; or None if none is known."""


class WordTags:
    """The tags and words of a model, and which tags each word may have.

    Masks are sets of tags: one for each single tag, then one for each set in the dictionary.

    >>> encoder = WordTags(("N", "V"), WordSymbols(["dog"], []), {"dog": ["N"]})
    >>> encoder.layout.allowed
    array([[ True, False]])
    >>> encoder.encoded([["dog", "x"]], [[None, "V"]])
    Encoded(n_words=array([2]), symbols=array([ 0, -1]), masks=array([[ 2, -1], [-1, 1]]))
    """

    def __init__(
        self,
        tags: tuple[str, ...],
        symbols: WordSymbols,
        dictionary: Mapping[str, Sequence[str]],
    ) -> None:
        self.tags = tags
        self.symbols = symbols
        self._numbers: dict[str | None, int] = {tag: i for i, tag in enumerate(tags)}
        self._numbers[None] = -1
        sets = dict.fromkeys(tuple(sorted(set(names))) for names in dictionary.values())
        rows = {names: row for row, names in enumerate(sets, start=len(tags))}
        self._masks: dict[str | None, int] = {
            word: rows[tuple(sorted(set(names)))] for word, names in dictionary.items()
        }
        masks = np.eye(len(tags) + len(sets), len(tags), dtype=np.bool_)
        for names, row in rows.items():
            masks[row, [self._numbers[name] for name in names]] = True
        allowed = np.ones((len(symbols), len(tags)), dtype=np.bool_)
        for word, row in self._masks.items():
            if word in symbols:
                allowed[symbols.numbers([word])[0]] = masks[row]
        self.layout = Layout(len(symbols), masks, allowed)

    def encoded(
        self, words: Sequence[Sequence[str | None]], known: Sequence[Sequence[str | None]]
    ) -> Encoded:
        """Sentences as numbers; a known tag must be one that the dictionary allows."""
        flat, tags = end_to_end(words), end_to_end(known)
        unknown = set(tags).difference(self._numbers)
        if unknown:
            raise ValueError(
                f"the tag {min(map(str, unknown))!r} was given; the model knows "
                f"{', '.join(self.tags)}. Use one of these, or ? where the tag is not known."
            )
        by_dictionary = _looked_up(self._masks, flat)
        by_label = _looked_up(self._numbers, tags)
        both = np.flatnonzero((by_dictionary >= 0) & (by_label >= 0))
        wrong = both[~self.layout.masks[by_dictionary[both], by_label[both]]]
        if wrong.size:
            raise ValueError(
                f"{flat[wrong[0]]!r} is labelled {tags[wrong[0]]!r}, which the dictionary does not "
                "allow. Add the tag to the dictionary's entry, or correct the label."
            )
        n_words = np.array([len(sentence) for sentence in words], dtype=np.int64)
        masks = np.column_stack([by_dictionary, by_label])
        return Encoded(n_words, self.symbols.numbers(flat), masks)

    def named(self, numbers: IntArray) -> list[str]:
        """Tags by name."""
        return [self.tags[number] for number in numbers.tolist()]


def tag_names(
    known: Iterable[Iterable[str | None]],
    dictionary: Mapping[str, Sequence[str]],
    n_tags: int | None,
) -> tuple[str, ...]:
    """The tags of labels and dictionary in the order of the alphabet, then T0, T1, ...

    >>> tag_names([["N", None]], {"bark": ["V", "N"]}, n_tags=4)
    ('N', 'V', 'T0', 'T1')
    """
    named = {tag for tags in known for tag in tags if tag is not None}
    named.update(tag for tags in dictionary.values() for tag in tags)
    total = len(named) if n_tags is None else n_tags
    if total < max(len(named), 1):
        raise ValueError(
            f"n_tags is {n_tags}, and labels and dictionary name {len(named)} tags; expected at "
            "least one tag, and no fewer than are named. To learn from words alone say how many "
            "tags there are: n_tags=..."
        )
    induced = [name for i in range(2 * total) if (name := f"T{i}") not in named]
    return (*sorted(named), *induced[: total - len(named)])


def checked_sentences(
    sentences: Sequence[Words], known: Sequence[Tags] | None
) -> tuple[list[Sequence[str | None]], list[Sequence[str | None]]]:
    """The words of each sentence and its tags, as many as there are words."""
    words = [_words(sentence, index) for index, sentence in enumerate(sentences)]
    if known is None:
        return words, [[None] * len(sentence) for sentence in words]
    if len(known) != len(words):
        raise ValueError(
            f"tags of {len(known)} sentences came for {len(words)} sentences; expected as many. "
            "Give None for a sentence whose tags are not known."
        )
    tags: list[Sequence[str | None]] = []
    for index, (sentence, given) in enumerate(zip(words, known, strict=True)):
        row: Sequence[str | None] = [None] * len(sentence) if given is None else given
        if isinstance(row, str) or len(row) != len(sentence):
            raise ValueError(
                f"sentence {index} (counting from 0) has {len(sentence)} words and the tags "
                f"{row!r}; expected a tag for each word, ? where it is not known."
            )
        tags.append([None if tag == UNKNOWN else tag for tag in row])
    return words, tags


def end_to_end(sequences: Iterable[Sequence[str | None]]) -> list[str | None]:
    """The items of all sequences in one list."""
    return [item for sequence in sequences for item in sequence]


def _words(sentence: Words, index: int) -> Sequence[str | None]:
    if isinstance(sentence, Sentence):
        name = "FORM" if "FORM" in sentence.columns else sentence.names[0]
        return sentence.column(name)
    if isinstance(sentence, str) or not all(w is None or isinstance(w, str) for w in sentence):
        raise ValueError(
            f"sentence {index} (counting from 0) is {sentence!r:.80}; expected a list of words, "
            'None for one that is missing. Split text into words first: "the dog".split().'
        )
    return sentence


def _looked_up(numbers: Mapping[str | None, int], items: list[str | None]) -> IntArray:
    return np.array([numbers.get(item, -1) for item in items], dtype=np.int64)
