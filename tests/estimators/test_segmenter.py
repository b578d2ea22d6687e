"""The segmenter learns, answers as enumeration does, and says clearly what is wrong."""

import itertools

import numpy as np
import pytest

from partita import SegmentChain, Segmenter, Tagger
from partita.data.schemes import convert
from partita.data.sentences import Sentence
from partita.estimators.segmenting.spelling import Spelling
from partita.features.segments import role_counts, role_sums
from partita.structures.segments import SegmentChains
from partita.text.segment_features import SegmentFeatures, Segments
from partita.text.words import read_words
from small_tagging import as_dicts, chunked, sentences

WORDS, TAGS = chunked(60)
NEW_WORDS, NEW_TAGS = chunked(40, seed=1)


def make(**options):
    return Segmenter(**{"progress": False, "workers": 1, **options})


@pytest.fixture(scope="module")
def segmenter():
    return make().fit(WORDS, TAGS)


def test_it_learns(segmenter):
    assert segmenter.score(NEW_WORDS, NEW_TAGS) > 0.99
    assert segmenter.types_ == ("NP", "VP")
    assert segmenter.tags_ == ("B-NP", "B-VP", "I-NP", "I-VP")
    assert segmenter.longest_ == 3
    found = segmenter.segments(NEW_WORDS[:1])[0]
    assert [tag[2:] for tag in NEW_TAGS[0]] == [
        kind for first, end, kind in found for _ in range(first, end)
    ]


@pytest.mark.parametrize("roles", ["one", "IOB2", "BIOES"])
def test_plain_tags_and_roles(roles):
    words, tags = sentences(60)
    new_words, new_tags = sentences(40, seed=1)
    found = make(roles=roles).fit(words, tags)
    assert found.score(new_words, new_tags) > 0.95
    assert found.tags_ == ("ADJ", "DET", "NOUN", "VERB")


def all_tags(segmenter, n_words):
    """Every sequence of tags that spells segments, by the scheme alone."""
    names = segmenter.tags_
    for tags in itertools.product(names, repeat=n_words):
        before, n_inside, fine = "O", 0, True
        for tag in tags:
            if tag[0] == "I":
                fine &= before[2:] == tag[2:]
                n_inside += 1
            else:
                n_inside = 1
            fine &= n_inside <= segmenter.longest_
            before = tag
        if fine:
            yield list(tags)


def test_questions_agree_with_all_sequences(segmenter):
    sentence = NEW_WORDS[0][:4]
    every = list(all_tags(segmenter, len(sentence)))
    log_probs = segmenter.log_prob([sentence] * len(every), every)
    p = np.exp(log_probs)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert segmenter.entropy([sentence])[0] == pytest.approx(-(p * log_probs).sum(), abs=1e-9)
    marginals = np.zeros((len(sentence), len(segmenter.tags_)))
    for tags, probability in zip(every, p, strict=True):
        for word, tag in enumerate(tags):
            marginals[word, segmenter.tags_.index(tag)] += probability
    np.testing.assert_allclose(segmenter.predict_marginals([sentence])[0], marginals, atol=1e-9)
    order = np.argsort(-p)[:3]
    assert [tags for tags, _ in segmenter.k_best([sentence], 3)[0]] == [every[i] for i in order]
    assert segmenter.predict([sentence])[0] == every[order[0]]
    partial = ["?", {"I-NP", "B-VP"}, *["?"] * (len(sentence) - 2)]
    agree = [tags[1] in ("I-NP", "B-VP") for tags in every]
    assert segmenter.log_prob([sentence], [partial])[0] == pytest.approx(
        np.log(p[agree].sum()), abs=1e-9
    )
    drawn = segmenter.sample([sentence], 5, np.random.default_rng(0))[0]
    assert all(tags in every for tags in drawn)


def test_another_kind_of_sentences_is_named(segmenter):
    with pytest.raises(ValueError, match="dictionaries or lists of features came; this model was"):
        segmenter.predict([[["a"]]])
    with pytest.raises(ValueError, match="dictionaries or lists of features came; this model was"):
        segmenter.predict([[{"a": 1.0}]])


def test_fixed_tags_are_kept(segmenter):
    sentence = NEW_WORDS[0]
    fixed = ["B-VP", *["?"] * (len(sentence) - 1)]
    assert segmenter.predict([sentence], fixed=[fixed])[0][0] == "B-VP"
    with pytest.raises(ValueError, match="no possible sequence"):
        segmenter.predict([sentence], fixed=[["I-VP", *["?"] * (len(sentence) - 1)]])


def test_partial_labels():
    rng = np.random.default_rng(0)
    partial = [[tag if rng.random() < 0.6 else "?" for tag in tags] for tags in TAGS]
    found = make(segment_min_count=1).fit(WORDS, partial)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.95


@pytest.mark.parametrize(
    ("scheme", "tags", "filled"),
    [
        ("IOB2", "? I-A ? I-A ? B-A ? I-B ?", "B-A I-A I-A I-A ? B-A B-B I-B ?"),
        ("BIOES", "? I-A ? O B-A ? ? S-B ? E-B", "B-A I-A E-A O B-A E-A ? S-B B-B E-B"),
        ("BIOES", "B-A ? ? E-A ? O ?", "B-A I-A I-A E-A ? O ?"),
        (None, "? a ? ? a ? ? b ?", "? a a a a a ? b b"),
    ],
)
def test_segments_go_on_where_tags_are_not_known(scheme, tags, filled):
    names = ["a", "b"] if scheme is None else ["B-A", "B-B", "O"]
    assert " ".join(Spelling(names, scheme).completed(tags.split())) == filled


@pytest.mark.parametrize("left_out", [0, 1, 2])
@pytest.mark.parametrize("scheme", ["IOB2", "BIOES", None])
def test_segments_may_be_longer_than_what_is_known_in_a_row(scheme, left_out):
    """Every third tag is unknown, so that no segment of three words is known as a whole."""
    tags = [[tag[2:] for tag in each] for each in TAGS] if scheme is None else TAGS
    if scheme == "BIOES":
        tags = [list(convert(each, "IOB2", scheme)) for each in TAGS]
    partial = [["?" if i % 3 == left_out else tag for i, tag in enumerate(each)] for each in tags]
    found = make(max_iterations=3, scheme=scheme).fit(WORDS, partial)
    assert np.isfinite(found.log_prob(WORDS, partial)).all()
    assert found.longest_ >= (2 if scheme == "IOB2" and left_out == 2 else 3)
    # What may be one segment or two is no error where one would be too long.
    asked = make(max_iterations=3, scheme=scheme, longest=3).fit(WORDS, partial)
    assert asked.longest_ == 3


@pytest.mark.parametrize("objective", ["likelihood", "risk", "softmax-margin"])
def test_objectives(objective):
    found = make(objective=objective, max_iterations=30).fit(WORDS, TAGS)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.95


def test_entropy_of_sentences_without_tags():
    surer = make(entropy_weight=0.5).fit(WORDS[:10], TAGS[:10], unlabelled=WORDS)
    plain = make().fit(WORDS[:10], TAGS[:10])
    assert surer.entropy(WORDS).sum() < plain.entropy(WORDS).sum()


def test_the_loss_is_that_of_the_distribution(segmenter):
    penalty = segmenter.l2 / 2 * (segmenter.weights_**2).sum()
    loss = penalty - segmenter.log_prob(WORDS, TAGS).sum()
    assert segmenter.training_.loss == pytest.approx(loss, rel=1e-9)


def test_one_word_segments_without_features_of_their_own_are_a_tagger():
    words, tags = sentences(40)
    spelt = {"DET": "B-D", "NOUN": "B-N", "ADJ": "O", "VERB": "O"}
    tags = [[spelt[tag] for tag in row] for row in tags]
    # The only length there is has a weight for each type, as a bias would.
    plain = [[{"w": word} for word in row] for row in words]
    biased = [[{"w": word, "bias": 1.0} for word in row] for row in words]
    options = {"progress": False, "loss_tolerance": 1e-13}
    tagger = Tagger(**options, scheme=None).fit(biased, tags)
    found = Segmenter(**options, roles="one", longest=1, segment_features=False).fit(plain, tags)
    np.testing.assert_allclose(
        found.log_prob(plain, tags), tagger.log_prob(biased, tags), atol=1e-4
    )


def test_dictionaries():
    lists = {"places": ["New York", "rome"], "people": ["Ada"]}
    words = [["in", "New", "York", "now"], ["in", "Rome", "now"], ["Ada", "sang"]] * 3
    tags = [["O", "B-L", "I-L", "O"], ["O", "B-L", "O"], ["B-P", "O"]] * 3
    lists["places"].append("Little Snoring")
    options = {"features": "FORM[0].lower.suffix1", "segment_min_count": 100}
    found = make(dictionaries=lists, **options).fit(words, tags)
    new = ["to", "Little", "Snoring", "soon"]
    assert found.segments([new])[0][1] == (1, 3, "L")
    assert make(**options).fit(words, tags).segments([new])[0][1] != (1, 3, "L")
    strongest = found.inspect(3).features["L"]
    assert "segment dictionary=places" in [feature for feature, _ in strongest]


def test_files(segmenter, tmp_path):
    path = tmp_path / "model"
    found = make(dictionaries={"short": ["the dog"]}, roles="IOB2").fit(WORDS, TAGS)
    for each in (segmenter, found):
        each.save(path)
        again = Segmenter.load(path)
        np.testing.assert_array_equal(again.weights_, each.weights_)
        assert again.predict(NEW_WORDS) == each.predict(NEW_WORDS)
        np.testing.assert_array_equal(again.entropy(NEW_WORDS), each.entropy(NEW_WORDS))
        assert str(again.inspect()) == str(each.inspect())


def test_words_that_bring_features():
    words, tags = sentences(60)
    found = make().fit(as_dicts(words), tags)
    assert found.score(as_dicts(words), tags) > 0.95
    with pytest.raises(ValueError, match="whose text is not known"):
        make(dictionaries={"a": ["b"]}).fit(as_dicts(words), tags)


def test_explanations(segmenter):
    sentence = NEW_WORDS[0]
    explanation = segmenter.explain(sentence, 1)
    first, second = ([list(each)] for each in (explanation.tags, explanation.other_tags))
    lead = segmenter.log_prob([sentence], first) - segmenter.log_prob([sentence], second)
    assert explanation.difference == pytest.approx(lead[0], abs=1e-9)
    assert explanation.decision.answer.startswith("NP of words 1 to")
    assert segmenter.explain([sentence[0]], 0).decision.probability < 1
    with pytest.raises(ValueError, match="expected 0 to"):
        segmenter.explain(sentence, 99)


def test_held_out_and_columns():
    rows = [
        Sentence({"FORM": [w for w, _ in row], "XPOS": [t for _, t in row], "CHUNK": tags})
        for row, tags in zip(WORDS, TAGS, strict=True)
    ]
    options = {"tag_column": "CHUNK", "columns": ["FORM", "XPOS"]}
    found = make(**options).fit(rows, held_out=(rows[:20], None))
    assert found.columns_ == ("FORM", "XPOS")
    assert found.score(rows) > 0.99


def test_what_is_wrong():
    with pytest.raises(ValueError, match="has a segment of 3 words, and longest is 2"):
        make(longest=2).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="are in IOB1"):
        make(scheme="auto").fit([["a", "b", "c"]], [["I-X", "I-X", "O"]])
    with pytest.raises(ValueError, match="break IOB2"):
        make().fit([["a", "b"]] * 2, [["O", "I-X"], ["B-X", "I-X"]])
    with pytest.raises(ValueError, match="type 'O'"):
        make().fit([["a", "b"]], [["B-O", "O"]])
    with pytest.raises(ValueError, match="one table of them"):
        make(features="FORM[0]\ntransition: FORM[0]").fit(*sentences(5))
    with pytest.raises(ValueError, match="lists of text by name"):
        make(dictionaries={"a": "text"}).fit(WORDS, TAGS)


def test_spelling_both_ways():
    for scheme, tags in (
        ("IOB2", ["B-X", "I-X", "B-X", "O", "O", "B-Y"]),
        ("BIOES", ["B-X", "E-X", "S-X", "O", "O", "S-Y"]),
        (None, ["a", "a", "b", "a", "c", "c"]),
        ("IOB2", ["B", "I", "B", "O", "O", "B"]),
    ):
        spelling = Spelling(tags, scheme)
        rows = spelling.rows(tags)
        assert spelling.tags_of(rows) == tags
        roles = spelling.allowed_roles(tags, "here")
        sets = SegmentChains([len(tags)], 6, len(spelling.types))
        scores = role_sums(sets, np.where(roles, 0.0, -np.inf))
        scores[~sets.is_choice()] = np.where(spelling.may_follow, 0.0, -np.inf).ravel()
        # One structure agrees, the right one.
        p = SegmentChain.from_flat(sets, scores)
        assert p.log_partition[0] == 0
        assert p.argmax[0].tolist() == rows.tolist()


def test_sums_and_counts_of_roles_are_transposes():
    sets, rng = SegmentChains([4, 1, 3], 3, 2), np.random.default_rng(0)
    for blocks in ((0, 1, 2, 3), (0, 1, 1, 0), (0, 0, 0, 0)):
        roles = rng.normal(size=(8, (max(blocks) + 1) * 2))
        parts = rng.normal(size=sets.n_parts)
        left = role_sums(sets, roles, blocks) @ parts
        assert left == pytest.approx((roles * role_counts(sets, parts, blocks)).sum())


def test_attributes_of_segments_spelt_out():
    words = read_words([[("The", "D"), ("old", "J"), ("dog", "N")], [("the", "D"), ("Old", "J")]])
    labelled = Segments(np.array([0, 3, 2]), np.array([2, 2, 1]))
    found = SegmentFeatures.build(words, labelled, 2, 2, {"animals": ["DOG", "old dog"]})
    encoded = found.encode(words)
    names = [[found.name(number) for number in encoded[row : row + 1].ids] for row in range(2 * 5)]
    assert "words:0.lower=the old" in names[1]
    assert "words:0.lower=the old" in names[7]
    assert "words:0.lower not known" in names[0]
    assert "words:0.shape not known" in names[1]
    assert "dictionary=animals" in names[3]
    assert "dictionary=animals" in names[4]
    assert "dictionary=animals" not in names[1]
    assert "length=2" in names[1]
    assert "first:0.lower last:0.lower=the|old" in names[7]
    assert names[5] == names[9] == []  # they would end behind their sentences
