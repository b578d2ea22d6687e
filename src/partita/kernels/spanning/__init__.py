"""Spanning trees: elimination without subtraction, Chu-Liu-Edmonds, Wilson's walks."""
