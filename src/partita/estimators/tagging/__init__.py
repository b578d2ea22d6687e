"""Tag sequences: the CRF tagger, the hidden Markov model, and which words to label next."""
