"""Text as numbers: columns, views of words, templates, vocabularies, hashing."""
