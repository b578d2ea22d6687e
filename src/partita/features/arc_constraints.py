"""Rules about arcs as expectation constraints: which arcs of a batch count for which rule."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rules import ANY, ROOT, ArcPattern, ArcRule
from partita.structures.trees import Trees

_BOUNDS = {"equal": 0, "at least": 1, "at most": -1}
_N_SIDES = 2
_SIDES = {"left": (0,), "right": (1,), "any": (0, 1)}


def arc_constraints(
    trees: Trees, tags: Sequence[Sequence[str]], rules: Sequence[ArcRule]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Features and occurrences of rules: expectation k is the share of arcs that rule k is about.

    `tags` has a tag for each word of each sentence. The result is for `Constraints(*result)`;
    sparse, (n_rules, n_parts), a one for each arc that fits a pattern of the rule, and
    (n_rules, n_sentences), how many words of the sentence the rule is about. A rule whose tags
    are not in the batch has empty rows. Costs about the number of arcs, plus that of the ones.

    >>> from partita.structures.spanning_trees import SpanningTrees
    >>> rules = [ArcRule.of("VERB", "NOUN", "left", 0.3)]
    >>> features, occurrences = arc_constraints(SpanningTrees([2]), [["VERB", "NOUN"]], rules)
    >>> features.toarray().reshape(3, 3)  # the arc from word 1 to word 2
    array([[0., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    >>> occurrences.toarray()
    array([[1.]])
    """
    _check(trees, tags)
    # The root has number 0, and the tags of words follow.
    numbers = {tag: index for index, tag in enumerate(dict.fromkeys(t for r in tags for t in r), 1)}
    flat = np.array([numbers[tag] for row in tags for tag in row], dtype=np.int64)
    n_tags = len(numbers) + 1
    parts, kinds = _kinds_of_arcs(trees, flat, n_tags)
    fits = _fitting(rules, numbers, n_tags)
    # Arc -> kind -> rules: two sparse factors, so that no rule looks at every arc.
    chosen = sparse.csr_array(
        (np.ones(len(parts)), (kinds, parts)), shape=(fits.shape[1], trees.arc_offsets[-1])
    )
    features = sparse.csr_array(fits @ chosen)
    if trees.n_labels is not None:
        features = sparse.csr_array(sparse.kron(features, np.ones((1, trees.n_labels))))
    return features, _occurrences(trees, flat, numbers, rules)


def rule_targets(rules: Sequence[ArcRule]) -> tuple[FloatArray, IntArray]:
    """Targets and bounds for `GeneralizedExpectation(targets, bounds=bounds)`, (n_rules,) each.

    >>> rule_targets([ArcRule.of("VERB", "NOUN", "left", 0.5, "at least")])
    (array([0.5]), array([1]))
    """
    targets = np.array([rule.target for rule in rules], dtype=np.float64)
    return targets, np.array([_BOUNDS[rule.bound] for rule in rules], dtype=np.int64)


def _check(trees: Trees, tags: Sequence[Sequence[str]]) -> None:
    found, expected = [len(row) for row in tags], trees.n_words.tolist()
    if found != expected:
        raise ValueError(
            f"the tags are for sentences of {found[:5]} words (and so on); expected "
            f"{expected[:5]}, a tag for each word of the batch."
        )


def _kinds_of_arcs(trees: Trees, tags: IntArray, n_tags: int) -> tuple[IntArray, IntArray]:
    """The arcs that can be, and of each the kind: (tag of the head, of the modifier, side)."""
    n_nodes = trees.n_words + 1
    nodes = np.zeros(n_nodes.sum(), dtype=np.int64)
    starts = np.cumsum(n_nodes) - n_nodes
    is_root = np.zeros(len(nodes), dtype=np.bool_)
    is_root[starts] = True
    nodes[~is_root] = tags
    sentence = np.repeat(np.arange(len(n_nodes)), n_nodes**2)
    cell = np.arange(trees.arc_offsets[-1]) - trees.arc_offsets[sentence]
    head, modifier = np.divmod(cell, n_nodes[sentence])
    possible = np.flatnonzero((modifier != 0) & (head != modifier))
    head, modifier, first = head[possible], modifier[possible], starts[sentence[possible]]
    side = (head > modifier).astype(np.int64)
    kind = (nodes[first + head] * n_tags + nodes[first + modifier]) * _N_SIDES + side
    return possible, kind


def _fitting(rules: Sequence[ArcRule], numbers: dict[str, int], n_tags: int) -> sparse.csr_array:
    """(n_rules, n_kinds): a one where an arc of the kind fits some pattern of the rule."""
    fits = sparse.lil_array((len(rules), n_tags * n_tags * _N_SIDES))
    for index, rule in enumerate(rules):
        for pattern in rule.patterns:
            fits[index, _kinds(pattern, numbers, n_tags)] = 1.0
    return sparse.csr_array(fits)


def _kinds(pattern: ArcPattern, numbers: dict[str, int], n_tags: int) -> list[int]:
    words = range(1, n_tags)
    if pattern.head == ROOT:
        heads: Sequence[int] = [0]
    else:
        heads = words if pattern.head == ANY else [numbers.get(pattern.head, -1)]
    modifiers = words if pattern.modifier == ANY else [numbers.get(pattern.modifier, -1)]
    return [
        (head * n_tags + modifier) * _N_SIDES + side
        for head in heads
        for modifier in modifiers
        for side in _SIDES[pattern.side]
        if head >= 0 and modifier >= 0
    ]


def _occurrences(
    trees: Trees, tags: IntArray, numbers: dict[str, int], rules: Sequence[ArcRule]
) -> sparse.csr_array:
    """(n_rules, n_sentences): the words with the tag that the rule is about."""
    sentence = np.repeat(np.arange(trees.n_sentences), trees.n_words)
    shape = (len(numbers) + 1, trees.n_sentences)
    by_tag = sparse.csr_array((np.ones(len(tags)), (tags, sentence)), shape=shape)
    about = sparse.lil_array((len(rules), shape[0]))
    for index, rule in enumerate(rules):
        if rule.among == ANY:
            about[index, 1:] = 1.0
        elif rule.among in numbers:
            about[index, numbers[rule.among]] = 1.0
    return sparse.csr_array(sparse.csr_array(about) @ by_tag)
