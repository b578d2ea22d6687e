"""The journal loses nothing, repeats nothing, and belongs to one process."""

import json
import os

import pytest

from partita.label.journal import Journal, JournalError
from partita.label.ledger import Ledger

ABOUT = {"corpus": "abc", "labels": ["A", "B"]}


def answer(number, labels, sentence=0, **more):
    return {"kind": "answer", "id": f"id{number}", "number": number, "sentence": sentence,
            "labels": labels, **more}  # fmt: skip


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "out.journal"
    odd = "a\u2028b\x85\n<script>"
    with Journal(path, ABOUT) as journal:
        for number in range(3):
            assert journal.append({"kind": "skip", "id": f"{number}{odd}"})["number"] == number + 1
    with Journal(path, ABOUT) as journal:
        assert [record["id"] for record in journal.records] == [f"{n}{odd}" for n in range(3)]
        assert journal.append({"kind": "skip", "id": "x"})["number"] == 4


def test_an_answer_is_on_the_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    path = tmp_path / "out.journal"
    with Journal(path, ABOUT) as journal:
        journal.append({"kind": "skip", "id": "x"})
        # The size that was synced is that of the whole file: nothing came after it.
        assert synced[-1] == path.stat().st_size


@pytest.mark.parametrize("n_bytes", [1, 5, 30])
def test_half_a_line_is_cut_off_and_the_next_is_whole(tmp_path, n_bytes):
    path = tmp_path / "out.journal"
    with Journal(path, ABOUT) as journal:
        journal.append({"kind": "skip", "id": "first"})
    whole = path.read_bytes()
    torn = json.dumps({"kind": "skip", "id": "second", "number": 2}).encode()[:n_bytes]
    path.write_bytes(whole + torn)
    with Journal(path, ABOUT) as journal:
        assert [record["id"] for record in journal.records] == ["first"]
        journal.append({"kind": "skip", "id": "third"})
    assert path.read_bytes().startswith(whole)
    with Journal(path, ABOUT) as journal:
        assert [record["id"] for record in journal.records] == ["first", "third"]


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "out.journal"
    with Journal(path, ABOUT) as journal:
        before = path.read_bytes()

        def full(handle):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                journal.append({"kind": "skip", "id": "x"})
        assert path.read_bytes() == before
        journal.append({"kind": "skip", "id": "y"})
    with Journal(path, ABOUT) as journal:
        assert [record["id"] for record in journal.records] == ["y"]


def test_one_process_holds_it(tmp_path):
    path = tmp_path / "out.journal"
    with Journal(path, ABOUT), pytest.raises(JournalError, match="in use by another process"):
        Journal(path, ABOUT)
    Journal(path, ABOUT).close()


def test_a_journal_of_other_data_is_refused(tmp_path):
    path = tmp_path / "out.journal"
    Journal(path, ABOUT).close()
    with pytest.raises(JournalError, match="is about corpus 'abc', and this command about 'xyz'"):
        Journal(path, {**ABOUT, "corpus": "xyz"})
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    with pytest.raises(JournalError, match="line 2: found 'nonsense'"):
        Journal(path, ABOUT)


def test_the_last_answer_holds_and_undo_brings_the_one_before_back():
    ledger = Ledger([[None, "given"], [None]])
    ledger.add(answer(1, {"0": "A", "1": "B"}))
    ledger.add(answer(2, {"0": "B"}))
    assert ledger.known() == [["B", "B"], [None]]
    assert ledger.n_answers_to((0, 0)) == 2
    ledger.add({"kind": "undo", "id": "u", "number": 3, "of": 2})
    assert ledger.known() == [["A", "B"], [None]]
    assert ledger.last("a")["number"] == 1
    ledger.add({"kind": "undo", "id": "v", "number": 4, "of": 1})
    assert ledger.known() == [[None, "given"], [None]]
    assert ledger.last("a") is None
    assert ledger.has("id1")
    assert not ledger.has("id9")


def test_skipped_words_wait_until_they_are_answered_or_the_skip_is_undone():
    ledger = Ledger([[None, None, None]])
    ledger.add({"kind": "skip", "id": "s", "number": 1, "sentence": 0, "words": [0, 1]})
    assert ledger.skipped == {(0, 0), (0, 1)}
    ledger.add(answer(2, {"0": "A"}))
    assert ledger.skipped == {(0, 1)}
    ledger.add({"kind": "undo", "id": "u", "number": 3, "of": 1})
    assert ledger.skipped == set()
    ledger.add({"kind": "round", "id": "r", "number": 4})
    assert ledger.last("a")["number"] == 2


def test_heads_come_back_as_they_were_said():
    ledger = Ledger([[None]])
    record = answer(1, {"0": [2, "nsubj"]}, guesses={"0": [[0, "root"], 0.5, 0.25]})
    ledger.add(json.loads(json.dumps(record)))
    [(place, found)] = ledger.answers()
    assert place == (0, 0)
    assert found.label == (2, "nsubj")
    assert (found.guess, found.guess_probability, found.probability) == ((0, "root"), 0.5, 0.25)
