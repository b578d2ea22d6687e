"""Options are the arguments of the estimators, one to one, with the same defaults."""

import inspect

import pytest

from partita.cli import select, simulate
from partita.cli.models import ESTIMATORS, estimator_class
from partita.cli.parser import build_parser
from partita.cli.train import aligner as train_aligner
from partita.cli.train import hmm as train_hmm
from partita.cli.train import parser as train_parser
from partita.cli.train import tagger as train_tagger
from partita.cli.train import translator as train_translator
from partita.estimators.tagging import selection, simulation

# An option that every command has.
OTHERS = {"tagger": {"tag_column"}, "hmm": {"tag_column"}}
TABLES = {
    "tagger": train_tagger.ARGUMENTS,
    "hmm": train_hmm.ARGUMENTS,
    "parser": train_parser.ARGUMENTS,
    "aligner": train_aligner.ARGUMENTS,
    "translator": train_translator.ARGUMENTS,
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_one_to_one(kind):
    parameters = inspect.signature(estimator_class(kind)).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults.keys() == OTHERS.get(kind, set()) | {argument.name for argument in TABLES[kind]}
    for argument in TABLES[kind]:
        assert argument.default == defaults[argument.name], argument.name


@pytest.mark.parametrize("kind", ESTIMATORS)
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
