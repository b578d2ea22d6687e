r"""Rules about dependency arcs in text: which arcs, and what share of them there should be.

A text, one rule a line; `#` begins a line of comment, unless an arrow or a tab follows it at once,
for it is a tag as well:

    NOUN <- VERB left 0.3           a NOUN's head is a VERB to its left with probability 0.3
    DET <- NOUN right at least 0.8  ... with probability 0.8 or more
    NOUN <- NOUN right within 1 0.2 ... a NOUN right behind it; beyond 1 is the opposite
    VERB <- ROOT 0.6                the root is on no side
    * <- PUNCT at most 0.01         * is any tag: of all words, so many hang on a PUNCT

    at least 0.8 of arcs:           of all arcs, this share obeys one of the indented rules
        VERB <- ROOT
        NOUN <- VERB
    0.7 of NOUN:                    of the arcs to NOUNs
        NOUN <- VERB
        NOUN <- NOUN left

A tag is of the column UPOS; any condition may stand in its place, as in `FORM.lower=the <- NOUN` or
`XPOS=NN <- *` (see `partita.text.conditions`). A probability is that of the arc given the
modifier's tag; the side (`left`, `right`, `any` if left out) is where the head lies, seen from the
modifier, and distances (`beyond 2 within 5`, in this order) count words, 1 for neighbours. Two
tables with tabs are read as well:

    head, dependent                             one group: "at least `share` of arcs"
    dependent, head, side (L, R, -), count, p   measured probabilities; - is the side of the ROOT
"""

import re
from collections.abc import Iterable, Sequence

from partita.data.arc_rule import ANY, ROOT, ArcPattern, ArcRule, Side
from partita.data.errors import DataError, shown
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath

ANYWHERE = ("any", 0, None)
"""On either side, at any distance."""
MOST_ROUNDING = 0.005
"""What each measured probability may be off by."""


# ---------------------------------------------------------------------- reading


def read_arc_rules(path: StrPath, *, share: float = 0.8) -> list[ArcRule]:
    """The rules of a file, in whichever of the three formats; `-` is standard input.

    `share` is the target of a table that gives none (head and dependent).
    """
    return parse_arc_rules(read_text(path), source_name(path), share=share)


def parse_arc_rules(text: str, source: str = "<text>", *, share: float = 0.8) -> list[ArcRule]:
    r"""The rules of a text.

    >>> [rule] = parse_arc_rules("NOUN <- VERB left 0.3\n")
    >>> rule.patterns[0].head, rule.target, rule.bound
    ('VERB', 0.3, 'equal')
    >>> [rule] = parse_arc_rules("ROOT\tVERB\nVERB\tNOUN\n")
    >>> len(rule.patterns), rule.target, rule.bound
    (2, 0.8, 'at least')
    """
    lines = [
        (number, line.rstrip())
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not _COMMENT.match(line)
    ]
    if not lines:
        raise DataError(source, None, "there are no rules; expected at least one.")
    is_table = "\t" in lines[0][1].strip() and "<-" not in lines[0][1]
    rules = _table(lines, source, share) if is_table else _text_rules(lines, source)
    _check_repeats(rules)
    _check_sums(rules)
    return rules


_COMMENT = re.compile(r"\s*#(?!\t|\s+<-\s)")
_HEADER = re.compile(r"(?:(at least|at most)\s+)?(\S+)\s+of\s+(\S+?)\s*:")
_RULE = re.compile(
    r"(?P<modifier>\S+)\s+<-\s+(?P<head>\S+)(?:\s+(?P<side>left|right|any))?"
    r"(?:\s+beyond\s+(?P<beyond>\d+))?(?:\s+within\s+(?P<within>\d+))?"
    r"(?:\s+(?:(?P<bound>at least|at most)\s+)?(?P<target>\S+))?"
)


def _text_rules(lines: Sequence[tuple[int, str]], source: str) -> list[ArcRule]:
    rules = []
    while lines:
        [(number, line), *lines] = lines
        n_members = next(
            (k for k, (_, each) in enumerate(lines) if each[0] not in " \t"), len(lines)
        )
        header = _HEADER.fullmatch(line)
        if header is not None:
            rules.append(_group(header, lines[:n_members], source, number))
            lines = lines[n_members:]
        elif line[0] in " \t":
            raise DataError(
                source,
                number,
                f"found {shown(line.strip())} indented, but no line such as 'at least 0.8 of "
                "arcs:' before it. Write that line, or take the blanks away.",
            )
        else:
            rules.append(_single(line, source, number))
    return rules


def _group(
    header: re.Match[str], members: Sequence[tuple[int, str]], source: str, number: int
) -> ArcRule:
    bound, share, among = header.groups()
    target = _target(share, source, number)
    if not members:
        raise DataError(
            source,
            number,
            "this group has no rules; expected lines such as '    NOUN <- VERB', indented, below "
            "it.",
        )
    patterns = tuple(_member(line.strip(), source, where) for where, line in members)
    tag = ANY if among == "arcs" else among
    return _built(patterns, target, bound or "equal", tag, source, number)


def _single(line: str, source: str, number: int) -> ArcRule:
    found = _RULE.fullmatch(line)
    if found is None or found["target"] is None:
        raise DataError(
            source,
            number,
            f"found {shown(line)}; expected a rule such as 'NOUN <- VERB left 0.3', with at least "
            "or at most before the number if you like, or a line such as 'at least 0.8 of arcs:'.",
        )
    pattern = _found_pattern(found, source, number)
    target = _target(found["target"], source, number)
    return _built((pattern,), target, found["bound"] or "equal", found["modifier"], source, number)


def _member(line: str, source: str, number: int) -> ArcPattern:
    found = _RULE.fullmatch(line)
    if found is None or found["target"] is not None:
        raise DataError(
            source,
            number,
            f"found {shown(line)} in a group; expected a rule without a number, such as "
            "'NOUN <- VERB left': the target stands above the group.",
        )
    return _found_pattern(found, source, number)


def _found_pattern(found: re.Match[str], source: str, number: int) -> ArcPattern:
    within = None if found["within"] is None else int(found["within"])
    place = found["side"] or "any", int(found["beyond"] or 0), within
    return _pattern(found["head"], found["modifier"], place, source, number)


def _pattern(
    head: str, modifier: str, place: tuple[str, int, int | None], source: str, number: int
) -> ArcPattern:
    if modifier == ROOT:
        raise DataError(
            source, number, "the root came as a modifier; it has no head. Expected a tag of words."
        )
    try:
        return ArcPattern(head, modifier, *place)  # type: ignore[arg-type]  # checked there
    except ValueError as error:
        raise DataError(source, number, f"{error} Correct the rule.") from None


def _built(
    patterns: tuple[ArcPattern, ...],
    target: float,
    bound: str,
    among: str,
    source: str,
    number: int,
) -> ArcRule:
    try:
        return ArcRule(patterns, target, bound, among, source, number)  # type: ignore[arg-type]
    except ValueError as error:
        raise DataError(source, number, f"{error} Correct the rule.") from None


def _target(text: str, source: str, number: int) -> float:
    try:
        target = float(text)
    except ValueError:
        target = -1.0
    if not 0 <= target <= 1:
        raise DataError(
            source,
            number,
            f"found the target {shown(text)}; expected a number from 0 to 1. Correct it.",
        )
    return target


_SIDES: dict[str, Side] = {"L": "left", "R": "right", "-": "any"}


def _table(lines: Sequence[tuple[int, str]], source: str, share: float) -> list[ArcRule]:
    rows = [(number, line.split("\t")) for number, line in lines]
    n_columns = len(rows[0][1])
    for number, row in rows:
        if len(row) != n_columns or n_columns not in (2, 5):
            raise DataError(
                source,
                number,
                f"found {len(row)} columns separated by tabs; expected 2 (head, dependent) or 5 "
                "(dependent, head, side, count, probability), the same in every line.",
            )
    if n_columns == 2:
        patterns = tuple(
            _pattern(head, modifier, ANYWHERE, source, number) for number, (head, modifier) in rows
        )
        return [_built(patterns, share, "at least", ANY, source, rows[0][0])]
    return [_measured(row, source, number) for number, row in rows]


def _measured(row: Sequence[str], source: str, number: int) -> ArcRule:
    modifier, head, side, _, text = row
    if side not in _SIDES or (side == "-") != (head == ROOT):
        raise DataError(
            source,
            number,
            f"found the side {shown(side)} of the head {shown(head)}; expected - for {ROOT}, and L "
            "or R, where the head lies, for the tag of a word.",
        )
    pattern = _pattern(head, modifier, (_SIDES[side], 0, None), source, number)
    return _built((pattern,), _target(text, source, number), "equal", modifier, source, number)


def _check_repeats(rules: Sequence[ArcRule]) -> None:
    lines: dict[tuple[object, ...], int] = {}
    for rule in rules:
        # A lower and an upper bound of the same share make an interval.
        key = (frozenset(rule.patterns), rule.among, rule.bound)
        if key in lines:
            raise DataError(
                rule.source,
                rule.line,
                f"a second target for '{rule.name}', after the one in line {lines[key]}; expected "
                "one. Remove one of them.",
            )
        lines[key] = rule.line


def _check_sums(rules: Sequence[ArcRule]) -> None:
    """The heads of a tag exclude each other: what they must have at least is 1 at most."""
    least: dict[str, dict[str, dict[Side, float]]] = {}
    for rule in rules:
        if len(rule.patterns) > 1 or rule.bound == "at most" or rule.among == ANY:
            continue
        pattern = rule.patterns[0]
        # Conditions may hold of one word together, where tags cannot, and distances overlap.
        if pattern.head == ANY or "=" in pattern.head or pattern.has_distance:
            continue
        heads = least.setdefault(pattern.modifier, {})
        heads.setdefault(pattern.head, {})[pattern.side] = rule.target
        total = sum(
            max(sides.get("any", 0.0), sides.get("left", 0.0) + sides.get("right", 0.0))
            for sides in heads.values()
        )
        if total > 1 + MOST_ROUNDING * sum(map(len, heads.values())):
            raise DataError(
                rule.source,
                rule.line,
                f"up to here the heads of {pattern.modifier} have probabilities that sum to "
                f"{total:.4g}; expected 1 at most, since a word has one head. Correct them.",
            )


# ---------------------------------------------------------------------- writing


def write_arc_rules(path: StrPath, rules: Iterable[ArcRule]) -> None:
    """Write rules as text, in one step; `-` is standard output, and `.gz` is compressed."""
    write_text(path, arc_rules_text(rules))


def arc_rules_text(rules: Iterable[ArcRule]) -> str:
    r"""Rules in the text format; reading it gives them back, to the last bit.

    >>> arc_rules_text([ArcRule.of("NOUN", "DET", "right", 0.75, "at least")])
    'DET <- NOUN right at least 0.75\n'
    """
    return "".join(f"{_checked(rule)}\n" for rule in rules)


def _checked(rule: ArcRule) -> ArcRule:
    """A rule that can be read back."""
    for pattern in rule.patterns:
        if pattern.modifier != "#" and pattern.modifier.startswith("#"):
            raise ValueError(
                f"the rule {shown(str(pattern))} begins with the tag {shown(pattern.modifier)}, "
                "which would be read as a comment; expected a tag that does not begin with #."
            )
    return rule
