"""`partita predict` for parsers: the input with trees, and what else is asked about them."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from partita.cli.answers import (
    ENTROPY,
    K_BEST,
    LOG_PROBABILITY,
    PROBABILITY,
    SAMPLING,
    TREE_DECODER,
    check_counts,
    check_replace,
    number,
    sample_fields,
)
from partita.cli.drawings import DRAW, check_directory, save_drawings
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import BATCH, READING, Argument, Options
from partita.cli.treebanks import (
    CROSSING,
    RESCORER,
    Arc,
    known_arcs,
    load_rescorer,
    read_arcs,
    words_of,
)
from partita.cli.workers import answered_documents
from partita.data.conllu import EMPTY, with_misc
from partita.data.dependencies import with_tree
from partita.data.formats import Document, sentences_text
from partita.data.sentences import Sentence
from partita.data.text import write_pieces

ARGUMENTS = (
    TREE_DECODER,
    CROSSING,
    RESCORER,
    Argument("one_subject", bool, False, "no word has two subjects (nsubj, csubj)"),
    Argument("keep_heads", bool, False, "keep the heads that the input has"),
    Argument("required", str, None, "arcs to use: sentence head modifier", metavar="FILE"),
    Argument("forbidden", str, None, "arcs not to use, a line each alike", metavar="FILE"),
    PROBABILITY,
    Argument("label_probability", bool, False, "write that of each word's relation"),
    ENTROPY,
    LOG_PROBABILITY,
    K_BEST,
    *SAMPLING,
    DRAW,
    *READING,
    BATCH,
)

Values = Sequence[Sequence[str]]
"""For each sentence, a value for each word."""
Trees = Sequence[tuple[Any, Sequence[str] | None]]


def run(model: Model, options: Options) -> None:
    """Predict and write."""
    check_counts(options, ("k_best", "sample"))
    check_replace(options, "sample")
    load_rescorer(options)
    if options.draw is not None:
        check_directory(options.draw)
    if options.draw or options.required or options.forbidden:
        # These number the sentences of the whole file.
        options.batch = sys.maxsize
    write_pieces(options.output, answered_documents(model, _answered, options))


def _answered(model: Model, document: Document, options: Options) -> str:
    """The text of some sentences with what was asked about them."""
    sentences = words_of(document)
    trees: Trees = model.estimator.predict(
        sentences,
        decoder=options.decoder,
        projective=options.projective,
        one_subject=options.one_subject,
        rescorer=options.rescorer,
        **_constraints(sentences, options),
    )
    # A parser without labels says nothing about them, and those of the input are of other arcs.
    results = [
        with_tree(sentence, heads, labels or [EMPTY] * len(sentence))
        for sentence, (heads, labels) in zip(sentences, trees, strict=True)
    ]
    for name, values in _fields(model, sentences, trees, options):
        results = [
            with_misc(result, name, row) for result, row in zip(results, values, strict=True)
        ]
    if options.draw is not None:
        write_drawings(options.draw, model, sentences, trees)
    return sentences_text(results, "conllu")


FAMILY = Family("parsers", ("parser",), run, ARGUMENTS)


def _constraints(sentences: Sequence[Sentence], options: Options) -> dict[str, list[list[Arc]]]:
    """Arcs that must be and that must not be, from the input and from files."""
    required: list[list[Arc]] = [[] for _ in sentences]
    forbidden: list[list[Arc]] = [[] for _ in sentences]
    if options.keep_heads:
        required = known_arcs(sentences)
    if options.required is not None:
        more = read_arcs(options.required, sentences)
        required = [a + b for a, b in zip(required, more, strict=True)]
    if options.forbidden is not None:
        forbidden = read_arcs(options.forbidden, sentences)
    if not any(required) and not any(forbidden):
        return {}
    return {"required": required, "forbidden": forbidden}


def _fields(
    model: Model, sentences: Sequence[Sentence], trees: Trees, options: Options
) -> Iterator[tuple[str, Values]]:
    """Names and values of what was asked for beside the trees."""
    parser = model.estimator
    if options.probability:
        rows = arc_probabilities(parser.predict_marginals(sentences), trees)
        yield "ArcProbability", [[number(value) for value in row] for row in rows]
    if options.label_probability:
        yield "LabelProbability", _label_probabilities(parser, sentences, trees)
    if options.entropy:
        yield "TreeEntropy", _repeated(parser.entropy(sentences), trees)
    if options.log_probability:
        heads = [heads for heads, _ in trees]
        yield "LogProbability", _repeated(parser.log_prob(sentences, heads), trees)
    if options.k_best is not None:
        yield from _k_best(parser.k_best(sentences, options.k_best), trees, options.k_best)
    for name, drawn in sample_fields(parser, sentences, options):
        yield name, [_tree_text(each, heads) for each, (heads, _) in zip(drawn, trees, strict=True)]


def _label_probabilities(parser: Any, sentences: Sequence[Sentence], trees: Trees) -> Values:
    """p(relation | arc) of each word."""
    numbers = {name: index for index, name in enumerate(parser.labels_)}
    tables = parser.predict_labels(sentences, [heads for heads, _ in trees])
    return [
        [number(float(row[numbers[label]])) for row, label in zip(table, labels, strict=True)]
        for table, (_, labels) in zip(tables, trees, strict=True)
        if labels is not None
    ]


def _k_best(found: Sequence[Any], trees: Trees, k: int) -> Iterator[tuple[str, Values]]:
    for rank in range(k):
        # A short sentence may have fewer trees than were asked for.
        nothing = ((None, None), float("-inf"))
        ranked = [each[rank] if rank < len(each) else nothing for each in found]
        yield (
            f"Best{rank + 1}",
            [
                _tree_text(None if best[0] is None else best, heads)
                for (best, _), (heads, _) in zip(ranked, trees, strict=True)
            ],
        )
        yield f"Best{rank + 1}LogProbability", _repeated([value for _, value in ranked], trees)


def _tree_text(tree: Any | None, heads: Any) -> list[str]:
    """The heads of a tree; nothing if there is none, as many times as there are `heads`."""
    return [EMPTY] * len(heads) if tree is None else [str(int(head)) for head in tree[0]]


def arc_probabilities(marginals: Sequence[Any], trees: Trees) -> list[list[float]]:
    """p(head of each word), from the marginals [head, modifier] of each sentence."""
    return [
        [float(matrix[int(head), word]) for word, head in enumerate(heads, start=1)]
        for matrix, (heads, _) in zip(marginals, trees, strict=True)
    ]


def _repeated(values: Any, trees: Trees) -> Values:
    """A value of each sentence, at each of its words."""
    return [
        [number(float(value))] * len(heads) for value, (heads, _) in zip(values, trees, strict=True)
    ]


# ---------------------------------------------------------------------- drawings


def write_drawings(
    directory: str, model: Model, sentences: Sequence[Sentence], trees: Trees
) -> None:
    """A file for each tree, 1.svg and so on, its arcs as thick as they are probable."""
    pictures = [
        drawing(sentence, tree, matrix)
        for sentence, tree, matrix in zip(
            sentences, trees, model.estimator.predict_marginals(sentences), strict=True
        )
    ]
    save_drawings(directory, pictures)


def drawing(sentence: Sentence, tree: tuple[Any, Sequence[str] | None], marginals: Any) -> Any:
    """A tree as SVG."""
    from partita import show

    heads, labels = tree
    words = sentence.column("FORM" if "FORM" in sentence.names else sentence.names[0])
    tags = sentence.columns.get("UPOS")
    return show.tree(words, heads, labels=labels, probabilities=marginals, tags=tags)
