"""Flags are the declared options of the estimators, and arguments those of functions."""

import inspect
from contextlib import suppress

import pytest

from partita.cli import main, select, simulate
from partita.cli.models import ESTIMATORS, estimator_class
from partita.cli.options import flag_of, read_options
from partita.cli.parser import Parser, build_parser
from partita.cli.spelling import in_flags
from partita.estimators.options import options_of
from partita.estimators.tagging import selection, simulation


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_flags_are_the_declared_options(kind):
    command = ["train", kind, "x", "-o", "y"]
    owner = estimator_class(kind)
    for option in options_of(owner):
        if not option.about.is_flag:
            continue
        flag = flag_of(option.name)
        if option.kind.is_switch:
            ways = [([flag, choice], choice) for choice in option.kind.choices] or [([flag], True)]
            for given, expected in (*ways, ([f"--no-{flag[2:]}"], False)):
                options = build_parser().parse_args([*command, *given])
                assert read_options(options, owner) == {option.name: expected}
        elif option.about.metavar not in ("FILE", "MODEL"):
            small = "2" if option.name == "order" else "3"
            text = option.kind.choices[-1] if option.kind.choices else small
            text = "A=1,B=2" if option.name == "class_weights" else text
            options = build_parser().parse_args([*command, flag, text])
            (value,) = read_options(options, owner).values()
            option.checked(value)
    assert read_options(build_parser().parse_args(command), owner) == {}


def defaults_of(function):
    parameters = inspect.signature(function).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def test_strategies_and_their_arguments():
    assert tuple(selection.STRATEGIES) == select.STRATEGIES
    ranking, replay = defaults_of(selection.rank), defaults_of(simulation.simulate)
    for argument in (*select.RANKING, select.SEED):
        assert argument.default == ranking[argument.name] == replay[argument.name]
    for argument in simulate.REPLAY:
        default = replay[argument.name]
        expected = ",".join(default) if isinstance(default, tuple) else default
        assert argument.default == expected


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_wrong_value_is_told_with_its_flag(kind, files, capsys):
    """Of every option with a check, as it stands in the message of Python."""
    n_checked = 0
    for option in options_of(estimator_class(kind)):
        wrong = {"whole number": "-7", "number": "-7.5"}.get(option.expected.split(",")[0][2:])
        if wrong is None or not option.about.is_flag:
            continue
        with suppress(ValueError):
            option.checked(float(wrong) if "." in wrong else int(wrong))
            continue  # this one takes it
        flag = flag_of(option.name)
        assert main(["train", kind, str(files / "train.conllu"), "-o", "m", flag, wrong]) == 2
        message = capsys.readouterr().err.splitlines()[-1]
        assert message.startswith(f"partita: {flag} is -7")
        assert option.name not in message or "_" not in option.name
        assert "None" not in message
        n_checked += 1
    assert n_checked > 0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("parser --no-projective --order 2", "--no-projective came with --order 2; arcs"),
        (
            "parser --order 2 --labels joint",
            "--labels joint came with --order 2; expected --labels",
        ),
        ("parser --rule-weight 3", "--rule-weight is 3.0, which changes nothing without rules"),
        ("tagger --resume", "--resume came without a checkpoint"),
        ("tagger --entropy-weight 1", "give such sentences to fit (--unlabelled ...), or leave"),
    ],
)
def test_options_that_make_no_sense_together_are_told_as_flags(flags, expected, files, capsys):
    kind, *given = flags.split()
    assert main(["train", kind, str(files / "train.conllu"), "-o", "m", *given]) == 2
    assert expected in capsys.readouterr().err


def test_what_is_no_option_stays():
    actions = build_parser_of("train", "tagger").actions()
    for message in (
        "data/min_count.txt: nothing here",
        "the file 'min_count' has no features or format",
        "min_counts is 3",
        "line 3: found l2 in order",
    ):
        assert in_flags(message, actions) == message


def build_parser_of(*command):
    """The parser that a command's arguments are read by."""
    build_parser().parse_args([*command, "x", "-o", "y"])
    return Parser.used[-1]
