"""Hidden Markov models from files: counts are sums over blocks, and EM streams through the rest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import FloatArray
from partita.data.files import SentenceFiles
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence
from partita.estimators.blocks import BlockWords, FileBlocks, rows_of
from partita.estimators.supervision import Known
from partita.estimators.tagging.hidden_markov_layout import SymbolRows
from partita.estimators.tagging.hidden_markov_learning import (
    Starts,
    Tallies,
    counted,
    expected_of_others,
    maximised,
    small_model,
    small_weights,
    starts_of,
    tags_to_start_from,
)
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel, tag_names
from partita.estimators.tagging.hidden_markov_runs import LearntHiddenMarkov
from partita.estimators.tagging.material import held_out_lessons, known_by_tags
from partita.estimators.tagging.tags import HeldOutTags, TagSet
from partita.text.word_symbols import WordSymbols
from partita.text.words import Words, default_columns
from partita.training.batches import Batch

if TYPE_CHECKING:
    from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger


def fit_from_files(
    options: "HiddenMarkovTagger",
    files: SentenceFiles,
    held_out: HeldOutTags | None,
) -> tuple[LearntHiddenMarkov, str]:
    """A model with its probabilities, and what they were learnt from."""
    _check(options)
    columns = SymbolColumns.of(options, files)
    with FileBlocks.of(files, columns.all, _SymbolSurveyor(columns), options) as blocks:
        survey, dictionary = blocks.survey, options.dictionary or {}
        tags = TagSet(
            tag_names(
                [sorted(survey.tags)], dictionary, options.n_tags, tags_to_start_from(options)
            )
        )
        symbols = WordSymbols.counted(survey.words, options.min_count)
        model = HiddenMarkovModel(tags, symbols, dictionary)
        small = None
        if options.warm_start is None and 0 < survey.n_whole < blocks.n_sentences:
            of_labelled = WordSymbols.counted(survey.labelled_words, options.min_count)
            small = small_model(options, model, of_labelled)
        tallies = reduce(add, blocks.each(_Tallier(columns, model, small)))
        if survey.n_whole == blocks.n_sentences:
            return counted(options, model, tallies), blocks.learnt_from(files)
        if small is not None:
            asking = _Expecter(columns, model, small, small_weights(options, small, tallies))
            tallies = replace(tallies, expected=reduce(add, blocks.each(asking)))
        starts = starts_of(options, model, tallies)
        judge = None
        if held_out is not None:
            judge = held_out_lessons(model, held_out, options.tag_column)
        encoder = _EvidenceEncoder(columns, model, starts)
        stored = blocks.batches(encoder, (model, columns, starts.weight))
        return maximised(options, model, starts, stored, judge), blocks.learnt_from(files)


def _check(options: "HiddenMarkovTagger") -> None:
    for name, fine in (("features", None), ("neighbourhood", None), ("start", "chance")):
        if getattr(options, name) != fine:
            raise ValueError(
                f"{name} is {getattr(options, name)!r}, which looks at all sentences at once; "
                f"expected {fine!r} for sentences in files."
            )


@dataclass(frozen=True)
class SymbolColumns:
    """Which column of files has the words, and which the tags, if any does."""

    words: str
    tags: str | None
    is_conllu: bool

    @classmethod
    def of(cls, options: "HiddenMarkovTagger", files: SentenceFiles) -> "SymbolColumns":
        """By the options, and what the files have."""
        words = default_columns(files.names, options.tag_column)[0]
        return cls(words, options.tag_column, files.format == "conllu")

    @property
    def all(self) -> tuple[str, ...]:
        """All that is read."""
        return (self.words,) if self.tags is None else (self.words, self.tags)

    def known(self, tags: Sequence[str]) -> list[str]:
        """The tags of a sentence; in CoNLL-U one that is not known is an underscore."""
        return [UNKNOWN if tag == "_" and self.is_conllu else tag for tag in tags]

    def rows(self, words: Words, *models: HiddenMarkovModel) -> list[SymbolRows]:
        """Sentences as models number them."""
        texts = rows_of(words, self.words)
        if self.tags is None:
            tags = [[UNKNOWN] * len(text) for text in texts]
        else:
            tags = [self.known(row) for row in rows_of(words, self.tags)]
        return [model.rows(texts, tags) for model in models]


@dataclass(frozen=True)
class SymbolSurvey:
    """What all must know of some sentences: words and tags."""

    words: Counter[str]
    labelled_words: Counter[str]
    """Those of sentences whose tags are all known."""
    tags: frozenset[str]
    n_whole: int
    """Such sentences."""

    def __add__(self, other: "SymbolSurvey") -> "SymbolSurvey":
        return SymbolSurvey(
            self.words + other.words,
            self.labelled_words + other.labelled_words,
            self.tags | other.tags,
            self.n_whole + other.n_whole,
        )


@dataclass(frozen=True)
class _SymbolSurveyor:
    columns: SymbolColumns

    def __call__(self, sentences: Sequence[Sentence]) -> SymbolSurvey:
        words: Counter[str] = Counter()
        labelled: Counter[str] = Counter()
        names: set[str] = set()
        n_whole = 0
        for sentence in sentences:
            texts = sentence.column(self.columns.words)
            words.update(texts)
            if self.columns.tags is None:
                continue
            tags = self.columns.known(sentence.column(self.columns.tags))
            names.update(tags)
            if known_by_tags(tags) is Known.ALL:
                labelled.update(texts)
                n_whole += 1
        return SymbolSurvey(words, labelled, frozenset(names - {UNKNOWN}), n_whole)


@dataclass(frozen=True)
class _Tallier:
    columns: SymbolColumns
    model: HiddenMarkovModel
    small: HiddenMarkovModel | None

    def __call__(self, block: BlockWords) -> Tallies:
        """The counts of a block."""
        models = [self.model] if self.small is None else [self.model, self.small]
        return reduce(add, (Tallies.of(*self._rows(words, models)) for words in block.chunks()))

    def _rows(self, words: Words, models: list[HiddenMarkovModel]) -> tuple[Any, ...]:
        rows = [*self.columns.rows(words, *models), None]
        return self.model, rows[0], self.small, rows[1]


@dataclass(frozen=True)
class _Expecter:
    columns: SymbolColumns
    model: HiddenMarkovModel
    small: HiddenMarkovModel
    weights: FloatArray

    def __call__(self, block: BlockWords) -> FloatArray:
        """What the small model expects of a block."""
        total = np.zeros((self.model.layout.n_symbols, len(self.model.tags)))
        for words in block.chunks():
            rows, of_small = self.columns.rows(words, self.model, self.small)
            total += expected_of_others(self.model, rows, self.small, of_small, self.weights)
        return total


@dataclass(frozen=True)
class _EvidenceEncoder:
    columns: SymbolColumns
    model: HiddenMarkovModel
    starts: Starts

    def __call__(self, block: BlockWords) -> Iterator[Batch]:
        """The sentences of a block whose tags are not all known."""
        for words in block.chunks():
            (rows,) = self.columns.rows(words, self.model)
            others = rows.select(~rows.fully_labelled(len(self.model.tags)))
            weights = self.starts.sentence_weights(len(others.n_words))
            for piece in self.model.pieces(others):
                yield piece.batch({"Evidence": None}, weights)
