"""Translators: probabilities by enumeration, gradients by differences, files, and bad input."""

import copy
import itertools
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from partita import Hiero, Itg, Translator
from partita.estimators.alignment.em import EmCourse
from partita.estimators.alignment.latent import pair_corpus
from partita.estimators.alignment.material import read_pairs
from partita.estimators.base import NotFittedError
from partita.estimators.groups import Runs
from partita.estimators.translation import rule_extraction
from partita.estimators.translation.lexicon import LexiconOptions, TranslationLexicon
from partita.estimators.translation.pairs import PairsInMemory
from partita.estimators.translation.rule_extraction import (
    LinkRows,
    RuleLimits,
    count_rules,
    extract,
    phrases,
)
from partita.features.base import RepeatedFeatures
from partita.features.source_rules import SourceRuleFeatures
from partita.kernels.features import translation as translation_features
from partita.text.word_vocabulary import Numbered, WordVocabulary
from tests.estimators.small_translation import NOUNS, bitext
from tests.features.bare_rules import bare_features

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
OPTIONS = {"max_words": 8, "workers": 1, "progress": False}


def small(passes, **options):
    grammar = Itg(**{"n_bits": 12, "n_insertions": 1, "max_iterations": passes, **options})
    return Translator(grammar=grammar, **OPTIONS)


@pytest.fixture(scope="module")
def itg():
    return small(15).fit(*bitext())


@pytest.fixture(scope="module")
def hiero():
    source, target = bitext()
    translator = Translator(grammar=Hiero(min_count=1), workers=1, progress=False)
    return translator.fit(2 * source, 2 * target)


@pytest.mark.parametrize(("name", "kind", "usual"), [("itg", Itg, 3), ("hiero", Hiero, 200)])
def test_a_grammar_by_its_name_has_the_passes_of_the_translator(name, kind, usual):
    assert repr(Translator(grammar=name).chosen_grammar()) == repr(kind())
    assert kind().max_iterations == usual
    few = Translator(grammar=name, max_iterations=2, max_words=8, workers=1, progress=False)
    assert repr(few.chosen_grammar()) == repr(kind(max_iterations=2))
    few.set_params(grammar="hiero" if name == "hiero" else Itg(n_bits=10, max_iterations=2))
    if name == "itg":
        few.set_params(max_iterations=None)
    assert len(few.fit(*bitext()).training_.history) <= 2
    with pytest.raises(ValueError, match="max_iterations is 0; expected a whole number, 1 or more"):
        Translator(grammar=name, max_iterations=0).check()


@pytest.mark.parametrize("grammar", ["itg", "hiero"])
def test_words_move(grammar, request):
    translator = request.getfixturevalue(grammar)
    # Rules with gaps also put the adjective before "une porte" as a whole, which is never seen.
    noun = {"itg": "porte", "hiero": "maison"}[grammar]
    expected = ("a", "green", NOUNS[noun])
    assert translator.predict([["une", noun, "verte"]]) == [expected]
    assert translator.predict([["la", "maison"]], decoder="risk") == [("the", "house")]
    source, target = bitext()
    right = map(tuple.__eq__, translator.predict(source), map(tuple, target))
    assert sum(right) >= 0.9 * len(target)


def test_probabilities_of_all_targets_sum_to_one():
    source = [["a", "b"], ["b"], ["a"]]
    target = [["x", "y"], ["y"], ["x"]]
    translator = small(2, n_translations=2).fit(source, target)
    sentence = ["a", "b"]
    longest = translator.model_.family.bound.of(2)
    words = translator.model_.family.lexicon.target.names[2:]
    targets = [
        list(each) for m in range(longest + 1) for each in itertools.product(words, repeat=m)
    ]
    values = translator.log_prob([sentence] * len(targets), targets)
    np.testing.assert_allclose(np.exp(values).sum(), 1.0, **CLOSE)
    best = translator.k_best([sentence], 2)[0][0]
    exact = dict(zip(map(tuple, targets), values.tolist(), strict=True))
    # Few derivations are left out of so small a forest: the merged list is exact.
    np.testing.assert_allclose(best.log_probability, exact[best.words], rtol=1e-6)
    assert best.log_probability == pytest.approx(max(values), abs=1e-6)


@pytest.mark.parametrize("sentence", [["new", "new"], ["new", "a", "new"], ["a", "new"], ["x"]])
def test_probabilities_sum_to_one_where_words_are_copied(sentence):
    translator = small(1, n_translations=2)
    translator.fit([["a", "b"], ["b"], ["a"]], [["x", "y"], ["y"], ["x"]])
    longest = translator.model_.family.bound.of(len(sentence))
    targets = [
        list(each)
        for m in range(longest + 1)
        for each in itertools.product(["x", "y", "new"], repeat=m)
    ]
    values = translator.log_prob([sentence] * len(targets), targets)
    np.testing.assert_allclose(np.exp(values).sum(), 1.0, **CLOSE)
    assert translator.log_prob([["new"] * 2], [["new"] * 2])[0] > -np.inf


def test_a_sentence_has_one_translation_wherever_it_stands(itg):
    sentences = [["la", "maison", "verte"], ["la", "fleur"], ["une", "porte", "bleue"]]
    options = {"decoder": "risk", "length": "any", "n_samples": 2, "sharpness": 0.3}
    found = itg.predict(4 * sentences, **options)
    assert found == 4 * found[:3]
    assert itg.predict(sentences[::-1], **options) == found[2::-1]
    # The numbers are random, still: another seed draws others.
    others = [itg.predict(sentences, **options, seed=seed) for seed in range(1, 6)]
    assert any(each != found[:3] for each in others)


def test_the_gradient_is_that_of_the_loss(itg):
    family = itg.model_.family
    pairs = family.encode(*(side[:5] for side in bitext()))
    assert family.are_reachable(pairs).all()
    corpus = pair_corpus(family, pairs, None, 1)
    rng = np.random.default_rng(0)
    weights = family.first_weights()
    weights = weights + 0.1 * rng.normal(size=len(weights))
    _, gradient = corpus.value_and_gradient(weights)
    for _ in range(3):
        direction = rng.normal(size=len(weights))
        step = 1e-5
        ahead, behind = (corpus.value(weights + sign * step * direction) for sign in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * step), gradient @ direction, rtol=1e-6)


def test_the_loss_is_minus_the_log_probability(itg):
    source, target = bitext()
    family = itg.model_.family
    corpus = pair_corpus(family, family.encode(source, target), None, 1)
    expected = -itg.log_prob(source, target).sum()
    np.testing.assert_allclose(corpus.value(itg.model_.weights), expected, **CLOSE)


def test_pairs_are_encoded_together_as_each_alone(itg):
    family = itg.model_.family
    # Words that nobody knows, an empty side, and a word whose copy is not its equal.
    source = [["la", "fleur", "X"], [], ["X"], ["Y", "la", "Y"], ["verte"]]
    target = [["the", "X"], [], ["Y"], ["Y", "the"], ["green", "X"]]
    together = family.encode(source, target)
    rng, alone = np.random.default_rng(0), [*map(family.encode_pair, source, target)]
    weights = rng.normal(size=len(family.first_weights()))
    every = SourceRuleFeatures([pair.source.rules for pair in together], family.n_bits)
    parts, gradient = rng.normal(size=every.n_parts), np.zeros(len(weights))
    each = np.split(parts, np.cumsum([pair.source.parts.n_parts for pair in together])[:-1])
    scores = []
    for one, other, slopes in zip(together, alone, each, strict=True):
        np.testing.assert_array_equal(one.target, other.target)
        assert one.source.parts.links.is_same(other.source.parts.links)
        assert one.source.parts.insertions.is_same(other.source.parts.insertions)
        features = SourceRuleFeatures([other.source.rules], family.n_bits)
        scores.append(features.scores(weights))
        features.add_gradient(slopes, gradient)
    np.testing.assert_array_equal(every.scores(weights), np.concatenate(scores))
    np.testing.assert_array_equal(every.gradient(parts), gradient)
    assert family.are_reachable(together).tolist() == [
        bool(family.are_reachable([pair])[0]) for pair in alone
    ]


def test_features_are_a_linear_map_and_its_transpose(itg):
    family = itg.model_.family
    sentence = family.sentence(["la", "fleur", "bleue"])
    features = RepeatedFeatures(SourceRuleFeatures([sentence.rules], family.n_bits), 2)
    rng = np.random.default_rng(1)
    weights, scores = rng.normal(size=features.n_weights), rng.normal(size=features.n_parts)
    one, other = features.scores(weights) @ scores, features.gradient(scores) @ weights
    np.testing.assert_allclose(one, other, **CLOSE)


def test_a_feature_sees_the_words_it_names():
    def places(words, part):
        words = np.array([0, 0, *words, 0, 0])
        features = bare_features(words, words, 3, 20)
        gradient, found = np.zeros(features.n_parts), np.zeros(features.n_weights)
        gradient[part - 8] = 1.0
        features.add_gradient(gradient, found)
        assert found[: 2**20].sum() == translation_features.N_SPLIT
        return set(np.flatnonzero(found[: 2**20]))

    # Splits of three words are 0 1 2, 0 1 3, 0 2 3 and 1 2 3, then inverted. With another last word
    # what looks at it changes: both ends, all classes, the ends of the right part.
    assert len(places([5, 6, 7], 1) & places([5, 6, 9], 1)) == 13
    # A split of the first two words sees the third only as what comes behind.
    assert len(places([5, 6, 7], 0) & places([5, 6, 9], 0)) == 16
    # Straight and inverted have nothing in common.
    assert not places([5, 6, 7], 1) & places([5, 6, 7], 5)


@pytest.mark.parametrize("grammar", ["itg", "hiero"])
def test_a_model_file_holds_everything(grammar, request, tmp_path):
    translator = request.getfixturevalue(grammar)
    translator.save(tmp_path / "model")
    again = Translator.load(tmp_path / "model")
    source, target = bitext()
    source = [*source, ["la", "grange", "bleue"], []]
    assert again.predict(source) == translator.predict(source)
    np.testing.assert_array_equal(
        again.log_prob(source[:4], target[:4]), translator.log_prob(source[:4], target[:4])
    )
    assert again.k_best(source[:2], 3) == translator.k_best(source[:2], 3)


@pytest.mark.parametrize("grammar", ["itg", "hiero"])
def test_unknown_words_are_copied_and_empty_lines_stay_empty(grammar, request):
    translator = request.getfixturevalue(grammar)
    (found, empty) = translator.predict([["la", "grange"], []])
    assert "grange" in found
    assert empty == ()
    assert translator.log_prob([["la", "grange"]], [["the", "grange"]])[0] > -np.inf
    assert translator.log_prob([["la", "grange"]], [["the", "barn"]])[0] == -np.inf


def test_samples_have_their_probabilities(itg):
    sentence = ["la", "maison", "bleue"]
    drawn = itg.sample([sentence], 2000, np.random.default_rng(0))[0]
    best = itg.k_best([sentence], 1)[0][0]
    share = sum(words == best.words for words in drawn) / len(drawn)
    assert share == pytest.approx(np.exp(itg.log_prob([sentence], [best.words])[0]), abs=0.05)


def test_samples_without_replacement(itg):
    """First and second translation, against p(a) p(b) / (1 - p(a)) with derivations summed."""
    sentence, rng = ["la", "maison"], np.random.default_rng(0)
    drawn = [itg.sample([sentence], 2, rng, replace=False)[0] for _ in range(400)]
    assert all(first != second for first, second in drawn)
    best = [each.words for each in itg.k_best([sentence], 2)[0]]
    p, q = np.exp(itg.log_prob(2 * [sentence], best))
    share = sum(pair == best for pair in drawn) / len(drawn)
    expected = p * q / (1 - p)
    assert share == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 400))
    # All that there are; derivations of the same words were drawn again and again for them.
    (every,) = itg.sample([sentence], 500, rng, replace=False)
    assert len(set(every)) == len(every) < 500
    total = np.logaddexp.reduce(itg.log_prob(len(every) * [sentence], every))
    assert total == pytest.approx(0.0, abs=1e-9)
    assert itg.sample([[]], 3, rng, replace=False) == [[()]]


def test_long_sentences(itg):
    words = ["la", "maison"] * 30
    assert len(itg.predict([words])[0]) > 20
    assert itg.predict([words, ["la", "maison"]], long="skip")[0] == ()
    # A forest of them would take all memory there is.
    for ask in (
        lambda: itg.distribution(words),
        lambda: itg.k_best([words], 2),
        lambda: itg.sample([words], 2, np.random.default_rng(0)),
        lambda: itg.log_prob([words], [["the"]]),
    ):
        with pytest.raises(ValueError, match="a sentence has 60 words; expected at most max_words"):
            ask()


def test_pairs_that_are_skipped_are_counted():
    source, target = bitext()
    # Lengths that no other pair has: the longest target comes from the usual ones.
    bad_source = [[], ["la"], ["la"] * 30, ["fleur"]]
    bad_target = [["the"], [], ["the"] * 3, ["blue"] * 8]
    translator = small(1)
    translator.fit(3 * source + bad_source, 3 * target + bad_target)
    counts = translator.counts_
    assert (counts.n_pairs, counts.n_empty, counts.n_long) == (3 * len(source) + 4, 2, 1)
    assert counts.n_unreachable >= 1
    assert counts.n_used + counts.n_unreachable == 3 * len(source) + 1


def test_pairs_of_hierarchical_rules_are_counted_too():
    source, target = (3 * side for side in bitext())
    # The last pairs, a fifth of all, are for the weights; rules know nothing of these words.
    source[-2:], target[-2:] = [["la"], ["une"]], [["zebra"], ["zebra"]]

    def counted(n_tuning):
        grammar = Hiero(min_count=1, n_tuning=n_tuning)
        return Translator(grammar=grammar, workers=1, progress=False).fit(source, target).counts_

    counts = counted(3)
    n_rules = int(0.8 * len(source))
    # Pairs are tried eight at a time.
    n_tuned = counts.n_used - n_rules
    assert (counts.n_pairs, counts.n_unreachable, 3 <= n_tuned <= 8) == (len(source), 0, True)
    assert counts.n_spare == len(source) - counts.n_used
    counts = counted(99)
    assert (counts.n_used, counts.n_unreachable, counts.n_spare) == (len(source) - 2, 2, 0)
    assert "2 not reachable by the grammar" in str(counts)


def test_the_same_seed_gives_the_same_model_for_any_number_of_threads():
    source, target = bitext()
    models = [small(2).set_params(workers=threads).fit(source, target) for threads in (1, 2)]
    np.testing.assert_array_equal(models[0].model_.weights, models[1].model_.weights)
    assert models[0].predict(source) == models[1].predict(source)


def test_rules_are_the_same_for_any_number_of_threads(hiero):
    source, target = bitext()
    other = copy.copy(hiero).set_params(workers=2).fit(2 * source, 2 * target)
    rules, same = hiero.model_.family.rules, other.model_.family.rules
    np.testing.assert_array_equal(rules.sources.symbols, same.sources.symbols)
    np.testing.assert_array_equal(rules.targets.symbols, same.targets.symbols)
    np.testing.assert_array_equal(rules.features, same.features)
    np.testing.assert_array_equal(hiero.model_.weights, other.model_.weights)


def test_held_out_pairs_choose_the_pass():
    source, target = bitext()
    translator = small(3)
    translator.fit(source[4:], target[4:], held_out=(source[:4], target[:4]))
    assert len(translator.training_.history) == 3
    assert all(np.isfinite(record.held_out) for record in translator.training_.history)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grammar": "cfg"}, "grammar is 'cfg'; expected 'itg', 'hiero' or an object of"),
        ({"grammar": Itg(schedule="wild")}, "schedule is 'wild'; expected 'linear', 'constant'"),
        ({"grammar": Itg(n_bits=40)}, "n_bits is 40; expected a whole number, 4 to 28"),
        ({"grammar": Itg(n_translations=0)}, "n_translations is 0; expected a whole number, 1"),
        ({"grammar": Hiero(l2=-1)}, "l2 is -1; expected a number, 0 or more"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Translator(**arguments).fit([["a"]], [["b"]])


def test_bad_input(itg):
    with pytest.raises(ValueError, match="2 source and 1 target sentences"):
        Translator().fit([["a"], ["b"]], [["c"]])
    with pytest.raises(ValueError, match=r"source\[0\] is the text 'a b'"):
        Translator().fit(["a b"], [["c"]])
    with pytest.raises(ValueError, match="no pair can be learnt from"):
        Translator(max_words=1, progress=False).fit([["a", "b"]], [["c"]])
    with pytest.raises(ValueError, match="1 source and 2 target sentences"):
        itg.log_prob([["la"]], [["the"], ["a"]])
    with pytest.raises(ValueError, match="learnt nothing yet"):
        Translator().predict([["a"]])
    with pytest.raises(ValueError, match="decoder is 'x'"):
        itg.predict([["la"]], decoder="x")


@pytest.mark.parametrize("grammar", ["itg", "hiero"])
@pytest.mark.parametrize("loaded", [False, True])
def test_copies_answer_alike(grammar, loaded, request, tmp_path):
    found = request.getfixturevalue(grammar)
    if loaded:
        found.save(tmp_path / "model")
        found = Translator.load(tmp_path / "model")
        assert found.training_ is None
    joblib.dump(found, tmp_path / "copy")
    sentences = bitext()[0]
    expected = found.predict(sentences)
    for each in (
        pickle.loads(pickle.dumps(found)),
        copy.deepcopy(found),
        joblib.load(tmp_path / "copy"),
    ):
        assert repr(each) == repr(found)
        assert each.predict(sentences) == expected
    assert repr(clone(found)) == repr(found)
    assert clone(found).grammar is not found.grammar


def test_a_pair_counts_what_it_is_said_to():
    source, target = [["a"]] * 2, [["x"], ["y"]]
    weights = [3.0, 1.0]
    heavy = small(30, l2=1e-3, n_companions=0).fit(source, target, sample_weight=weights)
    p = np.exp(heavy.log_prob([["a"]] * 2, [["x"], ["y"]]))
    assert p[0] / p[1] == pytest.approx(3.0, rel=0.1)
    assert heavy.score([["a"]] * 2, [["x"] * 4, ["y"] * 4], sample_weight=[0, 1]) == 0.0
    with pytest.raises(ValueError, match="sample_weight has shape"):
        heavy.score([["a"]], [["x"]], sample_weight=[1, 2])


def test_entropy_and_streams(itg):
    sentence = ["la", "fleur"]
    p = itg.distribution(sentence).p
    every = itg.k_best([sentence, []], 1)
    assert every[1] == [((), 0.0)]
    assert itg.entropy([sentence, []])[0] == pytest.approx(p.entropy[0])
    assert itg.entropy([[]])[0] == 0.0
    stream = itg.predict_stream(iter([sentence] * 100), chunk=2)
    assert [next(stream), *stream] == itg.predict([sentence]) * 100
    with pytest.raises(NotFittedError, match="this Translator has learnt nothing yet"):
        small(1).entropy([sentence])


@pytest.mark.parametrize(
    ("grammar", "line"), [("itg", "house"), ("hiero", "log p(target | source)")]
)
def test_what_was_learnt_can_be_read(grammar, line, request):
    report = request.getfixturevalue(grammar).inspect(20)
    assert line in str(report)
    assert "<table>" in report._repr_html_()


def test_lexicon_lists():
    source, target = bitext()
    lexicon = TranslationLexicon.learn(read_pairs(source, target), LexiconOptions(n_translations=2))
    for word, other in {"maison": "house", "bleue": "blue", "la": "the"}.items():
        found = lexicon.choices(lexicon.source.number(word))
        assert lexicon.target.names[found[0]] == other
        assert len(found) <= 2


def rules_by_definition(source, target, links, limits):
    """All rules by trying every choice of phrases, straight from the definition."""
    n, m = len(source), len(target)
    boxes = [
        (i, j, k, end)
        for i, j in itertools.combinations(range(n + 1), 2)
        for k, end in itertools.combinations(range(m + 1), 2)
        if max(j - i, end - k) <= limits.longest_phrase
        and all((i <= a < j) == (k <= b < end) for a, b in links)
        and all(any(a == e for a, _ in links) for e in (i, j - 1))
        and all(any(b == e for _, b in links) for e in (k, end - 1))
    ]
    found = set()
    for i, j, k, end in boxes:
        inner = [
            b
            for b in boxes
            if b != (i, j, k, end) and i <= b[0] and b[1] <= j and k <= b[2] <= b[3] <= end
        ]
        for count in range(limits.most_slots + 1):
            for chosen in itertools.permutations(inner, count):
                gaps = list(zip(chosen, chosen[1:], strict=False))
                if any(second[0] <= first[1] for first, second in gaps):
                    continue  # out of order, overlapping or adjacent on the source side
                if any(a[2] < b[3] and b[2] < a[3] for a, b in itertools.combinations(chosen, 2)):
                    continue
                covered = {a for box in chosen for a in range(box[0], box[1])}
                if not any(i <= a < j and a not in covered for a, _ in links):
                    continue
                left = [
                    next((-1 - s for s, box in enumerate(chosen) if box[0] == a), source[a])
                    for a in range(i, j)
                    if a not in covered or any(box[0] == a for box in chosen)
                ]
                held = {b for box in chosen for b in range(box[2], box[3])}
                right = [
                    next((-1 - s for s, box in enumerate(chosen) if box[2] == b), target[b])
                    for b in range(k, end)
                    if b not in held or any(box[2] == b for box in chosen)
                ]
                if len(left) <= limits.most_symbols:
                    found.add((tuple(left), tuple(right)))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_rules_are_those_of_the_definition(seed):
    """Some words of either side have one partner, others none, and now and then one has two."""
    rng = np.random.default_rng(seed)
    for n, m, n_links in [(5, 5, 5), (5, 7, 4), (7, 6, 5), (6, 6, 3)]:
        links = set(zip(rng.permutation(n)[:n_links], rng.permutation(m)[:n_links], strict=True))
        links |= {(rng.integers(n), rng.integers(m)) for _ in range(seed % 2)}
        source, target = list(range(10, 10 + n)), list(range(20, 20 + m))
        limits = RuleLimits(longest_phrase=n - 1, most_symbols=4)
        found = {(r.source, r.target) for r in extract(source, target, sorted(links), limits)}
        assert found == rules_by_definition(source, target, links, limits)


@pytest.mark.parametrize("room", range(1, 24))
def test_rules_for_which_there_is_no_room_come_later(room, monkeypatch):
    """Wherever room ends: at a phrase, with one nonterminal or two, in the first pair or later."""
    source = target = Numbered(np.arange(8, dtype=np.int32), np.array([0, 3, 4, 8]))
    links = LinkRows.of([[(0, 0), (1, 1), (2, 2)], [(0, 0)], [(0, 1), (1, 0), (2, 3), (3, 2)]])
    whole = count_rules(source, target, links, RuleLimits())
    assert len(whole.rules()) == whole.counts.sum() > 23
    monkeypatch.setattr(rule_extraction, "ROOM", room)
    found = count_rules(source, target, links, RuleLimits())
    assert found.rules() == whole.rules()


def test_phrases_without_links():
    assert phrases([], 10) == []


def test_pairs_get_numbers_once_for_the_same_words():
    pairs = PairsInMemory(read_pairs([["la", "maison"], ["la"]], [["the", "house"], ["the"]]))
    learnt = pairs.directions(EmCourse(1), Runs(progress=False, workers=1)).words
    first, again = (next(pairs.each(lambda found: found.target, learnt)) for _ in range(2))
    others = WordVocabulary.learn([["house"]]), WordVocabulary.learn([["house"]])
    assert first is again
    assert next(pairs.each(lambda found: found.target, others)).numbers.tolist() == [1, 2, 1]
