"""All that a random program can do, with exact probabilities: uniform numbers as intervals.

A program is run with numbers that stand for a whole interval. Where a comparison holds for a part
of the interval only, the interval is split there and both halves are run. Shares no code with the
library, and needs its kernels as Python functions.
"""

import math


class SplitError(Exception):
    """A comparison holds for a part of the interval of number `index` only."""

    def __init__(self, index, at):
        self.index, self.at = index, at


class Chance:
    """scale * u + shift, for a number u that is uniform between two bounds."""

    def __init__(self, bounds, index, scale=1.0, shift=0.0):
        self.bounds, self.index, self.scale, self.shift = bounds, index, scale, shift

    def __mul__(self, factor):
        return Chance(self.bounds, self.index, self.scale * factor, self.shift * factor)

    __rmul__ = __mul__

    def __sub__(self, number):
        return Chance(self.bounds, self.index, self.scale, self.shift - number)

    def __lt__(self, number):
        at = (number - self.shift) / self.scale
        low, high = self.bounds
        if low < at < high:
            raise SplitError(self.index, at)
        return high <= at

    def __gt__(self, number):
        return not self < number

    def __int__(self):
        whole = 0
        while not self < whole + 1:
            whole += 1
        return whole


class Chances:
    """A generator of random numbers for one run, and how likely the run is."""

    def __init__(self, path):
        self.path = list(path)
        self.n_drawn = 0

    def random(self):
        if self.n_drawn == len(self.path):
            self.path.append((0.0, 1.0))
        self.n_drawn += 1
        return Chance(self.path[self.n_drawn - 1], self.n_drawn - 1)

    @property
    def probability(self):
        return math.prod(high - low for low, high in self.path[: self.n_drawn])


def outcomes(run):
    """{what run(rng) returns: its probability}; the results must be hashable."""
    found, waiting = {}, [()]
    while waiting:
        chances = Chances(waiting.pop())
        try:
            result = run(chances)
        except SplitError as split:
            before, (low, high) = chances.path[: split.index], chances.path[split.index]
            waiting += [(*before, (low, split.at)), (*before, (split.at, high))]
        else:
            found[result] = found.get(result, 0.0) + chances.probability
    return found
