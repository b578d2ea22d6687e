"""Parsers from files: values are counted, trees are encoded, block by block; see `blocks`."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import IntArray
from partita.data.conllu import EMPTY, UNKNOWN_HEAD
from partita.data.dependencies import UNKNOWN
from partita.data.files import SentenceFiles
from partita.data.sentences import Sentence
from partita.estimators.blocks import BlockWords, FileBlocks, learn_stored, rows_of, without
from partita.estimators.explain import Cell
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.learning import (
    LearntParser,
    Prepared,
    arcs_then_labels,
    averaged,
    checked_names,
    first_weights,
    held_out_trees,
    label_batches,
    learn_labels,
    lessons_of,
    make_label_model,
    make_model,
    names_of_labels,
    tree_kind,
)
from partita.estimators.parsing.material import FEW_CROSSING, TREE, TreeMaterial, trees_of
from partita.estimators.parsing.model import ParserModel
from partita.estimators.parsing.projective import may_be_projective
from partita.estimators.runs import RunPlan
from partita.estimators.supervision import Known
from partita.text.markers import with_markers
from partita.text.tree_words import NAMES, read_tree_words
from partita.text.words import CountedWords, Words
from partita.training import TrainingResult
from partita.training.batches import Batch

if TYPE_CHECKING:
    from partita.estimators.parsing.parser import DependencyParser


def fit_from_files(
    options: "DependencyParser", files: SentenceFiles, held_out: Sequence[Any] | None
) -> LearntParser:
    """Models of arcs and of labels, and their weights."""
    _check(options, files)
    columns = tuple(name for name in (*NAMES, *TREE) if name in files.names)
    surveyor = _TreeSurveyor(columns, options.single_root)
    # What travels to workers is to be small.
    plain = dataclasses.replace(options, warm_start=None)
    with FileBlocks.of(files, columns, surveyor, options) as blocks:
        survey = blocks.survey
        projective, mark = tree_kind(options, lambda: survey.has_few_crossings)
        reader = TreeReader(projective, mark, options.single_root, "DEPREL" in columns)
        names, n_lifted = set[str](), 0
        for some, count in blocks.each(_LabelFinder(reader)):
            names, n_lifted = names | some, n_lifted + count
        has_labels = bool(options.labels) and reader.has_labels
        is_joint = has_labels and options.labels == "joint"
        words = CountedWords.of(survey.counts)
        model = make_model(options, words, projective, checked_names(names) if is_joint else None)
        judge = None if held_out is None else held_out_trees(model, held_out)
        start = first_weights(options, model)

        def learnt(each: "DependencyParser", way: RunPlan, stage: int) -> TrainingResult:
            encoder = _ArcEncoder(reader, dataclasses.replace(plain, seed=each.seed), model)
            about = (reader, model, each.seed, each.batch_sentences, each.course())
            stored = blocks.batches(encoder, about, stage)
            return learn_stored(stored, each.course(), way, start, judge, stage=stage)

        training, stage = averaged(options, learnt)
        facts: dict[str, Cell] = {
            "learnt from": blocks.learnt_from(files),
            "trees known": f"{survey.n_known[Known.ALL]:,} whole, "
            f"{survey.n_known[Known.SOME]:,} in part",
            "trees made projective": n_lifted,
        }
        _, encoded, material = next(_first_chunks(blocks, reader, model))
        shown = model, encoded.words, material
        if is_joint or not has_labels:
            return LearntParser(*shown, training, model.labels, more_facts=facts)
        label_model = make_label_model(options, words, checked_names(names))
        about = (reader, label_model, options.seed)
        of_labels = blocks.batches(_LabelEncoder(reader, label_model, options.seed), about, stage)
        second = learn_labels(options, of_labels, stage, training)
        both = arcs_then_labels(training, second)
        return LearntParser(*shown, both, label_model, second.weights, facts)


def _check(options: "DependencyParser", files: SentenceFiles) -> None:
    if "HEAD" not in files.names:
        raise ValueError(
            f"{files!r} has the columns {', '.join(files.names)}; expected CoNLL-U, with HEAD."
        )
    for name in ("entropy_weight", "rules"):
        if getattr(options, name):
            raise ValueError(
                f"{name} came with files, and looks at sentences without heads; expected sentences "
                "in memory with it."
            )
    if not options.course().is_convex:
        raise ValueError(
            f"objective is {options.objective!r}, which is learnt in two stages; expected "
            "'likelihood' or 'softmax-margin' for sentences in files."
        )


@dataclass(frozen=True)
class TreeCounts:
    """What all must know of some sentences with trees."""

    counts: Mapping[str, Counter[str]]
    """By column, how often each value came."""
    n_known: Counter[Known]
    n_taught: int
    """Sentences with a head."""
    n_crossing: int
    """Those among them whose arcs cross."""

    @property
    def has_few_crossings(self) -> bool:
        """As `TreeMaterial` has it."""
        return self.n_crossing < FEW_CROSSING * max(self.n_taught, 1)

    def __add__(self, other: "TreeCounts") -> "TreeCounts":
        return TreeCounts(
            {name: each + other.counts[name] for name, each in self.counts.items()},
            self.n_known + other.n_known,
            self.n_taught + other.n_taught,
            self.n_crossing + other.n_crossing,
        )


@dataclass(frozen=True)
class _TreeSurveyor:
    columns: tuple[str, ...]
    single_root: bool

    def __call__(self, sentences: Sequence[Sentence]) -> TreeCounts:
        # Which also checks the heads, while lines of the file can be named.
        heads, labels = trees_of(sentences, None, single_root=self.single_root)
        material = TreeMaterial(list(sentences), heads, labels)
        words = read_tree_words(sentences, [name for name in self.columns if name in NAMES])
        taught = [each for each in heads if (each >= 0).any()]
        return TreeCounts(
            {name: Counter(column) for name, column in words.columns.items()},
            Counter(material.known),
            len(taught),
            sum(not may_be_projective(each) for each in taught),
        )


@dataclass(frozen=True)
class TreeReader:
    """From words as numbers to words with markers, and their trees."""

    projective: bool
    mark: bool
    single_root: bool
    has_labels: bool

    def chunks(self, block: BlockWords) -> Iterator[tuple[Words, TreeMaterial]]:
        """The sentences of a block, with the trees that are learnt from."""
        for read in block.chunks():
            words = with_markers(without(read, TREE))
            labels: list[Sequence[str]] | None = None
            if self.has_labels:
                labels = [
                    tuple(EMPTY if name in UNKNOWN or not name else name for name in row)
                    for row in rows_of(read, "DEPREL")
                ]
            material = TreeMaterial([()] * len(read.n_words), _heads(read), labels)
            if self.projective:
                material = material.lifted(single_root=self.single_root, mark=self.mark)
            yield words, material


def _heads(words: Words) -> list[IntArray]:
    column = words.columns["HEAD"]
    values = [UNKNOWN_HEAD if value in UNKNOWN else int(value) for value in column.values]
    flat = np.array(values, dtype=np.int64)[column.numbers]
    return np.split(flat, np.cumsum(words.n_words)[:-1])


@dataclass(frozen=True)
class _LabelFinder:
    reader: TreeReader

    def __call__(self, block: BlockWords) -> tuple[set[str], int]:
        """The labels of a block, and how many of its trees were made projective."""
        names, n_lifted = set[str](), 0
        for _, material in self.reader.chunks(block):
            names |= names_of_labels(material)
            n_lifted += material.n_lifted
        return names, n_lifted


def _prepared(model: ParserModel, words: Words, material: TreeMaterial) -> Prepared:
    if model.labels is not None:
        material = material.numbered(model.labels.numbers)
    return Prepared(model, model.encode_words(words), material)


def _first_chunks(
    blocks: FileBlocks[TreeCounts], reader: TreeReader, model: ParserModel
) -> Iterator[Prepared]:
    for block in blocks.blocks:
        for chunk in reader.chunks(block):
            yield _prepared(model, *chunk)


@dataclass(frozen=True)
class _ArcEncoder:
    reader: TreeReader
    options: "DependencyParser"
    model: ParserModel

    def __call__(self, block: BlockWords) -> Iterator[Batch]:
        """What the trees of a block teach, in an order that follows from the seed."""
        for chunk in self.reader.chunks(block):
            lessons = lessons_of(self.options, _prepared(self.model, *chunk))
            if lessons.has_labels:
                yield from lessons.assemble()[1]


@dataclass(frozen=True)
class _LabelEncoder:
    reader: TreeReader
    model: LabelModel
    seed: int

    def __call__(self, block: BlockWords) -> Iterator[Batch]:
        """The labels of a block."""
        for words, material in self.reader.chunks(block):
            yield from label_batches(self.model, words, material, self.seed)
