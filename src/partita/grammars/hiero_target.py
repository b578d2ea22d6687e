"""Restriction of the derivations of a source sentence to those with a given target."""

from collections.abc import Iterable, Sequence

from partita.grammars.hiero_chart import Chart, Node
from partita.grammars.rules import Slot, SynchronousRule

Places = dict[int, list[tuple[int, int]]]
"""For each target boundary where a node can start: where it can end, and the node of both."""


def restrict(
    chart: Chart, rules: Sequence[SynchronousRule], order: Sequence[int], target: Sequence[str]
) -> tuple[Chart, dict[Node, int]]:
    """The chart with every node split by the target words k .. l-1 that it derives.

    `order` lists the nodes, tails before heads. Returns the new chart and its nodes,
    (nonterminal, i, j, k, l).
    """
    keys = list(chart.nodes)
    stars: list[list[int]] = [[] for _ in keys]
    for edge, head in enumerate(chart.heads):
        stars[head].append(edge)
    places: list[Places] = [{} for _ in keys]
    result = Chart()
    for node in order:
        for edge in stars[node]:
            rule = rules[chart.rule[edge]]
            tails = {
                slot.number: places[tail]
                for slot, tail in zip(rule.slots, chart.tails[edge], strict=True)
            }
            if not all(tails.values()):
                continue
            for start, end, chosen in _matches(rule, tails, target):
                new = (*keys[node], start, end)
                if new not in result.nodes:
                    places[node].setdefault(start, []).append((end, len(result.nodes)))
                tails_in_order = tuple(chosen[slot.number] for slot in rule.slots)
                result.add(new, chart.rule[edge], tails_in_order)
    return result, result.nodes


def _matches(
    rule: SynchronousRule, tails: dict[int, Places], target: Sequence[str]
) -> list[tuple[int, int, dict[int, int]]]:
    """Where the target side of a rule fits: start, end, and the node of each nonterminal."""
    starts: Iterable[int] = range(len(target) + 1)
    if rule.target and isinstance(rule.target[0], Slot):
        starts = tails[rule.target[0].number]
    partial: list[tuple[int, int, dict[int, int]]] = [(k, k, {}) for k in starts]
    for item in rule.target:
        if isinstance(item, Slot):
            partial = [
                (start, further, {**chosen, item.number: node})
                for start, end, chosen in partial
                for further, node in tails[item.number].get(end, ())
            ]
        else:
            partial = [
                (start, end + 1, chosen)
                for start, end, chosen in partial
                if end < len(target) and target[end] == item
            ]
    return partial
