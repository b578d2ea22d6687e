"""An option that would change nothing is refused, and says what it needs."""

import re

import pytest

import partita as pt
from partita.objectives import StructuredPerceptron
from partita.training import Adam

WORDS, TAGS = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
IDLE = [
    (pt.Tagger(n_steps=5), "n_steps is 5, which changes nothing without objective='contrastive"),
    (pt.Tagger(entropy_ramp=5), "entropy_ramp is 5, which changes nothing without an entropy_weig"),
    (pt.Tagger(constraint_weight=5.0), "constraint_weight is 5.0, which changes nothing without"),
    (pt.Tagger(constraint_distance="squared"), "changes nothing without constraints"),
    (
        pt.Tagger(class_weights="balanced", objective=StructuredPerceptron()),
        "class_weights is 'balanced', which changes nothing without objective='likelihood', 'risk'",
    ),
    (pt.Segmenter(segment_features=False, segment_min_count=3), "without segment_features"),
    (pt.DependencyParser(rule_weight=5.0), "rule_weight is 5.0, which changes nothing without rul"),
    (pt.DependencyParser(n_models=3, optimiser="lbfgs"), "without mini-batches"),
    (pt.DependencyParser(pseudo_projective=True, projective=False), "where arcs may cross"),
    (
        pt.HiddenMarkovTagger(features="usual", alpha=3.0),
        "alpha is 3.0, which changes nothing besi",
    ),
    (pt.HiddenMarkovTagger(l2=3.0), "l2 is 3.0, which changes nothing without features or a"),
    (pt.Translator(grammar=pt.Itg(optimiser=Adam(), rate=0.1)), "rate is 0.1, which changes nothi"),
    (
        pt.Translator(grammar=pt.Hiero(), max_iterations=3),
        "max_iterations is 3, which changes nothing beside a grammar that is an object",
    ),
    (
        pt.Aligner(max_iterations=3),
        "max_iterations is 3, which changes nothing without model='crf'",
    ),
]


@pytest.mark.parametrize(("estimator", "message"), IDLE)
def test_options_that_need_others(estimator, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator.check()


def test_options_that_need_data():
    message = "which changes nothing without held-out data (held_out=..., or --held-out)"
    for estimator in (pt.Tagger(patience=2), pt.Segmenter(patience=2), pt.Aligner(patience=2)):
        with pytest.raises(ValueError, match=re.escape(message)):
            estimator.fit(WORDS, TAGS)
    # The conditional random field holds some pairs out by itself, and gold links came to none.
    with pytest.raises(ValueError, match="wrong_cost is 3.0, which changes nothing without gold"):
        pt.Aligner(model=pt.ItgAlignment(wrong_cost=3.0), patience=2).fit(WORDS, TAGS)
    for features in (None, ["suffix2"]):
        tagger = pt.HiddenMarkovTagger(features=features, n_restarts=2)
        with pytest.raises(ValueError, match="n_restarts is 2, which changes nothing without any"):
            tagger.fit(WORDS, TAGS)


def test_defaults_and_zeros_are_never_idle():
    pt.Tagger(n_steps=1, entropy_ramp=20, constraint_weight=10.0).check()
    pt.DependencyParser(n_models=1, optimiser="lbfgs", pseudo_projective=False).check()


def test_a_file_keeps_the_weight_of_constraints_and_not_them(tmp_path):
    constraints = [pt.data.ExpectationConstraint("w=dog", {"N": 1.0})]
    options = {"constraints": constraints, "constraint_weight": 5.0, "max_iterations": 1}
    pt.Tagger(**options).fit(WORDS, TAGS).save(tmp_path / "model")
    found = pt.Tagger.load(tmp_path / "model")
    assert found.constraint_weight == 5.0
    # To start from, it is as good as any.
    pt.Tagger(warm_start=found).check()
    with pytest.raises(ValueError, match="without constraints"):
        found.fit(WORDS, TAGS)
