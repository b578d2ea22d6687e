"""Eisner's algorithm: charts of projective trees, and their derivatives."""
