"""`partita compile`, and the small pieces of work that it runs."""

from partita.cli import main
from partita.cli.compile import WHAT
from partita.cli.first_uses import FIRST_USES


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


def test_a_piece_that_fails_is_told(capsys, monkeypatch):
    monkeypatch.setattr("partita.cli.compile._compile", lambda name: "MemoryError")
    assert main(["compile", "chain"]) == 1
    assert "chain: failed: MemoryError" in capsys.readouterr().err
