"""Words and their trees, out of data files; and arcs that a parser must or must not use."""

from collections.abc import Sequence
from dataclasses import replace

from partita.cli.models import load_model
from partita.cli.options import Argument, Options, read_document, say_once
from partita.data.conllu import EMPTY
from partita.data.dependencies import has_trees, sentence_name, tree_heads
from partita.data.errors import DataError
from partita.data.formats import Document
from partita.data.sentences import Sentence
from partita.data.text import read_text, source_name

CROSSING = Argument(
    "projective", bool, None, "find trees whose arcs do not cross (default: as in training)"
)
"""Of the trees that are looked for; probabilities are those of the model as it was trained."""
RESCORER = Argument(
    "rescorer",
    str,
    None,
    "another parser, which helps to choose among the 32 best trees: one of the first order beside "
    "one of the second, or the other way round",
    metavar="MODEL",
)
WORDS = ("LEMMA", "XPOS", "FEATS")
"""Columns that a parser may look at, beside FORM and UPOS."""
Arc = tuple[int, int]
"""(head, modifier), words from 1 and 0 for the root."""


def load_rescorer(options: Options) -> None:
    """Put the parser itself in place of the name of its file, once for all batches."""
    if options.rescorer is None:
        return
    other = load_model(options.rescorer)
    if other.kind != "parser":
        raise ValueError(
            f"{other.path} holds a model of kind {other.kind!r}; expected a parser as --rescorer."
        )
    options.rescorer = other.estimator


def read_trees(paths: Sequence[str], options: Options) -> list[Sentence]:
    """The sentences of treebanks: files whose words have heads."""
    sentences: list[Sentence] = []
    for path in paths:
        found = read_words(path, options)
        if not has_trees(found):
            raise no_trees(found[0].source, " Give sentences without trees by --unlabelled.")
        sentences += found
    return sentences


def no_trees(source: str, advice: str = "") -> DataError:
    """The error of a file whose words have no heads."""
    return DataError(
        source, None, f"no word has a head; expected trees, in column 7 of CoNLL-U (HEAD).{advice}"
    )


def read_words(path: str, options: Options) -> list[Sentence]:
    """The sentences of a file that has columns: plain text has no tags to parse by.

    CoNLL columns get those of CoNLL-U that they lack, as `_`, which is how CoNLL-U leaves them out.
    """
    return words_of(read_document(path, options))


def words_of(document: Document) -> list[Sentence]:
    """The sentences of a document with the columns that a parser needs, see `read_words`."""
    if document.format == "plain":
        raise DataError(
            document.source,
            None,
            "this seems to be plain text, which has no tags; expected CoNLL-U, or columns whose "
            "names are given by --names (FORM,UPOS,...). Tag it first, by predict with a tagger.",
        )
    missing = [name for name in WORDS if name not in document.names]
    if missing and document.format == "columns":
        say_once(f"No columns {', '.join(missing)} in the file; {EMPTY} stands for them")
        for name in missing:
            filled = [each.replaced(name, [EMPTY] * len(each)) for each in document]
            document = replace(document, sentences=tuple(filled))
    return list(document)


def known_arcs(sentences: Sequence[Sentence]) -> list[list[Arc]]:
    """The arcs that the HEAD column has, where it is not `_` or `?`."""
    trees = [tree_heads(sentence, single_root=False, partial=True) for sentence in sentences]
    return [
        [(head, word) for word, head in enumerate(heads, start=1) if head >= 0] for heads in trees
    ]


def read_arcs(path: str, sentences: Sequence[Sentence]) -> list[list[Arc]]:
    """Arcs of a file for each sentence: "sentence head modifier" a line.

    A sentence is its number, from 1, or its sent_id. `#` begins a line of comment.
    """
    names = {sentence_name(sentence): index for index, sentence in enumerate(sentences)}
    arcs: list[list[Arc]] = [[] for _ in sentences]
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        name, *ends = fields
        index = names.get(f"sentence {name!r}", _number(name) - 1)
        if len(ends) != 2 or not 0 <= index < len(sentences):
            raise DataError(
                source_name(path),
                number,
                f"found {line!r}; expected 'sentence head modifier': a sentence from 1 to "
                f"{len(sentences)} or its sent_id, and two words, where 0 is the root as a head.",
            )
        head, modifier = map(_number, ends)
        n_words = len(sentences[index])
        if not (0 <= head <= n_words and 1 <= modifier <= n_words and head != modifier):
            raise DataError(
                source_name(path),
                number,
                f"found the arc from {ends[0]} to {ends[1]} in a sentence of {n_words} words; "
                f"expected a head from 0 to {n_words} and another word from 1 to {n_words}.",
            )
        arcs[index].append((head, modifier))
    return arcs


def _number(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return int(text) if is_number else -1
