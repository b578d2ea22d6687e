"""Messages name options as Python does; whoever typed flags is told of these.

Options are checked where they are declared, for Python and the command alike. So the command says
their names anew, in one place for all messages.
"""

import argparse
import re
from collections.abc import Iterable

from partita.cli.options import flag_of

VALUE = r"""\.\.\.|'[^']*'|"[^"]*"|[^\s,;:()'"]*[^\s,;:()'".]"""
"""Of an option, as messages write it; no call, which a flag cannot give."""
BEFORE, BEHIND = r"""(?<![\w./'"=-])""", r"""(?![\w/=(\[-]|\.\w)"""
"""What a name does not stand next to: other words, paths, attributes."""


def in_flags(message: str, actions: Iterable[argparse.Action]) -> str:
    """A message with the flags of a command in place of its options' names.

    Names are known by an underscore, by a value (`order=2`), or at the beginning, where messages
    say what came; anything else may be a plain word.

    >>> parser = argparse.ArgumentParser()
    >>> more = parser.add_argument("--max-iterations"), parser.add_argument("--order")
    >>> switch = parser.add_argument("--projective", action=argparse.BooleanOptionalAction)
    >>> in_flags("max_iterations is -1; expected a whole number.", [*more, switch])
    '--max-iterations is -1; expected a whole number.'
    >>> in_flags("projective=False came with order=2; in order, they are.", [*more, switch])
    '--no-projective came with --order 2; in order, they are.'
    """
    for name in dict.fromkeys(each.dest for each in actions if each.option_strings):
        message = _of_option(message, name, flag_of(name), flag_of(f"no_{name}"))
    return message


def _of_option(message: str, name: str, flag: str, no_flag: str) -> str:
    def with_value(found: re.Match[str]) -> str:
        value = found[1].strip("'\"")
        return {"True": flag, "False": no_flag, "None": f"no {flag}"}.get(
            found[1], f"{flag} '{value}'" if " " in value else f"{flag} {value}"
        )

    message = re.sub(rf"{BEFORE}{name}=({VALUE}){BEHIND}", with_value, message)
    message = re.sub(rf"^{name} is True\b", f"{flag} came", message)
    message = re.sub(rf"^{name} is False\b", f"{no_flag} came", message)
    # None is a flag that is left out.
    said = re.sub(rf"^{name}(?= (?:is|came|has)\b)", flag, message)
    if said != message:
        message = said.replace(", or None", "").replace(" or None", "")
    return re.sub(BEFORE + name + BEHIND, flag, message) if "_" in name else message
