"""Classes of words by their neighbours: exchange between classes, and a tree over them."""
