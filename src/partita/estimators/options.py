"""Options of estimators, each declared once: name, type, default, help, choices and check.

An estimator is a class of annotated fields:

    @declared
    class Tagger(Estimator, Penalties, Runs):
        min_count: int | None = option(None, "leave out what is rarer", at_least(1))

The constructor (keywords only, which editors and type checkers see), the docstring's parameters,
`get_params`, the checks before any data are read, the flags of the command and what a model file
keeps all follow from these lines.
"""

import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from partita.estimators.option_kinds import Kind, Reader, kind_of

Owner = TypeVar("Owner")


class Check(NamedTuple):
    """What a value of the right type must satisfy beside it."""

    holds: Callable[[Any], bool]
    expected: str
    says_all: bool = False
    """Whether `expected` says all of it, so that messages need not name the type."""


def at_least(least: float) -> Check:
    """`least` or more, and finite."""
    return Check(lambda value: least <= value < np.inf, f"{least} or more")


def above(bound: float) -> Check:
    """More than `bound`, and finite."""
    return Check(lambda value: bound < value < np.inf, f"above {bound}")


def between(least: float, most: float) -> Check:
    """From `least` to `most`, both included."""
    return Check(lambda value: least <= value <= most, f"{least} to {most}")


class Need(NamedTuple):
    """Where an option changes anything; a value that would change nothing is refused."""

    holds: Callable[[Any], bool]
    """Of its owner, as far as options say; `of_data` may say more."""
    unless: str
    """Where it changes nothing, for messages: "without features"."""
    instead: str = "expected both or neither"
    of_data: str | None = None
    """What data must be there for it, by a name that `Declared.check_data` is told."""


def without(what: str, holds: Callable[[Any], bool]) -> Need:
    """The need of an option that changes nothing without something else."""
    return Need(holds, f"without {what}")


def beside(what: str, holds: Callable[[Any], bool]) -> Need:
    """The need of an option that changes nothing beside something else."""
    return Need(lambda owner: not holds(owner), f"beside {what}", "expected one of the two")


def without_data(name: str, what: str) -> Need:
    """The need of an option that changes nothing without certain data."""
    return Need(lambda owner: True, f"without {what}", of_data=name)


@dataclass(frozen=True)
class About:
    """What an option's declaration says beside its name, type and default."""

    help: str
    check: Check | None = None
    read: Reader | None = None
    """How the command makes a value of a flag's text; by the type if left out."""
    metavar: str | None = None
    is_flag: bool = True
    """Whether the command has a flag for it."""
    is_kept: bool = True
    """Whether a model file keeps it; not what only training needs."""
    needs: Need | None = None
    """Where it changes anything; anywhere if left out."""


def option(
    default: Any,
    help: str,
    check: Check | None = None,
    *,
    read: Reader | None = None,
    metavar: str | None = None,
    is_flag: bool = True,
    is_kept: bool = True,
    needs: Need | None = None,
) -> Any:
    """A field that is an option; see `About`."""
    about = About(help, check, read, metavar, is_flag, is_kept, needs)
    return dataclasses.field(default=default, metadata={"about": about})


def again(
    owner: type, name: str, default: Any, help: str | None = None, *, needs: Need | None = None
) -> Any:
    """An option of a group once more, with another default (or help, or need)."""
    (field,) = (each for each in dataclasses.fields(owner) if each.name == name)
    about = field.metadata["about"]
    about = about if help is None else dataclasses.replace(about, help=help)
    about = about if needs is None else dataclasses.replace(about, needs=needs)
    return dataclasses.field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class Option:
    """A declared option, as others read it."""

    name: str
    kind: Kind
    default: Any
    about: About

    def checked(self, value: Any) -> None:
        """An error unless the value is of the option's type and satisfies its check."""
        check = self.about.check
        fits = self.kind.accepts(value)
        if fits and check is not None and value is not None:
            fits = check.holds(value)
        if not fits:
            raise ValueError(f"{self.name} is {value!r}; expected {self.expected}.")
        if isinstance(value, Declared):
            value.check_values()

    def refuse_idle(self, value: Any) -> None:
        """An error for a value that changes nothing here, unless it is the default."""
        # Compared by repr, since an option may be an array, which has no plain equality.
        if (need := self.about.needs) is not None and repr(value) != repr(self.default):
            raise ValueError(
                f"{self.name} is {_short(value)}, which changes nothing {need.unless}; "
                f"{need.instead}."
            )

    @property
    def expected(self) -> str:
        """What values it takes, for messages."""
        return self._expected_of(self.kind)

    @property
    def expected_of_flag(self) -> str:
        """The same for its flag, which is left out where the value is to be None."""
        return self._expected_of(dataclasses.replace(self.kind, allows_none=False))

    def _expected_of(self, kind: Kind) -> str:
        check = self.about.check
        if check is not None and check.says_all:
            return check.expected
        return kind.expected(None if check is None else check.expected)


def options_of(owner: "type[Declared]") -> tuple[Option, ...]:
    """The options of a class, in the order of their declarations."""
    return owner.declared_options


@typing.dataclass_transform(
    eq_default=False, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
def declared(owner: type[Owner]) -> type[Owner]:
    """A class of options: its constructor takes them by keyword, its docstring lists them."""
    own_docstring = inspect.cleandoc(owner.__doc__ or "")
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(owner)
    # A class may name itself in its annotations.
    hints = typing.get_type_hints(made, localns={owner.__name__: owner})
    found = {
        each.name: Option(each.name, kind_of(hints[each.name]), each.default, about)
        for each in dataclasses.fields(made)
        if (about := each.metadata.get("about")) is not None
    }
    # A class's own options come before those of the groups that it shares with others.
    names = (name for each in made.__mro__ for name in each.__dict__.get("__annotations__", ()))
    made.declared_options = tuple(found[name] for name in dict.fromkeys(names) if name in found)
    made.__doc__ = f"{own_docstring}\n\n{parameters_text(made)}"
    return typing.cast(type[Owner], made)


def parameters_text(owner: "type[Declared]") -> str:
    """The options of a class as the parameters of a docstring."""
    lines = ["Parameters", "----------"]
    for each in options_of(owner):
        lines.append(f"{each.name} : {each.expected}; default {each.default!r}")
        text = each.about.help
        text = f"{text[0].upper()}{text[1:]}."
        lines += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


@dataclass(kw_only=True, eq=False, repr=False)
class Declared:
    """An object of options, with scikit-learn's ways to read, set and copy them.

    Nothing is changed or checked by the constructor, as scikit-learn's `clone` wants it; `check`
    comes before any work.

    >>> @declared
    ... class Example(Declared):
    ...     '''An example.'''
    ...
    ...     n_tags: int | None = option(None, "how many tags", at_least(1))
    ...     alpha: float = option(0.1, "added to all counts", at_least(0))
    >>> Example(n_tags=3).set_params(alpha=0.5).get_params()
    {'n_tags': 3, 'alpha': 0.5}
    >>> Example(alpha=-1)
    Example(alpha=-1)
    >>> Example(alpha=-1).check()
    Traceback (most recent call last):
    ValueError: alpha is -1; expected a number, 0 or more.
    """

    declared_options: ClassVar[tuple[Option, ...]] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; `deep`, also those of an option that has options, as `model__alpha`.

        >>> @declared
        ... class Inner(Declared):
        ...     alpha: float = option(0.1, "added to all counts", at_least(0))
        >>> @declared
        ... class Outer(Declared):
        ...     model: Inner | None = option(None, "what to learn")
        >>> outer = Outer(model=Inner())
        >>> outer.set_params(model__alpha=0.5).get_params()
        {'model': Inner(alpha=0.5), 'model__alpha': 0.5}
        """
        found = {}
        for each in options_of(type(self)):
            value = found[each.name] = getattr(self, each.name)
            if deep and isinstance(value, Declared):
                found |= {f"{each.name}__{name}": own for name, own in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Changes some options, for the next `fit`; `model__alpha` one of an option's own."""
        names = [each.name for each in options_of(type(self))]
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in names:
                raise ValueError(
                    f"{type(self).__name__} has no option {name!r}; it has {', '.join(names)}."
                )
            owner = getattr(self, outer)
            if inner and not isinstance(owner, Declared):
                raise ValueError(
                    f"{name} came, but {outer} is {owner!r}, which has no options; give an object."
                )
            if inner:
                owner.set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def check(self) -> None:
        """An error for the first option that makes no sense, or changes nothing; needs no data.

        >>> @declared
        ... class Example(Declared):
        ...     n_tags: int | None = option(None, "how many tags")
        ...     names: bool = option(
        ...         False,
        ...         "name them",
        ...         needs=without("n_tags", lambda given: given.n_tags is not None),
        ...     )
        >>> Example(names=True).check()
        Traceback (most recent call last):
        ValueError: names is True, which changes nothing without n_tags; expected both or neither.
        """
        self.check_values()
        for each in options_of(type(self)):
            value, need = getattr(self, each.name), each.about.needs
            if need is not None and not need.holds(self):
                each.refuse_idle(value)
            # What no file keeps may be a fitted model, which has used its options already.
            if each.about.is_kept and isinstance(value, Declared):
                value.check()

    def check_values(self) -> None:
        """An error for the first option whose value makes no sense.

        All that is asked of a model out of a file, which keeps no constraints, say, but their
        weight.
        """
        for each in options_of(type(self)):
            each.checked(getattr(self, each.name))
        self._check_together()

    def check_data(self, **is_there: bool) -> None:
        """An error for the first option that changes nothing without data that did not come."""
        for each in options_of(type(self)):
            need = each.about.needs
            if need is not None and not is_there.get(need.of_data or "", True):
                each.refuse_idle(getattr(self, each.name))

    def _check_together(self) -> None:
        """Options that make no sense together; for subclasses."""

    def __repr__(self) -> str:
        # Compared by repr, since an option may be an array, which has no plain equality.
        given = (
            f"{each.name}={_short(getattr(self, each.name))}"
            for each in options_of(type(self))
            if repr(getattr(self, each.name)) != repr(each.default)
        )
        return f"{type(self).__name__}({', '.join(given)})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
