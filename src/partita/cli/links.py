"""Links of sentences with their translations, as commands take them."""

from collections.abc import Sequence

from partita.cli.options import say
from partita.data.alignments import Alignment, read_alignments
from partita.data.bitext import SentencePair


def read_links(path: str, pairs: Sequence[SentencePair]) -> list[Alignment]:
    """The alignments of pairs; says how many links there are."""
    alignments = read_alignments(path, pairs)
    n_sure = sum(len(each.sure) for each in alignments)
    n_possible = sum(len(each.possible) for each in alignments)
    say(f"Read {path}: {n_sure:,} sure links, {n_possible:,} possible ones")
    return alignments


def say_skipped(n_empty: int, n_longer: int, max_words: int) -> None:
    """Pairs that are left out are told, never lost in silence."""
    if n_empty:
        say(f"Left out: {_pairs(n_empty)} with an empty side")
    if n_longer:
        say(
            f"Left out: {_pairs(n_longer)} with more than {max_words} words on a side "
            "(--max-words N, or --longer keep, takes them in)"
        )


def _pairs(number: int) -> str:
    return f"{number:,} pair" + ("" if number == 1 else "s")
