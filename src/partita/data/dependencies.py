"""Dependency trees in CoNLL-U: heads and relations of words, checked, and written back.

Heads count words: 1 is the first word, whatever multiword tokens (1-2) and empty nodes (1.1) stand
among them, and 0 is the root. These lines belong to no tree; they are kept and written back.
"""

import re
from collections.abc import Iterable, Sequence

from partita.data.conllu import EMPTY, UNKNOWN_HEAD
from partita.data.errors import DataError, shown, whole_number
from partita.data.sentences import Sentence

UNKNOWN = (EMPTY, "?")
"""What stands for a head or a relation that is not known."""

_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(.*\S)")


def tree_heads(
    sentence: Sentence, *, single_root: bool = True, partial: bool = False
) -> tuple[int, ...]:
    r"""The head of every word, 0 for the root; the heads are a tree, or an error says why not.

    With `partial`, `_` and `?` are heads that are not known, -1; those that are known must fit
    into some tree. With `single_root`, at most one word may hang on the root.

    >>> from partita.data.conllu import parse_conllu
    >>> rows = ["1\ta\t_\tX\t_\t_\t2\tdep\t_\t_", "2\tb\t_\tX\t_\t_\t1\tdep\t_\t_"]
    >>> [sentence] = parse_conllu("\n".join(rows), "my.conllu")
    >>> tree_heads(sentence)
    Traceback (most recent call last):
    partita.data.errors.DataError: my.conllu, line 1: the words 1 -> 2 -> 1 of the sentence from ...
    """
    heads = tuple(
        UNKNOWN_HEAD if partial and value in UNKNOWN else _head(sentence, word, value)
        for word, value in enumerate(sentence.column("HEAD"))
    )
    _check_tree(sentence, heads, single_root)
    return heads


def relations(sentence: Sentence, *, partial: bool = False) -> tuple[str, ...]:
    """The relation of every word to its head; with `partial`, `_` where it is not known.

    >>> relations(Sentence({"DEPREL": ("det", "?")}), partial=True)
    ('det', '_')
    """
    found = sentence.column("DEPREL")
    unknown = [word for word, value in enumerate(found) if value in UNKNOWN or not value]
    if unknown and not partial:
        raise DataError(
            sentence.source,
            sentence.line(unknown[0]),
            f"word {unknown[0] + 1} of {sentence_name(sentence)} has the relation "
            f"{found[unknown[0]]!r}, which is none; expected a name such as nsubj in column 8. "
            "Write it, or train without labels.",
        )
    return tuple(EMPTY if value in UNKNOWN or not value else value for value in found)


def has_trees(sentences: Iterable[Sentence]) -> bool:
    """Whether some word of some sentence has a head.

    >>> has_trees([Sentence({"HEAD": ("_", "_")}), Sentence({"FORM": ("a",)})])
    False
    """
    return any(
        value not in UNKNOWN for sentence in sentences for value in sentence.columns.get("HEAD", ())
    )


def with_tree(
    sentence: Sentence, heads: Iterable[int], labels: Sequence[str] | None = None
) -> Sentence:
    """The sentence with these heads, and these relations if there are any, in place of its own.

    All else stays as it was, DEPS and MISC too.

    >>> sentence = with_tree(Sentence({"FORM": ("dogs", "bark")}), [2, 0], ["nsubj", "root"])
    >>> sentence.column("HEAD"), sentence.column("DEPREL")
    (('2', '0'), ('nsubj', 'root'))
    """
    numbers = list(map(int, heads))
    if numbers and not 0 <= min(numbers) <= max(numbers) <= len(sentence):
        raise ValueError(
            f"{sentence.where()}: the heads {numbers} came; expected 0 for the root or the number "
            f"of a word, 1 to {len(sentence)}."
        )
    result = sentence.replaced("HEAD", tuple(map(str, numbers)))
    return result if labels is None else result.replaced("DEPREL", list(labels))


def sentence_name(sentence: Sentence) -> str:
    """How messages name a sentence: by its sent_id, or by the line of its first word.

    >>> sentence_name(Sentence({"FORM": ("a",)}, before=("# sent_id = web-1",)))
    "sentence 'web-1'"
    """
    for line in sentence.before:
        found = _SENT_ID.fullmatch(line)
        if found is not None:
            return f"sentence {found[1]!r}"
    return f"the sentence from line {sentence.line()} on"


def _head(sentence: Sentence, word: int, value: str) -> int:
    is_number = value.isascii() and value.isdigit()
    number = whole_number(value)
    if number is not None and number <= len(sentence) and number != word + 1:
        return number
    if number == word + 1:
        what = "the word itself"
    elif value in UNKNOWN:
        what = "not known"
    else:
        what = "out of range" if is_number else "no number of a word"
    raise DataError(
        sentence.source,
        sentence.line(word),
        f"the head of word {word + 1} of {sentence_name(sentence)} is {shown(value, 20)}, {what}; "
        f"expected 0 for the root, or another word, 1 to {len(sentence)}. Correct column 7.",
    )


def _check_tree(sentence: Sentence, heads: Sequence[int], single_root: bool) -> None:
    # NumPy is not needed to read a file; `partita --help` must not wait for it.
    from partita.structures.tree_tools import find_cycle

    cycle = find_cycle([max(head, 0) for head in heads])
    if cycle:
        raise DataError(
            sentence.source,
            sentence.line(cycle[0] - 1),
            f"the words {' -> '.join(map(str, [*cycle, cycle[0]]))} of {sentence_name(sentence)}, "
            "each followed by its head, are a cycle; expected every word to reach 0, the root. "
            "Correct column 7.",
        )
    roots = [word for word, head in enumerate(heads) if head == 0]
    if single_root and len(roots) > 1:
        raise DataError(
            sentence.source,
            sentence.line(roots[1]),
            f"word {roots[1] + 1} of {sentence_name(sentence)} has the head 0, and so has word "
            f"{roots[0] + 1}; expected one root. Correct column 7, or allow several roots "
            "(single_root=False).",
        )
