"""The papers' own formulas, slow and readable: what the library is compared with.

Demonstration, benchmarks and tests import them from here, each formula once and with the equation
that it comes from, as corrected where the document has a slip; the rest of the library uses none
of them.
"""
