"""What is asked for is what is most uncertain, by enumeration; what cannot be is refused."""

import itertools

import numpy as np
import pytest

from partita import DependencyParser, HiddenMarkovTagger, Tagger
from partita.data.formats import parse_sentences, sentences_text
from partita.data.sentences import Sentence
from partita.label import TagTask
from partita.label.effort import Effort
from partita.label.tag_learner import TagOptions
from partita.label.task import Span
from partita.label.tree_learner import TreeOptions
from small_corpus import GOLD, TAGS, gold_tags, tag_task, tree_task, words

EFFORT = Effort()


def nothing(task):
    return [[None] * len(sentence) for sentence in task.sentences]


def some_known(task, share=3):
    known = nothing(task)
    for sentence in range(0, len(known), 2):
        for word in range(0, len(known[sentence]), share):
            known[sentence][word] = gold_tags(sentence)[word]
    return known


def probabilities(task, model, sentence, labels):
    """Every sequence of tags that agrees with labels, and its probability."""
    ((p, _),) = task._learner.distributions(model, [sentence], None)
    (unary,), (table,) = p.by_position.structures.split(p.by_position.scores)
    found = {}
    for tags in itertools.product(range(len(task.tags)), repeat=len(unary)):
        if all(each is None or task.tags.names[t] == each for t, each in zip(tags, labels)):  # noqa: B905
            score = sum(unary[i, t] for i, t in enumerate(tags))
            score += sum(table[i, a, b] for i, (a, b) in enumerate(itertools.pairwise(tags)))
            found[tags] = score
    total = np.logaddexp.reduce(list(found.values()))
    return {tags: np.exp(score - total) for tags, score in found.items()}


def entropy(p):
    p = np.array([each for each in p if each > 0])
    return -(p * np.log(p)).sum()


def test_the_question_has_the_most_nats_for_a_second_by_enumeration():
    task = tag_task()
    known = some_known(task)
    model = task.learn(known)
    survey = task.survey(model, known, set(), EFFORT)
    best = {}
    total = 0.0
    for sentence, labels in enumerate(known):
        p = probabilities(task, model, sentence, labels)
        total += entropy(p.values())
        for first, last in itertools.combinations_with_replacement(range(len(labels)), 2):
            if last - first >= 5 or labels[first] is not None or labels[last] is not None:
                continue
            parts = {}
            for tags, each in p.items():
                key = tags[first : last + 1]
                parts[key] = parts.get(key, 0.0) + each
            n_asked = sum(label is None for label in labels[first : last + 1])
            value = entropy(parts.values()) / float(EFFORT.seconds(n_asked, len(labels)))
            if value > best.get(sentence, (0.0, 0, 0))[0]:
                best[sentence] = (value, first, last)
    assert survey.entropy == pytest.approx(total, abs=1e-9)
    assert len(survey.spans) == len(best)
    for span in survey.spans:
        value, first, last = best[span.sentence]
        assert (span.first, span.last) == (first, last)
        assert span.value == pytest.approx(value, abs=1e-9)
    values = [span.value for span in survey.spans]
    assert values == sorted(values, reverse=True)


def test_closed_words_are_not_asked_for():
    task = tag_task()
    known = some_known(task)
    model = task.learn(known)
    first = task.survey(model, known, set(), EFFORT).spans[0]
    closed = {(first.sentence, word) for word in range(first.first, first.last + 1)}
    for span in task.survey(model, known, closed, EFFORT).spans:
        assert (span.sentence, span.first) not in closed
        assert (span.sentence, span.last) not in closed


def test_probabilities_move_with_what_was_chosen_by_enumeration():
    task = tag_task()
    known = some_known(task)
    model = task.learn(known)
    labels = known[2]
    view = task.view(model, Span(2, 1, 4), labels, {(2, "tag"): "VERB"})
    free = list(labels)
    free[1:5] = [None, "VERB", None, None]
    p = probabilities(task, model, 2, free)
    for slot in view.slots:
        given = free.copy()
        given[slot.word] = None
        q = probabilities(task, model, 2, given) if slot.word == 2 else p
        for option in slot.options:
            number = task.tags.names.index(option.value)
            expected = sum(each for tags, each in q.items() if tags[slot.word] == number)
            assert option.probability == pytest.approx(expected, abs=1e-9)
        assert [o.probability for o in slot.options] == sorted(
            (o.probability for o in slot.options), reverse=True
        )
    best = max(p, key=p.get)
    assert [slot.proposed for slot in view.slots] == [task.tags.names[best[w]] for w in range(1, 5)]


def test_learning_makes_what_was_said_likely_and_starts_from_the_last_weights():
    task = tag_task()
    known = nothing(task)
    known[0] = gold_tags(0)
    model = task.learn(known)
    again = task.learn(known, model)
    assert np.abs(again - model).max() < 0.2
    guess = task.guesses(model, 2, known[2], {0: "DET", 1: "NOUN"})
    assert guess[0].label == "DET"
    assert guess[0].of_answer == guess[0].probability > 0.4
    doubts = task.doubts(model, known)
    assert set(doubts) == {(0, word) for word in range(4)}
    known[0] = ["VERB", "VERB", "VERB", "VERB"]
    assert task.doubts(model, known)[0, 1].of_answer < 0.2


@pytest.mark.parametrize("kind", [Tagger, HiddenMarkovTagger])
def test_a_model_to_start_from_is_kept_where_nothing_was_said(kind):
    sentences = [Sentence({"FORM": words(text)}) for text, _, _ in GOLD]
    base = kind().fit(sentences, [gold_tags(n) for n in range(len(GOLD))])
    task = tag_task(base=base)
    model = task.learn(nothing(task))
    for p, places in task._learner.distributions(model, range(len(GOLD)), None):
        expected = base.predict_marginals([task.sentences[n] for n in places])
        for found, wanted in zip(p.marginals.unary, expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-9)
    # A tag that the model does not know can be said, and is learnt.
    wider = TagTask(sentences, [*TAGS, "X"], column="tag", base=base)
    known = [["X" if w == "the" else None for w in wider.words(n)] for n in range(len(GOLD))]
    learnt = wider.learn(known)
    assert wider.guesses(learnt, 5, known[5], {3: "X"})[3].of_answer > 0.2


def test_entropy_of_sentences_without_labels_is_learnt_from_if_asked_for():
    known = nothing(tag_task())
    known[0] = gold_tags(0)
    plain, with_entropy = (
        tag_task(options=TagOptions(entropy_weight=weight)) for weight in (0.0, 1.0)
    )
    left = [
        task.survey(task.learn(known), known, set(), EFFORT).entropy
        for task in (plain, with_entropy)
    ]
    assert left[1] < left[0]


def test_tags_that_break_their_scheme_are_refused_and_spans_are_shown():
    sentences = [Sentence({"0": ("in", "New", "York", "now")})]
    task = TagTask(sentences, ["B-LOC", "I-LOC", "O"], column="tag")
    model = task.learn(nothing(task))
    with pytest.raises(ValueError, match="cannot stand together in the scheme IOB2"):
        task.guesses(model, 0, ["O", None, None, None], {1: "I-LOC"})
    view = task.view(
        model, Span(0, 0, 3), [None] * 4,
        {(0, "tag"): "O", (1, "tag"): "B-LOC", (2, "tag"): "I-LOC", (3, "tag"): "O"},
    )  # fmt: skip
    assert view.spans == [("LOC", 1, 2)]
    assert {o.text for o in view.slots[0].options} == {"LOC begins", "LOC goes on", "outside"}
    with pytest.raises(ValueError, match="'I-PER' came as the tag of word 1"):
        task.read(4, {(1, "tag"): "I-PER"})


def test_the_output_is_read_by_train():
    task = tag_task(format="plain")
    known = some_known(task)
    sentences, format = task.written(known)
    document = parse_sentences(sentences_text(sentences, format))
    assert document.format == "columns"
    tags = [sentence.column("1") for sentence in document]
    assert tags == [tuple("?" if t is None else t for t in each) for each in known]
    tagger = Tagger(tag_column="1", progress=False).fit(document, tags)
    assert set(tagger.tags_) == {tag for tags in known for tag in tags if tag}


# ---------------------------------------------------------------------- trees


def all_trees(n):
    """The heads of every tree with one root."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if sum(head == 0 for head in heads) != 1:
            continue
        for word in range(1, n + 1):
            seen, at = set(), word
            while at and at not in seen:
                seen.add(at)
                at = heads[at - 1]
            if at:
                break
        else:
            yield heads


@pytest.mark.parametrize("projective", [False, True])
def test_heads_are_asked_for_by_their_exact_entropy(projective):
    task = tree_task(options=TreeOptions(projective=projective))
    known = nothing(task)
    known[0] = [(3, "det"), None, (4, "nsubj"), None]
    model = task.learn(known)
    spans = [span_entropies_by_enumeration(task, model, known, k) for k in range(len(known))]
    for most_words in (1, 2, 3):
        task = tree_task(options=TreeOptions(most_words=most_words, projective=projective))
        check_survey(task.survey(model, known, set(), EFFORT), known, spans, most_words)


def check_survey(survey, known, spans, most_words):
    """The spans that it asks for first are worth most, by entropies of all spans."""
    worth = {
        (k, *span): value
        / EFFORT.seconds(sum(known[k][w] is None for w in range(*span)), len(known[k]))
        for k, values in enumerate(spans)
        for span, value in values.items()
        if span[1] - span[0] <= most_words
        and known[k][span[0]] is None
        and known[k][span[1] - 1] is None
    }
    best = survey.spans[0]
    assert (best.sentence, best.first, best.last + 1) == max(worth, key=worth.get)
    for span in survey.spans[:6]:
        exact = spans[span.sentence][span.first, span.last + 1]
        assert span.entropy == pytest.approx(exact, abs=1e-9)


def span_entropies_by_enumeration(task, model, known, sentence):
    """H of heads and relations of the words first to last, by [first, last)."""
    ((p, _),) = task._learner.distributions(model, [sentence], None)
    (arcs,) = p.structures.split(p.scores)
    projective, n = task._learner.options.projective, len(known[sentence])
    fixed = {w: label[0] for w, label in enumerate(known[sentence]) if label is not None}
    trees = [
        heads
        for heads in all_trees(n)
        if all(heads[w] == head for w, head in fixed.items())
        and not (projective and crosses(heads))
    ]
    scores = np.array([sum(arcs[h, w] for w, h in enumerate(t, start=1)) for t in trees])
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    joint = {}
    for heads, share in zip(trees, shares, strict=True):
        (table,) = task._learner.relations.probabilities(
            model.relations, [np.array(heads)], [sentence]
        )
        for first, last in itertools.combinations(range(n + 1), 2):
            cell = joint.setdefault((first, last), {}).setdefault(heads[first:last], [0.0, 0.0])
            cell[0] += share
            cell[1] = sum(entropy(table[w]) for w in range(first, last) if w not in fixed)
    return {
        span: sum(-p * np.log(p) + p * of_relations for p, of_relations in cells.values() if p)
        for span, cells in joint.items()
    }


def crosses(heads):
    arcs = [tuple(sorted((head, word))) for word, head in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_trees_learn_from_some_heads_and_their_relations():
    task = tree_task()
    known = nothing(task)
    for sentence in range(5):
        heads, names = GOLD[sentence][1], GOLD[sentence][2].split()
        known[sentence] = list(zip(heads, names, strict=True))
        known[sentence][0] = None
    model = task.learn(known)
    view = task.view(model, Span(5, 1, 1), known[5], {})
    head, relation = view.slots
    assert (head.kind, head.proposed) == ("head", "3")
    assert (relation.kind, relation.proposed) == ("relation", "nsubj")
    assert sum(option.probability for option in head.options) == pytest.approx(1.0)
    # Choices move the rest: whoever hangs the verb elsewhere changes what the others may do.
    moved = task.view(model, Span(5, 1, 2), known[5], {(2, "head"): "2"})
    assert moved.slots[0].proposed != "3"


def test_heads_that_are_no_tree_are_refused():
    task = tree_task()
    model = task.learn(nothing(task))
    with pytest.raises(ValueError, match=r"no tree with one root has these heads together"):
        task.guesses(model, 0, [None, (1, "det"), None, None], {0: (2, "det")})
    with pytest.raises(ValueError, match=r"'9' came as the head of word 1"):
        task.read(4, {(0, "head"): "9", (0, "relation"): "det"})
    with pytest.raises(ValueError, match=r"'nope' came as a relation"):
        task.read(4, {(0, "head"): "2", (0, "relation"): "nope"})
    assert task.read(4, {(0, "head"): "2"}) == {0: (2, "_")}


def test_trees_are_written_as_conllu_reads_them():
    rows = {"ID": ("1", "2"), "FORM": ("dogs", "bark"), "LEMMA": ("_", "_"),
            "UPOS": ("NOUN", "VERB"), "XPOS": ("_", "_"), "FEATS": ("_", "_"), "HEAD": ("_", "_"),
            "DEPREL": ("_", "_"), "DEPS": ("_", "_"), "MISC": ("_", "_")}  # fmt: skip
    from partita.label import TreeTask

    task = TreeTask([Sentence(rows)], ["nsubj", "root"])
    sentences, format = task.written([[(2, "nsubj"), None]])
    text = sentences_text(sentences, format)
    assert "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_" in text
    assert "2\tbark\t_\tVERB\t_\t_\t_\t_\t_\t_" in text
    assert TreeTask(parse_sentences(text), ["nsubj", "root"]).given == [[(2, "nsubj"), None]]


@pytest.mark.parametrize("labels", ["second", "joint"])
def test_a_parser_to_start_from_proposes_its_heads_and_relations(labels):
    task = tree_task()
    heads = [gold[1] for gold in GOLD]
    names = [gold[2].split() for gold in GOLD]
    base = DependencyParser(labels=labels, n_bits=12, label_bits=10, max_iterations=20)
    base.fit(task.sentences, heads=heads, labels=names)
    task = tree_task(base=base)
    model = task.learn(nothing(task))
    view = task.view(model, Span(5, 0, 5), [None] * 6, {})
    proposed = [slot.proposed for slot in view.slots]
    assert proposed[::2] == [str(head) for head in heads[5]]
    assert proposed[1::2] == names[5]
    assert max(option.probability for option in view.slots[1].options) > 0.5
    # What a person says wins over it.
    known = nothing(task)
    for sentence, found in enumerate(names):
        known[sentence] = [
            (head, "obj") if name == "det" else None
            for head, name in zip(heads[sentence], found, strict=True)
        ]
    learnt = task.learn(known)
    guess = task.guesses(learnt, 5, known[5], {0: (2, "obj")})[0]
    assert guess.of_answer > task.guesses(model, 5, nothing(task)[5], {0: (2, "obj")})[0].of_answer
