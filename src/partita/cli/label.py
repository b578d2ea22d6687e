"""`partita label RAW -o OUT`: a local page that asks for the labels that matter."""

import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partita.cli.heartbeat import wait_in_silence
from partita.cli.labels import tags_of
from partita.cli.models import Model, columns_of, load_model, tag_column
from partita.cli.options import (
    Commands,
    Options,
    add_command,
    add_reading,
    add_tag_column,
    file_name,
    name_list,
    read_document,
    say,
    write,
)
from partita.data.formats import Document
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence

if TYPE_CHECKING:
    from partita.label.ledger import KnownLabels
    from partita.label.merging import Merged
    from partita.label.task import Task

LOOPBACK = "127.0.0.1"
EPILOG = (
    "The address has a secret in it: whoever knows it may label. Every answer is in OUT.journal "
    "before the page says so, and the same command goes on from there. OUT has ? (in CoNLL-U _) "
    "for what was not asked: train on it as it is."
)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(
        commands, "label", run, "label on a local page that asks for what the model does not know"
    )
    parser.epilog = EPILOG
    parser.add_argument("raw", metavar="RAW", help="sentences, as train reads them, or plain text")
    parser.add_argument(
        "-o", "--output", required=True, type=file_name, metavar="OUT", help="file to write"
    )
    what = parser.add_argument_group("what is labelled")
    what.add_argument("--model", metavar="MODEL", help="a tagger or parser to start from")
    what.add_argument("--tags", type=name_list, metavar="T1,T2,...", help="the tags or relations")
    what.add_argument(
        "--spans", type=name_list, metavar="T1,T2,...", help="types of spans (B-, I-)"
    )
    what.add_argument("--trees", action="store_true", help="heads and relations, in CoNLL-U")
    what.add_argument(
        "--projective", action="store_true", help="trees whose arcs do not cross (default: any)"
    )
    add_tag_column(parser)
    what.add_argument(
        "--constraints", metavar="FILE", help="start from expectations, as train tagger takes them"
    )
    what.add_argument(
        "--rules", metavar="FILE", help="start from rules, as train parser takes them"
    )
    what.add_argument("--merge", metavar="FILE", help="another annotator's file of the same words")
    what.add_argument("--held-out", metavar="FILE", help="labelled sentences to judge the model by")
    ways = parser.add_argument_group("questions and learning")
    ways.add_argument(
        "--n-words", type=int, metavar="K", help="most words of a question (5; 3 for trees)"
    )
    ways.add_argument(
        "--entropy-weight",
        type=float,
        default=0.0,
        metavar="N",
        help="learn from unlabelled sentences, too: by their entropy and shares (default: 0)",
    )
    ways.add_argument("--workers", type=int, metavar="N", help="threads (default: all cores)")
    place = parser.add_argument_group("the page")
    place.add_argument(
        "--host", default=LOOPBACK, help=f"address to listen on (default: {LOOPBACK}, this machine)"
    )
    place.add_argument("--port", type=int, default=0, help="(default: one that is free)")
    add_reading(parser)


def run(options: Options) -> int:
    """Serve the page until Ctrl-C; what was answered is on the disk all the time."""
    _check(options)
    from partita.label.server import LabelServer
    from partita.label.sitting import Sitting

    document = read_document(options.raw, options)
    is_there = Path(f"{options.output}.journal").exists()
    task = _task(document, options)
    merged = _merged(task, document, options)
    sitting = Sitting(
        task,
        options.output,
        said=None if merged is None else merged.said,
        given=None if merged is None else merged.known,
    )
    n_answers = len(sitting.ledger.held())
    if is_there:
        say(f"Going on from {options.output}.journal: {n_answers:,} answers")
    try:
        server = LabelServer(sitting, options.host, options.port)
    except OSError as error:
        sitting.close()
        raise ValueError(
            f"cannot listen on {options.host}, port {options.port}: {error.strerror}. Name another "
            "port, or leave it out."
        ) from None
    # Whoever ends the server by SIGTERM gets the output, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sitting.start()
    say("Open this address in a browser; Ctrl-C ends the server, and loses nothing:")
    write(server.address)
    sys.stdout.flush()
    wait_in_silence()
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        sitting.close()
    say(f"Wrote {options.output}: {len(sitting.ledger.held()):,} answers")
    return 0


def _check(options: Options) -> None:
    """All that can be said before any file is read."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(
            f"the page needs {' and '.join(missing)}, which is not installed; "
            "pip install 'partita[label]'."
        )
    journal = Path(f"{options.output}.journal")
    if Path(options.output).exists() and not journal.exists():
        raise ValueError(
            f"{options.output} is there, but {journal} is not, so that its labels would be lost; "
            "expected both or neither. Name another output, or label this file: it may be RAW."
        )
    if options.n_words is not None and options.n_words < 1:
        raise ValueError(f"--n-words is {options.n_words}; expected 1 or more.")
    if options.host not in (LOOPBACK, "localhost", "::1"):
        say(f"Listening on {options.host}: others on the network who know the address may label.")


# ---------------------------------------------------------------------- tasks


def _task(document: Document, options: Options) -> "Task":
    model = None if options.model is None else load_model(options.model)
    if model is not None and model.kind not in ("tagger", "hmm", "parser"):
        raise ValueError(
            f"{options.model} holds a model of kind {model.kind!r}; expected a tagger, hmm or "
            "parser."
        )
    is_tree = options.trees or options.rules or (model is not None and model.kind == "parser")
    return _trees(document, model, options) if is_tree else _tags(document, model, options)


def _tags(document: Document, model: Model | None, options: Options) -> "Task":
    from partita.label.tag_learner import TagOptions
    from partita.label.tags import TagTask

    column = options.tag_column or (model.column if model is not None else None)
    if column is None and document.format != "conllu" and len(document.names) == 1:
        column = "tag"
    column = tag_column(document, column)
    given: list[tuple[str, ...]] = []
    if column in document.names:
        given = tags_of(document, column)
    base: Any = None if model is None else model.estimator
    names = list(options.tags or ())
    for kind in options.spans or ():
        names += [f"B-{kind}", f"I-{kind}"]
    if options.spans:
        names.append("O")
    found = {tag for tags in given for tag in tags} - {UNKNOWN}
    if base is None and options.constraints:
        base = _from_constraints(document, column, given, options)
    names = sorted({*names, *found, *(() if base is None else base.tags_)})
    if not names:
        raise ValueError(
            "there are no tags to choose from; name them (--tags NOUN,VERB or --spans PER,LOC), or "
            "give a model, constraints, or some labels in the file."
        )
    if len(names) == 1:
        raise ValueError(f"there is one tag, {names[0]}, and nothing to choose; name others, too.")
    held_out = None if not options.held_out else _judges(document, model, options)
    say(f"Labelling column {column!r} with {len(names)} tags: {', '.join(names)}")
    if given and not any(UNKNOWN in tags for tags in given):
        trees = "; heads and relations are asked for by --trees" * (document.format == "conllu")
        say(f"Every word has its tag already{trees}")
    return TagTask(
        _named(document, document, model),
        names,
        column=column,
        format=document.format,
        base=base,
        options=TagOptions(
            entropy_weight=options.entropy_weight,
            workers=options.workers,
            most_words=options.n_words or TagOptions.most_words,
        ),
        held_out=held_out,
    )


def _named(
    sentences: Iterable[Sentence], document: Document, model: Model | None
) -> list[Sentence]:
    """The sentences; of plain text, the words are under the name that the model knows them by."""
    columns = () if model is None else columns_of(model)
    if document.format != "plain" or len(columns) != 1:
        return list(sentences)
    return [replace(each, columns={columns[0]: _words(each)}) for each in sentences]


def _judges(
    document: Document, model: Model | None, options: Options
) -> tuple[list[Sentence], Sequence[Sequence[str]]]:
    """Held-out sentences and their tags; beside plain text, their first column has the words."""
    judged = read_document(options.held_out, options)
    named = options.tag_column if options.tag_column in judged.names else None
    tags = tags_of(judged, tag_column(judged, named))
    if document.format == "plain" and "FORM" not in judged.names:
        words = [Sentence({"FORM": _words(sentence)}) for sentence in judged]
        return _named(words, document, model), tags
    return _named(judged, document, model), tags


def _from_constraints(
    document: Document, column: str, given: Sequence[Sequence[str]], options: Options
) -> Any:
    """A tagger that has learnt from expectations, and from labels if there are some."""
    from partita.data.constraints import read_constraints
    from partita.estimators.tagging.tagger import Tagger

    constraints = read_constraints(options.constraints)
    say(f"Learning from {len(constraints):,} constraints")
    tagger = Tagger(
        constraints=constraints, tag_column=column, workers=options.workers, max_iterations=50
    )
    return tagger.fit(list(document), given or [None] * len(document))


def _trees(document: Document, model: Model | None, options: Options) -> "Task":
    from partita.cli.treebanks import words_of
    from partita.label.tree_learner import TreeOptions
    from partita.label.trees import UNIVERSAL, TreeTask

    sentences = words_of(document)
    base: Any = None if model is None else model.estimator
    names = set(options.tags or ())
    if base is not None:
        names |= set(base.labels_)
    for sentence in sentences:
        names |= set(sentence.columns.get("DEPREL", ())) - {"_", "?"}
    if not options.tags and base is None:
        names |= set(UNIVERSAL)
    if base is None and options.rules:
        base = _from_rules(sentences, options)
    held_out = None
    if options.held_out:
        held_out = words_of(read_document(options.held_out, options))
    say(f"Labelling heads, with {len(names)} relations")
    return TreeTask(
        sentences,
        sorted(names),
        base=base,
        format=document.format,
        options=TreeOptions(
            entropy_weight=options.entropy_weight,
            projective=options.projective,
            workers=options.workers,
            most_words=options.n_words or TreeOptions.most_words,
        ),
        held_out=held_out,
    )


def _from_rules(sentences: Sequence[Sentence], options: Options) -> Any:
    """A parser that has learnt from rules about arcs alone."""
    from partita.data.arc_rules import read_arc_rules
    from partita.estimators.parsing.parser import DependencyParser

    rules = read_arc_rules(options.rules, share=0.8)
    say(f"Learning from the rules of {options.rules}")
    parser = DependencyParser(
        rules=rules,
        features="head.UPOS modifier.UPOS",
        labels=False,
        projective=True,
        n_bits=12,
        workers=options.workers,
    )
    text = [sentence.replaced("HEAD", ["_"] * len(sentence)) for sentence in sentences]
    return parser.fit([], unlabelled=text)


# ---------------------------------------------------------------------- two annotators


def _merged(task: "Task", document: Document, options: Options) -> "Merged | None":
    """What two annotators' files say together; says how well they agree."""
    if options.merge is None:
        return None
    from partita.label.merging import merged

    other = read_document(options.merge, options)
    theirs = task.labels_of(other)
    ours: KnownLabels = task.given
    for number, (one, two) in enumerate(zip(document, other, strict=False)):
        if len(one) != len(two) or _words(one) != _words(two):
            raise ValueError(
                f"sentence {number + 1} is {' '.join(_words(one))[:60]!r} in {options.raw} and "
                f"{' '.join(_words(two))[:60]!r} in {options.merge}; expected the same sentences."
            )
    if len(document) != len(other):
        raise ValueError(
            f"{options.raw} has {len(document)} sentences and {options.merge} {len(other)}; "
            "expected the same sentences."
        )
    names = [Path(options.raw).stem, Path(options.merge).stem]
    if names[0] == names[1]:
        names = [str(options.raw), str(options.merge)]
    found = task.possible_together(merged(names, [ours, theirs]), ours, theirs, names[1])
    agreement = "" if found.kappa is None else f", kappa {found.kappa:.2f}"
    say(
        f"Both labelled {found.n_both:,} words{agreement}; {len(found.said):,} to be decided on "
        "the page, which come first"
    )
    return found


def _words(sentence: Sentence) -> tuple[str, ...]:
    return sentence.column("FORM" if "FORM" in sentence.names else sentence.names[0])
