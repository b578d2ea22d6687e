"""Links of two directions as one set."""

import numpy as np

from partita.kernels.jit import kernel

DOWN = np.array([-1, 0, 1, 0, -1, -1, 1, 1])
RIGHT = np.array([0, -1, 0, 1, -1, 1, -1, 1])
"""Where the neighbours of a link are, in the order in which they are tried."""
NEITHER, EITHER, LINK = 0, 1, 2
"""What a cell is: in neither direction, in one of them, a link."""


@kernel
def grow_diagonally(forward, backward, source_offsets, target_offsets, links, ends):
    """The links of pairs by "grow-diag", see `estimators.alignment.symmetrise`; how many there are.

    `forward` has the source place of each target word, or -1, of all pairs end to end; `backward`
    the target place of each source word. Fills rows (source, target), ascending, and where those of
    each pair end. O(n m).
    """
    n_cells, most, n_links = 0, 0, 0
    for pair in range(len(ends) - 1):
        n = source_offsets[pair + 1] - source_offsets[pair]
        m = target_offsets[pair + 1] - target_offsets[pair]
        n_cells, most = max(n_cells, n * m), max(most, n + m)
    cells, waiting = np.empty(n_cells, dtype=np.int8), np.empty(n_cells, dtype=np.int64)
    # The words of both sides that have a link, those of the target behind those of the source.
    is_linked = np.empty(most, dtype=np.bool_)
    ends[0] = 0
    for pair in range(len(ends) - 1):
        source, target = source_offsets[pair], target_offsets[pair]
        n, m = source_offsets[pair + 1] - source, target_offsets[pair + 1] - target
        for cell in range(n * m):
            cells[cell] = NEITHER
        for word in range(n + m):
            is_linked[word] = False
        for j in range(m):
            if forward[target + j] >= 0:
                cells[forward[target + j] * m + j] = EITHER
        n_waiting = 0
        for i in range(n):
            if backward[source + i] >= 0:
                cell = i * m + backward[source + i]
                cells[cell] += EITHER
                if cells[cell] == LINK:
                    is_linked[i] = is_linked[n + backward[source + i]] = True
                    waiting[n_waiting] = cell
                    n_waiting += 1
        # Whatever is added may have neighbours of its own, so it joins the end of the queue.
        at = 0
        while at < n_waiting:
            i, j = waiting[at] // m, waiting[at] % m
            at += 1
            for k in range(len(DOWN)):
                down, right = i + DOWN[k], j + RIGHT[k]
                if not (0 <= down < n and 0 <= right < m):
                    continue
                is_free = not (is_linked[down] and is_linked[n + right])
                if is_free and cells[down * m + right] == EITHER:
                    cells[down * m + right] = LINK
                    is_linked[down] = is_linked[n + right] = True
                    waiting[n_waiting] = down * m + right
                    n_waiting += 1
        for cell in range(n * m):
            if cells[cell] == LINK:
                links[n_links, 0], links[n_links, 1] = cell // m, cell % m
                n_links += 1
        ends[pair + 1] = n_links
    return n_links
