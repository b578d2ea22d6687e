"""Segmenters from files: features of words and of whole segments are counted block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.arrays import IntArray
from partita.data.files import SentenceFiles
from partita.estimators.blocks import BlockWords, FileBlocks, learn_stored
from partita.estimators.runs import RunPlan
from partita.estimators.segmenting.learning import labelled_segments, too_long
from partita.estimators.segmenting.material import SegmentKnowledge
from partita.estimators.segmenting.segment_model import SegmentModel
from partita.estimators.segmenting.spelling import Spelling
from partita.estimators.supervision import course_of
from partita.estimators.tagging.from_files import (
    TagColumns,
    TagEncoder,
    TagSurvey,
    TagSurveyor,
    check_files,
    count_features,
    tag_set,
)
from partita.estimators.tagging.material import held_out_lessons
from partita.estimators.tagging.tags import HeldOutTags
from partita.text.columns import Column
from partita.text.hashing import States
from partita.text.merging import MergedCounts
from partita.text.segment_features import SegmentFeatures, Segments, default_places
from partita.text.words import Words
from partita.training import TrainingResult

if TYPE_CHECKING:
    from partita.estimators.segmenting.segmenter import Segmenter


def fit_from_files(
    options: "Segmenter",
    files: SentenceFiles,
    held_out: HeldOutTags | None,
) -> tuple[tuple[SegmentModel, TrainingResult], str]:
    """A model, its weights, and what they were learnt from."""
    check_files(options)
    columns = TagColumns.of(options, files)
    with FileBlocks.of(
        files, columns.all, TagSurveyor(columns, options.lexicon), options
    ) as blocks:
        described = count_features(options, blocks, columns)
        if described.features.n_transition_attributes > 1:
            raise ValueError(
                "a template is about transitions, and segments have one table of them; expected "
                "templates of words only."
            )
        tags = tag_set(options, blocks.survey)
        spelling = Spelling(tags.names, tags.scheme)
        wholes = _count_segments(options, blocks, columns, spelling)
        model = SegmentModel(spelling, described.features, wholes, options.roles)
        course = course_of(options.objective)
        knowing = partial(SegmentKnowledge.of, spelling)
        encoder = TagEncoder(model, model.pieces, columns, described.lexicon, course, knowing)
        stored = blocks.batches(encoder, (model, columns, course))
        judge = None
        if held_out is not None:
            judge = held_out_lessons(model, held_out, columns.tags, knowing)
        way = RunPlan(options, options.chosen_optimiser(l1=options.l1), options.penalty)
        training = learn_stored(stored, course, way, None, judge)
    return (model, training), blocks.learnt_from(files)


def _count_segments(
    options: "Segmenter", blocks: FileBlocks[TagSurvey], columns: TagColumns, spelling: Spelling
) -> SegmentFeatures:
    """Two more passes: how often segments have which keys, and names of those that are kept."""
    dictionaries = options.dictionaries or {}
    nothing = np.zeros(0, dtype=np.int64)
    values = {name: Column(tuple(blocks.values[name]), nothing) for name in columns.words}
    templates = default_places(Words(nothing, values)) if options.segment_features else ()
    counter = _SegmentCounter(columns, spelling, templates, options.longest)
    merged, longest = MergedCounts(), 1
    for found, longest_here in blocks.each(counter):
        merged.add([found])
        longest = max(longest, longest_here)
    if options.longest is not None and longest > options.longest:
        raise too_long("a sentence", longest, options.longest)
    empty = SegmentFeatures.without_keys(templates, options.longest or longest, dictionaries)
    ((keys, counts),) = merged.total()
    kept = empty.kept_keys(keys.view(np.uint64), counts, options.segment_min_count)
    names: dict[int, str] = {}
    for some in blocks.each(_SegmentNames(counter, kept)):
        names = some | names
    return empty.with_keys(kept, [names[key] for key in kept.tolist()])


@dataclass(frozen=True)
class _SegmentCounter:
    columns: TagColumns
    spelling: Spelling
    templates: Any
    longest: int | None

    def __call__(self, block: BlockWords) -> tuple[tuple[IntArray, IntArray], int]:
        """The keys of the segments of a block, how often each occurs, and the longest segment."""
        merged, longest = MergedCounts(), 1
        for words, segments, features in self.chunks(block):
            keys, counts = features.count_keys(words, segments)
            merged.add([(keys.view(np.int64), counts)])
            longest = max(longest, features.longest)
        return merged.total()[0], longest

    def chunks(self, block: BlockWords) -> Iterator[tuple[Words, Segments, SegmentFeatures]]:
        """Words, their segments, and features of segments as long as these."""
        for read in block.chunks():
            words, tags = self.columns.apart(read)
            segments = labelled_segments(self.spelling, words, tags, self.longest)
            longest = int(segments.n_words.max(initial=1))
            yield words, segments, SegmentFeatures.without_keys(self.templates, longest, {})


@dataclass(frozen=True)
class _SegmentNames:
    counter: _SegmentCounter
    keys: States

    def __call__(self, block: BlockWords) -> dict[int, str]:
        """The names of some keys that the segments of a block have."""
        names: dict[int, str] = {}
        for words, segments, features in self.counter.chunks(block):
            names = features.key_names(words, segments, self.keys) | names
        return names
