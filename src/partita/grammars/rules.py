"""Synchronous rules with words and up to two nonterminals on each side, and tables of them."""

import gzip
import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import NamedTuple, NoReturn

MOST_SLOTS = 2
"""Nonterminals in a rule; with more, the number of ways to split a span explodes."""

EXPECTED_LINE = "[X] ||| source ||| target ||| name=value ..."


class Slot(NamedTuple):
    """A nonterminal on the right of a rule, written [X,1]; equal numbers are linked."""

    symbol: str
    number: int

    def __str__(self) -> str:
        return f"[{self.symbol},{self.number}]"


Side = tuple[str | Slot, ...]


class RuleError(ValueError):
    """A rule, or a line of a rule table, that cannot be understood."""


@dataclass(frozen=True)
class SynchronousRule:
    """head -> source / target: words, and nonterminals that both sides share.

    >>> rule = SynchronousRule("X", ("apague", Slot("X", 1)), ("switch", Slot("X", 1), "off"))
    >>> str(rule)
    '[X] ||| apague [X,1] ||| switch [X,1] off'
    """

    head: str
    source: Side
    target: Side
    features: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        source = [item for item in self.source if isinstance(item, Slot)]
        target = [item for item in self.target if isinstance(item, Slot)]
        if not self.source:
            raise RuleError(
                "the source side is empty; expected a word or a nonterminal, since a rule that "
                "consumes nothing can be used without end. Use an ITG for free insertions."
            )
        if len(source) > MOST_SLOTS:
            raise RuleError(
                f"the source side has {len(source)} nonterminals; expected at most {MOST_SLOTS}. "
                "Split the rule in two."
            )
        if len({slot.number for slot in source}) < len(source) or sorted(source) != sorted(target):
            raise RuleError(
                f"the source side has the nonterminals {_names(source)} and the target side "
                f"{_names(target)}; expected the same ones, each number once. Write [X,1] and "
                "[X,2] on both sides."
            )

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The nonterminals in the order of the source; the tails of the rule's edges."""
        return tuple(item for item in self.source if isinstance(item, Slot))

    def __str__(self) -> str:
        fields = [
            f"[{self.head}]",
            " ".join(map(str, self.source)),
            " ".join(map(str, self.target)),
        ]
        if self.features:
            fields.append(" ".join(f"{name}={value!r}" for name, value in self.features))
        return " ||| ".join(fields)


def glue_rules(symbol: str = "X", start: str = "S") -> list[SynchronousRule]:
    """S -> X / X and S -> S X / S X: phrases one behind the other, in the same order.

    >>> [str(rule) for rule in glue_rules()]
    ['[S] ||| [X,1] ||| [X,1]', '[S] ||| [S,1] [X,2] ||| [S,1] [X,2]']
    """
    single, pair = (Slot(symbol, 1),), (Slot(start, 1), Slot(symbol, 2))
    return [SynchronousRule(start, single, single), SynchronousRule(start, pair, pair)]


def read_rules(path: str | PathLike[str]) -> list[SynchronousRule]:
    """The rules of a text file, UTF-8, plain or .gz, one a line, as cdec writes them.

    A line is such as `[X] ||| apague [X,1] ||| switch [X,1] off ||| logprob=-1.5 count=3`. The
    target may refer to [X,1] as [1]; the features may be left out; a fifth field (Moses' word
    alignment) is not read; empty lines and those that start with # are skipped. A line that is
    wrong is a `RuleError` with the file, the line, what was found, what was expected and a remedy.
    """
    return list(_rules(fspath(path)))


def parse_rule(line: str) -> SynchronousRule:
    """The rule that a line of a table holds.

    >>> parse_rule("[X] ||| a [X,1] ||| [1] b ||| p=-0.5")
    SynchronousRule(head='X', source=('a', Slot(symbol='X', number=1)),
                    target=(Slot(symbol='X', number=1), 'b'), features=(('p', -0.5),))
    """
    fields = [field.strip() for field in line.split("|||")]
    if not 3 <= len(fields) <= 5:
        raise RuleError(
            f"found {len(fields)} fields; expected 3 to 5, {EXPECTED_LINE!r}. Separate them by |||."
        )
    head = fields[0]
    if not _is_bracketed(head) or "," in head or head == "[]":
        raise RuleError(
            f"found {head!r} at the start; expected a nonterminal such as [X]. Put its name in "
            "square brackets."
        )
    source = tuple(_item(token, {}) for token in fields[1].split())
    symbols = {item.number: item.symbol for item in source if isinstance(item, Slot)}
    target = tuple(_item(token, symbols) for token in fields[2].split())
    features = tuple(_feature(token) for token in fields[3].split()) if len(fields) > 3 else ()
    return SynchronousRule(head[1:-1], source, target, features)


def _rules(path: str) -> Iterator[SynchronousRule]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8").strip()
                if text and not text.startswith("#"):
                    yield parse_rule(text)
            except UnicodeDecodeError as error:
                _refuse(
                    path,
                    number,
                    f"found byte 0x{line[error.start]:02x}; expected UTF-8. Convert it.",
                )
            except RuleError as error:
                _refuse(path, number, str(error))


def _refuse(path: str, number: int, reason: str) -> NoReturn:
    raise RuleError(f"{path}, line {number}: {reason}") from None


def _item(token: str, symbols: dict[int, str]) -> str | Slot:
    """A word, or the nonterminal of [X,1]; [1] has the symbol that number 1 has in the source."""
    if not _is_bracketed(token):
        return token
    symbol, comma, number = token[1:-1].rpartition(",")
    if number.isdecimal() and (symbol if comma else int(number) in symbols):
        return Slot(symbol if comma else symbols[int(number)], int(number))
    raise RuleError(
        f"found {token!r}; expected a nonterminal with a number such as [X,1], in the target also "
        "[1] for one that the source has. Add the number; or, if it is a word, escape its brackets "
        "(&#91; and &#93;)."
    )


def _is_bracketed(token: str) -> bool:
    return len(token) > 1 and token.startswith("[") and token.endswith("]")


def _feature(token: str) -> tuple[str, float]:
    name, equals, text = token.rpartition("=")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not name or not equals or math.isnan(value):
        raise RuleError(
            f"found the feature {token!r}; expected name=value with a number as value. Name it, as "
            "in logprob=-1.5."
        )
    return name, value


def _names(slots: list[Slot]) -> str:
    return " ".join(map(str, slots)) or "none"
