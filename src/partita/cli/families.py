"""Commands that do something else with each kind of model: families of kinds, one module each.

A command lists its families; each says which kinds of model it is for, which arguments it takes
beside those of the command, and what to run. An argument that several families take is one object.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from partita.cli.models import Model
from partita.cli.options import Argument, Options, add_arguments, flag_of


@dataclass(frozen=True)
class Family:
    """What a command does with some kinds of model."""

    title: str
    """What these models are called, in the help: "taggers"."""
    kinds: tuple[str, ...]
    run: Callable[[Model, Options], int | None]
    arguments: tuple[Argument, ...] = ()


def add_families(parser: argparse.ArgumentParser, families: Sequence[Family]) -> None:
    """The arguments of all families, in groups that say whose they are."""
    groups: dict[tuple[str, ...], list[Argument]] = {}
    for argument in dict.fromkeys(each for family in families for each in family.arguments):
        owners = tuple(family.title for family in families if argument in family.arguments)
        groups.setdefault(owners, []).append(argument)
    for owners, arguments in groups.items():
        add_arguments(parser, arguments, "for " + " and ".join(owners))


def run_family(families: Sequence[Family], model: Model, options: Options) -> int | None:
    """Run the family of a model, with the defaults of arguments that the user did not give."""
    family = next((each for each in families if model.kind in each.kinds), None)
    if family is None:
        kinds = ", ".join(kind for each in families for kind in each.kinds)
        raise ValueError(
            f"{model.path} holds a model of kind {model.kind!r}, which this command cannot use; "
            f"expected one of {kinds}."
        )
    given = vars(options)
    for other in families:
        for argument in other.arguments:
            if argument.name in given and argument not in family.arguments:
                raise ValueError(
                    f"{flag_of(argument.name)} is for {other.title}, and {model.path} holds a "
                    f"model of kind {model.kind!r}. Leave it out."
                )
    defaults = {argument.name: argument.default for argument in family.arguments}
    return family.run(model, argparse.Namespace(**{**defaults, **given}))
