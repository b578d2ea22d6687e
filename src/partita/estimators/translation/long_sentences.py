"""Sentences that are too long for a grammar, in pieces."""

PUNCTUATION = frozenset(".,;:!?")


def cut_sentence(words: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """Pieces of at most `most` words, each as long as possible, behind punctuation if there is any.

    A piece shorter than half of `most` is not worth its punctuation.

    >>> cut_sentence(("a", "b", ",", "c", "d"), 4)
    [('a', 'b', ','), ('c', 'd')]
    >>> cut_sentence(("a", "b", "c"), 2)
    [('a', 'b'), ('c',)]
    """
    pieces = []
    while len(words) > most:
        end = most
        for place in range(most - 1, most // 2 - 1, -1):
            if words[place] in PUNCTUATION:
                end = place + 1
                break
        pieces.append(words[:end])
        words = words[end:]
    return [*pieces, words] if words else pieces
