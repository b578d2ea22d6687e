"""Semi-Markov chains: words cut into segments with tags, O(n L s + n s²)."""
