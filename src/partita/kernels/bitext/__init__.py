"""Sentence pairs: Model 1, hidden Markov alignment, inversion transduction grammars."""
