"""Sample data that ship with the package: a treebank, chunks, and pairs of sentences with links.

The data are made up. A small synchronous grammar of English and German (`tools/samples` of the
source tree) drew them with a fixed seed, and `make samples` writes the same files again. Words,
tags, chunks, trees and links come from the derivation, so they are right by construction, and
accuracies on them say nothing about real text: they are for examples, tests and first steps. The
files are read by the loaders that read yours.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from partita.data.conllu import read_conllu
from partita.data.sentences import Sentence

if TYPE_CHECKING:
    from partita.data.alignments import Alignment
    from partita.data.bitext import SentencePair

Part: TypeAlias = Literal["train", "dev", "all"]
PARTS: tuple[Part, ...] = ("train", "dev")
FOLDER = Path(__file__).parent / "files"


class AlignedPair(NamedTuple):
    """A pair of sentences (source English, target German) and its gold alignment."""

    pair: "SentencePair"
    alignment: "Alignment"


def path(name: str) -> Path:
    """The file of a name, for the command line or a loader.

    `treebank-train.conllu` and `-dev` are CoNLL-U; `chunks-train.txt` and `-dev` hold the same
    sentences as CoNLL columns (word, Penn tag, chunk); `bitext-train.txt` and `-dev` pairs of
    sentences `English ||| German`, and `bitext-train.align` and `-dev` their links. `arc-rules.txt`
    are rules for a parser of these trees, and `english-rules.txt` for one of real English with
    universal tags.

    >>> path("treebank-dev.conllu").name
    'treebank-dev.conllu'
    >>> path("treebank")
    Traceback (most recent call last):
    ValueError: there is no sample file 'treebank'; expected one of arc-rules.txt, ...
    """
    there = sorted(file.name for file in FOLDER.iterdir())
    if name not in there:
        raise ValueError(f"there is no sample file {name!r}; expected one of {', '.join(there)}.")
    return FOLDER / name


def treebank(part: Part = "all") -> list[Sentence]:
    """Sentences with the columns of CoNLL-U, and their chunks (IOB2) as a last column, CHUNK.

    In the file the chunk stands in MISC, as `Chunk=B-NP`. `part` is "train" (350 sentences),
    "dev" (100) or "all".

    >>> sentences = treebank("dev")
    >>> len(sentences), sentences[0].names[-1]
    (100, 'CHUNK')
    """
    sentences = [
        sentence
        for name in _parts(part)
        for sentence in read_conllu(path(f"treebank-{name}.conllu"))
    ]
    return [sentence.replaced("CHUNK", _chunks(sentence)) for sentence in sentences]


def _chunks(sentence: Sentence) -> list[str]:
    return [value.removeprefix("Chunk=") for value in sentence.column("MISC")]


def bitext(part: Part = "all") -> list[AlignedPair]:
    """Pairs of English and German sentences with gold alignments, sure and possible.

    `part` is "train" (700 pairs), "dev" (100) or "all".

    >>> (pair, alignment), *_ = bitext("dev")
    >>> " ".join(pair.target), alignment.sure[4:]
    ('Ein junger Mann hat heute gelehrt .', ((4, 5), (5, 4), (6, 6)))
    """
    # Imported here so that the treebank needs no alignments.
    from partita.data.alignments import read_alignments
    from partita.data.bitext import read_bitext

    found: list[AlignedPair] = []
    for name in _parts(part):
        pairs = read_bitext(path(f"bitext-{name}.txt"))
        alignments = read_alignments(path(f"bitext-{name}.align"), pairs)
        found += [AlignedPair(*both) for both in zip(pairs, alignments, strict=True)]
    return found


def _parts(part: str) -> Sequence[str]:
    if part not in (*PARTS, "all"):
        raise ValueError(f"the part {part!r} came; expected 'train', 'dev' or 'all'.")
    return PARTS if part == "all" else [part]
