"""How a segmenter learns: number types and features, say what each sentence teaches, train."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.data.schemes import UNKNOWN
from partita.estimators.runs import RunPlan, learn
from partita.estimators.segmenting.material import SegmentKnowledge
from partita.estimators.segmenting.segment_model import EncodedSegments, SegmentModel
from partita.estimators.segmenting.spelling import Spelling
from partita.estimators.supervision import Lessons
from partita.estimators.tagging.learning import (
    check_scheme,
    columns_of,
    entropy_of,
    features_of,
    sorted_pieces,
)
from partita.estimators.tagging.material import TagMaterial, held_out_lessons
from partita.estimators.tagging.tags import HeldOutTags, TagSet
from partita.text.segment_features import SegmentFeatures, Segments
from partita.text.sentences import numbering
from partita.text.words import Words, read_words
from partita.training import TrainingResult

if TYPE_CHECKING:
    from partita.estimators.segmenting.segmenter import Segmenter


def fit_segmenter(
    options: "Segmenter",
    material: TagMaterial,
    held_out: HeldOutTags | None,
) -> tuple[SegmentModel, TrainingResult]:
    """A model and its weights; `held_out` says when to stop."""
    with numbering(material.order):
        words = read_words(material.sentences, columns_of(options, material.sentences))
    seen = TagSet.learn(material.tags, (), options.scheme)
    spelling = Spelling(seen.names, seen.scheme)
    places = [material.where(index) for index in range(len(material.tags))]
    knowledge = SegmentKnowledge.of(spelling, material.tags, places)
    check_scheme(material, knowledge.labels, spelling.tags)
    features, encoded = features_of(options, material, words, of_all=False)
    if encoded.transitions is not None:
        raise ValueError(
            "a template is about transitions, and segments have one table of them; expected "
            "templates of words only. Leave the fields behind 'transition:' out."
        )
    wholes = _whole_features(options, material, words, spelling)
    model = SegmentModel(spelling, features, wholes, options.roles)
    both = EncodedSegments(encoded.n_words, encoded.words, wholes.encode(words))
    lessons = Lessons(
        sorted_pieces(partial(model.pieces, both), material),
        knowledge,
        options.course(),
        material.sample_weight,
        entropy_of(options, material, encoded.n_words, knowledge.n_known()),
        what="tags",
    )
    judge = None
    if held_out is not None:
        judge = held_out_lessons(
            model,
            held_out,
            options.tag_column,
            lambda tags, where: SegmentKnowledge.of(spelling, tags, where),
        )
    way = RunPlan(options, options.chosen_optimiser(l1=options.l1), options.penalty)
    return model, learn(lessons, way, None, judge)


def _whole_features(
    options: "Segmenter", material: TagMaterial, words: Words, spelling: Spelling
) -> SegmentFeatures:
    """The features of segments as a whole, of labelled ones as long as they come."""
    dictionaries = options.dictionaries or {}
    if dictionaries and words.form != "columns":
        raise ValueError(
            "dictionaries came with words that bring features, whose text is not known; expected "
            "words as text or columns."
        )
    found = labelled_segments(spelling, words, material.tags, options.longest)
    longest = options.longest or int(found.n_words.max(initial=1))
    if len(found.n_words) and found.n_words.max() > longest:
        sentences = np.repeat(np.arange(len(words.n_words)), words.n_words)
        where = material.where(int(sentences[found.firsts[found.n_words.argmax()]]))
        raise too_long(where, int(found.n_words.max()), longest)
    if not options.segment_features:
        return SegmentFeatures.of_lengths(longest, dictionaries)
    return SegmentFeatures.build(words, found, longest, options.segment_min_count, dictionaries)


def labelled_segments(
    spelling: Spelling, words: Words, tags: Sequence[Sequence[Any]], longest: int | None
) -> Segments:
    """The segments that tags show, as far as they are known.

    Those with unknown words that are longer than what is asked for are left out: they may be
    several.
    """
    starts = np.cumsum(words.n_words) - words.n_words
    found = [
        (start + first, end - first)
        for start, each in zip(starts.tolist(), tags, strict=False)
        for first, end, is_known in _shown_segments(spelling, each)
        if is_known or longest is None or end - first <= longest
    ]
    firsts, n_words = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return Segments(firsts, n_words)


def too_long(where: str, n_words: int, longest: int) -> ValueError:
    """The error of a segment that is longer than the option allows."""
    return ValueError(
        f"{where} has a segment of {n_words} words, and longest is {longest}; expected {n_words} "
        "or more. Leave the option out, or such sentences."
    )


def _shown_segments(spelling: Spelling, tags: Sequence[Any]) -> Iterator[tuple[int, int, bool]]:
    """First word and end of the segments that tags show, and whether all their tags are known."""
    plain = [tag if isinstance(tag, str) else UNKNOWN for tag in tags]
    filled = spelling.completed(plain)
    cuts = [-1, *(word for word, tag in enumerate(filled) if tag == UNKNOWN), len(filled)]
    for before, behind in pairwise(cuts):
        if behind - before > 1:
            for first, end, _ in spelling.rows(filled[before + 1 : behind]).tolist():
                here = slice(before + 1 + first, before + 1 + end)
                yield here.start, here.stop, UNKNOWN not in plain[here]
