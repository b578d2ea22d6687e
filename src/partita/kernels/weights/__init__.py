"""Passes over long vectors of weights: sums, moves, mini-batch updates."""
