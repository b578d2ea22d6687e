"""`partita demo`: the main jobs on the sample data, and a report of the run."""

from pathlib import Path

from partita.cli.options import Commands, Options, add_command, say, write

REPORT = "partita-report.html"


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(
        commands, "demo", run, "run the main jobs on sample data, and write a report to look at"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=REPORT, help=f"the report (default: {REPORT})"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default: 0)")
    parser.add_argument(
        "--quick", action="store_true", help="less data and fewer iterations, for a first look"
    )


def run(options: Options) -> None:
    """Run everything, and say where the report is."""
    say("Partita's demonstration. The first run compiles what it needs, which takes longer.")
    from partita.demo import write_report

    seconds = write_report(options.output, seed=options.seed, quick=options.quick, say=say)
    say(f"Done in {seconds:.0f} s. Open this file in a browser:")
    write(str(Path(options.output).resolve()))
