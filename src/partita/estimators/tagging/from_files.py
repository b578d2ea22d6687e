"""Taggers from files: tags and features of words are counted block by block, see `blocks`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.data.files import SentenceFiles
from partita.data.schemes import UNKNOWN, ChunkStarts
from partita.data.sentences import Sentence
from partita.estimators.blocks import BlockWords, FileBlocks, learn_stored, rows_of, without
from partita.estimators.pieces import Piece
from partita.estimators.runs import RunPlan
from partita.estimators.supervision import Course, Knowledge, Known, Lessons, course_of
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.learning import (
    check_scheme,
    first_weights,
    known_tags_of,
    most_words,
    usual_optimiser,
)
from partita.estimators.tagging.material import (
    TagKnowledge,
    TagMaterial,
    held_out_lessons,
    known_by_tags,
)
from partita.estimators.tagging.tags import HeldOutTags, TagSet
from partita.text.column_views import ColumnViews
from partita.text.extraction import KeyCounts, TemplateFeatures, count_keys, views_of
from partita.text.fields import Template
from partita.text.learning import good_counts
from partita.text.merging import MergedCounts
from partita.text.templates import default_templates, read_templates, resolved
from partita.text.word_columns import (
    LEXICON,
    TagCounts,
    TagLexicon,
    WordColumn,
    count_tags,
    with_columns,
)
from partita.text.words import Words, default_columns, read_words
from partita.training import TrainingResult
from partita.training.batches import Batch

if TYPE_CHECKING:
    from partita.estimators.segmenting.segment_model import SegmentModel
    from partita.estimators.segmenting.segmenter import Segmenter
    from partita.estimators.tagging.tagger import Tagger

REFUSED = ("entropy_weight", "share_weight", "constraints", "class_weights")
"""Options that look at all sentences at once."""


def fit_from_files(
    options: "Tagger",
    files: SentenceFiles,
    held_out: HeldOutTags | None,
) -> tuple[tuple[ChainModel, TrainingResult], str]:
    """A model, its weights, and what they were learnt from."""
    check_files(options)
    if options.pairs != "all":
        raise ValueError("pairs is 'observed'; expected 'all' for sentences in files.")
    columns = TagColumns.of(options, files)
    with FileBlocks.of(
        files, columns.all, TagSurveyor(columns, options.lexicon), options
    ) as blocks:
        described = count_features(options, blocks, columns)
        model = ChainModel(
            tag_set(options, blocks.survey),
            described.features,
            boundaries=options.boundaries,
            is_local=options.normalisation == "local",
        )
        known, course = blocks.survey.known, course_of(options.objective)
        usual = usual_optimiser(options, model.tags, known, blocks.n_words, columns.words)
        most = most_words(options, usual, blocks.n_words)
        knowing = partial(TagKnowledge.of, model.tags)
        pieces = partial(model.pieces, most_words=most, lone_tables=False)
        encoder = TagEncoder(model, pieces, columns, described.lexicon, course, knowing)
        stored = blocks.batches(encoder, (model, columns, course, most))
        judge = None if held_out is None else held_out_lessons(model, held_out, columns.tags)
        way = RunPlan(options, options.chosen_optimiser(usual, l1=options.l1), options.penalty)
        start = first_weights(options, model)
        training = learn_stored(stored, course, way, start, judge, is_local=model.is_local)
    return (model, training), blocks.learnt_from(files)


def check_files(options: "Tagger | Segmenter") -> None:
    """An error for options that need all sentences in memory."""
    if options.tag_column is None:
        raise ValueError(
            "files came without tag_column; say which column has the tags: "
            f"{type(options).__name__}(tag_column='UPOS')."
        )
    for name in REFUSED:
        if getattr(options, name, None):
            raise ValueError(
                f"{name} is {getattr(options, name)!r}, which looks at all sentences at once; "
                "expected sentences in memory with it, instead of files."
            )
    if not course_of(options.objective).is_convex:
        raise ValueError(
            f"objective is {options.objective!r}, which is learnt in two stages; expected "
            "'likelihood' or 'softmax-margin' for sentences in files."
        )


@dataclass(frozen=True)
class TagColumns:
    """Which columns of files have the words, and which the tags."""

    words: tuple[str, ...]
    tags: str
    is_conllu: bool

    @classmethod
    def of(cls, options: "Tagger | Segmenter", files: SentenceFiles) -> "TagColumns":
        """By the options, and what the files have."""
        words = tuple(options.columns or default_columns(files.names, options.tag_column))
        return cls(words, str(options.tag_column), files.format == "conllu")

    @property
    def all(self) -> tuple[str, ...]:
        """All that is read."""
        return *self.words, self.tags

    def read(self, tags: Sequence[str]) -> list[str]:
        """The tags of a sentence; in CoNLL-U one that is not known is an underscore."""
        return [UNKNOWN if tag == "_" and self.is_conllu else tag for tag in tags]

    def apart(self, words: Words) -> tuple[Words, list[list[str]]]:
        """The words, and the tags of each sentence."""
        return without(words, [self.tags]), [self.read(row) for row in rows_of(words, self.tags)]


@dataclass(frozen=True)
class TagSurvey:
    """What all must know of the tags of some sentences."""

    starts: ChunkStarts
    known: frozenset[Known]
    tag_counts: TagCounts = field(default_factory=Counter)
    """Of the words in the first column, for the lexicon; nothing where none is wanted."""

    def __add__(self, other: "TagSurvey") -> "TagSurvey":
        return TagSurvey(
            self.starts + other.starts,
            self.known | other.known,
            self.tag_counts + other.tag_counts,
        )


@dataclass(frozen=True)
class TagSurveyor:
    """Makes such surveys."""

    columns: TagColumns
    has_lexicon: bool

    def __call__(self, sentences: Sequence[Sentence]) -> TagSurvey:
        """Of some sentences."""
        tags = [self.columns.read(each.column(self.columns.tags)) for each in sentences]
        counts: TagCounts = Counter()
        if self.has_lexicon:
            words = read_words(sentences, self.columns.words)
            counts = count_tags(words, self.columns.words[0], map(known_tags_of, tags))
        return TagSurvey(ChunkStarts.of(tags), frozenset(map(known_by_tags, tags)), counts)


def tag_set(options: "Tagger | Segmenter", survey: TagSurvey) -> TagSet:
    """The tags of all sentences, and their scheme."""
    names = survey.starts.tags - {UNKNOWN}
    if not names:
        raise ValueError(f"no word has a tag in column {options.tag_column!r}; expected some.")
    scheme = survey.starts.scheme if options.scheme == "auto" else options.scheme
    return TagSet(sorted(names), scheme)


# ---------------------------------------------------------------------- features


@dataclass(frozen=True)
class CountedFeatures:
    """Features of words, and the lexicon that they look at."""

    features: TemplateFeatures
    lexicon: TagLexicon | None


def count_features(
    options: "Tagger | Segmenter", blocks: FileBlocks[TagSurvey], columns: TagColumns
) -> CountedFeatures:
    """The second pass: which attributes there are."""
    source, counts = columns.words[0], blocks.survey.tag_counts
    lexicon = TagLexicon(source, counts) if counts else None
    added = options.class_columns(source)
    values = {name: blocks.values[name] for name in columns.words}
    values |= {each.name: list(each.values_of(values[source])) for each in added}
    if lexicon is not None:
        added.append(lexicon.column)
        values[LEXICON] = list(lexicon.values)
    templates = _templates(options, values)
    least: int | list[int] = options.min_count or 1
    if options.features is None and options.min_count is None:
        least = good_counts(templates, blocks.n_words)
    seen = views_of(templates, values)
    merged = MergedCounts()
    for found in blocks.each(_KeyCounter(columns, tuple(templates), seen, tuple(added), lexicon)):
        merged.add(found)
    features = TemplateFeatures.counted(templates, seen, merged.total(), least, added)
    return CountedFeatures(features, lexicon)


def _templates(
    options: "Tagger | Segmenter", values: Mapping[str, Sequence[str]]
) -> Sequence[Template]:
    if options.features is None:
        return default_templates(values)
    return resolved(read_templates(options.features), tuple(values))


def in_training(words: Words, lexicon: TagLexicon | None) -> Words:
    """Training sentences with what they are to see of the lexicon."""
    return words if lexicon is None else lexicon.seen_in_training(words)


@dataclass(frozen=True)
class _KeyCounter:
    columns: TagColumns
    templates: tuple[Template, ...]
    seen: Mapping[str, ColumnViews]
    added: tuple[WordColumn, ...]
    lexicon: TagLexicon | None

    def __call__(self, block: BlockWords) -> list[KeyCounts]:
        """What templates see in a block."""
        merged = MergedCounts()
        for words in block.chunks():
            words = with_columns(
                in_training(without(words, [self.columns.tags]), self.lexicon), self.added
            )
            merged.add(count_keys(self.templates, self.seen, words))
        return merged.total()


# ---------------------------------------------------------------------- batches


@dataclass(frozen=True)
class TagEncoder:
    """The last pass: what sentences teach a model."""

    model: "ChainModel | SegmentModel"
    pieces: Callable[[Any], Iterator[Piece]]
    """How the model cuts encoded sentences into pieces to learn from."""
    columns: TagColumns
    lexicon: TagLexicon | None
    course: Course
    knowing: Callable[[list[list[str]], list[str]], Knowledge]
    """Makes knowledge of tags and places for messages."""

    def __call__(self, block: BlockWords) -> Iterator[Batch]:
        """The batches of a block."""
        for read in block.chunks():
            words, tags = self.columns.apart(read)
            words = in_training(words, self.lexicon)
            kinds = [known_by_tags(row) for row in tags]
            # As in memory: what is wholly known comes first.
            for known in (Known.ALL, Known.SOME):
                chosen = np.flatnonzero([kind == known for kind in kinds])
                if len(chosen):
                    yield from self._lessons(words.chosen(chosen), [tags[k] for k in chosen], known)

    def _lessons(self, words: Words, tags: list[list[str]], known: Known) -> Iterator[Batch]:
        pieces: dict[Known, list[Any]] = {each: [] for each in Known}
        pieces[known] = list(self.pieces(self.model.encoded(words)))
        knowledge = self.knowing(tags, [f"sentence {index}" for index in range(len(tags))])
        order = list(range(len(tags)))
        material = TagMaterial(tags, tags, order, [known] * len(tags), None)
        check_scheme(material, knowledge.labels, self.model.tags)
        yield from Lessons(pieces, knowledge, self.course, what="tags").assemble()[1]
