"""Run the scripts in docs/tutorials, and docs/gallery.py, and write pages beside them.

    python docs/tools/run_tutorials.py [NAME ...]

A block of comment lines with blank lines around it is text in Markdown, the rest is code. What a
piece of code prints stands below it, and a drawing (`partita.show`) that is its last expression is
shown. A test runs the scripts too and compares, numbers within a tenth.
"""

import ast
import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
SCRIPTS = [DOCS / "gallery.py", *sorted((DOCS / "tutorials").glob("*.py"))]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


class Piece(NamedTuple):
    """Text in Markdown, or code."""

    is_text: bool
    lines: list[str]
    first_line: int


def pieces(script: str) -> list[Piece]:
    """The pieces of a script, in order."""
    found: list[Piece] = []
    for number, block in blocks(script):
        is_text = all(line.startswith("#") for line in block)
        if is_text:
            block = [line.removeprefix("#").removeprefix(" ") for line in block]
        if found and not is_text and not found[-1].is_text:
            gap = number - found[-1].first_line - len(found[-1].lines)
            found[-1].lines.extend([""] * gap + block)
        else:
            found.append(Piece(is_text, block, number))
    return found


def blocks(script: str):
    """Runs of lines without a blank one, each with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*script.splitlines(), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def page(path: Path, images: Path) -> str:
    """The page of a script; its drawings are written to a folder."""
    names = {"__name__": "__main__", "__file__": str(path)}
    written = [
        f"<!-- Written by docs/tools/run_tutorials.py from {path.name}; change that instead. -->"
    ]
    n_images = 0
    for piece in pieces(path.read_text(encoding="utf-8")):
        if piece.is_text:
            written.append("\n".join(piece.lines))
            continue
        output, value = run(piece, path, names)
        written.append("```python\n" + "\n".join(piece.lines) + "\n```")
        if output:
            written.append("```text\n" + output.rstrip() + "\n```")
        if hasattr(value, "_repr_svg_"):
            n_images += 1
            name = f"{path.stem}-{n_images}.svg"
            (images / name).write_text(value._repr_svg_(), encoding="utf-8")
            written.append(f"![{alternative(value)}]({name})")
    written.append(f"[The script of this page]({path.name}) runs as it is.")
    return "\n\n".join(written) + "\n"


def alternative(drawing) -> str:
    """What the drawing says it shows."""
    title = re.search(r"<title[^>]*>([^<]*)</title>", drawing.text)
    return title.group(1).replace("[", "(").replace("]", ")") if title else "Drawing"


def run(piece: Piece, path: Path, names: dict) -> tuple[str, object]:
    """What a piece of code prints, and the value of its last line if that is an expression."""
    code = "\n" * (piece.first_line - 1) + "\n".join(piece.lines)
    tree = ast.parse(code, str(path))
    last = None
    if isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(tree, str(path), "exec"), names)
        value = eval(compile(last, str(path), "eval"), names) if last else None
    return output.getvalue(), value


def difference(page: str, other: str) -> str:
    """The first line in which two pages differ by more than a tenth of a number, or nothing."""
    lines, others = page.splitlines(), other.splitlines()
    for line, expected in zip(lines, others, strict=False):
        if NUMBER.sub("0", line).split() != NUMBER.sub("0", expected).split():
            return f"{line!r}, where the page has {expected!r}"
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(expected), strict=True):
            if abs(float(a) - float(b)) > 0.02 + 0.1 * max(abs(float(a)), abs(float(b))):
                return f"{line!r}, where the page has {expected!r}"
    return "" if len(lines) == len(others) else f"{len(lines)} lines, where it has {len(others)}"


def main() -> None:
    """Write the pages of the scripts that are named, or of all."""
    named = {script.stem: script for script in SCRIPTS}
    for script in [named[name] for name in sys.argv[1:]] or SCRIPTS:
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            script.with_suffix(".md").write_text(page(script, script.parent), encoding="utf-8")
        print(script.with_suffix(".md").relative_to(DOCS.parent), file=sys.stderr)


if __name__ == "__main__":
    main()
