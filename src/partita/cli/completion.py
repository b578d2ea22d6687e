"""`partita completion SHELL`: a script that lets a shell complete commands, options and choices."""

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from partita.cli.options import Commands, Options, add_command, write
from partita.cli.parser import Parser

SHELLS = ("bash", "zsh", "fish")
HOW = {
    "bash": "Add to ~/.bashrc:  source <(partita completion bash)",
    "zsh": "Add to ~/.zshrc, behind compinit:  source <(partita completion zsh)",
    "fish": "partita completion fish > ~/.config/fish/completions/partita.fish",
}


@dataclass(frozen=True)
class Completable:
    """What can follow a command: commands of its own, options, and the choices of options."""

    path: tuple[str, ...]
    help: str
    commands: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    """Flags, with their help."""
    choices: dict[str, list[str]] = field(default_factory=dict)
    """By flag; other flags that take a value take a file."""
    switches: set[str] = field(default_factory=set)
    """Flags that take no value."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    text = "write a script that lets your shell complete partita's commands and options"
    parser = add_command(commands, "completion", run, text)
    parser.epilog = "\n".join(HOW.values())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(options: Options) -> None:
    """Write the script."""
    from partita.cli.parser import build_parser

    found = list(completable(build_parser()))
    write(fish_script(found) if options.shell == "fish" else bash_script(found, options.shell))


def completable(
    parser: Parser, path: tuple[str, ...] = (), help: str = ""
) -> Iterator[Completable]:
    """A command and all commands below it."""
    # Writing the help adds the arguments that are found late.
    parser.format_help()
    found, below = Completable(path, help), {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            below = {name: (each, helps.get(name, "")) for name, each in action.choices.items()}
            found.commands.extend(below)
        elif not action.option_strings:
            found.commands.extend(str(each) for each in action.choices or ())
        for flag in action.option_strings:
            found.options[flag] = (action.help or "").replace("%%", "%")
            if action.nargs == 0:
                found.switches.add(flag)
            elif action.choices is not None:
                found.choices[flag] = [str(each) for each in action.choices]
    yield found
    for name, (each, text) in below.items():
        yield from completable(each, (*path, name), text)


def bash_script(found: list[Completable], shell: str) -> str:
    """For bash; and for zsh, which can use it."""
    lines = ["# Completion of partita's command line; written by `partita completion`."]
    if shell == "zsh":
        lines += ["autoload -U +X bashcompinit && bashcompinit"]
    lines += [
        "_partita() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local path="" word words="" choices=""',
        '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '    case "$path $word" in',
        *(
            f"      {shlex.quote(' '.join(['', *each.path]))}) path={shlex.quote(_above(each))} ;;"
            for each in found
            if each.path
        ),
        "    esac",
        "  done",
        '  case "$path" in',
        *(f"    {shlex.quote(_above(each))}) {_bash_case(each)} ;;" for each in found),
        "  esac",
        '  if [[ $choices == "-" ]]; then COMPREPLY=( $(compgen -f -- "$current") ); return; fi',
        '  if [[ -n $choices ]]; then words="$choices"; fi',
        '  COMPREPLY=( $(compgen -W "$words" -- "$current") )',
        "  if [[ -z $choices && $current != -* ]]; then",
        '    COMPREPLY+=( $(compgen -f -- "$current") )',
        "  fi",
        "}",
        "complete -o filenames -F _partita partita",
    ]
    return "\n".join(lines)


def _above(each: Completable) -> str:
    return "".join(f" {name}" for name in each.path)


def _bash_case(each: Completable) -> str:
    """Words that may follow, and what the option before them takes: choices, or `-` for a file."""
    words = shlex.quote(" ".join([*each.commands, *each.options]))
    cases = [
        f"{flag}) choices={shlex.quote(' '.join(each.choices.get(flag, ['-'])))} ;;"
        for flag in each.options
        if flag not in each.switches
    ]
    return f'words={words}; case "$previous" in {" ".join(cases)} esac'


def fish_script(found: list[Completable]) -> str:
    """For fish, with the help of every option beside it."""
    lines = ["# Completion of partita's command line; written by `partita completion`."]
    for each in found:
        condition = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in each.path)
        seen = " ".join(each.commands)
        if each.commands:
            none = f"not __fish_seen_subcommand_from {seen}"
            where = f"{condition}; and {none}" if condition else none
            lines += [
                f"complete -c partita -n {_fish(where)} -f -a {name}" for name in each.commands
            ]
        for flag, help in each.options.items():
            letters = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            takes = "" if flag in each.switches else " -r"
            if flag in each.choices:
                takes = f" -x -a {_fish(' '.join(each.choices[flag]))}"
            where = f" -n {_fish(condition)}" if condition else ""
            lines.append(f"complete -c partita{where} {letters}{takes} -d {_fish(help)}")
    return "\n".join(lines)


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
