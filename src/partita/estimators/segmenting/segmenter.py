"""The segmenter: a semi-Markov conditional random field over segments with tags."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.data.files import SentenceFiles
from partita.distribution.segment_chain import SegmentChain
from partita.estimators.answers import Asked, Turn
from partita.estimators.base import Stored
from partita.estimators.files import prefixed, under
from partita.estimators.groups import Descent, Penalties, Uncertainty
from partita.estimators.options import Check, at_least, declared, option, without
from partita.estimators.segmenting.explanations import (
    SegmenterInspection,
    explain_segment,
    inspect_segmenter,
)
from partita.estimators.segmenting.from_files import fit_from_files
from partita.estimators.segmenting.learning import fit_segmenter
from partita.estimators.segmenting.material import agreeing
from partita.estimators.segmenting.segment_model import Roles, SegmentModel
from partita.estimators.segmenting.spelling import Spelling
from partita.estimators.tagging.described import DescribedWords
from partita.estimators.tagging.explanations import TagExplanation
from partita.estimators.tagging.material import GivenTags, tag_facts
from partita.estimators.tagging.questions import TagEstimator
from partita.estimators.tagging.tags import HeldOutTags, Tags
from partita.features.segments import role_counts
from partita.kept import kept_array, kept_texts
from partita.text.learning import restored_features, stored_features
from partita.text.segment_features import SegmentFeatures
from partita.text.sentences import listed


def _are_dictionaries(value: Any) -> bool:
    return all(
        isinstance(name, str) and not isinstance(phrases, str) and all(map(_is_text, phrases))
        for name, phrases in value.items()
    )


def _is_text(phrase: Any) -> bool:
    return isinstance(phrase, str)


@declared
class Segmenter(DescribedWords, TagEstimator, Penalties, Descent, Uncertainty):
    """A semi-Markov conditional random field that cuts a sentence into segments with types.

    For names, chunks, the fields of a reference. Tags come and go as for `Tagger`: in a scheme
    (IOB2 or BIOES) or as plain tags, of which equal ones in a row are a segment. Beside features
    of words it has those of whole segments: their text, shapes and length, first and last words,
    the words around them, the classes of their words in other columns, and whether they are in a
    dictionary. `?` is a tag that is not known, and a set of tags one that is known in part. After
    `fit` it has `tags_`, `types_`, `longest_`, `weights_`, `columns_` and `training_`.

    >>> sentences = [["New", "York", "sleeps"], ["the", "dog", "sleeps"]]
    >>> tags = [["B-LOC", "I-LOC", "O"], ["O", "O", "O"]]
    >>> segmenter = Segmenter().fit(sentences, tags)
    >>> segmenter.predict([["New", "York", "barks"]])
    [['B-LOC', 'I-LOC', 'O']]
    >>> segmenter.segments([["New", "York", "barks"]])
    [[(0, 2, 'LOC'), (2, 3, 'O')]]
    """

    kind: ClassVar[str] = "segmenter"
    model_: SegmentModel = field(init=False)

    roles: Roles = option(
        "BIOES",
        "how attributes of words tell where in its segment a word is: first, inside, last and "
        "single apart (BIOES), first or not (IOB2), or not at all (one)",
    )
    longest: int | None = option(
        None,
        "words of the longest segments; as long as those of the training data if left out, with "
        "unknown words between two that may be of one segment",
        at_least(1),
    )
    segment_features: bool = option(True, "features of whole segments, not of words alone")
    segment_min_count: int = option(
        2,
        "attributes of segments that labelled ones have less often are left out; with 1 nothing "
        "would be new to the model in training",
        at_least(1),
        needs=without("segment_features", lambda segmenter: segmenter.segment_features),
    )
    dictionaries: Mapping[str, Sequence[str]] | None = option(
        None,
        "lists of phrases by name, such as places; whether a segment is in one of them (in lower "
        "case) is a feature of it",
        Check(_are_dictionaries, "lists of text by name", says_all=True),
        is_flag=False,
    )
    scheme: Literal["auto", "IOB2", "BIOES"] | None = option(
        "auto",
        'how tags spell segments; "auto": by B-, I- and O if they are such; None: equal tags in a '
        "row are a segment",
    )

    def fit(
        self,
        sentences: Iterable[Any] | SentenceFiles,
        tags: Tags | None = None,
        *,
        unlabelled: Iterable[Any] = (),
        held_out: HeldOutTags | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences with tags, and from `unlabelled` ones.

        Without `tags`, they are taken from `tag_column`. Of `SentenceFiles` (`partita.data.files`)
        each worker reads its own part. `sample_weight` has a number for each sentence. With
        `held_out`, a pair of sentences and tags (or sentences with `tag_column`), training stops
        after `patience` iterations that did not lower the number of wrong segments to be expected
        there, and the best weights on the way are kept. Ctrl-C ends the training, and keeps the
        best so far.
        """
        given = GivenTags(sentences, tags, unlabelled, held_out, sample_weight)
        with self._fitting(sentences, held_out=held_out is not None):
            (model, training), learnt_from = given.learnt_by(
                self, fit_from_files, fit_segmenter, self.tag_column
            )
            self.model_, self.weights_, self.training_ = model, training.weights, training
            self.about_ = {"learnt from": learnt_from, **tag_facts(training)}
        return self

    @property
    def types_(self) -> tuple[str, ...]:
        """The types of segments, in the order of the distribution's tags."""
        self._check_fitted()
        return self.model_.spelling.types

    @property
    def longest_(self) -> int:
        """Words of the longest segments that it can find."""
        self._check_fitted()
        return self.model_.wholes.longest

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that sentences must have; none for dictionaries of features."""
        self._check_fitted()
        return self.model_.features.columns

    def segments(self, sentences: Iterable[Any]) -> list[list[tuple[int, int, str]]]:
        """The best segments of each sentence: (first word, end, type), `end` not included."""
        types = self.types_

        def question(asked: Asked) -> Iterator[list[tuple[int, int, str]]]:
            for rows in asked.p.best.structures:
                yield [(first, end, types[kind]) for first, end, kind in rows.tolist()]

        return list(self._ask(sentences, question, list))

    def distribution(self, sentence: Any) -> SegmentChain:
        """The distribution over the segments of one sentence, for every other question."""
        (sentence,) = listed([sentence])
        if not len(sentence):
            raise ValueError("the sentence has no words; expected at least one.")
        (p,) = self.distributions([sentence])
        segments, pairwise = p.structures.split_arrays(p.scores)
        return SegmentChain(segments[0], pairwise[0])

    def inspect(self, n_features: int = 10) -> SegmenterInspection:
        """The strongest features for and against every type, and the transition table."""
        self._check_fitted()
        return inspect_segmenter(self.model_, self.weights_, n_features, self.about_)

    def explain(self, sentence: Any, word: int) -> TagExplanation:
        """Which features put a word (counted from 0) into its segment, against the runner-up."""
        self._check_fitted()
        return explain_segment(self.model_, self.weights_, sentence, word)

    # ------------------------------------------------------------------ for the layers below

    def _model(self) -> SegmentModel:
        return self.model_

    def _named(self, structure: Any) -> list[str]:
        return self.model_.spelling.tags_of(structure)

    def _all_named(self, structures: Sequence[Any]) -> list[list[str]]:
        return list(map(self._named, structures))

    def _best_at_once(self, sentences: Sequence[Any], turn: Turn) -> None:
        return None

    def _marginals(self, p: Any) -> Iterator[FloatArray]:
        roles = role_counts(p.structures, p.inference.marginals)
        found = self.model_.spelling.tag_marginals(roles)
        return (each.copy() for each in np.split(found, p.structures.word_offsets[1:-1]))

    def _allowing(self, tags: Sequence[Any], place: str) -> BoolArray:
        return self.model_.spelling.allowed_roles(tags, place)

    def _restricted(self, asked: Asked, allowed: Sequence[BoolArray]) -> Any:
        roles = [allowed[place] for place in asked.places]
        return asked.p.flat_restricted(agreeing(asked.p.structures, roles))

    def _stored(self) -> Stored:
        model = self.model_
        of_words, of_arrays = stored_features(model.features)
        header = {
            "own_features": self.features is not None,
            "tags": list(model.tags.names),
            "scheme": model.tags.scheme,
            "features": of_words,
            "segments": model.wholes.header(),
        }
        arrays = {"weights": self.weights_, **prefixed("words", of_arrays)}
        return Stored(header, {**arrays, **prefixed("segments", model.wholes.arrays())})

    def _restore(self, stored: Stored) -> None:
        header, arrays = stored
        features = restored_features(header["features"], under("words", arrays))
        wholes = SegmentFeatures.restored(
            header["segments"], under("segments", arrays), self.dictionaries or {}
        )
        spelling = Spelling(kept_texts(header["tags"], "tags"), header["scheme"])
        self.model_ = SegmentModel(spelling, features, wholes, self.roles)
        self.weights_ = kept_array(arrays, "weights", np.float64, None)
        self.model_.split(self.weights_)  # which fails for any other number of them
        self._take_templates(header, features)
