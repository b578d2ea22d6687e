"""Shares of what was counted; of nothing there is none."""


def share(part: int, whole: int) -> float:
    """part / whole; NaN where there is nothing to have a share of.

    >>> share(3, 4), share(0, 0)
    (0.75, nan)
    """
    return part / whole if whole else float("nan")
