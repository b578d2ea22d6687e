"""Pairing heaps of numbered items, for searches that find the next best one lazily.

Items are rows of integers whose first two columns are the links of their heap; `values` has what
each is worth, and the highest is on top.
"""

from partita.kernels.jit import inlined

CHILD, SIBLING = 0, 1
N_LINKS = 2
"""Columns that the heap takes; what an item is comes behind them."""
NONE = -1


@inlined
def meld(items, values, first, second):
    """One heap of two, by their tops; the first stays on top where they are equal."""
    if first == NONE or second == NONE:
        return max(first, second)
    if values[second] > values[first]:
        first, second = second, first
    items[second, SIBLING] = items[first, CHILD]
    items[first, CHILD] = second
    return first


@inlined
def without_top(items, values, top):
    """The heap of all but its top: neighbours are paired, and the pairs melded from the last on."""
    pairs, child = NONE, items[top, CHILD]
    while child != NONE:
        second = items[child, SIBLING]
        following = items[second, SIBLING] if second != NONE else NONE
        pair = meld(items, values, child, second)
        items[pair, SIBLING] = pairs
        pairs, child = pair, following
    heap = NONE
    while pairs != NONE:
        following = items[pairs, SIBLING]
        heap = meld(items, values, heap, pairs)
        pairs = following
    return heap


@inlined
def with_item(items, values, heap, item):
    """The heap with one more item, whose columns are filled but for the links."""
    items[item, CHILD] = NONE
    items[item, SIBLING] = NONE
    return meld(items, values, heap, item)
