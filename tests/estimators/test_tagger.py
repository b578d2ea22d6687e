"""The tagger learns in every way it offers, and says clearly what is wrong."""

import numpy as np
import pytest

from partita import Tagger
from partita.data.constraints import ExpectationConstraint
from partita.data.sentences import Sentence
from partita.text.templates import default_templates
from small_tagging import as_dicts, chunked, sentences

WORDS, TAGS = sentences(60)
NEW_WORDS, NEW_TAGS = sentences(40, seed=1)
SIMPLE = "FORM[0]\nFORM[-1]\ntransition:"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(features=SIMPLE).fit(WORDS, TAGS)


def test_it_learns(tagger):
    assert tagger.score(NEW_WORDS, NEW_TAGS) > 0.95
    assert tagger.tags_ == ("ADJ", "DET", "NOUN", "VERB")
    assert tagger.training_.reason.startswith("Converged")


def test_the_optimum_is_that_of_crfsuite(tagger):
    """The same loss at the same features: an independent implementation agrees."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rows = [
        [[f"w={word}", f"p={sentence[i - 1] if i else '_B-1'}"] for i, word in enumerate(sentence)]
        for sentence in WORDS
    ]
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, tags in zip(rows, TAGS, strict=True):
        trainer.append(row, tags)
    trainer.set_params(
        {
            "c2": 0.5,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
            "epsilon": 1e-9,
            "delta": 1e-12,
            "max_iterations": 1000,
        }
    )
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        other = pycrfsuite.Tagger()
        other.open(file.name)
        fine = Tagger(features=SIMPLE, l2=1.0)
        fine.fit(WORDS, TAGS)
        for words, tags, row in zip(WORDS[:10], TAGS[:10], rows[:10], strict=True):
            other.set(row)
            assert fine.log_prob([words], [tags])[0] == pytest.approx(
                np.log(other.probability(tags)), abs=1e-3
            )


def test_threads_do_not_change_the_model():
    models = [
        Tagger(features=SIMPLE, workers=n, optimiser=optimiser, max_iterations=5, seed=3)
        .fit(WORDS, TAGS)
        .weights_
        for optimiser in ("lbfgs", "adam")
        for n in (1, 2)
    ]
    assert np.array_equal(models[0], models[1])
    assert np.array_equal(models[2], models[3])
    assert not np.array_equal(models[0], models[2])


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd", "owlqn"])
def test_other_optimisers(optimiser):
    found = Tagger(features=SIMPLE, optimiser=optimiser, l2=0.1).fit(WORDS, TAGS)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.6


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd"])
@pytest.mark.parametrize("options", [{"entropy_weight": 0.1}, {"share_weight": 1.0}])
def test_unlabelled_sentences_by_mini_batches(optimiser, options):
    """Entropy brings a term of the tags' shares with it, whose totals are those of the corpus."""
    tagger = Tagger(features=SIMPLE, optimiser=optimiser, max_iterations=10, l2=0.1, **options)
    tagger.fit(WORDS[:20], TAGS[:20], unlabelled=NEW_WORDS)
    assert tagger.score(NEW_WORDS, NEW_TAGS) > 0.6


def test_l1_gives_sparse_weights(tagger):
    sparse = Tagger(features=SIMPLE, l1=0.5, l2=0.0).fit(WORDS, TAGS)
    assert sparse.inspect().n_nonzero < 0.5 * tagger.inspect().n_nonzero
    assert sparse.score(NEW_WORDS, NEW_TAGS) > 0.95


def test_default_features_and_columns():
    tokens, tags = chunked(40)
    new, new_tags = chunked(20, seed=1)
    found = Tagger().fit(tokens, tags)
    assert found.columns_ == ("0", "1")
    assert found.score(new, new_tags) == 1.0
    assert found.model_.features.templates == default_templates(dict.fromkeys("01", ["x"]))


def test_feature_dictionaries():
    found = Tagger().fit(as_dicts(WORDS), TAGS)
    assert found.score(as_dicts(NEW_WORDS), NEW_TAGS) > 0.95
    strengths = found.inspect(3).features["VERB"]
    assert any(name.startswith("word:") for name, _ in strengths)
    with pytest.raises(ValueError, match="words came; this model was trained on dictionaries"):
        found.predict(WORDS)
    with pytest.raises(
        ValueError, match="templates .* came with dictionaries or lists of features"
    ):
        Tagger(features=SIMPLE).fit(as_dicts(WORDS), TAGS)


def test_plain_dictionaries_and_lists_of_names_are_the_same():
    plain = [[{"w": word, "end": word[-1] == "s", "bias": 1.0} for word in s] for s in WORDS]
    lists = [
        [[f"w:{word}", *(["end"] if word[-1] == "s" else []), "bias"] for word in s] for s in WORDS
    ]
    mixed = [[{"w": [word], "end": word[-1] == "s", "bias": 1} for word in s] for s in WORDS]
    found = [Tagger().fit(words, TAGS) for words in (plain, lists, mixed)]
    expected = found[0].entropy(plain)
    for tagger, words in zip(found[1:], (lists, mixed), strict=True):
        assert tagger.entropy(words) == pytest.approx(expected, rel=1e-6)
    assert found[0].entropy(lists) == pytest.approx(expected, abs=1e-12)
    assert found[0].entropy(mixed) == pytest.approx(expected, abs=1e-12)


def test_sentences_of_files():
    data = [
        Sentence({"FORM": tuple(words), "UPOS": tuple(tags), "XPOS": tuple(tags)})
        for words, tags in zip(WORDS, TAGS, strict=True)
    ]
    found = Tagger(tag_column="UPOS").fit(data)
    assert found.columns_ == ("FORM",)  # the other columns are annotations
    assert found.score(data) > 0.95
    assert found.predict(data[:2]) == found.predict(WORDS[:2])
    both = Tagger(tag_column="UPOS", columns=["FORM", "XPOS"]).fit(data)
    assert both.score(data) == 1.0
    with pytest.raises(ValueError, match="'UPOS', which is the column of the tags"):
        Tagger(tag_column="UPOS", columns=["FORM", "UPOS"]).fit(data)


def test_crfpp_templates_with_transitions_of_words():
    template = "U0:%x[0,0]\nB1:%x[0,0]\nB"
    found = Tagger(features=template).fit(WORDS, TAGS)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.9
    assert found.model_.n_weights == len(found.weights_)
    without = Tagger(features="U0:%x[0,0]").fit(WORDS, TAGS)
    assert not without.inspect().transitions.any()


def test_partial_labels():
    rng = np.random.default_rng(0)
    partial = [[tag if rng.random() < 0.5 else "?" for tag in tags] for tags in TAGS]
    found = Tagger(features=SIMPLE).fit(WORDS, partial)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.85
    everything = Tagger(features=SIMPLE).fit(
        WORDS, [[tag or None for tag in tags] for tags in TAGS]
    )
    assert everything.score(NEW_WORDS, NEW_TAGS) > 0.95


def test_partial_labels_are_learnt_by_marginal_likelihood():
    partial = [["?"] + tags[1:] for tags in TAGS]
    found = Tagger(features=SIMPLE, l2=0.1).fit(WORDS, partial)
    loss = -found.log_prob(WORDS, partial).sum() + 0.05 * found.weights_ @ found.weights_
    assert found.training_.loss == pytest.approx(loss, rel=1e-9)


def test_entropy_makes_the_model_surer():
    few, rest = slice(0, 3), slice(3, 60)
    plain = Tagger(features=SIMPLE).fit(WORDS[few], TAGS[few])
    regularised = Tagger(features=SIMPLE, entropy_weight=0.1, entropy_ramp=5)
    regularised.fit(WORDS[few], TAGS[few], unlabelled=WORDS[rest])
    assert regularised.entropy(NEW_WORDS).sum() < plain.entropy(NEW_WORDS).sum()
    with pytest.raises(ValueError, match="no sentence came without tags"):
        Tagger(entropy_weight=0.1).fit(WORDS, TAGS)


@pytest.mark.parametrize("distance", ["squared", "kl"])
def test_expectation_constraints_alone(distance):
    shares = {"the": "DET", "a": "DET", "dog": "NOUN", "old": "ADJ", "sees": "VERB"}
    constraints = [
        ExpectationConstraint(f"w={word}", {tag: 0.95, **dict.fromkeys(rest(tag), 0.05 / 3)})
        for word, tag in shares.items()
    ]
    found = Tagger(features=SIMPLE, constraints=constraints, constraint_weight=1000.0)
    found.set_params(constraint_distance=distance).fit(WORDS)
    marginals = [
        row["DET"]
        for words, rows in zip(WORDS, found.predict_marginals(WORDS).named(), strict=True)
        for word, row in zip(words, rows, strict=True)
        if word == "the"
    ]
    assert np.mean(marginals) == pytest.approx(0.95, abs=0.03)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.6


def rest(tag):
    return [other for other in ("ADJ", "DET", "NOUN", "VERB") if other != tag]


def test_constraints_with_labels_and_dictionaries():
    constraints = [ExpectationConstraint("word=dog", {"NOUN": 1.0})]
    found = Tagger(constraints=constraints).fit(as_dicts(WORDS[:3]), TAGS[:3])
    assert found.score(as_dicts(NEW_WORDS), NEW_TAGS) > 0.4
    with pytest.raises(ValueError, match="is about no known feature"):
        Tagger(constraints=[ExpectationConstraint("q=dog", {"NOUN": 1.0})]).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="no word has a feature"):
        Tagger(constraints=[ExpectationConstraint("w=zebra", {"NOUN": 1.0})]).fit(WORDS, TAGS)


def test_minimum_risk(tagger):
    risk = Tagger(features=SIMPLE, objective="risk", l2=0.1).fit(WORDS, TAGS)
    assert risk.score(NEW_WORDS, NEW_TAGS) > 0.9
    assert risk.training_.loss < 0.1 * len(WORDS) * 5


def test_weights_of_classes_and_sentences(tagger):
    words, tags = [["x"]] * 4, [["A"], ["A"], ["A"], ["B"]]
    features = "FORM[0]\ntransition:"

    def share(**options):
        weights = options.pop("sample_weight", None)
        found = Tagger(features=features, l2=1e-3, **options)
        found.fit(words, tags, sample_weight=weights)
        return found.predict_marginals([["x"]]).named()[0][0]["B"]

    assert share() == pytest.approx(0.25, abs=0.01)
    assert share(class_weights={"B": 3.0}) == pytest.approx(0.5, abs=0.01)
    assert share(class_weights="balanced") == pytest.approx(0.5, abs=0.01)
    assert share(sample_weight=[1, 1, 1, 3]) == pytest.approx(0.5, abs=0.01)
    assert share(sample_weight=[0, 0, 1, 1]) == pytest.approx(0.5, abs=0.01)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\); expected \(4,\)"):
        share(sample_weight=[1, 1, 1])
    with pytest.raises(ValueError, match="class_weights has the tag 'C'"):
        share(class_weights={"C": 1.0})


def test_warm_start(tagger):
    again = Tagger(features=SIMPLE, warm_start=tagger, max_iterations=1).fit(WORDS, TAGS)
    assert np.allclose(again.weights_, tagger.weights_, atol=1e-2)
    other = Tagger(features=SIMPLE + "\nFORM[1]", warm_start=tagger, max_iterations=0)
    other.fit(WORDS + [["zebra"]], TAGS + [["X"]])
    assert other.predict(NEW_WORDS) == tagger.predict(NEW_WORDS)
    same = Tagger(features=SIMPLE, warm_start=tagger.weights_, max_iterations=0).fit(WORDS, TAGS)
    assert np.array_equal(same.weights_, tagger.weights_)
    with pytest.raises(ValueError, match=r"warm_start has shape \(3,\)"):
        Tagger(features=SIMPLE, warm_start=np.zeros(3)).fit(WORDS, TAGS)


def test_hard_schemes():
    tokens, tags = chunked(30)
    found = Tagger(features="0[0]\ntransition:", scheme="auto", max_iterations=2)
    found.fit([[(w,) for w, _ in s] for s in tokens], tags)
    assert found.model_.tags.scheme == "IOB2"
    words = [["sees", "old", "zebra"]]
    for decoder in ("best", "risk"):
        for sequence in found.predict(words, decoder=decoder):
            assert sequence[0].startswith("B")
            assert "B-VP I-NP" not in " ".join(sequence)
    marginals = found.predict_marginals(words)[0]
    assert marginals[0, found.tags_.index("I-NP")] == 0.0
    assert found.log_prob(words, [["I-NP", "I-NP", "I-NP"]])[0] == -np.inf
    with pytest.raises(ValueError, match=r"sentence 1 .* break IOB2 at word 0: I-NP B-NP"):
        Tagger(scheme="IOB2").fit([["a", "b"]] * 2, [["B-NP", "?"], ["I-NP", "B-NP"]])
    with pytest.raises(ValueError, match=r"break IOB2 at word 2: B-NP I-VP O\."):
        Tagger(scheme="IOB2").fit([list("abcd")], [["O", "B-NP", "I-VP", "O"]])
    with pytest.raises(ValueError, match=r"break BIOES at word 1: S-NP B-NP\."):
        Tagger(scheme="BIOES").fit([["a", "b"]], [["S-NP", "B-NP"]])
    assert Tagger(scheme="auto", max_iterations=1).fit(WORDS, TAGS).model_.tags.scheme is None


@pytest.mark.parametrize(
    "words, tags, message",
    [
        ([["a"]], [["A", "B"]], r"sentence 0 .* has 1 words and 2 tags"),
        ([["a"]], [["A"], ["B"]], "1 sentences came with tags for 2"),
        ([[], []], [[], []], "no words to learn from"),
        ([["a"]], [["?"]], "no word has a known tag"),
        ([["a"]], None, "no word has a known tag"),
        (["a b"], [["A"]], "sentence 0 is the text 'a b'"),
        ("a b", [["A"]], "a single str came"),
        ([["a", ("b", "c")]], [["A", "B"]], "the tokens are of the types str, tuple"),
        (
            [[("a",), ("b", "c")]],
            [["A", "B"]],
            "sentence 0 .* has a token of 2 columns, and the first token has 1",
        ),
        ([[{"x": object()}]], [["A"]], "the feature 'x' is a object"),
    ],
)
def test_errors_of_data(words, tags, message):
    with pytest.raises(ValueError, match=message):
        Tagger().fit(words, tags)


@pytest.mark.parametrize("name", ["scheme", "objective", "optimiser"])
def test_errors_of_arguments(name):
    with pytest.raises(ValueError, match=f"{name} is 'x'; expected '"):
        Tagger(**{name: "x"}).fit(WORDS, TAGS)


def test_scikit_learn_can_copy_it(tagger):
    sklearn = pytest.importorskip("sklearn.base")
    copied = sklearn.clone(tagger)
    assert copied.get_params() == tagger.get_params()
    assert not hasattr(copied, "model_")
    assert repr(Tagger(l2=0.5)) == "Tagger(l2=0.5)"


def test_weights_for_observed_pairs_only(tmp_path):
    whole = Tagger(features=SIMPLE, progress=False).fit(WORDS, TAGS)
    found = Tagger(features=SIMPLE, pairs="observed", progress=False).fit(WORDS, TAGS)
    names = found.model_.features
    rows = found.model_.encode(WORDS).words
    flat = [tag for tags in TAGS for tag in tags]
    ends = rows.offsets.tolist()
    seen = {
        (attribute, tag)
        for tag, begin, end in zip(flat, ends[:-1], ends[1:], strict=True)
        for attribute in rows.ids[begin:end].tolist()
    }
    assert found.model_.pairs.n_pairs == len(seen)
    assert np.count_nonzero(found.weights_) <= len(seen) + len(found.tags_) ** 2
    assert np.count_nonzero(found.weights_) < np.count_nonzero(whole.weights_)
    table, _ = found.model_.split(found.weights_)
    for attribute in range(names.n_attributes):
        for number, tag in enumerate(found.tags_):
            assert (table[attribute, number] != 0) <= ((attribute, tag) in seen)
    loss = found.l2 / 2 * found.weights_ @ found.weights_ - found.log_prob(WORDS, TAGS).sum()
    np.testing.assert_allclose(found.training_.loss, loss, rtol=1e-9)
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.9
    assert found.explain(NEW_WORDS[0], 0).contributions
    found.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.pairs == "observed"
    assert again.log_prob(WORDS, TAGS).tobytes() == found.log_prob(WORDS, TAGS).tobytes()


def test_observed_pairs_and_all_start_from_each_other():
    whole = Tagger(features=SIMPLE, progress=False).fit(WORDS, TAGS)
    some = Tagger(features=SIMPLE, pairs="observed", progress=False).fit(WORDS, TAGS)
    still = {"max_iterations": 0, "features": SIMPLE, "progress": False}
    wider = Tagger(**still, warm_start=some).fit(WORDS, TAGS)
    np.testing.assert_allclose(
        wider.log_prob(WORDS, TAGS), some.log_prob(WORDS, TAGS), rtol=0, atol=1e-9
    )
    narrower = Tagger(**still, pairs="observed", warm_start=whole).fit(WORDS, TAGS)
    table, _ = narrower.model_.split(narrower.weights_)
    expected, _ = whole.model_.split(whole.weights_)
    kept = table != 0
    assert kept.any()
    assert np.array_equal(table[kept], expected[kept])
    constraints = [ExpectationConstraint("w=dog", {"NOUN": 1.0, "DET": 0.0})]
    with pytest.raises(ValueError, match="pairs is 'observed', but no word has a known tag"):
        Tagger(pairs="observed", constraints=constraints).fit(WORDS)
