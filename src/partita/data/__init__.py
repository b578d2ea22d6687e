"""Readers and writers: sentences in several formats, bitext, alignments, schemes, constraints."""

from partita.data.alignments import Alignment, read_alignments, write_alignments
from partita.data.binary_trees import binary_rows, bracketed, span_labels
from partita.data.bitext import Bitext, SentencePair, read_bitext
from partita.data.brackets import parse_brackets, read_brackets, write_brackets
from partita.data.columns import read_columns, write_columns
from partita.data.conllu import read_conllu, write_conllu
from partita.data.constraints import ExpectationConstraint, read_constraints, write_constraints
from partita.data.errors import DataError
from partita.data.formats import Document, read_sentences, write_sentences
from partita.data.sentences import Sentence
from partita.data.tokens import tokenise

__all__ = [
    "Alignment",
    "Bitext",
    "DataError",
    "Document",
    "ExpectationConstraint",
    "Sentence",
    "SentencePair",
    "binary_rows",
    "bracketed",
    "parse_brackets",
    "read_alignments",
    "read_bitext",
    "read_brackets",
    "read_columns",
    "read_conllu",
    "read_constraints",
    "read_sentences",
    "span_labels",
    "tokenise",
    "write_alignments",
    "write_brackets",
    "write_columns",
    "write_conllu",
    "write_constraints",
    "write_sentences",
]
