"""Probabilities of the rules of a context-free grammar from sentences without trees, by EM.

    expected count of a rule = sum over sentences of its marginals under p(tree | sentence)
    probability of a rule    = its expected count over that of all rules of the same head

(Baker 1979; Lari & Young 1990). The likelihood of the sentences never falls. It has many maxima, of
which EM finds one that depends on where it begins: where all rules of a head are alike nothing
tells them apart, so begin with some that differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray
from partita.grammars.cfg import ContextFreeGrammar, shares
from partita.structures.forests import Forests


@dataclass(frozen=True)
class Estimated:
    """A grammar, and how likely the sentences were on the way to it."""

    grammar: ContextFreeGrammar
    log_likelihoods: tuple[float, ...]
    """Before each iteration, and at the end."""


def estimate(
    grammar: ContextFreeGrammar,
    sentences: Sequence[Sequence[str]],
    *,
    n_iterations: int = 100,
    tolerance: float = 1e-6,
    prior: float = 0.0,
) -> Estimated:
    """The grammar with probabilities that make the sentences likelier.

    Parameters
    ----------
    grammar
        Where to begin; rules whose weight is 0 stay at 0.
    sentences
        Their words.
    n_iterations
        The most iterations.
    tolerance
        Stop when the log-likelihood of an iteration rises by less than this fraction of it.
    prior
        Added to every expected count.

    An iteration costs O(edges of all forests), which are built once.

    >>> rules = [
    ...     ("S", ("A", "B")),
    ...     ("S", ("B", "A")),
    ...     ("A", "x"),
    ...     ("A", "y"),
    ...     ("B", "x"),
    ...     ("B", "y"),
    ... ]
    >>> begin = ContextFreeGrammar.from_probabilities(rules, [0.5, 0.5, 0.6, 0.4, 0.4, 0.6])
    >>> found = estimate(begin, [["x", "y"]] * 3 + [["y", "x"]])
    >>> np.exp(found.grammar.scores).round(2)
    array([0.75, 0.25, 1.  , 0.  , 0.  , 1.  ])
    """
    if prior < 0:
        raise ValueError(f"prior is {prior}; expected 0 or more.")
    forests = [grammar.forest(words) for words in sentences]
    rules = np.concatenate([np.zeros(0, dtype=np.int64), *(forest.rules for forest in forests)])
    is_scored = rules >= 0
    numbers = rules[is_scored]
    structures = Forests([forest.hypergraph for forest in forests])
    allowed = grammar.scores > -np.inf
    # Whatever weights came, from here on they are probabilities.
    scores = shares(grammar.rules, np.exp(grammar.scores))
    likelihoods: list[float] = []
    while True:
        edge_scores = np.zeros(len(rules))
        edge_scores[is_scored] = scores[numbers]
        inference = structures.infer(edge_scores)
        likelihoods.append(float(inference.log_partition.sum()))
        rise = np.inf if len(likelihoods) < 2 else likelihoods[-1] - likelihoods[-2]
        if len(likelihoods) > n_iterations or rise <= tolerance * abs(likelihoods[-1]):
            return Estimated(grammar.with_scores(scores), tuple(likelihoods))
        expected: FloatArray = inference.marginals[is_scored]
        counts = np.bincount(numbers, weights=expected, minlength=len(scores))
        scores = shares(grammar.rules, np.where(allowed, counts + prior, 0.0))
