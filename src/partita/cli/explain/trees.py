"""`partita explain` for parsers: why a word has its head."""

from dataclasses import replace

from partita.cli.answers import chosen_sentence, chosen_word
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import READING, Argument, Options, say
from partita.cli.outputs import inputs_of
from partita.cli.predict.trees import drawing
from partita.cli.results import report_measures, write_results
from partita.cli.treebanks import read_words
from partita.files import check_outputs

ARGUMENTS = (
    Argument("draw", str, None, "write a drawing of the tree, in SVG", metavar="FILE"),
    *READING,
)


def run(model: Model, options: Options) -> None:
    """Print the explanation, and draw the tree if that is asked for."""
    check_outputs({"the drawing": options.draw}, inputs_of(options))
    sentence = chosen_sentence(read_words(options.input, options), options)
    word = chosen_word(sentence, options)
    # The tree that the explanation is about, whatever `predict` chooses by.
    [tree], [marginals] = (
        model.estimator.predict([sentence], decoder="best"),
        model.estimator.predict_marginals([sentence]),
    )
    if word is None:
        sure = [float(marginals[int(head), end]) for end, head in enumerate(tree[0], start=1)]
        word = sure.index(min(sure))
    explanation = replace(model.estimator.explain(sentence, word), n_shown=options.n_features)
    write_results(options, report_measures(explanation), lambda _: [str(explanation)])
    if options.draw is not None:
        drawing(sentence, tree, marginals).save(options.draw)
        say(f"Wrote {options.draw}")


FAMILY = Family("parsers", ("parser",), run, ARGUMENTS)
