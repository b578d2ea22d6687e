"""Flags are the declared options of the estimators, and arguments those of functions."""

import inspect

import pytest

from partita.cli import select, simulate
from partita.cli.models import ESTIMATORS, estimator_class
from partita.cli.options import flag_of, read_options
from partita.cli.parser import build_parser
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
