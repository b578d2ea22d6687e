"""Features that users bring: dictionaries as scikit-learn's and CRFsuite's users have them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from partita.arrays import Array
from partita.kept import kept_texts
from partita.text.feature_columns import NUMBERS, FeatureColumns
from partita.text.vocabulary import Vocabulary, VocabularyBuilder
from partita.text.word_features import Encoded, WordFeatures
from partita.text.words import Form, Words


class NamedFeatures(WordFeatures):
    """The attributes of dictionaries of features, or of lists of feature names.

    Text makes an attribute `key:value`, a number is the value of an attribute `key`, True counts
    as 1, and False and 0 as nothing; as in CRFsuite.

    >>> from partita.text.words import read_words
    >>> words = read_words([[{"word": "dogs", "capital": False}, {"word": "bark", "length": 4}]])
    >>> features, encoded = NamedFeatures.build(words)
    >>> [features.name(number) for number in range(features.n_attributes)]
    ['length', 'word:bark', 'word:dogs']
    >>> encoded.words.values
    array([1., 1., 4.])
    """

    form: ClassVar[Form] = "names"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._columns = FeatureColumns(vocabulary)
        self.n_attributes = len(vocabulary)

    @classmethod
    def build(cls, words: Words, min_count: int = 1) -> "tuple[NamedFeatures, Encoded]":
        """The features that occur at least `min_count` times, and the words' own."""
        builder = VocabularyBuilder()
        rows = builder.attributes(named_rows(words.features))
        vocabulary = builder.freeze(min_count)
        encoded = Encoded(words.n_words, rows.renumbered(builder.new_ids(vocabulary)))
        return cls(vocabulary), encoded

    def encode(self, words: Words) -> Encoded:
        """The known features of new sentences."""
        rows = self._columns.rows(words.features)
        if rows is None:
            rows = self._vocabulary.attributes(named_rows(words.features))
        return Encoded(words.n_words, rows)

    def name(self, attribute: int, *, transition: bool = False) -> str:
        """The feature with a number."""
        return "transition:" if transition else self._vocabulary.name(attribute)

    def header(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {"names": list(self._vocabulary)}

    def arrays(self) -> dict[str, Array]:
        """No arrays: names are text."""
        return {}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> "NamedFeatures":
        """From what a model file kept."""
        return cls(Vocabulary(kept_texts(header["names"], "names")))


def named_rows(tokens: Iterable[Any]) -> Iterator[list[str] | dict[str, float]]:
    """The features of each word: names where all have value 1, else names with values."""
    for token in tokens:
        if not isinstance(token, Mapping):
            yield _checked(list(token))
            continue
        names: list[str] = []
        numbers: dict[str, float] = {}
        for key, value in token.items():
            if type(value) is str:
                names.append(f"{key}:{value}")
            elif value is True or (type(value) in NUMBERS and value == 1):
                names.append(key)
            elif value is not False:
                _add(numbers, key, value)
        _checked(names)
        yield {**dict.fromkeys(names, 1.0), **numbers} if numbers else names


def _checked(names: list[Any]) -> list[str]:
    """Names of features, which are text: a matrix of numbers is meant to be an array."""
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"a word has the feature {name!r}; expected text as the name of a feature. Give "
                "numbers under names, in a dictionary, or as an array (n_words, n_features)."
            )
    return names


def _add(numbers: dict[str, float], key: str, value: Any) -> None:
    """A number, or several features under one key."""
    _checked([key])
    if isinstance(value, Mapping):
        for inner, inner_value in value.items():
            _add(numbers, f"{key}:{inner}", inner_value)
    elif isinstance(value, str):
        numbers[f"{key}:{value}"] = 1.0
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            numbers[f"{key}:{item}"] = 1.0
    elif isinstance(value, int | float | np.number | np.bool_):
        if not np.isfinite(value):
            raise ValueError(f"the feature {key!r} is {value}; expected a finite number.")
        if value:
            numbers[key] = float(value)
    else:
        raise ValueError(
            f"the feature {key!r} is a {type(value).__name__}; expected text, a number, True or "
            "False, or a list or dictionary of these. Leave it out where there is nothing to say."
        )
