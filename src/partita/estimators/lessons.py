"""What lessons of taggers and of parsers share: the terms of an objective, and their sum."""

from collections.abc import Sequence

from partita.objectives import Objective, Schedule, Sum, ramp


def entropy_terms(
    entropy: Objective, weight: float, over: int, *, came: bool, what: str
) -> list[Sum]:
    """The entropy of sentences without labels, its weight reached after `over` iterations.

    No term where the weight is 0. `came` says whether there are such sentences, `what` their lack.

    >>> from partita.objectives import Entropy
    >>> [term.names for term in entropy_terms(Entropy(), 0.1, 5, came=True, what="tags")]
    [['Entropy']]
    """
    if not weight:
        return []
    if not came:
        raise ValueError(
            f"entropy_weight is {weight}, but no sentence came without {what}; give such sentences "
            "to fit (unlabelled=...), or leave the weight at 0."
        )
    # More than 0 from the first iteration on: without the entropy the weights may have converged
    # already.
    reached: float | Schedule = ramp(weight, over=over, start=-1) if over else weight
    return [reached * entropy]


def summed(terms: Sequence[Sum], *, expected: str) -> Sum:
    """All terms together; none at all is an error that says what is `expected`."""
    if not terms:
        raise ValueError(f"nothing says what to learn; expected {expected}.")
    objective = terms[0]
    for term in terms[1:]:
        objective = objective + term
    return objective
