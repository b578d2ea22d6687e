"""Readers and writers: CoNLL-U, CoNLL columns, plain text, tag schemes, expectation constraints."""

from partita.data.columns import read_columns, write_columns
from partita.data.conllu import read_conllu, write_conllu
from partita.data.constraints import ExpectationConstraint, read_constraints, write_constraints
from partita.data.errors import DataError
from partita.data.formats import Document, read_sentences, write_sentences
from partita.data.sentences import Sentence

__all__ = [
    "DataError",
    "Document",
    "ExpectationConstraint",
    "Sentence",
    "read_columns",
    "read_conllu",
    "read_constraints",
    "read_sentences",
    "write_columns",
    "write_conllu",
    "write_constraints",
    "write_sentences",
]
