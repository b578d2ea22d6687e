"""Rules about arcs as expectation constraints: which arcs of a batch count for which rule.

A rule names words by their tag, or by a condition such as `FORM.lower=the` (see
`partita.text.conditions`). So a word is known by what rules say of it: one name, or a set of them.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rule import ANY, ROOT, ArcPattern, ArcRule
from partita.features.nodes import within_groups
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.trees import Trees
from partita.text.conditions import Condition, holding, parse_condition
from partita.text.fields import Field
from partita.text.words import Words

AnyTrees = Trees | SiblingTrees
_BOUNDS = {"equal": 0, "at least": 1, "at most": -1}
WordNames = str | frozenset[str]
"""A name by which rules know a word, or all of them."""
TAGS = "UPOS"
"""The column of a name that is a tag."""
_SIDES = {"left": (0,), "right": (1,), "any": (0, 1)}


def arc_constraints(
    trees: AnyTrees, tags: Sequence[Sequence[WordNames]], rules: Sequence[ArcRule]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Features and occurrences of rules: expectation k is the share of arcs that rule k is about.

    `tags` has a tag for each word of each sentence, or all names by which rules know it, as
    `known_words` gives them. The result is for `Constraints(*result)`;
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
    places = HeadPlaces.of(rules)
    parts, kinds = _kinds_of_arcs(trees, flat, n_tags, places)
    fits = _fitting(rules, numbers, n_tags, places)
    # Arc -> kind -> rules: two sparse factors, so that no rule looks at every arc.
    chosen = sparse.csr_array(
        (np.ones(len(parts)), (kinds, parts)), shape=(fits.shape[1], trees.arc_offsets[-1])
    )
    features = sparse.csr_array(fits @ chosen)
    if isinstance(trees, Trees) and trees.n_labels is not None:
        features = sparse.csr_array(sparse.kron(features, np.ones((1, trees.n_labels))))
    return features, _occurrences(trees, flat, numbers, rules)


def rule_conditions(rules: Sequence[ArcRule], columns: Sequence[str]) -> dict[str, Condition]:
    """What the names in rules say of words: conditions on some columns, or tags, of UPOS.

    >>> rules = [ArcRule.of("VERB", "FORM.lower=the", "right", 0.1)]
    >>> {name: each.text for name, each in rule_conditions(rules, ["FORM", "UPOS"]).items()}
    {'VERB': 'UPOS=VERB', 'FORM.lower=the': 'FORM.lower=the'}
    """
    names = (name for r in rules for p in r.patterns for name in (p.head, p.modifier, r.among))
    found = {}
    for name in dict.fromkeys(names):
        if name in (ANY, ROOT):
            continue
        condition = parse_condition(name) if "=" in name else None
        # Where there is no such column, it is a tag that has an equals sign.
        if condition is None or condition.field.column not in columns:
            condition = Condition(Field(TAGS), name)
        found[name] = condition
    return found


def known_words(words: Words, conditions: Mapping[str, Condition]) -> list[list[frozenset[str]]]:
    """For each word of each sentence the names whose condition holds, for `arc_constraints`."""
    different = list(dict.fromkeys(conditions.values()))
    rows = holding(different, words)
    names = [[name for name, each in conditions.items() if each == one] for one in different]
    ends = rows.offsets.tolist()
    ids = rows.ids.tolist()
    flat = [
        frozenset(name for number in ids[start:end] for name in names[number])
        for start, end in pairwise(ends)
    ]
    sentences = np.cumsum([0, *words.n_words]).tolist()
    return [flat[start:end] for start, end in pairwise(sentences)]


def rule_targets(rules: Sequence[ArcRule]) -> tuple[FloatArray, IntArray]:
    """Targets and bounds for `GeneralizedExpectation(targets, bounds=bounds)`, (n_rules,) each.

    >>> rule_targets([ArcRule.of("VERB", "NOUN", "left", 0.5, "at least")])
    (array([0.5]), array([1]))
    """
    targets = np.array([rule.target for rule in rules], dtype=np.float64)
    return targets, np.array([_BOUNDS[rule.bound] for rule in rules], dtype=np.int64)


def _check(trees: AnyTrees, tags: Sequence[Sequence[WordNames]]) -> None:
    found, expected = [len(row) for row in tags], trees.n_words.tolist()
    if found != expected:
        raise ValueError(
            f"the tags are for sentences of {found[:5]} words (and so on); expected "
            f"{expected[:5]}, a tag for each word of the batch."
        )


class HeadPlaces(NamedTuple):
    """Where a head can be, as far as rules tell it apart: side, and a range of distances."""

    limits: IntArray
    """Distances after which some pattern begins or ends to fit, in order."""

    @classmethod
    def of(cls, rules: Sequence[ArcRule]) -> "HeadPlaces":
        """Those of some rules."""
        patterns = [pattern for rule in rules for pattern in rule.patterns]
        found = {limit for each in patterns for limit in (each.beyond, each.within) if limit}
        return cls(np.array(sorted(found), dtype=np.int64))

    @property
    def n_places(self) -> int:
        """On both sides."""
        return 2 * self.n_ranges

    @property
    def n_ranges(self) -> int:
        """Of distances."""
        return len(self.limits) + 1

    def number(self, head: IntArray, modifier: IntArray) -> IntArray:
        """Of each arc."""
        ranges = np.searchsorted(self.limits, np.abs(head - modifier))
        found: IntArray = (head > modifier) * self.n_ranges + ranges
        return found

    def fitting(self, pattern: ArcPattern) -> list[int]:
        """The numbers that a pattern is about; the root's arcs are about any."""
        # The range behind a limit has the number of the limits before it.
        first = int(np.searchsorted(self.limits, pattern.beyond, side="right"))
        last = self.n_ranges - 1
        if pattern.within is not None:
            last = int(np.searchsorted(self.limits, pattern.within))
        return [
            side * self.n_ranges + each
            for side in _SIDES[pattern.side]
            for each in range(first, last + 1)
        ]


def _kinds_of_arcs(
    trees: AnyTrees, tags: IntArray, n_tags: int, places: HeadPlaces
) -> tuple[IntArray, IntArray]:
    """The arcs that can be, and of each the kind: (tag of the head, of the modifier, place)."""
    n_nodes = trees.n_words + 1
    nodes = np.zeros(n_nodes.sum(), dtype=np.int64)
    starts = np.cumsum(n_nodes) - n_nodes
    is_root = np.zeros(len(nodes), dtype=np.bool_)
    is_root[starts] = True
    nodes[~is_root] = tags
    sentence = np.repeat(np.arange(len(n_nodes)), n_nodes**2)
    cell = within_groups(n_nodes**2)
    head, modifier = np.divmod(cell, n_nodes[sentence])
    possible = np.flatnonzero((modifier != 0) & (head != modifier))
    head, modifier, first = head[possible], modifier[possible], starts[sentence[possible]]
    tags_of_arcs = nodes[first + head] * n_tags + nodes[first + modifier]
    kind = tags_of_arcs * places.n_places + places.number(head, modifier)
    return trees.arc_offsets[sentence[possible]] + cell[possible], kind


def _fitting(
    rules: Sequence[ArcRule], numbers: dict[WordNames, int], n_tags: int, places: HeadPlaces
) -> sparse.csr_array:
    """(n_rules, n_kinds): a one where an arc of the kind fits some pattern of the rule."""
    fits = sparse.lil_array((len(rules), n_tags * n_tags * places.n_places))
    for index, rule in enumerate(rules):
        for pattern in rule.patterns:
            fits[index, _kinds(pattern, numbers, n_tags, places)] = 1.0
    return sparse.csr_array(fits)


def _kinds(
    pattern: ArcPattern, numbers: dict[WordNames, int], n_tags: int, places: HeadPlaces
) -> list[int]:
    heads = [0] if pattern.head == ROOT else _named(pattern.head, numbers)
    return [
        (head * n_tags + modifier) * places.n_places + place
        for head in heads
        for modifier in _named(pattern.modifier, numbers)
        for place in places.fitting(pattern)
    ]


def _named(name: str, numbers: dict[WordNames, int]) -> list[int]:
    """The numbers of the words that a name is one of."""
    return [
        number
        for known, number in numbers.items()
        if name == ANY or (name == known if isinstance(known, str) else name in known)
    ]


def _occurrences(
    trees: Trees | SiblingTrees,
    tags: IntArray,
    numbers: dict[WordNames, int],
    rules: Sequence[ArcRule],
) -> sparse.csr_array:
    """(n_rules, n_sentences): the words with the tag that the rule is about."""
    sentence = np.repeat(np.arange(trees.n_sentences), trees.n_words)
    shape = (len(numbers) + 1, trees.n_sentences)
    by_tag = sparse.csr_array((np.ones(len(tags)), (tags, sentence)), shape=shape)
    about = sparse.lil_array((len(rules), shape[0]))
    for index, rule in enumerate(rules):
        about[index, _named(rule.among, numbers)] = 1.0
    return sparse.csr_array(sparse.csr_array(about) @ by_tag)
