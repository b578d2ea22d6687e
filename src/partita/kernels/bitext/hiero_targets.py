"""D(x) of synchronous rules restricted to a target, and the target words of derivations.

The caller gives room for what is found; the kernels say where there was too little.
"""

import numpy as np

from partita.kernels.jit import kernel, step


@kernel
def prune(root, edges, counts, number):
    """Keeps the edges that occur in a derivation of the root, in place, and counts what is left.

    Every node has a derivation, and edges come in an order in which those into a node are before
    those out of it; so one way back finds what can be reached. `number` gets the new number of
    each node, -1 where it is left out.
    """
    edge_heads, edge_rules, tail_offsets, tails = edges
    for node in range(counts[0]):
        number[node] = -1
    number[root] = 0
    for edge in range(counts[1] - 1, -1, -1):
        if number[edge_heads[edge]] == 0:
            for k in range(tail_offsets[edge], tail_offsets[edge + 1]):
                number[tails[k]] = 0
    n_nodes, n_edges, n_tails = 0, 0, 0
    for node in range(counts[0]):
        if number[node] == 0:
            number[node] = n_nodes
            n_nodes += 1
    begin = 0
    for edge in range(counts[1]):
        end = tail_offsets[edge + 1]
        if number[edge_heads[edge]] >= 0:
            edge_heads[n_edges], edge_rules[n_edges] = number[edge_heads[edge]], edge_rules[edge]
            for k in range(begin, end):
                tails[n_tails] = number[tails[k]]
                n_tails += 1
            n_edges += 1
            tail_offsets[n_edges] = n_tails
        begin = end
    counts[0], counts[1], counts[2] = n_nodes, n_edges, n_tails


@kernel
def restrict(chart, targets, words, chains, splits, edges, counts):
    """The chart with every node split by the target words k .. l-1 that it derives.

    `chart` is the head, rule, tail offsets and tails of each edge, those into a node before those
    out of it; `targets` the target side of each rule, in which -1 - p is the tail p. A split is
    (node, k, l); those of a node that begin at k are a chain, in the order in which they were
    found, from the first to the last that `chains` has. False where there was too little room.
    """
    heads, rules, tail_offsets, tails = chart
    n = len(words)
    for node in range(len(chains[0])):
        for begin in range(n + 1):
            chains[0][node, begin] = -1
    counts[0], counts[1], counts[2] = 0, 0, 0
    edges[2][0] = 0
    longest = 0
    for rule in range(len(targets[1]) - 1):
        longest = max(longest, targets[1][rule + 1] - targets[1][rule])
    chosen = np.empty(longest + 1, dtype=np.int64)
    places = np.empty(longest + 1, dtype=np.int64)
    for edge in range(len(heads)):
        first, last = targets[1][rules[edge]], targets[1][rules[edge] + 1]
        below = tail_offsets[edge]
        n_tails = tail_offsets[edge + 1] - below
        for begin in range(n + 1):
            places[0] = begin
            depth, forwards = 0, True
            while depth >= 0:
                if forwards and depth == last - first:
                    if not add_split(
                        heads[edge], begin, places[depth], rules[edge], n_tails, targets[0], first,
                        depth, chosen, chains, splits, edges, counts,
                    ):  # fmt: skip
                        return False
                    forwards = False
                if forwards:
                    symbol = targets[0][first + depth]
                    if symbol >= 0:
                        forwards = places[depth] < n and words[places[depth]] == symbol
                        end = places[depth] + 1
                    else:
                        chosen[depth] = chains[0][tails[below - 1 - symbol], places[depth]]
                        forwards = chosen[depth] >= 0
                        end = splits[2][chosen[depth]] if forwards else 0
                else:
                    depth -= 1
                    if depth < 0:
                        break
                    if targets[0][first + depth] >= 0:
                        continue
                    chosen[depth] = chains[2][chosen[depth]]
                    forwards = chosen[depth] >= 0
                    end = splits[2][chosen[depth]] if forwards else 0
                if forwards:
                    depth += 1
                    places[depth] = end
    return True


@step
def add_split(node, begin, end, rule, n_tails, symbols, first, n_symbols, chosen, chains, splits,
              edges, counts):  # fmt: skip
    """An edge into the split of a node, which is made if it is new; whether there was room.

    Few splits of a node begin at the same word, so that they are looked through; a table of all
    places where they may end took longer to clear than to use.
    """
    firsts, lasts, following = chains
    edge_heads, edge_rules, tail_offsets, tails = edges
    edge, tail = counts[1], counts[2]
    if edge + 2 > len(tail_offsets) or tail + n_tails > len(tails) or counts[0] >= len(following):
        return False
    split = firsts[node, begin]
    while split >= 0 and splits[2][split] != end:
        split = following[split]
    if split < 0:
        split = counts[0]
        counts[0] += 1
        splits[0][split], splits[1][split], splits[2][split] = node, begin, end
        following[split] = -1
        if firsts[node, begin] < 0:
            firsts[node, begin] = split
        else:
            following[lasts[node, begin]] = split
        lasts[node, begin] = split
    edge_heads[edge], edge_rules[edge] = split, rule
    for k in range(n_symbols):
        if symbols[first + k] < 0:
            tails[tail - 1 - symbols[first + k]] = chosen[k]
    tail_offsets[edge + 1] = tail + n_tails
    counts[1], counts[2] = edge + 1, tail + n_tails
    return True


@kernel
def target_words(derivations, offsets, rules, tail_counts, targets, out, out_offsets):
    """The target words of derivations, edges top-down and left to right, end to end.

    A slot stands for the words of a part of the derivation; how long that part is, is known from
    the right.
    """
    longest = 0
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    behind = np.empty(longest + 1, dtype=np.int64)
    stack = np.empty(longest + 1, dtype=np.int64)
    symbols = np.empty(longest + 1, dtype=np.int64)
    n_words = 0
    out_offsets[0] = 0
    for k in range(len(offsets) - 1):
        first, n_edges = offsets[k], offsets[k + 1] - offsets[k]
        for place in range(n_edges - 1, -1, -1):
            end = place + 1
            for _ in range(tail_counts[derivations[first + place]]):
                end = behind[end]
            behind[place] = end
        depth = 0
        stack[0] = 0
        symbols[0] = targets[1][rules[derivations[first]]]
        while depth >= 0:
            rule = rules[derivations[first + stack[depth]]]
            if symbols[depth] == targets[1][rule + 1]:
                depth -= 1
                continue
            symbol = targets[0][symbols[depth]]
            symbols[depth] += 1
            if symbol >= 0:
                out[n_words] = symbol
                n_words += 1
            else:
                place = stack[depth] + 1
                for _ in range(-1 - symbol):
                    place = behind[place]
                depth += 1
                stack[depth] = place
                symbols[depth] = targets[1][rules[derivations[first + place]]]
        out_offsets[k + 1] = n_words
