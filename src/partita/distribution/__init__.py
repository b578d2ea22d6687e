"""Distributions over structures: scores in, every exact quantity out."""
