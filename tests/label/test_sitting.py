"""Sittings: questions, answers, undo, two tabs, two annotators, and what outlives the process."""

import time

import pytest

from partita.data.formats import read_sentences
from partita.data.sentences import Sentence
from partita.label import Sitting, TagTask
from partita.label.merging import merged
from small_corpus import GOLD, TAGS, gold_tags, right, tag_task, tree_task


def answer(sitting, tab="a", id=None, seconds=2.0):
    question = sitting.question(tab)
    name = id or f"{tab}{len(sitting.journal.records)}"
    sitting.answer(tab, name, question["sentence"], right(question), seconds)
    return question


@pytest.mark.parametrize("make", [tag_task, tree_task])
def test_a_whole_sitting_ends_with_every_word_as_it_was_said(tmp_path, make):
    sitting = Sitting(make(), tmp_path / "out.txt")
    for _ in range(40):
        if sitting.question("a").get("done"):
            break
        answer(sitting)
        sitting.learn()
    assert sitting.question("a") == {"done": True, "skipped": 0}
    progress = sitting.progress()
    assert progress["asked"] == progress["n_words"] == sum(len(g[1]) for g in GOLD)
    assert progress["entropy"] == pytest.approx(0.0, abs=1e-9) or make is tree_task
    assert progress["expected"] == pytest.approx(1.0)
    assert "<svg" in progress["curve"]
    sitting.close()
    document = read_sentences(tmp_path / "out.txt")
    if make is tag_task:
        assert [s.column("1") for s in document] == [tuple(gold_tags(n)) for n in range(len(GOLD))]
    else:
        heads = [tuple(map(int, sentence.column(sentence.names[-2]))) for sentence in document]
        assert heads == [tuple(gold[1]) for gold in GOLD]
        assert [s.column(s.names[-1]) for s in document] == [tuple(g[2].split()) for g in GOLD]


def test_the_same_question_until_it_is_answered_and_the_next_is_ready(sitting):
    first = sitting.question("a")
    assert sitting.question("a")["sentence"] == first["sentence"]
    sitting.prepare("a")
    assert sitting.is_ready("a")
    answer(sitting)
    assert sitting.question("a")["sentence"] != first["sentence"]


def test_an_answer_that_comes_twice_is_recorded_once(sitting):
    question = sitting.question("a")
    for again in (False, True):
        found = sitting.answer("a", "same", question["sentence"], right(question), 1.0)
        assert found.get("again", False) is again
    assert [record["kind"] for record in sitting.journal.records].count("answer") == 1
    # Nor is what is known already a new answer.
    assert sitting.answer("a", "other", question["sentence"], right(question), 1.0)["words"] == 0
    assert [record["kind"] for record in sitting.journal.records].count("answer") == 1


def test_two_tabs_get_two_questions_and_the_later_answer_holds(sitting):
    one, two = sitting.question("a"), sitting.question("b")
    assert one["sentence"] != two["sentence"]
    word = one["slots"][0]["word"]
    place = one["sentence"], word
    sitting.answer("a", "x", one["sentence"], {(word, "tag"): "DET"}, 1.0)
    sitting.answer("b", "y", one["sentence"], {(word, "tag"): "NOUN"}, 1.0)
    assert sitting.ledger.label(place) == "NOUN"
    [row] = [row for row in sitting.answers(doubtful=True) if row["word"] == word]
    assert row["changed"]
    assert row["label"] == "NOUN"


def test_undo_is_a_record_and_shows_the_words_again(sitting, tmp_path):
    question = answer(sitting)
    n_records = len(sitting.journal.records)
    assert sitting.undo("a", "u1")["undone"] == n_records
    assert sitting.undo("a", "u1")["undone"] is None
    assert sitting.journal.records[-1]["kind"] == "undo"
    assert sitting.question("a")["sentence"] == question["sentence"]
    assert sitting.progress()["asked"] == 0
    assert sitting.undo("a", "u2")["undone"] is None
    sitting.write()
    assert set(read_sentences(tmp_path / "out.txt")[0].column("1")) == {"?"}


def test_skipped_words_come_back_at_the_end(sitting):
    for number in range(3):
        question = sitting.question("a")
        words = [slot["word"] for slot in question["slots"]]
        sitting.skip("a", f"s{number}", question["sentence"], words)
    assert len({record["sentence"] for record in sitting.journal.records if "words" in record}) == 3
    for _ in range(40):
        if sitting.question("a").get("done"):
            break
        answer(sitting)
    assert sitting.progress()["asked"] == sum(len(gold[1]) for gold in GOLD)


def test_a_new_process_knows_all_and_goes_on(tmp_path):
    sitting = Sitting(tag_task(), tmp_path / "out.txt")
    for _ in range(3):
        answer(sitting)
        sitting.learn()
    known, progress = sitting.ledger.known(), sitting.progress()
    # As after kill -9: nothing is closed in good order but the lock.
    sitting.journal.close()
    (tmp_path / "out.txt").unlink()
    again = Sitting(tag_task(), tmp_path / "out.txt")
    assert again.ledger.known() == known
    assert again.progress()["asked"] == progress["asked"]
    assert "curve" in again.progress()
    assert (tmp_path / "out.txt").exists()
    again.undo("a", "new")
    assert again.progress()["asked"] < progress["asked"]
    again.close()


def test_an_impossible_answer_is_refused_and_not_recorded(tmp_path):
    sitting = Sitting(tree_task(), tmp_path / "out.txt")
    sitting.answer("a", "1", 3, {(0, "head"): "2", (0, "relation"): "nsubj"}, 1.0)
    with pytest.raises(ValueError, match="no tree"):
        sitting.answer("a", "2", 3, {(1, "head"): "1", (1, "relation"): "obj"}, 1.0)
    assert sitting.progress()["asked"] == 1
    sitting.close()


def test_answers_are_searched_and_those_that_contradict_the_model_come_up(tmp_path):
    sentences = [Sentence({"FORM": ("the", "dog", "barks")})] * 8
    sitting = Sitting(TagTask(sentences, TAGS, column="tag"), tmp_path / "out.txt")
    for number in range(8):
        tags = ["VERB" if number == 5 else "DET", "NOUN", "VERB"]
        sitting.answer("a", f"n{number}", number, {(w, "tag"): t for w, t in enumerate(tags)}, 5.0)
    sitting.learn()
    assert len(sitting.answers()) == 24
    assert {row["form"] for row in sitting.answers("barks NOUN")} == {"dog"}
    assert sitting.answers("nowhere") == []
    [row] = sitting.answers(doubtful=True)
    assert (row["sentence"], row["word"], row["label"]) == (5, 0, "VERB")
    assert row["model"] == "DET"
    assert row["probability"] < 0.5
    sitting.close()


def test_the_background_learns_within_a_moment_and_survives_a_failure(tmp_path, monkeypatch):
    sitting = Sitting(tag_task(), tmp_path / "out.txt")
    sitting.start()
    answer(sitting)
    wait_until(lambda: sitting.round.version >= 1)
    learn = sitting.task.learn

    def failing(known, start=None):
        raise RuntimeError("no luck")

    monkeypatch.setattr(sitting.task, "learn", failing)
    answer(sitting)
    wait_until(lambda: sitting.trouble == "RuntimeError: no luck")
    monkeypatch.setattr(sitting.task, "learn", learn)
    answer(sitting)
    wait_until(lambda: sitting.trouble is None and not sitting.progress()["learning"])
    sitting.close()


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_annotators_are_asked_where_they_disagree(tmp_path):
    task = tag_task()
    one = [list(gold_tags(number)) for number in range(len(GOLD))]
    two = [list(tags) for tags in one]
    one[1][0], two[1][0], two[4][2] = None, None, "NOUN"
    found = task.possible_together(merged(["ann", "bob"], [one, two]), one, two, "bob")
    assert found.said == {(4, 2): {"ann": "VERB", "bob": "NOUN"}}
    assert found.kappa == pytest.approx(0.937, abs=0.01)
    sitting = Sitting(task, tmp_path / "out.txt", said=found.said, given=found.known)
    question = sitting.question("a")
    assert (question["sentence"], question["first"], question["last"]) == (4, 2, 2)
    assert question["why"] == "disagreement"
    assert question["said"] == {"2": {"ann": "VERB", "bob": "NOUN"}}
    assert sitting.progress()["disputed"] == 1
    answer(sitting)
    assert sitting.progress()["disputed"] == 0
    assert sitting.question("a")["sentence"] == 1
    sitting.close()


def test_trees_of_two_annotators_that_are_a_cycle_together_are_disputed():
    task = tree_task()
    one, two = ([[None] * len(gold[1]) for gold in GOLD] for _ in range(2))
    one[3][0], two[3][1] = (2, "nsubj"), (1, "obj")
    found = task.possible_together(merged(["ann", "bob"], [one, two]), one, two, "bob")
    assert found.known[3] == [(2, "nsubj"), None]
    assert found.said == {(3, 1): {"bob": (1, "obj")}}
