"""Commands that do something else with each kind of model: families of kinds, one module each.

A command lists its families; each says which kinds of model it is for, which arguments it takes
beside those of the command, and what to run. An argument that several families take is one object,
or has one name and other choices in each.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from partita.cli.models import ESTIMATORS, Model, kind_of_file
from partita.cli.options import Argument, Options, add_arguments, flag_of
from partita.cli.parser import Parser


@dataclass(frozen=True)
class Family:
    """What a command does with some kinds of model."""

    title: str
    """What these models are called, in the help: "taggers"."""
    kinds: tuple[str, ...]
    run: Callable[[Model, Options], int | None]
    arguments: tuple[Argument, ...] = ()


def add_families(parser: Parser, families: Sequence[Family]) -> None:
    """Arguments of families when the command is used; its help on a model has those of its kind."""
    parser.fill = lambda each: _add_families(each, families)
    titles = [family.title for family in families]
    note = "With a MODEL (or a kind of it) beside --help, this shows only what there is for it."
    if len(titles) > 1:
        parser.epilog = " ".join(filter(None, [parser.epilog, note]))


def _add_families(parser: Parser, families: Sequence[Family]) -> None:
    """The arguments of the families, in groups that say whose they are."""
    kind = next(filter(None, map(_kind, parser.given)), None) if parser.is_asked_for_help else None
    families = [each for each in families if kind in each.kinds] or families
    owners: dict[str, list[str]] = {}
    merged: dict[str, Argument] = {}
    for family in families:
        for each in family.arguments:
            owners.setdefault(each.name, []).append(family.title)
            merged[each.name] = _merged(merged.get(each.name), each)
    for titles in dict.fromkeys(map(tuple, owners.values())):
        chosen = [merged[name] for name, found in owners.items() if tuple(found) == titles]
        add_arguments(parser, chosen, "for " + " and ".join(titles))


def _kind(word: str) -> str | None:
    """The kind of model that a word of the command line names, or that a file holds."""
    return word if word in ESTIMATORS else kind_of_file(word)


def _merged(one: Argument | None, other: Argument) -> Argument:
    """An argument of two families: whatever either of them takes."""
    if one is None or one.choices is None or other.choices is None:
        return other if one is None else one
    return replace(one, choices=tuple(dict.fromkeys([*one.choices, *other.choices])))


def run_family(families: Sequence[Family], model: Model, options: Options) -> int | None:
    """Run the family of a model, with the defaults of arguments that the user did not give."""
    family = next((each for each in families if model.kind in each.kinds), None)
    if family is None:
        kinds = ", ".join(kind for each in families for kind in each.kinds)
        raise ValueError(
            f"{model.path} holds a model of kind {model.kind!r}, which this command cannot use; "
            f"expected one of {kinds}."
        )
    given, own = vars(options), {each.name: each for each in family.arguments}
    for other in families:
        for argument in other.arguments:
            if argument.name in given and argument.name not in own:
                raise ValueError(
                    f"{flag_of(argument.name)} is for {other.title}, and {model.path} holds a "
                    f"model of kind {model.kind!r}. Leave it out."
                )
    for name, argument in own.items():
        if argument.choices and given.get(name, argument.default) not in (None, *argument.choices):
            raise ValueError(
                f"{flag_of(name)} is {given[name]!r}; expected one of "
                f"{', '.join(argument.choices)} for {family.title}."
            )
    defaults = {argument.name: argument.default for argument in family.arguments}
    return family.run(model, argparse.Namespace(**{**defaults, **given}))
