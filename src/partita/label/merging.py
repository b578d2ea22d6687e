"""Two annotators' files of the same sentences: what they agree on, and where they do not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from partita.label.ledger import KnownLabels, Label, Place


class Merged(NamedTuple):
    """What is known from several annotators, what is disputed, and how well they agree."""

    known: KnownLabels
    said: dict[Place, dict[str, Label]]
    """By place, what each annotator said, where they disagree."""
    n_both: int
    """Words that both have labelled."""
    kappa: float | None
    """Cohen's kappa on these; None if there are none."""


def merged(names: Sequence[str], labels: Sequence[KnownLabels]) -> Merged:
    """What either of two says where the other says nothing or the same.

    >>> found = merged(["A", "B"], [[["X", "Y", None]], [["X", "Z", "Y"]]])
    >>> found.known, found.said
    ([['X', None, 'Y']], {(0, 1): {'A': 'Y', 'B': 'Z'}})
    """
    first, second = labels
    known: KnownLabels = []
    said: dict[Place, dict[str, Label]] = {}
    both: list[tuple[Label, Label]] = []
    for sentence, (one, other) in enumerate(zip(first, second, strict=True)):
        known.append([])
        for word, (here, there) in enumerate(zip(one, other, strict=True)):
            if here is not None and there is not None:
                both.append((here, there))
            if here is not None and there is not None and here != there:
                said[sentence, word] = dict(zip(names, (here, there), strict=True))
                known[-1].append(None)
            else:
                known[-1].append(there if here is None else here)
    return Merged(known, said, len(both), kappa(both))


def kappa(pairs: Sequence[tuple[Label, Label]]) -> float | None:
    """Cohen's kappa, (agreement - chance) / (1 - chance); None without pairs.

    >>> kappa([("X", "X"), ("Y", "Y"), ("X", "Y"), ("Y", "X")])
    0.0
    """
    if not pairs:
        return None
    n = len(pairs)
    counts: list[Mapping[Label, int]] = [Counter(pair[side] for pair in pairs) for side in (0, 1)]
    chance = sum(count * counts[1].get(label, 0) for label, count in counts[0].items()) / n**2
    observed = sum(here == there for here, there in pairs) / n
    return 1.0 if chance == 1.0 else (observed - chance) / (1.0 - chance)
