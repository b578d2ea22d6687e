"""Model files: what kind they are, and what the command must know to use them."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from partita.data.formats import Document
from partita.data.schemes import Scheme

ESTIMATORS = {
    "tagger": ("partita.estimators.tagging.tagger", "Tagger"),
    "hmm": ("partita.estimators.tagging.hidden_markov_tagger", "HiddenMarkovTagger"),
    "segmenter": ("partita.estimators.segmenting.segmenter", "Segmenter"),
    "parser": ("partita.estimators.parsing.parser", "DependencyParser"),
    "aligner": ("partita.estimators.alignment.aligner", "Aligner"),
    "translator": ("partita.estimators.translation.translator", "Translator"),
}
"""By the name in a model file's header: the module and the class."""

FEW, MANY, CLEAR = 0.1, 0.3, 100
"""Different values for each word: of tags at most, and of what are no tags; words to see it by."""
ABOUT = "command"
"""The entry of the header that the command adds to what the estimator writes."""


@dataclass(frozen=True)
class Model:
    """A trained estimator, and the data it was trained on."""

    estimator: Any
    kind: str
    path: str
    header: Mapping[str, Any]
    column: str | None = None
    """The column of the tags, where the model was trained by the command."""
    scheme: Scheme | None = None
    """The scheme that tags were converted to."""


def estimator_class(kind: str) -> Any:
    """The class of a kind of model; imports it."""
    module, name = ESTIMATORS[kind]
    return getattr(import_module(module), name)


def load_model(path: str) -> Model:
    """The model in a file, of whatever kind."""
    from partita.training.contents import Contents
    from partita.training.model_file import ModelFileError, read_header

    header = read_header(path)
    kind = header.get("estimator")
    if not isinstance(kind, str) or kind not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a model of kind {kind!r}; expected one of {', '.join(ESTIMATORS)}. "
            "Use the program that wrote it, or a newer Partita."
        )
    contents = Contents(header, {}, path)
    about = contents.take(ABOUT, dict[str, str | None]) if ABOUT in header else {}
    options = contents.take("options", dict[str, Any])
    column = about.get("column") or options.get("tag_column")
    return Model(estimator_class(kind).load(path), kind, path, header, column, about.get("scheme"))


def columns_of(model: Model) -> Sequence[str]:
    """The columns that a model looks at, by name; none if it takes whatever comes first."""
    if model.kind not in ("tagger", "segmenter"):
        return ()
    return model.estimator.model_.features.columns or ()


def is_model(path: str) -> bool:
    """Whether a file is a model of whatever kind, and not data."""
    from partita.training.model_file import MAGIC

    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def kind_of_file(path: str) -> str | None:
    """The kind of the model in a file; None if it holds none, or is none."""
    from partita.training.model_file import ModelFileError, read_header

    try:
        found = read_header(path).get("estimator")
    except (OSError, ModelFileError):
        return None
    return found if found in ESTIMATORS else None


def save_model(path: str, estimator: Any, about: Mapping[str, Any]) -> None:
    """Write a model in one step, with what the command must know beside what the estimator does.

    Nothing where Ctrl-C or SIGTERM came before anything was learnt: what is there stays.
    """
    from partita.estimators import files

    if estimator.training_.learnt_nothing:
        raise KeyboardInterrupt("nothing was learnt")
    more = {ABOUT: dict(about)}
    try:
        files.write(path, estimator, more)
    except OSError as error:
        why = error.strerror or error
        kept = _kept_elsewhere(path, lambda other: files.write(other, estimator, more))
        raise ValueError(f"the model could not be written to {path} ({why}). {kept}") from None


def _kept_elsewhere(path: str, write: Callable[[str], None]) -> str:
    """What becomes of a model whose file cannot be written: hours of work are not thrown away."""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="partita-")
        name = os.path.join(folder, os.path.basename(path))
        write(name)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        return (
            f"Nor could it be in {tempfile.gettempdir()} ({error.strerror or error}): it is lost. "
            "Make room, or name another file, and train again (if there is a checkpoint, with "
            "--resume)."
        )
    return f"It is in {name} instead: make room, or choose another place, and move it there."


def _guessed_column(document: Document) -> str:
    """The last column; or the only other one whose values are few, if those of the last are not."""
    others, last = document.names[1:-1], document.names[-1]
    shares = {
        name: len({value for each in document for value in each.column(name)}) / document.n_words
        for name in (*others, last)
    }
    few = [name for name in others if shares[name] <= FEW]
    is_clear = document.n_words >= CLEAR and shares[last] > MANY and len(few) == 1
    return few[0] if is_clear else last


def tag_column(document: Document, chosen: str | None) -> str:
    """The column of the tags: as chosen, or UPOS in CoNLL-U, or the last one.

    If the last one has too many values for tags and one other column has not, it is that one. A
    negative number counts from the last column.
    """
    names = document.names
    if chosen is None:
        return "UPOS" if document.format == "conllu" else _guessed_column(document)
    if chosen not in names and chosen.startswith("-") and chosen[1:].isdigit():
        number = int(chosen)
        return names[number] if -number <= len(names) else chosen
    return chosen
