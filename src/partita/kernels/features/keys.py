"""What templates see in training, for all words at once: codes to keys, numbers to sparse rows.

A key is a number of mixed base whose digits are codes, -1 where a code is absent; see `text.keys`.
"""

from partita.kernels.jit import kernel

ABSENT = -1


@kernel
def combine(codes, places, size, keys):
    """keys[r, w] = size keys[r, w] + codes[r, places[w]], or absent where either is.

    `codes` has as many rows as `keys`, or one for all of them.
    """
    for row in range(len(keys)):
        source = row if row < len(codes) else 0
        for word in range(len(places)):
            code = codes[source, places[word]]
            key = keys[row, word]
            keys[row, word] = ABSENT if code < 0 or key < 0 else key * size + code


@kernel
def count_rows(columns, offsets):
    """offsets[w + 1] = how many numbers the words up to w have in all columns."""
    for word in range(columns.shape[1]):
        offsets[word + 1] = 0
    for column in range(len(columns)):
        for word in range(columns.shape[1]):
            offsets[word + 1] += columns[column, word] >= 0
    offsets[0] = 0
    for word in range(columns.shape[1]):
        offsets[word + 1] += offsets[word]


@kernel
def fill_rows(columns, offsets, ids):
    """The numbers of each word, in the order of the columns."""
    for word in range(columns.shape[1]):
        at = offsets[word]
        for column in range(len(columns)):
            number = columns[column, word]
            if number >= 0:
                ids[at] = number
                at += 1
