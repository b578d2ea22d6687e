"""Forward-backward, Viterbi, samples, covariances and entropies of tag sequences."""
