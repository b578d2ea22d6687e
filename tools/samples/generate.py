"""Write the sample data anew: `make samples`, or `python -m tools.samples.generate [FOLDER]`.

The data are made up: sentences of a small synchronous grammar of English and German
(`sentences.py`, `clauses.py`, `verbs.py`, `phrases.py`) over the tables in `lexicon/`. Words,
tags, chunks, trees and links come from the derivation, so they are right by construction; what a
model learns from them says nothing about real text.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from partita.samples import FOLDER
from tools.samples.pieces import Draws, Token, Word
from tools.samples.sentences import Made, sentence

TREEBANK_SEED, BITEXT_SEED = 20240, 20241
TREEBANK_PARTS = {"train": 350, "dev": 100}
BITEXT_PARTS = {"train": 700, "dev": 100}
MAX_WORDS = 26


def made(n_sentences: int, seed: int) -> list[Made]:
    """Different sentences of the grammar, of at most 26 words.

    >>> [one] = made(1, seed=3)
    >>> text(one.english), len(one.german)
    ('The curious man thought Walter walked badly .', 12)
    """
    draws = Draws(seed)
    found: dict[str, Made] = {}
    while len(found) < n_sentences:
        one = sentence(draws)
        if len(one.english) <= MAX_WORDS:
            found.setdefault(text(one.english), one)
    return list(found.values())


def text(words: Iterable[Word]) -> str:
    """The words, separated by blanks."""
    return " ".join(word.form for word in words)


def conllu(sentences: Iterable[Made], name: str) -> str:
    """Sentences as CoNLL-U, with chunks (IOB2) in MISC."""
    blocks = []
    for number, one in enumerate(sentences, 1):
        comments = [f"# sent_id = {name}-{number}", f"# text = {_written(one.english)}"]
        blocks.append("\n".join([*comments, *_rows(one.english)]) + "\n\n")
    return "".join(blocks)


def _rows(words: list[Word]) -> Iterable[str]:
    position = {id(word): index for index, word in enumerate(words, 1)}
    for index, (word, chunk) in enumerate(zip(words, _chunks(words), strict=True), 1):
        if word.written:
            yield "\t".join([f"{index}-{index + 1}", word.written, *"_" * 8])
        head = 0 if word.head is None else position[id(word.head)]
        features = "_" if word.features == "_" else "|".join(sorted(word.features.split("|")))
        columns = [word.form, word.lemma, word.tag, word.penn, features, str(head), word.relation]
        yield "\t".join([str(index), *columns, "_", f"Chunk={chunk}"])


def _chunks(words: list[Word]) -> list[str]:
    """Tags in IOB2: a chunk goes on while the words beside each other share it."""
    tags = []
    for before, word in zip([None, *words], words, strict=False):
        goes_on = before is not None and word.group is not None and before.group is word.group
        tags.append(("I-" if goes_on else "B-") + word.chunk if word.chunk else "O")
    return tags


def _written(words: list[Word]) -> str:
    """The text as it would be written: no blank before punctuation, n't or 's."""
    pieces: list[str] = []
    for before, word in zip([None, *words], words, strict=False):
        follows = word.tag == "PUNCT" or word.penn == "POS"
        if before is not None and before.written:
            continue
        pieces.append(("" if follows or not pieces else " ") + (word.written or word.form))
    return "".join(pieces)


def columns(sentences: Iterable[Made]) -> str:
    """Sentences as CoNLL columns: word, tag, chunk, as in the shared task of 2000."""
    blocks = []
    for one in sentences:
        rows = zip(one.english, _chunks(one.english), strict=True)
        blocks.append("".join(f"{word.form} {word.penn} {chunk}\n" for word, chunk in rows))
    return "\n".join(blocks)


def pairs(sentences: Iterable[Made]) -> str:
    """Sentence pairs, `English ||| German`."""
    lines = [f"{text(one.english)} ||| {' '.join(t.form for t in one.german)}" for one in sentences]
    return "\n".join(lines) + "\n"


def links(sentences: Iterable[Made]) -> str:
    """Gold alignments in Pharaoh's format, from 0: `i-j` is sure, `i?j` possible."""
    return "\n".join(" ".join(_links(one.english, one.german)) for one in sentences) + "\n"


def _links(words: list[Word], tokens: list[Token]) -> Iterable[str]:
    position = {id(word): index for index, word in enumerate(words)}
    found: dict[tuple[int, int], str] = {}
    for index, token in enumerate(tokens):
        for word in token.possible:
            if id(word) in position:
                found[position[id(word)], index] = "?"
        for word in token.sure:
            if id(word) in position:
                found[position[id(word)], index] = "-"
    return [f"{i}{mark}{j}" for (i, j), mark in sorted(found.items())]


def parts(sizes: Mapping[str, int], seed: int) -> dict[str, list[Made]]:
    """The sentences of each part; no sentence is in two."""
    sentences = made(sum(sizes.values()), seed)
    found, first = {}, 0
    for name, size in sizes.items():
        found[name] = sentences[first : first + size]
        first += size
    return found


def contents() -> dict[str, str]:
    """The text of every sample file, by its name."""
    texts = {}
    for name, sentences in parts(TREEBANK_PARTS, TREEBANK_SEED).items():
        texts[f"treebank-{name}.conllu"] = conllu(sentences, name)
        texts[f"chunks-{name}.txt"] = columns(sentences)
    for name, sentences in parts(BITEXT_PARTS, BITEXT_SEED).items():
        texts[f"bitext-{name}.txt"] = pairs(sentences)
        texts[f"bitext-{name}.align"] = links(sentences)
    return texts


def main() -> None:
    """Write all files into a folder, by default the one that ships with the package."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(exist_ok=True)
    for name, content in contents().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
