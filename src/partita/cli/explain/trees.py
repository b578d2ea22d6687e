"""`partita explain` for parsers: why a word has its head."""

from collections.abc import Sequence
from typing import Any

from partita.cli.answers import chosen_sentence, chosen_word, contribution_lines
from partita.cli.families import Family
from partita.cli.models import Model, check_output
from partita.cli.options import Argument, Options, say, write
from partita.cli.predict.trees import drawing
from partita.cli.treebanks import read_words

ARGUMENTS = (Argument("draw", str, None, "write a drawing of the tree, in SVG", metavar="FILE"),)


def run(model: Model, options: Options) -> None:
    """Print the explanation, and draw the tree if that is asked for."""
    if options.draw is not None:
        check_output(options.draw)
    sentence = chosen_sentence(read_words(options.input, options), options)
    word = chosen_word(sentence, options)
    [tree], [marginals] = (
        model.estimator.predict([sentence]),
        model.estimator.predict_marginals([sentence]),
    )
    if word is None:
        sure = [float(marginals[int(head), end]) for end, head in enumerate(tree[0], start=1)]
        word = sure.index(min(sure))
    explanation = model.estimator.explain(sentence, word)
    _show(sentence.column("FORM"), explanation, options.n_features)
    if options.draw is not None:
        drawing(sentence, tree, marginals).save(options.draw)
        say(f"Wrote {options.draw}")


FAMILY = Family("parsers", ("parser",), run, ARGUMENTS)


def _show(words: Sequence[str], explanation: Any, n_features: int) -> None:
    nodes = ["the root", *(f"{form!r} (word {index})" for index, form in enumerate(words, 1))]
    head, runner_up = nodes[explanation.head], nodes[explanation.runner_up]
    first, second = explanation.probability, explanation.runner_up_probability
    write(f"{nodes[explanation.word + 1]} has the head {head} with probability {first:.4f},")
    write(f"and {runner_up} with probability {second:.4f}.")
    write()
    for name, heads in (("best", explanation.heads), ("other", explanation.other_heads)):
        pairs = zip(words, heads, strict=True)
        write(f"{name:6}" + " ".join(f"{form}/{other}" for form, other in pairs))
    write()
    write(f"The best tree leads the other by {explanation.difference:.3f}:")
    for line in contribution_lines(explanation.contributions, words, n_features):
        write(line)
