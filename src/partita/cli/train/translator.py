"""`partita train translator`: a latent-variable CRF over synchronous derivations."""

from partita.cli.bitexts import add_bitext, read_held_out, read_pairs
from partita.cli.models import estimator_class, save_model
from partita.cli.options import (
    RUN,
    Argument,
    Commands,
    Options,
    add_arguments,
    add_command,
    given,
    say,
)

PATIENCE = Argument("patience", int, 2, "passes without progress on held-out pairs before the end")
ARGUMENTS = (
    Argument("grammar", str, "itg", "of the derivations", ("itg", "hiero")),
    Argument("max_words", int, 20, "pairs with more words on a side are not learnt from"),
    Argument("n_pairs", int, None, "learn weights or rules from the first N pairs only"),
    Argument("model1_iterations", int, 5, "of Model 1"),
    Argument("n_translations", int, 12, "most translations of a word (itg)"),
    Argument("n_insertions", int, 40, "words that may be inserted anywhere (itg)"),
    Argument("n_companions", int, 4, "words that may be inserted behind a certain word (itg)"),
    Argument("n_bits", int, 22, "2**N hashed weights (itg)"),
    Argument("optimiser", str, "adam", "of mini-batches (itg)", ("adam", "adagrad", "sgd")),
    Argument("rate", float, 0.03, "learning rate (itg)"),
    Argument(
        "schedule",
        str,
        "linear",
        "of the learning rate (itg)",
        ("linear", "constant", "inverse-square-root"),
    ),
    Argument("batch_size", int, 16, "pairs of a step (itg)"),
    Argument("average", bool, True, "average the weights from the second pass on (itg)"),
    Argument("max_iterations", int, 3, "most passes (itg)"),
    Argument("n_targets", int, 10, "translations of a source side (hiero)"),
    Argument("min_count", int, 2, "how often a rule with gaps must be seen (hiero)"),
    Argument("longest_phrase", int, 10, "most words under a rule (hiero)"),
    Argument("n_tuning", int, 200, "pairs for the weights, which give no rules (hiero)"),
    Argument("l2", float, 1.0, "penalty on the squares of weights"),
    Argument("cache_megabytes", int, 1024, "for the forests of pairs (itg)"),
    PATIENCE,
    *(argument for argument in RUN if argument.name != "patience"),
    Argument("seed", int, 0, "all randomness follows from it"),
    Argument("n_threads", int, None, "threads (default: all cores)"),
    Argument("progress", bool, None, "show progress (default: yes)"),
)


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "translator", run, "learn to translate from a bitext")
    add_bitext(parser)
    add_arguments(parser, ARGUMENTS)


def run(options: Options) -> int:
    """Train and write the model; 1 if the training was interrupted."""
    bitext = read_pairs(options.source, options.target)
    held_out = read_held_out(options.held_out)
    translator = estimator_class("translator")(**{"progress": True, **given(options, ARGUMENTS)})
    translator.fit(
        bitext.source,
        bitext.target,
        held_out=None if held_out is None else (held_out.source, held_out.target),
    )
    say(f"{translator.counts_}")
    say(translator.training_.reason)
    save_model(options.output, translator, {})
    say(f"Wrote {options.output}")
    return int(translator.training_.interrupted)
