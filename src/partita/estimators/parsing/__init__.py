"""Dependency parsing: words to keys, keys to arcs, arcs to trees, trees to labels."""
