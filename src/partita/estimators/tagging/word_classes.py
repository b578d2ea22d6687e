"""Classes of words from text alone, for the features of taggers."""

import os
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Literal, Self

import numpy as np

from partita.arrays import FloatArray
from partita.data.word_classes import read_word_classes, write_word_classes
from partita.estimators.base import NotFittedError
from partita.estimators.options import Declared, at_least, declared, option
from partita.text.columns import Column
from partita.text.neighbour_classes import neighbour_classes
from partita.text.sentences import read_tokens


@declared
class WordClasses(Declared):
    """Words in classes, so that those of a class stand beside the same words (Brown et al. 1992).

    Learnt from plain text: words move between classes as long as that makes pairs of neighbours
    likelier, p(word | word before) = p(class | class before) p(word | class); then a tree is made
    of the classes. A class is a path in it, such as 0110: classes that are alike begin alike. After
    `fit` it has `classes_`, from words to paths, `counts_`, from words to how often they came, and
    `gains_`, the log-likelihood before the first pass and after each, but for a constant. Taggers
    take it as `classes`.

    >>> text = ["the dog sleeps", "the cat sleeps", "the dog barks", "the cat barks"]
    >>> classes = WordClasses(n_classes=3).fit([line.split() for line in text]).classes_
    >>> classes["dog"] == classes["cat"] != classes["sleeps"] == classes["barks"]
    True
    """

    classes_: dict[str, str] = field(init=False)
    counts_: dict[str, int] = field(init=False)
    gains_: FloatArray = field(init=False)

    n_classes: int = option(
        100, "classes of words; several hundred for millions of words of text", at_least(1)
    )
    lower: bool = option(True, "words in lower case, as taggers look them up")
    max_iterations: int = option(
        20,
        "the most passes over all words; fewer if less than one word in a thousand moves",
        at_least(1),
    )
    start: Literal["frequent", "random"] = option(
        "frequent",
        "the first classes: one for each of the most frequent words and one for all others, or "
        '"random" ones, by the seed',
    )
    seed: int = option(0, "all randomness follows from it", at_least(0))

    def fit(self, sentences: Iterable[Any]) -> Self:
        """Learn from sentences: lists of words, or `Sentence` objects; tags are not looked at.

        A pass costs O(different pairs of neighbours x classes).
        """
        self.check()
        texts = read_tokens(sentences)
        words = Column.of(
            word.lower() if self.lower else word for sentence in texts for word in sentence
        )
        if not len(words):
            raise ValueError("there are no words to learn from; expected at least one sentence.")
        n_words = np.array([len(sentence) for sentence in texts], dtype=np.int64)
        rng = np.random.default_rng(self.seed) if self.start == "random" else None
        found = neighbour_classes(
            words, n_words, self.n_classes, max_passes=self.max_iterations, rng=rng
        )
        paths = [found.paths[number] for number in found.classes.tolist()]
        self.classes_ = dict(zip(words.values, paths, strict=True))
        self.counts_ = dict(zip(words.values, words.counts.tolist(), strict=True))
        self.gains_ = found.gains
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file of classes, see `partita.data.word_classes`."""
        if "classes_" not in vars(self):
            raise NotFittedError("these WordClasses have learnt nothing yet; call fit.")
        write_word_classes(path, self.classes_, self.counts_)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> dict[str, str]:
        """The classes of a file, from words to paths; also one that another program wrote."""
        return read_word_classes(path)
