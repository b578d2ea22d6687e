"""`partita compile`, and the small pieces of work that it runs."""

import io
import subprocess
import sys

from partita.cli import main
from partita.cli.compile import WHAT
from partita.cli.first_uses import FIRST_USES, do_what_is_read


def test_one_piece(capsys):
    assert main(["compile", "forest", "--workers", "1"]) == 0
    assert "forest: compiled" in capsys.readouterr().err


def test_what_there_is_to_compile(capsys):
    assert list(WHAT) == list(FIRST_USES)
    assert main(["compile", "everything"]) == 2
    assert (
        "WHAT is 'everything'; expected one of chain, segments, projective"
        in capsys.readouterr().err
    )


def failing(monkeypatch, code):
    """Processes that run some code instead."""
    begin = subprocess.Popen
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **options: begin([sys.executable, "-c", code], **options),
    )


def test_a_piece_that_fails_is_told_and_the_next_one_done(capsys, monkeypatch):
    failing(monkeypatch, "input(); print('MemoryError()', flush=True); input(); print('done')")
    assert main(["compile", "chain", "hmm", "--workers", "1"]) == 1
    told = capsys.readouterr().err
    assert "chain: failed: MemoryError()" in told
    assert "hmm: compiled" in told


def test_a_process_that_ends_is_told_and_begun_again(capsys, monkeypatch):
    failing(monkeypatch, "import sys; input(); sys.exit(7)")
    assert main(["compile", "chain", "hmm", "--workers", "1"]) == 1
    told = capsys.readouterr().err
    assert "chain: failed: its process ended with status 7" in told
    assert "hmm: failed: its process ended with status 7" in told


def test_what_a_process_answers(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("forest\nfrost\n"))
    do_what_is_read()
    assert capsys.readouterr().out == "done\nKeyError('frost')\n"
