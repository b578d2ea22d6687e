"""Options are the arguments of the estimators, one to one, with the same defaults."""

import inspect

import pytest

from partita.cli import select, simulate
from partita.cli.models import ESTIMATORS, estimator_class
from partita.cli.options import flag_of, read_options
from partita.cli.parser import build_parser
from partita.cli.train import aligner as train_aligner
from partita.cli.train import translator as train_translator
from partita.estimators.options import options_of
from partita.estimators.tagging import selection, simulation

DECLARED = ("tagger", "hmm", "parser")
TABLES = {
    "aligner": train_aligner.ARGUMENTS,
    "translator": train_translator.ARGUMENTS,
}


@pytest.mark.parametrize("kind", DECLARED)
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
            text = option.kind.choices[-1] if option.kind.choices else "3"
            text = "A=1,B=2" if option.name == "class_weights" else text
            options = build_parser().parse_args([*command, flag, text])
            (value,) = read_options(options, owner).values()
            option.checked(value)
    assert read_options(build_parser().parse_args(command), owner) == {}


@pytest.mark.parametrize("kind", sorted(set(ESTIMATORS) - set(DECLARED)))
def test_one_to_one(kind):
    parameters = inspect.signature(estimator_class(kind)).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults.keys() == {argument.name for argument in TABLES[kind]}
    for argument in TABLES[kind]:
        assert argument.default == defaults[argument.name], argument.name


@pytest.mark.parametrize("kind", sorted(set(ESTIMATORS) - set(DECLARED)))
def test_values_are_read(kind):
    words = {int: "3", float: "0.5"}
    for argument in TABLES[kind]:
        flag = "--" + argument.name.replace("_", "-")
        text = argument.choices[-1] if argument.choices else words.get(argument.read, "a=1,b=2")
        given = [flag] if argument.read is bool else [flag, text]
        options = build_parser().parse_args(["train", kind, "x", "-o", "y", *given])
        expected = True if argument.read is bool else argument.read(text)
        assert getattr(options, argument.name) == expected
    bare = vars(build_parser().parse_args(["train", kind, "x", "-o", "y"]))
    assert not bare.keys() & {argument.name for argument in TABLES[kind]}


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
