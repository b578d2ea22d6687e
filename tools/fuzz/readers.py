"""Text of every format that is read: it is taken, or refused with the file's name."""

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from partita import samples
from partita.data import DataError, read_bitext
from partita.data.alignments import read_alignments
from partita.data.arc_rules import read_arc_rules
from partita.data.brackets import read_brackets
from partita.data.columns import read_columns
from partita.data.conllu import read_conllu
from partita.data.constraints import read_constraints
from partita.data.dependencies import tree_heads
from partita.data.dictionaries import read_dictionary, read_phrases
from partita.data.formats import read_sentences, sentences_text
from partita.data.plain import read_plain
from partita.text.arc_templates import default_arc_templates, read_arc_template_file
from partita.text.templates import default_templates, read_template_file
from tools.fuzz.mutations import mutated
from tools.fuzz.target import Finding, Target


def _trees(path: Path) -> None:
    for sentence in read_conllu(path):
        tree_heads(sentence)


def _sentences(path: Path) -> None:
    document = read_sentences(path)
    sentences_text(document, document.format)


READERS: dict[str, Callable[[Path], Any]] = {
    "alignments": read_alignments,
    "arc-rules": read_arc_rules,
    "arc-templates": lambda path: read_arc_template_file(str(path)),
    "bitext": read_bitext,
    "brackets": read_brackets,
    "columns": read_columns,
    "constraints": read_constraints,
    "dictionary": lambda path: read_dictionary(str(path)),
    "phrases": lambda path: read_phrases(str(path)),
    "plain": read_plain,
    "sentences": _sentences,
    "templates": lambda path: read_template_file(str(path)),
    "trees": _trees,
}
SEEDS = {
    "alignments": b"0-0 1-1 2?1\n\n0-1:3 p1-2\n",
    "brackets": b"(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n( (S (X a)))\n",
    "constraints": b"w=the DET=1\nw=dog NOUN=0.9 VERB=0.1\nsuffix3=ing VERB>=0.5\n",
    "dictionary": b"dog NOUN VERB\nthe DET\n",
    "phrases": b"New York\nLondon\nsan francisco bay\n",
    "plain": b"The dog barks.\n\nA cat, it sleeps!\n",
    "templates": b"# Unigram\nU00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\nB\n",
}


class Readers(Target):
    """An input is a reader's name, whether the file is compressed, and its bytes (as latin-1)."""

    name = "readers"

    def prepare(self) -> None:
        """Seeds are the first kilobytes of our samples, and a few lines of what has none."""
        self.seeds: dict[str, list[bytes]] = {name: [text] for name, text in SEEDS.items()}
        for name, file in {
            "trees": "treebank-dev.conllu",
            "columns": "chunks-dev.txt",
            "bitext": "bitext-dev.txt",
            "alignments": "bitext-dev.align",
            "arc-rules": "arc-rules.txt",
        }.items():
            text = samples.path(file).read_bytes()[:1500]
            self.seeds.setdefault(name, []).append(text[: text.rfind(b"\n") + 1])
        described: dict[str, Any] = {
            "templates": default_templates({"FORM": ["dogs"], "XPOS": ["NNS"]}),
            "arc-templates": default_arc_templates(["FORM", "UPOS"]),
        }
        for name, templates in described.items():
            text = "\n".join(template.text for template in templates).encode()
            self.seeds.setdefault(name, []).append(text[:1000])
        self.every = [text for texts in self.seeds.values() for text in texts]
        pieces = {piece for text in self.every for piece in text.split()}
        self.pieces = sorted(pieces)

    def draw(self, rng: Random) -> Any:
        """A seed of the format, rarely of another, with changes."""
        name = rng.choice(sorted(READERS))
        own = self.seeds.get(name, self.every)
        text = mutated(rng, rng.choice(self.every if rng.random() < 0.1 else own), self.pieces)
        suffix = ""
        if rng.random() < 0.1:
            suffix, text = ".gz", mutated(rng, gzip.compress(text, mtime=0))
        return [name, suffix, text.decode("latin-1")]

    def check(self, case: Any) -> None:
        """Nothing but a `DataError` comes out, with the file's name and a sentence."""
        name, suffix, text = case
        path = self.folder / f"input{suffix}"
        path.write_bytes(text.encode("latin-1"))
        try:
            READERS[name](path)
        except DataError as error:
            message = str(error)
            if str(path) not in message or not 20 < len(message) < 2000:
                raise Finding(message) from error
