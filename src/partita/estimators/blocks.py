"""Sentences that stay in files: workers read, survey and encode blocks, and nobody holds them all.

Passes over the blocks, each by all workers: words become numbers, which are written down, so that
text is parsed once, while a survey says what all must know of them; then whatever an estimator
counts; and batches, written to the cache. Then training streams through these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from partita import __version__
from partita.arrays import IntArray
from partita.data.files import SentenceFiles, TextBlock
from partita.data.sentences import Sentence
from partita.estimators.groups import Runs
from partita.estimators.runs import RunPlan, judged, numbered, run
from partita.estimators.supervision import Course, Lessons, locally
from partita.files import ScratchFolder
from partita.objectives import Objective
from partita.text.columns import Column, ValueNumbers
from partita.text.words import Words
from partita.training import TrainingResult, build_corpus, digest
from partita.training.batches import Batch
from partita.training.digests import digest_of_parts
from partita.training.interruption import heed_interruptions
from partita.training.model_file import read_model, write_model
from partita.training.shards import StoredBatches, StoredFile
from partita.training.workers import held, in_order

KIND = "words"


def refuse_beside_files(labels: Any, sample_weight: Any, unlabelled: Any) -> None:
    """An error for what came beside files: they have it all in their columns."""
    if labels is not None or sample_weight is not None or unlabelled != ():
        raise ValueError(
            "files came with labels, unlabelled sentences or sample weights beside them; expected "
            "files alone, whose labels are in their columns."
        )


class BlockSurvey(Protocol):
    """What all must know of some sentences; that of more of them is the sum."""

    def __add__(self, other: Self, /) -> Self:
        """Of both."""


SurveyT = TypeVar("SurveyT", bound=BlockSurvey)
Result = TypeVar("Result")


@dataclass(frozen=True)
class BlockWords:
    """The sentences of a block, in a file of the cache."""

    number: int
    path: str
    digest: bytes
    n_sentences: int
    n_words: int

    def chunks(self) -> Iterator[Words]:
        """All columns that were read, a few thousand sentences at a time."""
        found = read_model(self.path, kind=KIND)
        for number in range(found.header["n_chunks"]):
            columns = {
                name: Column(tuple(values), found.arrays[f"{name} {number}"])
                for name, values in found.header["values"].items()
            }
            yield Words(found.arrays[f"n_words{number}"], columns)


def rows_of(words: Words, column: str) -> list[list[str]]:
    """The values of a column, sentence by sentence.

    >>> words = Words(np.array([1, 2]), {"TAG": Column.of(["A", "B", "A"])})
    >>> rows_of(words, "TAG")
    [['A'], ['B', 'A']]
    """
    values = list(words.columns[column])
    ends = np.cumsum(words.n_words).tolist()
    return [values[end - n : end] for end, n in zip(ends, words.n_words.tolist(), strict=True)]


def without(words: Words, columns: Sequence[str]) -> Words:
    """The words without some columns."""
    kept = {name: each for name, each in words.columns.items() if name not in columns}
    return Words(words.n_words, kept)


class NumberedBlock(Protocol):
    """A block of files, of whatever they hold."""

    @property
    def number(self) -> int:
        """Its place among all."""

    @property
    def digest(self) -> bytes:
        """Tells its contents from others."""


BlockT = TypeVar("BlockT", bound=NumberedBlock)


@dataclass(frozen=True)
class BlockPasses(Generic[BlockT]):
    """Blocks of files, and passes over them by all workers."""

    blocks: Sequence[BlockT]
    folder: Path
    options: Runs

    def each(self, function: Callable[[BlockT], Result]) -> Iterator[Result]:
        """What a function says of each block, in order, by all workers."""
        return in_order(function, ((block,) for block in self.blocks), workers=self.options.workers)

    def batches(
        self, encode: Callable[[BlockT], Iterable[Batch]], about: Any, stage: int = 1
    ) -> StoredBatches:
        """The batches of all blocks, in the cache; those that are there, if nothing is different.

        `about` is all that `encode` depends on.
        """
        folder = Path(numbered(self.folder, stage) or "")
        folder.mkdir(parents=True, exist_ok=True)
        texts = digest_of_parts(block.digest for block in self.blocks)
        key = digest((__version__, texts, digest(about)))
        found = StoredBatches.reopened(folder, key)
        if found is None:
            written = tuple(self.each(_BatchWriter(encode, str(folder))))
            found = StoredBatches(str(folder), written)
            found.save(key)
        return found


@contextmanager
def cache_folder(options: Runs) -> Iterator[Path]:
    """Where encoded sentences go; without a cache, a temporary folder. Workers are kept."""
    scratch = ScratchFolder("partita-cache-") if options.cache is None else None
    # A folder inside, so that those of further stages, beside it, go with the temporary one.
    folder = Path(options.cache or "") if scratch is None else scratch.path / "encoded"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with heed_interruptions(), held(options.workers):
            yield folder
    finally:
        if scratch is not None:
            scratch.close()


@dataclass(frozen=True)
class FileBlocks(BlockPasses[BlockWords], Generic[SurveyT]):
    """The blocks of files with sentences, and what is known of all of them together."""

    survey: SurveyT
    values: dict[str, list[str]]
    """The different values of each column, in the order in which they came."""

    @classmethod
    @contextmanager
    def of(
        cls,
        files: SentenceFiles,
        columns: Sequence[str],
        survey: Callable[[Sequence[Sentence]], SurveyT],
        options: Runs,
    ) -> Iterator["FileBlocks[SurveyT]"]:
        """Read some columns of all blocks; without a cache, by way of a temporary one."""
        with cache_folder(options) as folder:
            reader = _BlockReader(tuple(columns), str(folder), survey)
            yield cls._read(reader, files, folder, options)

    @classmethod
    def _read(
        cls, reader: "_BlockReader[SurveyT]", files: SentenceFiles, folder: Path, options: Runs
    ) -> "FileBlocks[SurveyT]":
        blocks: list[BlockWords] = []
        total: SurveyT | None = None
        seen: dict[str, dict[str, None]] = {name: {} for name in reader.columns}
        for found in in_order(reader, enumerate(files.blocks), workers=options.workers):
            blocks.append(found.block)
            for name, values in found.values.items():
                seen[name].update(dict.fromkeys(values))
            if found.survey is not None:
                total = found.survey if total is None else total + found.survey
        if total is None:
            raise ValueError("there are no words to learn from; expected at least one sentence.")
        every = {name: list(each) for name, each in seen.items()}
        return cls(blocks, folder, options, total, every)

    @property
    def n_sentences(self) -> int:
        """Of all blocks."""
        return sum(block.n_sentences for block in self.blocks)

    @property
    def n_words(self) -> int:
        """Of all blocks."""
        return sum(block.n_words for block in self.blocks)

    def learnt_from(self, files: SentenceFiles) -> str:
        """For people."""
        return f"{self.n_sentences:,} sentences, {self.n_words:,} words, in {files!r}"


class _BlockReport(Generic[SurveyT]):
    """What the first pass says of a block."""

    def __init__(
        self, block: BlockWords, values: dict[str, tuple[str, ...]], survey: SurveyT | None
    ) -> None:
        self.block, self.values, self.survey = block, values, survey


@dataclass(frozen=True)
class _BlockReader(Generic[SurveyT]):
    """The first pass."""

    columns: tuple[str, ...]
    folder: str
    survey: Callable[[Sequence[Sentence]], SurveyT]

    def __call__(self, number: int, block: TextBlock) -> _BlockReport[SurveyT]:
        """The words of a block as numbers."""
        path = Path(self.folder) / f"words-{number}"
        tables = {name: ValueNumbers() for name in self.columns}
        arrays: dict[str, IntArray] = {}
        total: SurveyT | None = None
        n_chunks, n_sentences, n_words = 0, 0, 0
        for document in block.documents():
            sentences = [each for each in document if len(each)]
            if not sentences:
                continue
            lengths = np.array([len(each) for each in sentences], dtype=np.int64)
            arrays[f"n_words{n_chunks}"] = lengths
            for name, table in tables.items():
                rows = (each.column(name) for each in sentences)
                numbers = [table[value] for row in rows for value in row]
                arrays[f"{name} {n_chunks}"] = np.array(numbers, dtype=np.int64)
            found = self.survey(sentences)
            total = found if total is None else total + found
            n_chunks += 1
            n_sentences, n_words = n_sentences + len(sentences), n_words + int(lengths.sum())
        values = {name: tuple(table) for name, table in tables.items()}
        write_model(path, {"kind": KIND, "n_chunks": n_chunks, "values": values}, arrays)
        made = BlockWords(number, str(path), block.digest(), n_sentences, n_words)
        return _BlockReport(made, values, total)


@dataclass(frozen=True)
class _BatchWriter:
    """The last pass."""

    encode: Callable[[Any], Iterable[Batch]]
    folder: str

    def __call__(self, block: NumberedBlock) -> StoredFile:
        """The batches of a block, in a file of the cache."""
        return StoredFile.write(Path(self.folder) / f"batches-{block.number}", self.encode(block))


def learn_stored(
    stored: StoredBatches,
    course: Course,
    way: RunPlan,
    start: Any = None,
    held_out: Lessons | None = None,
    *,
    is_local: bool = False,
    stage: int = 1,
) -> TrainingResult:
    """The weights that batches lead to whose sentences have labels, all or some of them."""
    given: list[Objective] = list(dict.fromkeys(course))
    terms = [1.0 * each for each in given]
    used = [each for each in terms if each.names[0] in stored.names]
    objective = used[0] if len(used) == 1 else used[0] + used[1]
    if is_local:
        objective = locally(objective)
    workers = way.options.workers
    with (
        judged(held_out, workers) as judge,
        build_corpus(objective, stored, workers=workers, n_shards=way.n_shards) as corpus,
    ):
        return run(corpus, way, start, judge, stage)
