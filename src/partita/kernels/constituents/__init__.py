"""Binary constituency trees: sums over all of them, in probabilities."""
