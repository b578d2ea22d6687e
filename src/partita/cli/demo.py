"""`partita demo`: the demonstration."""

from partita.cli.options import Commands, Options, add_command


def add(commands: Commands) -> None:
    """The command and its arguments."""
    add_command(commands, "demo", run, "show what the library does, on made-up data")


def run(options: Options) -> None:
    """Run it."""
    from partita import demo

    demo.main()
