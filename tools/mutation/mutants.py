"""Small mistakes in the text of functions: a `<` for a `<=`, a one for a zero, a line left out.

What cannot change an answer is left as it is: docstrings, annotations, messages of errors, and the
`strict=True` of a zip.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
PAIRS = {"max": "min", "maximum": "minimum", "any": "all", "argmax": "argmin", "ones": "zeros"}
PLAIN = (ast.Name, ast.Attribute, ast.Call)
"""Conditions in which nothing else can be changed."""
NAMES = PAIRS | {new: old for old, new in PAIRS.items()}

Mutate = Callable[[], Callable[[], None]]
"""Makes a mistake in a tree, and says how to undo it."""


@dataclass(frozen=True)
class Mutant:
    """One mistake in one function."""

    path: str
    function: str
    """The qualified name of the outermost function it is in."""
    line: int
    change: str
    place: str
    """The text of the line; the second of two alike in a function ends in (2), and so on."""
    code: Callable[[], CodeType]
    """Compiles the whole function, with the mistake."""

    @property
    def name(self) -> str:
        """What it is called wherever the line may be."""
        return f"{self.path} {self.function}: {self.change} | {self.place}"

    def __str__(self) -> str:
        return f"line {self.line} of {self.name}"


def mutants(path: Path, name: str) -> Iterator[Mutant]:
    """Every mutant of the functions and methods of a module, in the order of its text."""
    text = path.read_text()
    module, lines, times = ast.parse(text), text.splitlines(), Counter[tuple[str, str, str]]()
    for function, node in _functions(module):
        for inner in _nodes(node.body):
            for change, mutate in _changes(inner):
                before = ast.unparse(inner)
                undo = mutate()
                after = " ".join((change or f"{before} -> {ast.unparse(inner)}").split())
                undo()
                place = lines[inner.lineno - 1].strip()
                times[function, after, place] += 1
                count = times[function, after, place]
                place += f" ({count})" if count > 1 else ""

                def code(
                    mutate: Mutate = mutate, function: str = function, node: ast.FunctionDef = node
                ) -> CodeType:
                    undo = mutate()
                    mutated = _code(compile(module, str(path), "exec"), function, node)
                    undo()
                    return mutated

                yield Mutant(name, function, inner.lineno, after, place, code)


def _functions(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods, with their qualified names."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _code(module: CodeType, name: str, function: ast.FunctionDef) -> CodeType:
    """The code of a function in that of its module."""
    lines = {function.lineno, *(node.lineno for node in function.decorator_list)}
    waiting = [module]
    while waiting:
        code = waiting.pop()
        if code.co_qualname == name and code.co_firstlineno in lines:
            return code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    raise AssertionError(f"{name} is not in its module")


def _nodes(body: list[ast.stmt]) -> Iterator[ast.stmt | ast.expr]:
    """Statements and expressions that can be wrong."""
    for statement in body:
        if _is_text(statement):
            continue
        yield from _inner(statement)


def _inner(node: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    if isinstance(node, ast.stmt | ast.expr):
        yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert) or _is_strict(node):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_text(child):
                yield from _inner(child)


def _is_strict(node: ast.AST) -> bool:
    """`zip(..., strict=True)`, which is there for those who change the program."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


Change = tuple[str, Mutate]


def _changes(node: ast.stmt | ast.expr) -> Iterator[Change]:
    """What can be changed at a node: a word for it, and what does it and says how to undo it."""
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            if type(operator) in COMPARISONS:
                yield "", _item(node.ops, k, COMPARISONS[type(operator)]())
    if isinstance(node, ast.BinOp | ast.AugAssign) and not _is_joined_text(node):
        for other in [OPERATORS[type(node.op)]] if type(node.op) in OPERATORS else []:
            yield "", _field(node, "op", other())
    if isinstance(node, ast.BoolOp):
        yield "", _field(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "", _field(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "", _field(node, "value", node.value + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "", _field(node, "op", ast.UAdd())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "", _field(node, "operand", _negated(node.operand))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and isinstance(node.test, PLAIN):
        yield f"if not {ast.unparse(node.test)}", _field(node, "test", _negated(node.test))
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield "", _field(node, "id", NAMES[node.id])
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "", _field(node, "attr", NAMES[node.attr])
    if _is_effect(node):
        yield f"without {ast.unparse(node)}", _replaced(node)
    if isinstance(node, ast.Break | ast.Continue):
        swapped = ast.Continue if isinstance(node, ast.Break) else ast.Break
        yield "break <-> continue", _replaced(node, swapped)


def _negated(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _is_joined_text(node: ast.BinOp | ast.AugAssign) -> bool:
    operands = [node.value] if isinstance(node, ast.AugAssign) else [node.left, node.right]
    return any(
        isinstance(operand, ast.JoinedStr)
        or (isinstance(operand, ast.Constant) and isinstance(operand.value, str))
        for operand in operands
    )


def _is_effect(node: ast.stmt | ast.expr) -> bool:
    """A statement whose absence leaves no name undefined: it adds to, or writes into something."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def _field(node: ast.AST, name: str, value: object) -> Mutate:
    def mutate() -> Callable[[], None]:
        before = getattr(node, name)
        setattr(node, name, value)
        return lambda: setattr(node, name, before)

    return mutate


def _item(values: list[ast.cmpop], k: int, value: ast.cmpop) -> Mutate:
    def mutate() -> Callable[[], None]:
        before = values[k]
        values[k] = value

        def undo() -> None:
            values[k] = before

        return undo

    return mutate


def _replaced(node: ast.stmt | ast.expr, kind: type[ast.stmt] = ast.Pass) -> Mutate:
    """Make a node one of another kind in its place."""

    def mutate() -> Callable[[], None]:
        before, fields = node.__class__, copy.copy(node.__dict__)
        node.__class__ = kind

        def undo() -> None:
            node.__class__ = before
            node.__dict__.update(fields)

        return undo

    return mutate
