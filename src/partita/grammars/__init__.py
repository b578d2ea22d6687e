"""Synchronous grammars: from a sentence, or a pair, to the hypergraph of its derivations."""
