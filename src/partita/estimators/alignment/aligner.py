"""`Aligner`: which words of two sentences translate each other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial, reduce
from typing import ClassVar, Self

from partita.arrays import FloatArray
from partita.data.alignments import Alignment
from partita.data.bitext_files import BitextFiles
from partita.estimators.alignment.crf_from_files import fit_crf_from_files
from partita.estimators.alignment.from_files import fit_from_files
from partita.estimators.alignment.generative import Generative
from partita.estimators.alignment.itg_links import ItgLinks, gold_pairs
from partita.estimators.alignment.material import (
    PairCounts,
    PairMaterial,
    Sentences,
    read_held_out,
    read_pairs,
)
from partita.estimators.alignment.models import (
    MODELS,
    AlignmentModel,
    ItgAlignment,
    LinkLesson,
    ModelName,
)
from partita.estimators.alignment.questions import LinkEstimator
from partita.estimators.base import Stored
from partita.estimators.bitext import BitextModel
from partita.estimators.blocks import refuse_beside_files
from partita.estimators.explain import run_facts
from partita.estimators.options import at_least, declared, option, without
from partita.text.sentences import check_sentences
from partita.text.word_vocabulary import WordVocabulary
from partita.training import TrainingResult
from partita.training.workers import held


@declared
class Aligner(LinkEstimator):
    """Links between the words of sentences and their translations, learnt from a bitext alone.

    A `model` is one of `Model1(...)`, `HiddenMarkovAlignment(...)` and `ItgAlignment(...)`, with
    options of its own, or a name for one with good defaults. After `fit` it has `model_`, what was
    learnt, `counts_` (how many pairs were used, and why others were not), `training_` (the last
    run), `stages_` (all runs by name) and `stage_counts_`.

    >>> french = [["la", "maison", "bleue"], ["la", "fleur", "bleue"], ["la", "maison"]]
    >>> english = [["the", "blue", "house"], ["the", "blue", "flower"], ["the", "house"]]
    >>> aligner = Aligner(progress=False).fit(french, english)
    >>> aligner.predict([["la", "fleur"]], [["the", "flower"]])
    [[(0, 0), (1, 1)]]
    """

    kind: ClassVar[str] = "aligner"
    kinds: ClassVar[Mapping[str, type[BitextModel]]] = {"generative": Generative, "itg": ItgLinks}
    stages_: dict[str, TrainingResult] = field(init=False)
    """The runs of `fit` in their order; none after `load`."""
    stage_counts_: dict[str, PairCounts] = field(init=False)
    """What became of the pairs in stages that cannot take all that are usable."""

    model: ModelName | AlignmentModel = option(
        "hmm",
        '"model1": IBM Model 1, where each word chooses its translation alone; "hmm": a hidden '
        'Markov model, where places follow places; "crf": a conditional random field over the '
        "derivations of an inversion transduction grammar, which also learns from gold "
        "alignments; or an object with options of its own: `Model1`, `HiddenMarkovAlignment`, "
        "`ItgAlignment`",
    )
    max_iterations: int | None = option(
        None,
        "the most passes of the CRF, 3 if left out; of the others see `Model1` and "
        "`HiddenMarkovAlignment`",
        at_least(1),
        needs=without("model='crf'", lambda aligner: aligner.model == "crf"),
        # The command has the flags of the models.
        is_flag=False,
    )
    lowercase: bool = option(True, "ignore capitals")
    n_letters: int | None = option(
        None,
        "tell words apart by so many first letters: a rough stemmer, for a small bitext of a "
        "language with many endings",
        at_least(1),
    )
    min_count: int = option(1, "words seen less often count as unknown", at_least(1))

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        source: Sentences | BitextFiles,
        target: Sentences | None = None,
        alignments: Iterable[Alignment | None] | None = None,
        *,
        held_out: tuple[Sentences, Sentences] | None = None,
        sample_weight: Sequence[float] | FloatArray | None = None,
    ) -> Self:
        """Learn from sentences and their translations, lists of words.

        `alignments` are gold links of some or all pairs (None for a pair without), for the CRF;
        what is `possible` may be linked or not. The likelihood of `held_out`, source and target
        sentences, says which iteration was best. `sample_weight` has a number for each pair. Pairs
        with an empty side teach nothing. Of `BitextFiles` (`partita.data.bitext_files`), in place
        of both sides, each worker reads its own part; the CRF's short pairs come to memory.
        """
        with self._fitting(source):
            model = self.chosen_model()
            self.check_data(held_out=held_out is not None or model.judges_itself)
            if isinstance(source, BitextFiles):
                refuse_beside_files(target or alignments, sample_weight, ())
                return self._fit_files(source, model, read_held_out(held_out))
            if target is None:
                check_sentences(source)
                raise ValueError("source came without target; expected both, or BitextFiles.")
            if alignments is not None and not model.learns_from_gold:
                raise ValueError(
                    f"gold alignments came, but the model {self.model!r} learns from words alone; "
                    "use model='crf', or leave them out."
                )
            material = read_pairs(
                source, target, alignments=alignments, sample_weight=sample_weight
            )
            judges = read_held_out(held_out)
            pairs = self._usable(material)
            model.check_data(gold=bool(gold_pairs(pairs.alignments)))
            if not len(pairs):
                raise ValueError(
                    f"there is nothing to learn from ({pairs.counts}); expected pairs with words "
                    f"on both sides, at most {self.max_words}. Give others, raise max_words, or "
                    "set longer='keep'."
                )
            words = self._words(pairs.source), self._words(pairs.target)
            with held(self.workers):
                learnt = model.learn(LinkLesson(words, pairs, judges), self)
            self.model_, self.counts_ = learnt.model, pairs.counts
            self.stages_, self.stage_counts_ = learnt.stages, learnt.counts
            self.training_ = self._last_run()
            self.about_ = run_facts(self.training_, "is the loss")
        return self

    def chosen_model(self) -> AlignmentModel:
        """The model that `model` stands for."""
        if not isinstance(self.model, str):
            return self.model
        model = MODELS[self.model]()
        if self.max_iterations is not None:
            model.set_params(max_iterations=self.max_iterations)
        return model

    @property
    def learns_from_files(self) -> bool:
        """Whether `fit` takes `BitextFiles`; models of one's own may not."""
        model = self.chosen_model()
        return isinstance(model, ItgAlignment) or model.generative_course() is not None

    def _fit_files(
        self, files: BitextFiles, model: AlignmentModel, held_out: PairMaterial | None
    ) -> Self:
        course = model.generative_course()
        if isinstance(model, ItgAlignment):
            learnt, self.counts_ = fit_crf_from_files(self, files, model, held_out)
            self.model_, self.stages_, self.stage_counts_ = learnt
        elif course is not None:
            found = fit_from_files(self, files, course, held_out, self)
            self.model_, training, self.counts_ = found
            self.stages_, self.stage_counts_ = {"EM": training}, {}
        else:
            raise ValueError(
                f"files came for the model {self.model!r}, which looks at pairs in memory; "
                "expected 'model1', 'hmm', 'crf', or an object of such options."
            )
        self.training_ = self._last_run()
        self.about_ = run_facts(self.training_, "is the loss")
        return self

    def _last_run(self) -> TrainingResult:
        """Which also says if an earlier one was interrupted."""
        return reduce(lambda one, two: two.after(one), self.stages_.values())

    def usable_pairs(self) -> Callable[[PairMaterial], PairMaterial]:
        """Which pairs are learnt from, as a function that can be sent to workers."""
        return partial(_usable, self.max_words if self.longer == "skip" else None)

    def vocabulary(self, counts: Mapping[str, int]) -> WordVocabulary:
        """The words of one side, from how often they came."""
        return WordVocabulary.counted(counts, min_count=self.min_count, view=self._view)

    def _words(self, sentences: Sequence[Sequence[str]]) -> WordVocabulary:
        return WordVocabulary.learn(sentences, min_count=self.min_count, view=self._view)

    @property
    def _view(self) -> str:
        letters = [] if self.n_letters is None else [f"cut{self.n_letters}"]
        return ".".join([*["lower"] * self.lowercase, *letters])

    def _restore(self, stored: Stored) -> None:
        super()._restore(stored)
        self.stages_, self.stage_counts_ = {}, {}


def _usable(max_words: int | None, pairs: PairMaterial) -> PairMaterial:
    return pairs.full().short(max_words)
