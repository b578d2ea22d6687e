"""`partita explain MODEL INPUT`: which features made a decision, against the runner-up."""

from collections.abc import Sequence
from typing import Any

from partita.cli.families import Family, add_families, run_family
from partita.cli.models import Model, load_model
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_reading,
    read_document,
    write,
)
from partita.data.formats import Document
from partita.data.sentences import Sentence


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "explain", run, "show which features made a decision")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument("input", metavar="INPUT", help="sentences; - is standard input")
    parser.add_argument(
        "--sentence", type=int, default=1, metavar="N", help="its number, from 1 (default: 1)"
    )
    parser.add_argument(
        "--word", type=int, metavar="N", help="its number, from 1 (default: the least certain)"
    )
    parser.add_argument(
        "-n", "--n-features", type=int, default=20, metavar="N", help="to show (default: 20)"
    )
    add_families(parser, FAMILIES)
    add_reading(parser)


def run(options: Options) -> None:
    """Print the explanation."""
    run_family(FAMILIES, load_model(options.model), options)


def _tags(model: Model, options: Options) -> None:
    from partita.cli.questions import marginals, seen_by

    document = read_document(options.input, options)
    sentence = chosen_sentence(seen_by(model, document), document, options)
    word = chosen_word(sentence, options)
    if word is None:
        word = int(marginals(model, [sentence])[0].max(axis=1).argmin())
    _show(sentence, model.estimator.explain(sentence, word), options.n_features)


FAMILIES = (Family("taggers", ("tagger",), _tags),)


def chosen_sentence(
    sentences: Sequence[Sentence], document: Document, options: Options
) -> Sentence:
    """The sentence with the number that the options name."""
    if not 1 <= options.sentence <= len(document):
        raise ValueError(
            f"--sentence is {options.sentence}; expected 1 to {len(document)}, which "
            f"{document.source} has."
        )
    return sentences[int(options.sentence) - 1]


def chosen_word(sentence: Sentence, options: Options) -> int | None:
    """The word that the options name, from 0; None if they name none."""
    if options.word is None:
        return None
    if not 1 <= options.word <= len(sentence):
        raise ValueError(
            f"--word is {options.word}; expected 1 to {len(sentence)}, which sentence "
            f"{options.sentence} has ({sentence.where()})."
        )
    return int(options.word) - 1


def _show(sentence: Sentence, explanation: Any, n_features: int) -> None:
    words = sentence.column("FORM" if "FORM" in sentence.names else sentence.names[0])
    where = f"{words[explanation.word]!r} (word {explanation.word + 1})"
    write(f"{where} has {explanation.tag} with probability {explanation.probability:.4f},")
    write(f"and {explanation.runner_up} with probability {explanation.runner_up_probability:.4f}.")
    write()
    for name, tags in (("best", explanation.tags), ("other", explanation.other_tags)):
        write(f"{name:6}" + " ".join(map("/".join, zip(words, tags, strict=True))))
    write()
    write(f"The best sequence leads the other by {explanation.difference:.3f}:")
    shown = explanation.contributions[:n_features]
    for word, feature, value in shown:
        write(f"  {value:+9.3f}  {words[word]!r}: {feature}")
    rest = explanation.contributions[n_features:]
    if rest:
        total = sum(value for _, _, value in rest)
        write(f"  {total:+9.3f}  {len(rest)} features more")
