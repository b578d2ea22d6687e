"""The hierarchical translator: rules from aligned bitext, and a log-linear model over them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.estimators.alignment.em import Course, learn_directions
from partita.estimators.alignment.symmetrise import symmetrise
from partita.estimators.translation.decoding import Scored
from partita.estimators.translation.hiero_grammar import FEATURES, FIRST_WEIGHTS, HieroRules
from partita.estimators.translation.hiero_training import HieroSentence, hiero_corpus
from partita.estimators.translation.options import PairCounts, Say, TranslatorOptions, usable
from partita.estimators.translation.rule_extraction import RuleLimits, RulePair, extract
from partita.text.sentences import Tokens
from partita.text.word_vocabulary import WordVocabulary
from partita.training import TrainingResult, train

MOST_TRIED = 8
"""Pairs that are tried for each one that is to be found reachable."""
LEAST_EXTRACTION = 0.8
"""At least this share of the pairs gives rules."""


@dataclass(eq=False)
class HieroModel:
    """Rules with their features, and a weight for each feature."""

    rules: HieroRules
    weights: FloatArray
    longest_span: int

    def scored(self, words: Tokens) -> Scored:
        """D(x) with the scores that the weights give it."""
        return HieroSentence.of(self.rules, words).scored(self.weights, self.longest_span)

    def log_probability(self, source: Tokens, target: Tokens) -> float:
        """log Z(x, y) - log Z(x); -inf where the grammar cannot reach the target."""
        sentence = HieroSentence.of(self.rules, source)
        observed = sentence.pair(target, self.longest_span)
        if observed is None:
            return -np.inf
        scores = sentence.features @ self.weights
        forests = [sentence.tied(observed), sentence.tied(sentence.all(self.longest_span))]
        found, every = (
            float(each.forest.infer(each.edge_scores(scores)).log_partition[0]) for each in forests
        )
        return found - every

    def described(self, n_words: int) -> Iterator[str]:
        """Lines that say what was learnt; `n_words` rules with gaps."""
        rules = self.rules
        yield f"{len(rules.targets):,} rules over {len(rules.sources):,} source sides"
        for name, weight in zip(FEATURES, self.weights, strict=True):
            yield f"{weight:8.3f}  {name}"
        yield from rules.commonest(n_words)

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"longest_span": self.longest_span, "rules": self.rules.header()}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        rules = {f"rules.{name}": array for name, array in self.rules.arrays().items()}
        return {**rules, "weights": self.weights}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `header` and `arrays` describe."""
        prefix = "rules."
        held = {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
        rules = HieroRules.restored(header["rules"], held)
        return cls(rules, arrays["weights"], header["longest_span"])


def fit_hiero(
    source: Sequence[Tokens],
    target: Sequence[Tokens],
    held_out: tuple[Sequence[Tokens], Sequence[Tokens]] | None,
    options: TranslatorOptions,
    say: Say,
) -> tuple[HieroModel, TrainingResult, PairCounts]:
    """Rules from most pairs, weights from the others (or from held-out ones, where given).

    A pair that gave rules is reached by its own long ones, and would teach that all long rules
    are good; so weights are learnt from pairs that gave none.
    """
    kept, counts = usable(source, target, options.max_words)
    kept = kept[: options.n_pairs]
    n_tried = MOST_TRIED * options.n_tuning
    n_rules = len(kept) if held_out else max(int(LEAST_EXTRACTION * len(kept)), len(kept) - n_tried)
    teaching = [(source[index], target[index]) for index in kept[:n_rules]]
    tuning = [(source[index], target[index]) for index in kept[n_rules:]]
    if held_out is not None:
        places, _ = usable(*held_out, options.max_words)
        tuning = [(held_out[0][index], held_out[1][index]) for index in places]
    if not teaching:
        raise ValueError(
            f"no pair can be learnt from ({counts}); expected pairs with words on both sides, at "
            f"most {options.max_words} each."
        )
    model = HieroModel(
        _rules(teaching, options, say), np.array(FIRST_WEIGHTS), options.longest_phrase
    )
    say(f"Rules: {len(model.rules.targets):,} over {len(model.rules.sources):,} source sides")
    result, n_reached, n_unreachable = _tuned(model, tuning[:n_tried], options, say)
    model.weights = result.weights
    counts = replace(counts, n_pairs=counts.n_empty + counts.n_long + len(kept))
    if held_out is not None:
        return model, result, replace(counts, n_used=len(kept))
    counts = replace(
        counts,
        n_used=n_rules + n_reached,
        n_unreachable=n_unreachable,
        n_spare=len(kept) - n_rules - n_reached - n_unreachable,
    )
    return model, result, counts


def _rules(
    pairs: Sequence[tuple[Tokens, Tokens]], options: TranslatorOptions, say: Say
) -> HieroRules:
    """Both directions of the HMM aligner, symmetrised, and the rules of their links."""
    sides = [words for words, _ in pairs], [words for _, words in pairs]
    words = WordVocabulary.learn(sides[0]), WordVocabulary.learn(sides[1])
    numbers = words[0].encode(sides[0]), words[1].encode(sides[1])
    (forward, backward), _ = learn_directions(
        (*numbers, len(words[0]), len(words[1])), Course(options.model1_iterations, 5)
    )
    say(f"Aligned {len(pairs):,} pairs")
    counts: Counter[RulePair] = Counter()
    limits = RuleLimits(longest_phrase=options.longest_phrase)
    both = zip(forward.best(*numbers), backward.best(numbers[1], numbers[0]), strict=True)
    for index, (there, back) in enumerate(both):
        links = symmetrise(
            [(int(i), j) for j, i in enumerate(there) if i >= 0],
            [(i, int(j)) for i, j in enumerate(back) if j >= 0],
            "grow-diag",
        )
        counts.update(
            extract(numbers[0][index].tolist(), numbers[1][index].tolist(), links, limits)
        )
        if (index + 1) % 5000 == 0:
            say(f"Rules of {index + 1:,} of {len(pairs):,} pairs: {len(counts):,}")
    return HieroRules.of(
        counts,
        words,
        (forward.table, backward.table),
        n_targets=options.n_targets,
        min_count=options.min_count,
    )


def _tuned(
    model: HieroModel,
    pairs: Sequence[tuple[Tokens, Tokens]],
    options: TranslatorOptions,
    say: Say,
) -> tuple[TrainingResult, int, int]:
    """The weights, from how many pairs, and how many could not be reached.

    Where none can be reached, they are those to start from.
    """
    corpus, n_unreachable = hiero_corpus(
        model.rules, pairs, model.longest_span, options.n_tuning, n_threads=options.n_threads
    )
    if corpus is None:
        reason = "No pair to learn the weights from can be reached; they are the first ones."
        say(reason)
        return TrainingResult(model.weights, float("nan"), 0, reason, ()), 0, n_unreachable
    n_reached = corpus.n_sentences // 2
    say(f"Weights from {n_reached:,} pairs; {n_unreachable:,} others cannot be reached")
    result = train(
        corpus,
        penalty=options.penalty,
        weights=model.weights,
        seed=options.seed,
        log=options.log,
        checkpoint=options.checkpoint,
        checkpoint_seconds=options.checkpoint_seconds,
        resume=options.resume,
        progress=options.progress,
    )
    return result, n_reached, n_unreachable
