"""Alignment by conditional random fields over the derivations of an ITG."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.data.alignments import Alignment, Link
from partita.estimators.alignment import itg_supervised
from partita.estimators.alignment.generative import Generative, Sentences
from partita.estimators.alignment.itg_features import Evidence
from partita.estimators.alignment.itg_lexicon import LinkLexicon
from partita.estimators.alignment.itg_likelihood import (
    LikelihoodOptions,
    Say,
    Skipped,
    train_translation,
)
from partita.estimators.alignment.itg_model import TranslationModel
from partita.estimators.alignment.itg_supervised import SupervisedOptions, train_supervised
from partita.grammars.alignments import PairAlignments
from partita.grammars.bitext import infer_flat


@dataclass(frozen=True)
class ItgOptions:
    """What `crf_options` of an `Aligner` may say; the defaults suit 50,000 pairs."""

    k: int = 10
    """Most translations of a word that training of the translation CRF may link."""
    directions: int = 2
    """1 for log P(target | source) only, 2 for both directions."""
    pool: float = 0.5
    """Without gold links: the weight of the CRFs against that of the generative models."""
    gold_share: float = 0.5
    """With gold links: the weight of the supervised CRF against that of all other models."""
    most_cells: int = 2000
    """Pairs with more places for a link are left to the generative models: O(n³ m³)."""
    likelihood: LikelihoodOptions = LikelihoodOptions()
    supervised: SupervisedOptions = SupervisedOptions()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """From plain values, such as {"k": 5, "likelihood.n_passes": 2, "supervised.l2": 1.0}."""
        known: dict[str, set[str]] = {
            "": {field.name for field in fields(cls)} - {"likelihood", "supervised"},
            "likelihood": {field.name for field in fields(LikelihoodOptions)},
            "supervised": {field.name for field in fields(SupervisedOptions)},
        }
        chosen: dict[str, dict[str, Any]] = {name: {} for name in known}
        for name, value in given.items():
            section, _, rest = name.rpartition(".")
            if section not in known or rest not in known[section]:
                names = [f"{key}.{n}" if key else n for key in known for n in sorted(known[key])]
                raise ValueError(f"crf_options has {name!r}; expected some of {', '.join(names)}.")
            chosen[section][rest] = value
        options = cls(
            **chosen[""],
            likelihood=LikelihoodOptions(**chosen["likelihood"]),
            supervised=SupervisedOptions(**chosen["supervised"]),
        )
        options._check()
        return options

    def _check(self) -> None:
        """Values that make no sense, before anything is computed."""
        sections: list[tuple[str, ItgOptions | LikelihoodOptions | SupervisedOptions]] = [
            ("", self),
            ("likelihood.", self.likelihood),
            ("supervised.", self.supervised),
        ]
        for prefix, section in sections:
            for field in fields(section):
                if field.name in ("likelihood", "supervised"):
                    continue
                value, is_whole = getattr(section, field.name), type(field.default) is int
                least, most = LIMITS.get(prefix + field.name, (1 if is_whole else 0, np.inf))
                is_number = isinstance(value, int if is_whole else (int, float))
                if not is_number or isinstance(value, bool) or not least <= value <= most:
                    kind = "a whole number" if is_whole else "a number"
                    end = f"to {most}" if most < np.inf else "on"
                    raise ValueError(
                        f"crf_options has {prefix + field.name} = {value!r}; expected {kind} from "
                        f"{least} {end}."
                    )


LIMITS: dict[str, tuple[float, float]] = {
    "directions": (1, 2),
    "pool": (0, 1),
    "gold_share": (0, 1),
    "most_cells": (0, np.inf),
    "likelihood.held_out": (0, 0.9),
    "supervised.max_cells": (0, np.inf),
}
"""Least and most of the options; others are whole numbers from 1 on, or numbers from 0 on."""


@dataclass(frozen=True, eq=False)
class ItgAligner:
    """Translation CRFs, and where gold links were given a supervised CRF on top of them.

    Without gold links the probability of a link is a mixture: of its marginal under P(derivation |
    x, y) of the translation CRFs (the mean over both directions), and of its posteriors under the
    generative models (their mean), each weighted by half, see `ItgOptions.pool`. With gold links
    half of it is the marginal under the supervised CRF, which has all of these among its features:
    it is one-to-one, and the mixture is not.
    """

    generative: Generative
    latent: tuple[TranslationModel, ...]
    weights: FloatArray | None
    """Of the supervised CRF."""
    options: ItgOptions
    skipped: tuple[Skipped, ...] = ()
    """Pairs that each translation CRF was not trained on, and why; not in a model file."""
    n_large_gold: int = 0
    """Pairs with gold links that are too large to learn from; not in a model file."""

    @classmethod
    def train(
        cls,
        generative: Generative,
        source: Sentences,
        target: Sentences,
        alignments: Sequence[Alignment | None] | None,
        options: Mapping[str, Any],
    ) -> Self:
        """From pairs of sentences, and the gold links of some of them."""
        given = dict(options)
        seed, n_threads = given.pop("seed", 0), given.pop("n_threads", None)
        progress = given.pop("progress", None)
        say = _say if (sys.stderr.isatty() if progress is None else progress) else None
        chosen = ItgOptions.of(given)
        latent, skipped = _train_latent(generative, source, target, chosen, seed, n_threads, say)
        aligner = cls(generative, latent, None, chosen, skipped)
        if alignments is None:
            return aligner
        labelled = [k for k, alignment in enumerate(alignments) if alignment is not None]
        gold = [alignment for alignment in alignments if alignment is not None]
        sides = [source[k] for k in labelled], [target[k] for k in labelled]
        return aligner.with_gold(*sides, gold, seed=seed, n_threads=n_threads, say=say)

    def with_gold(
        self,
        source: Sentences,
        target: Sentences,
        gold: Sequence[Alignment],
        *,
        seed: int = 0,
        n_threads: int | None = None,
        say: Say | None = None,
    ) -> Self:
        """The same models, and a supervised CRF learnt from the gold links of some pairs.

        Pairs with more than `max_cells` places for a link are left out; where none is left, the
        aligner stays as it is.
        """
        limit = min(self.options.supervised.max_cells, self.options.most_cells)
        small = [k for k in range(len(gold)) if len(source[k]) * len(target[k]) <= limit]
        if say is not None:
            say(
                f"Supervised CRF: {len(small):,} pairs with gold links; {len(gold) - len(small):,} "
                f"have more than {limit:,} places for a link and are skipped."
            )
        n_large_gold = len(gold) - len(small)
        if not small:
            return replace(self, n_large_gold=n_large_gold)
        sides = [source[k] for k in small], [target[k] for k in small]
        result = train_supervised(
            self.evidence(*sides),
            self._numbers(*sides),
            [gold[k] for k in small],
            self.options.supervised,
            seed=seed,
            n_threads=n_threads,
        )
        if say is not None:
            say(f"Supervised CRF: {result.reason}")
        return replace(self, weights=result.weights, n_large_gold=n_large_gold)

    def evidence(self, source: Sentences, target: Sentences) -> list[Evidence]:
        """What the generative models and the translation CRFs believe of each pair."""
        numbers = self._numbers(source, target)
        posteriors = self.generative.posteriors(source, target)
        return [
            Evidence(x, y, p, q, self._latent(x, y, *words))
            for x, y, (p, q), words in zip(source, target, posteriors, numbers, strict=True)
        ]

    def posteriors(self, source: Sentences, target: Sentences) -> list[FloatArray]:
        """The probability of every link, (n, m) for each pair."""
        evidence = self.evidence(source, target)
        numbers = self._numbers(source, target)
        return [self._probabilities(e, *n) for e, n in zip(evidence, numbers, strict=True)]

    def best(self, source: Sentences, target: Sentences) -> list[list[Link]]:
        """The likeliest alignment of each pair under the CRF, one-to-one links.

        Without gold links that of the translation CRF from source to target. Pairs with more than
        `most_cells` places for a link get those that the generative models believe in.
        """
        found = []
        numbers = self._numbers(source, target)
        for each, (x, y) in zip(self.evidence(source, target), numbers, strict=True):
            if len(x) * len(y) > self.options.most_cells:
                likely = np.argwhere(self._pool(each) >= 0.5).tolist()
                found.append([(i, j) for i, j in likely])
                continue
            if self.weights is not None:
                pairs, scores = itg_supervised.scores(self.weights, each, x, y)
            else:
                pairs = PairAlignments([len(x)], [len(y)])
                scores = self.latent[0].scores(each.source, each.target, x, y).flat()
            (places,), _ = pairs.argmax(scores)
            found.append([(i, int(j)) for i, j in enumerate(places) if j >= 0])
        return found

    def _probabilities(self, evidence: Evidence, x: IntArray, y: IntArray) -> FloatArray:
        pool = self._pool(evidence)
        if self.weights is None or not evidence.latent:
            return pool
        pairs, scores = itg_supervised.scores(self.weights, evidence, x, y)
        links = pairs.split(pairs.infer(scores).marginals)[0].links
        share = self.options.gold_share
        mixed: FloatArray = (1 - share) * pool + share * links
        return mixed

    def _pool(self, evidence: Evidence) -> FloatArray:
        """The mixture of the generative models and the translation CRFs."""
        generative = (evidence.forward + evidence.backward) / 2
        if not evidence.latent:
            return generative
        share = self.options.pool
        mixed: FloatArray = (1 - share) * generative + share * np.mean(evidence.latent, axis=0)
        return mixed

    def _latent(
        self, source: Sequence[str], target: Sequence[str], x: IntArray, y: IntArray
    ) -> list[FloatArray]:
        """Link marginals of the translation CRFs, none of a pair that is too large."""
        if len(x) * len(y) > self.options.most_cells:
            return []
        return [
            _link_marginals(model, *sides) if index == 0 else _link_marginals(model, *sides).T
            for index, (model, sides) in enumerate(
                zip(self.latent, ((source, target, x, y), (target, source, y, x)), strict=False)
            )
        ]

    def _numbers(self, source: Sentences, target: Sentences) -> list[tuple[IntArray, IntArray]]:
        one = self.generative.source_words.encode(source)
        two = self.generative.target_words.encode(target)
        return [(one[k].astype(np.int64), two[k].astype(np.int64)) for k in range(len(one))]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"options": asdict(self.options), "n_latent": len(self.latent)}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        arrays: dict[str, Array] = {} if self.weights is None else {"weights": self.weights}
        for index, model in enumerate(self.latent):
            arrays |= {f"latent{index}.{name}": array for name, array in model.arrays().items()}
        return arrays

    @classmethod
    def restored(
        cls, header: Mapping[str, Any], arrays: Mapping[str, Array], generative: Generative
    ) -> Self:
        """The aligner that `header` and `arrays` describe."""
        plain = dict(header["options"])
        options = ItgOptions(
            likelihood=LikelihoodOptions(**plain.pop("likelihood")),
            supervised=SupervisedOptions(**plain.pop("supervised")),
            **plain,
        )
        tables = generative.forward.table, generative.backward.table
        latent = []
        for index in range(header["n_latent"]):
            prefix = f"latent{index}."
            mine = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            one, two = tables if index == 0 else tables[::-1]
            latent.append(TranslationModel.restored(mine, one, two))
        return cls(generative, tuple(latent), arrays.get("weights"), options)


def _train_latent(
    generative: Generative,
    source: Sentences,
    target: Sentences,
    options: ItgOptions,
    seed: int,
    n_threads: int | None,
    say: Say | None,
) -> tuple[tuple[TranslationModel, ...], tuple[Skipped, ...]]:
    """log P(target | source), and log P(source | target) where both directions are asked for.

    And the pairs that each of them skipped.
    """
    words = generative.source_words, generative.target_words
    tables = generative.forward.table, generative.backward.table
    numbers = words[0].encode(source), words[1].encode(target)
    models, skipped = [], []
    ways = [(words, tables, numbers), (words[::-1], tables[::-1], numbers[::-1])]
    for (x, y), (forward, backward), (one, two) in ways[: options.directions]:
        lexicon = LinkLexicon.learn(x, y, forward, backward, options.k)
        trained = train_translation(
            lexicon, one, two, options.likelihood, seed=seed, n_threads=n_threads, say=say
        )
        models.append(TranslationModel(lexicon, trained.weights, forward, backward))
        skipped.append(trained.skipped)
    return tuple(models), tuple(skipped)


def _link_marginals(
    model: TranslationModel,
    source: Sequence[str],
    target: Sequence[str],
    x: IntArray,
    y: IntArray,
) -> FloatArray:
    scores = model.scores(source, target, x, y).flat()
    sizes = np.array([len(x)]), np.array([len(y)])
    _, counts = infer_flat(scores, *sizes)
    return counts[: len(x) * len(y)].reshape(len(x), len(y))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
