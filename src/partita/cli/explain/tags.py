"""`partita explain` for taggers: why a word has its tag."""

from collections.abc import Iterator
from typing import Any

from partita.cli.answers import chosen_sentence, chosen_word, contribution_lines
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import READING, Options, read_document
from partita.cli.results import report_measures, write_results


def run(model: Model, options: Options) -> None:
    """Print the explanation."""
    from partita.cli.questions import marginals, seen_by

    document = read_document(options.input, options)
    sentence = chosen_sentence(seen_by(model, document), options)
    word = chosen_word(sentence, options)
    if word is None:
        word = int(marginals(model, [sentence])[0].max(axis=1).argmin())
    explanation = model.estimator.explain(sentence, word)
    found = _lines(explanation, options.n_features)
    write_results(options, report_measures(explanation), lambda _: found)


FAMILY = Family("taggers", ("tagger", "hmm", "segmenter"), run, READING)


def _lines(explanation: Any, n_features: int) -> Iterator[str]:
    words = explanation.words
    where = f"{words[explanation.word]!r} (word {explanation.word + 1})"
    _, tag, rival, probability, rival_probability = explanation.decision
    yield f"{where} has {tag} with probability {probability:.4f},"
    yield f"and {rival} with probability {rival_probability:.4f}."
    yield ""
    for name, tags in (("best", explanation.tags), ("other", explanation.other_tags)):
        yield f"{name:6}" + " ".join(map("/".join, zip(words, tags, strict=True)))
    yield ""
    yield f"The best sequence leads the other by {explanation.difference:.3f}:"
    yield from contribution_lines(explanation.contributions, n_features)
