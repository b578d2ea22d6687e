"""Numbers of words: whether they can be, and where the sentences and their arrays begin."""

from partita.kernels.doors.padded import power
from partita.kernels.jit import kernel


@kernel
def all_within(counts, least, most):
    """Whether all counts are from `least` to `most`."""
    is_within = True
    for index in range(len(counts)):
        is_within &= least <= counts[index] <= most
    return is_within


@kernel
def lay_out(n_words, shapes, starts, part_offsets, word_offsets):
    """Where each array of each sentence begins, and where the sentences do.

    A row of `shapes` holds the axes along words, how much longer these are than the sentence, and
    the cells of the other axes. Returns the number of all parts, in floating point since it may
    not be one of 64 bits; and the longest sentence.
    """
    part, word, total, longest = 0, 0, 0.0, 0
    for sentence in range(len(n_words)):
        part_offsets[sentence], word_offsets[sentence] = part, word
        n = n_words[sentence]
        for array in range(len(shapes)):
            starts[array, sentence] = part
            n_axes, side = shapes[array, 0], n + shapes[array, 1]
            part += power(side, n_axes) * shapes[array, 2]
            total += power(float(side), n_axes) * shapes[array, 2]
        word += n
        longest = max(longest, n)
    part_offsets[len(n_words)], word_offsets[len(n_words)] = part, word
    return total, longest
