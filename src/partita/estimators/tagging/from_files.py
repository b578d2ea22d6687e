"""A tagger from files: workers read, count and encode their own blocks, and nobody holds them all.

Three passes over the blocks, each by all workers: what values columns have, and which tags there
are (the words are written down as numbers, so that text is parsed once); what templates see, and
how often; and batches, written to the cache. Then training streams through these.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import __version__
from partita.arrays import IntArray
from partita.data.files import SentenceFiles, TextBlock
from partita.data.schemes import UNKNOWN, ChunkStarts
from partita.estimators.groups import OptimiserName
from partita.estimators.runs import RunPlan, judged, run
from partita.estimators.supervision import Known, Lessons, course_of, locally
from partita.estimators.tagging.chain_model import ChainModel, with_boundaries
from partita.estimators.tagging.learning import (
    check_scheme,
    first_weights,
    known_tags_of,
    most_words,
    usual_optimiser,
)
from partita.estimators.tagging.material import TagKnowledge, TagMaterial, held_out_lessons
from partita.estimators.tagging.tags import Tags, TagSet
from partita.files import ScratchFolder
from partita.text.column_views import ColumnViews
from partita.text.columns import Column, ValueNumbers
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
from partita.training import TrainingResult, build_corpus, digest
from partita.training.batches import Batch
from partita.training.digests import digest_of_parts
from partita.training.interruption import heed_interruptions
from partita.training.model_file import read_model, write_model
from partita.training.shards import StoredBatches, StoredFile
from partita.training.workers import held, in_order

if TYPE_CHECKING:
    from partita.estimators.tagging.tagger import Tagger

REFUSED = ("entropy_weight", "share_weight", "constraints", "class_weights")
"""Options that look at all sentences at once."""
TAGS = "tags"
KIND = "words"


def fit_from_files(
    options: "Tagger",
    files: SentenceFiles,
    held_out: tuple[Sequence[Any], Tags | None] | None,
) -> tuple[ChainModel, TrainingResult, str]:
    """A model, its weights, and what they were learnt from; without a cache, by a temporary one."""
    _check(options)
    scratch = ScratchFolder("partita-cache-") if options.cache is None else None
    folder = Path(options.cache or "") if scratch is None else scratch.path
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with heed_interruptions(), held(options.workers):
            blocks, values = _words_of(options, files, folder)
            lexicon = _lexicon(next(iter(values)), blocks)
            model = _model(options, blocks, values, lexicon)
            usual, most = _way(options, model.tags, blocks, list(values))
            stored = _stored(options, model, blocks, folder, lexicon, most)
            training = _trained(options, model, stored, held_out, usual)
    finally:
        if scratch is not None:
            scratch.close()
    n_sentences, n_words = stored.sizes[:, :2].sum(axis=0).tolist()
    return model, training, f"{n_sentences:,} sentences, {n_words:,} words, in {files!r}"


def _check(options: "Tagger") -> None:
    if options.tag_column is None:
        raise ValueError(
            "files came without tag_column; say which column has the tags: "
            "Tagger(tag_column='UPOS')."
        )
    for name in REFUSED:
        if getattr(options, name):
            raise ValueError(
                f"{name} is {getattr(options, name)!r}, which looks at all sentences at once; "
                "expected sentences in memory with it, instead of files."
            )
    if not course_of(options.objective).is_convex:
        raise ValueError(
            f"objective is {options.objective!r}, which is learnt in two stages; expected "
            "'likelihood' or 'softmax-margin' for sentences in files."
        )
    if options.pairs != "all":
        raise ValueError("pairs is 'observed'; expected 'all' for sentences in files.")


# ---------------------------------------------------------------------- words as numbers


@dataclass(frozen=True)
class BlockWords:
    """The words of a block, in a file of the cache; and what of them all must know."""

    path: str
    digest: bytes
    values: Mapping[str, tuple[str, ...]]
    """The different values of each column, as they came; nothing once all have heard of them."""
    starts: ChunkStarts
    known: frozenset[Known]
    n_words: int
    tag_counts: TagCounts
    """Of the words in the first column, for the lexicon; nothing where none is wanted."""

    def chunks(self) -> Iterator[tuple[Words, list[list[str]]]]:
        """Words and tags, a few thousand sentences at a time."""
        found = read_model(self.path, kind=KIND)
        names = found.header["tags"]
        for number in range(found.header["n_chunks"]):
            n_words = found.arrays[f"n_words{number}"]
            columns = {
                name: Column(values, found.arrays[f"{name} {number}"])
                for name, values in found.header["values"].items()
            }
            tags = found.arrays[f"{TAGS}{number}"].tolist()
            ends = np.cumsum(n_words).tolist()
            rows = [
                [names[tag] for tag in tags[end - n : end]]
                for end, n in zip(ends, n_words.tolist(), strict=True)
            ]
            yield Words(n_words, columns), rows


def _words_of(
    options: "Tagger", files: SentenceFiles, folder: Path
) -> tuple[list[BlockWords], dict[str, list[str]]]:
    """The blocks, and all values of each column."""
    columns = tuple(options.columns or default_columns(files.names, options.tag_column))
    is_conllu = files.format == "conllu"
    reader = _Reader(columns, str(options.tag_column), is_conllu, str(folder), options.lexicon)
    blocks = ((number, block) for number, block in enumerate(files.blocks))
    found: list[BlockWords] = []
    seen: dict[str, dict[str, None]] = {name: {} for name in columns}
    for block in in_order(reader, blocks, workers=options.workers):
        for name, values in block.values.items():
            seen[name].update(dict.fromkeys(values))
        # The values of all blocks, with their repetitions, would be most of the text.
        found.append(replace(block, values={}))
    if not sum(block.n_words for block in found):
        raise ValueError("there are no words to learn from; expected at least one sentence.")
    return found, {name: list(values) for name, values in seen.items()}


@dataclass(frozen=True)
class _Reader:
    """The first pass."""

    columns: tuple[str, ...]
    tag_column: str
    is_conllu: bool
    folder: str
    has_lexicon: bool

    def __call__(self, number: int, block: TextBlock) -> BlockWords:
        """The words of a block as numbers; those of an earlier run, if the block is the same."""
        path = Path(self.folder) / f"words-{number}"
        tables = {name: ValueNumbers() for name in (*self.columns, TAGS)}
        arrays: dict[str, IntArray] = {}
        starts, known, n_chunks, n_all = ChunkStarts(), set[Known](), 0, 0
        counts: TagCounts = Counter()
        for document in block.documents():
            sentences = [each for each in document if len(each)]
            tags = [self._tags(each.column(self.tag_column)) for each in sentences]
            arrays[f"n_words{n_chunks}"] = np.array([len(row) for row in tags], dtype=np.int64)
            for name in self.columns:
                arrays[f"{name} {n_chunks}"] = _numbered(
                    tables[name], (each.column(name) for each in sentences)
                )
            arrays[f"{TAGS}{n_chunks}"] = _numbered(tables[TAGS], tags)
            if self.has_lexicon:
                words = read_words(sentences, self.columns)
                counts += count_tags(words, self.columns[0], map(known_tags_of, tags))
            starts += ChunkStarts.of(tags)
            known |= {_known(row) for row in tags}
            n_all += sum(map(len, tags))
            n_chunks += 1
        values = {name: tuple(tables[name]) for name in self.columns}
        header = {"kind": KIND, "n_chunks": n_chunks, "tags": list(tables[TAGS])}
        write_model(path, {**header, "values": values}, arrays)
        return BlockWords(
            str(path), block.digest(), values, starts, frozenset(known), n_all, counts
        )

    def _tags(self, tags: Sequence[str]) -> list[str]:
        return [UNKNOWN if tag == "_" and self.is_conllu else tag for tag in tags]


def _numbered(table: ValueNumbers, rows: Iterable[Sequence[str]]) -> IntArray:
    """The numbers of the values of all rows, end to end."""
    return np.array([table[value] for row in rows for value in row], dtype=np.int64)


def _known(tags: Sequence[str]) -> Known:
    n_unknown = sum(tag == UNKNOWN for tag in tags)
    if not n_unknown:
        return Known.ALL
    return Known.NOTHING if n_unknown == len(tags) else Known.SOME


# ---------------------------------------------------------------------- features


def _lexicon(source: str, blocks: Sequence[BlockWords]) -> TagLexicon | None:
    """The tags that words had in all blocks; None where nobody counted them."""
    counts: TagCounts = Counter()
    for block in blocks:
        counts.update(block.tag_counts)
    return TagLexicon(source, counts) if counts else None


def _in_training(words: Words, lexicon: TagLexicon | None) -> Words:
    """Training sentences with what they are to see of the lexicon."""
    return words if lexicon is None else lexicon.seen_in_training(words)


def _model(
    options: "Tagger",
    blocks: Sequence[BlockWords],
    values: Mapping[str, Sequence[str]],
    lexicon: TagLexicon | None,
) -> ChainModel:
    """The second pass: which attributes there are."""
    starts = ChunkStarts()
    for block in blocks:
        starts += block.starts
    names = starts.tags - {UNKNOWN}
    if not names:
        raise ValueError(f"no word has a tag in column {options.tag_column!r}; expected some.")
    scheme = starts.scheme if options.scheme == "auto" else options.scheme
    source = next(iter(values))
    added = options.class_columns(source)
    values = {**values, **{each.name: each.values_of(values[source]) for each in added}}
    if lexicon is not None:
        added.append(lexicon.column)
        values[LEXICON] = lexicon.values
    templates = _templates(options, values)
    least: int | list[int] = options.min_count or 1
    if options.features is None and options.min_count is None:
        least = good_counts(templates, sum(block.n_words for block in blocks))
    seen = views_of(templates, values)
    merged = MergedCounts()
    counter = _Counter(tuple(templates), seen, tuple(added), lexicon)
    for counts in in_order(counter, ((block,) for block in blocks), workers=options.workers):
        merged.add(counts)
    features = TemplateFeatures.counted(templates, seen, merged.total(), least, added)
    return ChainModel(
        TagSet(sorted(names), scheme),
        features,
        boundaries=options.boundaries,
        is_local=options.normalisation == "local",
    )


def _templates(options: "Tagger", values: Mapping[str, Sequence[str]]) -> Sequence[Template]:
    if options.features is None:
        return default_templates(values)
    return resolved(read_templates(options.features), tuple(values))


@dataclass(frozen=True)
class _Counter:
    templates: tuple[Template, ...]
    seen: Mapping[str, ColumnViews]
    added: tuple[WordColumn, ...]
    lexicon: TagLexicon | None

    def __call__(self, block: BlockWords) -> list[KeyCounts]:
        """What templates see in a block."""
        merged = MergedCounts()
        for words, _ in block.chunks():
            words = with_columns(_in_training(words, self.lexicon), self.added)
            merged.add(count_keys(self.templates, self.seen, words))
        return merged.total()


# ---------------------------------------------------------------------- batches


def _stored(
    options: "Tagger",
    model: ChainModel,
    blocks: Sequence[BlockWords],
    folder: Path,
    lexicon: TagLexicon | None,
    most: int | None,
) -> StoredBatches:
    """The third pass: batches in the cache; those that are there, if nothing is different."""
    about = (
        __version__,
        digest_of_parts(block.digest for block in blocks),
        digest((model, options.tag_column, course_of(options.objective), most)),
    )
    key = digest(about)
    found = StoredBatches.reopened(folder, key)
    if found is not None:
        return found
    encoder = _Encoder(model, options.objective, str(folder), lexicon, most)
    numbered = ((number, block) for number, block in enumerate(blocks))
    written = tuple(in_order(encoder, numbered, workers=options.workers))
    stored = StoredBatches(str(folder), written)
    stored.save(key)
    return stored


@dataclass(frozen=True)
class _Encoder:
    model: ChainModel
    objective: Any
    folder: str
    lexicon: TagLexicon | None
    most_words: int | None

    def __call__(self, number: int, block: BlockWords) -> StoredFile:
        """The batches of a block, in a file of the cache."""
        return StoredFile.write(Path(self.folder) / f"batches-{number}", self._batches(block))

    def _batches(self, block: BlockWords) -> Iterator[Batch]:
        for plain, tags in block.chunks():
            words = _in_training(plain, self.lexicon)
            kinds = [_known(row) for row in tags]
            # As in memory: what is wholly known comes first.
            for known in (Known.ALL, Known.SOME):
                chosen = np.flatnonzero([kind == known for kind in kinds])
                if len(chosen):
                    yield from self._lessons(words.chosen(chosen), [tags[k] for k in chosen], known)

    def _lessons(self, words: Words, tags: list[list[str]], known: Known) -> Iterator[Batch]:
        model = self.model
        encoded = model.features.encode(words)
        if model.boundaries:
            encoded = with_boundaries(encoded, model.features.n_attributes)
        pieces: dict[Known, list[Any]] = {each: [] for each in Known}
        pieces[known] = list(model.pieces(encoded, most_words=self.most_words))
        places = [f"sentence {index}" for index in range(len(tags))]
        knowledge = TagKnowledge.of(model.tags, tags, places)
        order = list(range(len(tags)))
        check_scheme(
            TagMaterial(tags, tags, order, [known] * len(tags), None), knowledge.labels, model.tags
        )
        yield from Lessons(pieces, knowledge, course_of(self.objective), what="tags").assemble()[1]


# ---------------------------------------------------------------------- training


def _way(
    options: "Tagger", tags: TagSet, blocks: Sequence[BlockWords], columns: Sequence[str]
) -> tuple[OptimiserName, int | None]:
    """The usual optimiser, and the most words of a mini-batch; as in memory."""
    n_words = sum(block.n_words for block in blocks)
    known = {each for block in blocks for each in block.known}
    usual = usual_optimiser(options, tags, known, n_words, columns)
    return usual, most_words(options, usual, n_words)


def _trained(
    options: "Tagger",
    model: ChainModel,
    stored: StoredBatches,
    held_out: tuple[Sequence[Any], Tags | None] | None,
    usual: OptimiserName,
) -> TrainingResult:
    given = [1.0 * each for each in course_of(options.objective)]
    terms = [each for each in given if each.names[0] in stored.names]
    objective = terms[0] if len(terms) == 1 else terms[0] + terms[1]
    if model.is_local:
        objective = locally(objective)
    judge = None if held_out is None else held_out_lessons(model, *held_out, options.tag_column)
    way = RunPlan(options, options.chosen_optimiser(usual, l1=options.l1), options.penalty)
    with (
        judged(judge, options.workers) as judging,
        build_corpus(objective, stored, workers=options.workers) as corpus,
    ):
        return run(corpus, way, first_weights(options, model), judging)
