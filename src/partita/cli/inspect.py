"""`partita inspect MODEL`: what a model is, and what it has learnt."""

from collections.abc import Iterator
from typing import Any

from partita.cli.families import Family, run_family
from partita.cli.models import Model, load_model
from partita.cli.options import Commands, Options, add_command, write


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "inspect", run, "show what a model has learnt")
    parser.add_argument("model", metavar="MODEL", help="file that train wrote")
    parser.add_argument(
        "-n",
        "--n-features",
        type=int,
        default=10,
        metavar="N",
        help="features (or words) to show for each tag (default: 10)",
    )


def run(options: Options) -> None:
    """Print the model."""
    model = load_model(options.model)
    for line in _about(model):
        write(line)
    write()
    run_family(FAMILIES, model, options)


def _by_features(model: Model, options: Options) -> None:
    write(str(model.estimator.inspect(options.n_features)))


def _by_translations(model: Model, options: Options) -> None:
    """The likeliest translations of the words that occur most, and of jumps."""
    for line in _aligner(model.estimator, options.n_features):
        write(line)


FAMILIES = (
    Family(
        "taggers, parsers and translators", ("tagger", "hmm", "parser", "translator"), _by_features
    ),
    Family("aligners", ("aligner",), _by_translations),
)


def _about(model: Model) -> Iterator[str]:
    yield f"{model.path}: a model of kind {model.kind!r}"
    if model.column is not None:
        yield f"tags of column {model.column!r}" + (f", in {model.scheme}" if model.scheme else "")
    options = model.header.get("options", {})
    given = {name: value for name, value in options.items() if value not in (None, {}, [])}
    yield "arguments: " + ", ".join(f"{name}={_short(value)}" for name, value in given.items())


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:40] + "..."


def _aligner(aligner: Any, n_words: int) -> Iterator[str]:
    """Translations of the most frequent words in both directions, and how far the HMM jumps."""
    generative = aligner.generative_
    for title, own, other, model in (
        ("source", generative.source_words, generative.target_words, generative.forward),
        ("target", generative.target_words, generative.source_words, generative.backward),
    ):
        yield f"{title} words: {len(own):,}; translations of the most frequent ones"
        pairs, probabilities = model.table.best(5)
        rows: dict[int, list[str]] = {}
        for (word, translation), p in zip(pairs.tolist(), probabilities.tolist(), strict=True):
            # Words are numbered by frequency, from 2 on; 0 is the empty word, 1 the unknown one.
            if word != 1 and word < n_words + 2 and translation != 1 and p >= 0.005:
                rows.setdefault(word, []).append(f"{other.names[translation]} {p:.2f}")
        for word, found in rows.items():
            yield f"  {own.names[word]:12} {', '.join(found)}"
        if hasattr(model, "jumps"):
            weights = model.jumps.weights / model.jumps.weights.sum()
            reach = model.jumps.reach
            shares = (f"{d:+}: {p:.3f}" for d, p in enumerate(weights.tolist(), start=-reach))
            yield "  jumps " + ", ".join(shares)
        yield ""
