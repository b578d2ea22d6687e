"""The latent-variable CRF of translation: log P(y | x, n) = log Z(x, y) - log Z_n(x)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.distribution.parts import PartDistribution
from partita.estimators.alignment.itg_lexicon import DELETION_VALUES, PAIR_VALUES, LinkLexicon
from partita.estimators.alignment.words import Numbered
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.itg_edges import TableFeatures
from partita.features.matrix import FixedScores
from partita.grammars.alignments import PairAlignments
from partita.grammars.targets import BoundedTargets
from partita.objectives.contrastive import ContrastiveEstimation, Neighbourhoods
from partita.structures.joined import JoinedStructures
from partita.training import Adam, Batch, Penalty, TrainingResult, build_corpus, train
from partita.training.optimisers.schedules import Linear

Say = Callable[[str], None]

CONSTANTS = ("insertion", "inverted")


@dataclass(frozen=True)
class Bound:
    """n, the longest target of a source sentence: slope * n_source, rounded up, + `spare`.

    >>> Bound(1.5)(np.array([2, 4]))
    array([6, 9])
    """

    slope: float
    spare: int = 3

    @classmethod
    def fitted(cls, n_source: IntArray, n_target: IntArray, share: float = 0.98) -> "Bound":
        """The least slope that leaves this share of the pairs within the bound."""
        ratios = np.maximum(n_target - cls.spare, 1) / np.maximum(n_source, 1)
        return cls(float(np.quantile(ratios, share)) if len(ratios) else 1.0)

    def __call__(self, n_source: IntArray) -> IntArray:
        """The longest target of sentences of these lengths."""
        longest: IntArray = np.ceil(self.slope * n_source).astype(np.int64) + self.spare
        return longest


class Skipped(NamedTuple):
    """Pairs that were not trained on, and why."""

    too_long: int
    """More words than asked for."""
    beyond_bound: int
    """The target is longer than n."""
    repeated: int
    """Came before: stock phrases would teach that sentences are short and never inverted."""
    empty: int
    """No derivation."""
    spare: int
    """Not needed, since there are enough."""

    def __str__(self) -> str:
        return (
            f"{self.too_long:,} pairs are too long, {self.beyond_bound:,} have targets beyond the "
            f"bound of their length, {self.repeated:,} came before, {self.empty:,} have no "
            f"derivation, {self.spare:,} are more than asked for; all of these are skipped"
        )


def n_edges(n_source: IntArray, n_target: IntArray, longest: IntArray) -> int:
    """Hyperedges that the forests D(x, y) and D_n(x) of pairs would have, in normal form."""
    splits = (n_source + 1) * n_source * (n_source - 1) // 6
    cells = (n_target + 1) * n_target * (n_target - 1) // 6
    lengths = longest * (longest - 1) // 2
    spans = n_source * (n_source + 1) // 2
    leaves = spans * (n_target * (n_target + 1) // 2 + longest)
    return int((4 * splits * (cells + lengths) + leaves).sum())


def pair_batch(
    lexicon: LinkLexicon,
    sources: Sequence[IntArray],
    targets: Sequence[IntArray],
    longest: IntArray,
) -> Batch:
    """D(x, y) and D_n(x) of some pairs, with features that they share.

    The observed sets come first; `Neighbourhoods` says that the set of all translations of the same
    source is what each is compared with.
    """
    n_pairs = len(sources)
    pairs = PairAlignments([len(x) for x in sources], [len(y) for y in targets])
    choices = [lexicon.choices(x) for x in sources]
    bounded = BoundedTargets([each for each, _ in choices], longest)
    structures = JoinedStructures([pairs, bounded])
    return Batch(
        PartDistribution,
        structures,
        batch_features(lexicon, sources, targets, structures, [rows for _, rows in choices]),
        {
            "ContrastiveEstimation": Neighbourhoods(
                np.tile(np.arange(n_pairs), 2),
                np.arange(2 * n_pairs) < n_pairs,
                np.arange(2 * n_pairs) >= n_pairs,
            )
        },
    )


def batch_features(
    lexicon: LinkLexicon,
    sources: Sequence[IntArray],
    targets: Sequence[IntArray],
    structures: JoinedStructures,
    choice_rows: Sequence[IntArray],
) -> FeatureMap:
    """Links by their pair of words, deletions by their word, an insertion, an inverted rule."""
    starts = structures.part_offsets.tolist()
    links, pair_rows, deletions, words = [], [], [], []
    fixed, fixed_scores, constants, kinds = [], [], [], []
    for index, (x, y) in enumerate(zip(sources, targets, strict=True)):
        start, n, m = starts[index], len(x), len(y)
        allowed, rows = lexicon.links(x, y)
        places = start + np.arange(n * m)
        links.append(places[allowed.ravel()])
        pair_rows.append(rows[allowed])
        forbidden = places[~allowed.ravel()]
        insertions = start + n * m + n + np.arange(m)
        fixed += [forbidden, insertions]
        fixed_scores += [np.full(len(forbidden), -np.inf), lexicon.log_inserted[y]]
        deletions.append(start + n * m + np.arange(n))
        words.append(x)
        constants.append(np.append(insertions, starts[index + 1] - 1))
        kinds.append(np.append(np.zeros(m, dtype=np.int64), 1))
    for index, (x, rows) in enumerate(zip(sources, choice_rows, strict=True), start=len(sources)):
        start, n = starts[index], len(x)
        links.append(start + np.arange(len(rows)))
        pair_rows.append(rows)
        deletions.append(start + len(rows) + np.arange(n))
        words.append(x)
        constants.append(np.array([starts[index + 1] - 3, starts[index + 1] - 1]))
        kinds.append(np.arange(2))
    n_parts = structures.n_parts
    return JoinedFeatures(
        [
            TableFeatures(lexicon.pair_values, _end(pair_rows), _end(links), n_parts),
            TableFeatures(lexicon.deletion_values, _end(words), _end(deletions), n_parts),
            TableFeatures(np.eye(2), _end(kinds), _end(constants), n_parts, has_own=False),
            FixedScores(n_parts, _end(fixed), _end(fixed_scores)),
        ]
    )


def first_weights(lexicon: LinkLexicon) -> FloatArray:
    """Where training starts: t(y | x) for links, one word in ten inserted or deleted."""
    weights = np.zeros(n_weights(lexicon))
    weights[1] = 1.0
    weights[_deletion_start(lexicon)] = np.log(0.1)
    weights[-2:] = np.log(0.1), np.log(0.3)
    return weights


def n_weights(lexicon: LinkLexicon) -> int:
    """Shared and own weights of pairs and of deleted words, and the constants."""
    n_words = len(lexicon.deletion_values)
    return _deletion_start(lexicon) + len(DELETION_VALUES) + n_words + len(CONSTANTS)


def _deletion_start(lexicon: LinkLexicon) -> int:
    return lexicon.n_pairs + len(PAIR_VALUES)


def _penalty(lexicon: LinkLexicon, l2: float) -> Penalty:
    """Weights that many pairs share are hardly penalised."""
    scale = np.ones(n_weights(lexicon))
    at = _deletion_start(lexicon)
    for block in (slice(lexicon.pair_values.shape[1]), slice(at, at + 2), slice(-2, None)):
        scale[block] = 0.01
    return Penalty(l2=l2, scale=scale)


@dataclass(frozen=True)
class LikelihoodOptions:
    """How the translation CRF is trained."""

    max_words: int = 15
    """Longest sentence, on either side."""
    n_pairs: int = 5000
    """Most pairs, evenly spread over those of the bitext that can be learnt from."""
    n_passes: int = 3
    batch_size: int = 16
    rate: float = 0.05
    l2: float = 1.0
    held_out: float = 0.05
    """The share of the pairs whose likelihood chooses the pass."""


@dataclass(frozen=True)
class TranslationCrf:
    """What training gives."""

    weights: FloatArray
    bound: Bound
    skipped: Skipped
    result: TrainingResult
    pairs_per_second: float
    edges_per_second: float


def train_translation(
    lexicon: LinkLexicon,
    source: Numbered,
    target: Numbered,
    options: LikelihoodOptions,
    *,
    seed: int = 0,
    n_threads: int | None = None,
    say: Say | None = None,
) -> TranslationCrf:
    """Weights that maximise sum of log P(y | x, n) - l2 / 2 |weights|², on short pairs.

    Adam with a rate that rises and then falls to 0, averaged weights from the second pass on, the
    pass chosen by the likelihood of held-out pairs. One inference of D(x, y), O(n³ m³), and one of
    D_n(x), O(n³ longest²), for each pair and pass.
    """
    chosen, skipped, bound = choose_pairs(lexicon, source, target, options)
    if say is not None:
        say(f"Latent-variable CRF: {len(chosen):,} pairs; {skipped}.")
    if not len(chosen):
        start = first_weights(lexicon)
        nothing = TrainingResult(start, 0.0, 0, "There is no pair to learn from.", ())
        return TranslationCrf(start, bound, skipped, nothing, 0.0, 0.0)
    order = np.random.default_rng(seed).permutation(len(chosen))
    n_held = int(len(chosen) * options.held_out)
    parts = [chosen[order[n_held:]], chosen[order[:n_held]]]
    corpora = [
        build_corpus(
            ContrastiveEstimation(),
            [
                pair_batch(
                    lexicon,
                    [source[place].astype(np.int64) for place in places],
                    [target[place].astype(np.int64) for place in places],
                    bound(source.n_words[places]),
                )
                for places in _cut(part[np.argsort(source.n_words[part], kind="stable")], options)
            ],
            workers=n_threads,
        )
        for part in parts
        if len(part)
    ]
    began = time.perf_counter()
    n_steps = -(-len(parts[0]) // options.batch_size) * options.n_passes
    result = train(
        corpora[0],
        Adam(
            rate=Linear(options.rate, warm_up=max(1, n_steps // 10)),
            n_iterations=options.n_passes,
            average_from=1 if options.n_passes > 1 else None,
        ),
        penalty=_penalty(lexicon, options.l2),
        weights=first_weights(lexicon),
        held_out=corpora[1] if len(corpora) > 1 else None,
        patience=options.n_passes,
        seed=seed,
        progress=False,
    )
    seconds = time.perf_counter() - began
    n_visits = len(chosen) * max(result.n_iterations, 1)
    lengths = source.n_words[chosen], target.n_words[chosen]
    edges = n_edges(*lengths, bound(lengths[0])) * max(result.n_iterations, 1)
    trained = TranslationCrf(
        result.weights, bound, skipped, result, n_visits / seconds, edges / seconds
    )
    if say is not None:
        say(
            f"Latent-variable CRF: {result.n_iterations} passes in {seconds:.0f} s, "
            f"{trained.pairs_per_second:,.0f} pairs and "
            f"{trained.edges_per_second / 1e6:,.0f} million edges a second. {result.reason}"
        )
    return trained


def choose_pairs(
    lexicon: LinkLexicon, source: Numbered, target: Numbered, options: LikelihoodOptions
) -> tuple[IntArray, Skipped, Bound]:
    """The places of the pairs to train on, what is skipped, and the bound of target lengths."""
    n, m = source.n_words, target.n_words
    short = np.flatnonzero((np.maximum(n, m) <= options.max_words) & (n > 0) & (m > 0))
    bound = Bound.fitted(n[short], m[short])
    within = short[m[short] <= bound(n[short])]
    first = {(source[k].tobytes(), target[k].tobytes()): k for k in within[::-1].tolist()}
    different = np.array(sorted(first.values()), dtype=np.int64)
    repeated, within = len(within) - len(different), different
    spare = max(len(within) - options.n_pairs, 0)
    if spare:
        within = within[np.linspace(0, len(within) - 1, options.n_pairs).astype(np.int64)]
    # Any word may be deleted or inserted, unless the lexicon says that it never is.
    can_insert = [np.isfinite(lexicon.log_inserted[target[place]]).all() for place in within]
    kept = within[np.array(can_insert, dtype=np.bool_)]
    beyond = int((m[short] > bound(n[short])).sum())
    skipped = Skipped(len(n) - len(short), beyond, repeated, len(within) - len(kept), spare)
    return kept, skipped, bound


def _cut(places: IntArray, options: LikelihoodOptions) -> list[IntArray]:
    """Mini-batches of pairs of about the same length, so that they take equally long."""
    size = options.batch_size
    return [places[start : start + size] for start in range(0, len(places), size)]


def _end(arrays: Sequence[Array]) -> Array:
    """Arrays end to end."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
