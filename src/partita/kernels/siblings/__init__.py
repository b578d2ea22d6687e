"""Projective trees with sibling parts: Eisner's algorithm of the second order."""
