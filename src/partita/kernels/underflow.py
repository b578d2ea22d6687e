"""When a result in plain probabilities is certain, although some numbers have underflowed."""

SAFE = 1e280
"""The largest normalised outside value with which a scaled recursion stands.

A number below 2^-1022 becomes 0, and what that takes from a marginal is at most 2^-1022 times the
outside value that multiplies it. Below 1e280 that is less than 1e-27; above, the sentence is done
again in a form that cannot underflow.
"""
