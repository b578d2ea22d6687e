"""Inside and outside, best derivations and samples of hypergraphs."""
