"""Templates: our text form, CRF++'s files, and the attributes they make."""

import numpy as np
import pytest
from numba import njit

from partita.data.constraints import ExpectationConstraint
from partita.data.errors import DataError
from partita.estimators.tagging.tagger import Tagger
from partita.kernels.features.lookup import number_of
from partita.text.extraction import TemplateFeatures
from partita.text.fields import Field, Template
from partita.text.keys import Combination, KeyTable
from partita.text.lookup import JoinedTables
from partita.text.templates import (
    default_templates,
    parse_templates,
    read_templates,
    resolved,
)
from partita.text.views import find_view
from partita.text.words import read_words

SENTENCES = [["The", "dog", "barks"], ["the", "3-year-old"], ["Yes"]]


def names(features, encoded):
    """The attributes of each word, as text."""
    rows = encoded.words
    return [
        [features.name(int(number)) for number in rows.ids[begin:end]]
        for begin, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    ]


def built(text, sentences=SENTENCES, min_count=1):
    words = read_words(sentences)
    templates = resolved(read_templates(text), tuple(words.columns))
    return TemplateFeatures.build(templates, words, min_count)


def test_text_form_and_objects_are_the_same():
    text = "FORM[-1].lower FORM[0]  # a pair\n\n# nothing\ntransition: FORM[0].capital\n"
    templates = parse_templates(text)
    assert templates == (
        Template((Field("FORM", -1, "lower"), Field("FORM"))),
        Template((Field("FORM", 0, "capital"),), transition=True),
    )
    assert parse_templates("\n".join(template.text for template in templates)) == templates
    assert read_templates(templates) == templates


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("FORM[0]\nFORM[x]", 2, "found 'FORM[x]'"),
        ("FORM[0].upper", 1, "there is no view 'upper'"),
        ("U00:%x[0,0]\n\nU01:%x[0,]", 3, "expected %x[row,column]"),
        ("U00:%x[0,0]\nX00", 2, "found 'X00'"),
        ("U00:%x[0,0]\nU00:%x[1,0]", 2, "used again, first in line 1"),
    ],
)
def test_errors_name_the_line(text, line, message):
    with pytest.raises(DataError) as caught:
        parse_templates(text, "file.txt")
    assert str(caught.value).startswith(f"file.txt, line {line}: ")
    assert message in str(caught.value)


def test_a_file_without_templates_is_an_error(tmp_path):
    path = tmp_path / "template"
    path.write_text("# only a comment\n")
    with pytest.raises(DataError, match="template: there are no templates"):
        read_templates(path)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="uses column 1, counting from 0; the data have 1: FORM"):
        resolved(parse_templates("U0:%x[0,1]"), ["FORM"])
    with pytest.raises(ValueError, match="uses column 'XPOS'"):
        resolved(parse_templates("XPOS[0]"), ["FORM"])


def test_attributes_are_what_the_templates_say():
    features, encoded = built("FORM[0]\nFORM[-1].lower FORM[1]\nFORM[0].suffix2\nFORM[0].digit")
    found = names(features, encoded)
    assert found[0] == [
        "FORM[0]=The",
        "FORM[-1].lower FORM[1]=_B-1|dog",
        "FORM[0].suffix2=he",
    ]
    assert found[4] == [
        "FORM[0]=3-year-old",
        "FORM[-1].lower FORM[1]=the|_B+1",
        "FORM[0].suffix2=ld",
        "FORM[0].digit=some",
    ]
    assert found[5] == ["FORM[0]=Yes", "FORM[-1].lower FORM[1]=_B-1|_B+1", "FORM[0].suffix2=es"]


def test_every_attribute_by_a_slow_but_plain_way():
    rng = np.random.default_rng(0)
    words = [f"{'aA1'[i % 3]}{i}-x" for i in range(20)]
    sentences = [list(rng.choice(words, size=n)) for n in rng.integers(1, 9, size=30)]
    templates = default_templates({"FORM": ["x"]})
    features, encoded = TemplateFeatures.build(templates, read_words(sentences))
    expected = []
    for sentence in sentences:
        for position in range(len(sentence)):
            row = (_plain(template, sentence, position) for template in templates[:-1])
            expected.append([name for name in row if name is not None])
    assert names(features, encoded) == expected
    again = features.encode(read_words(sentences))
    assert np.array_equal(again.words.ids, encoded.words.ids)
    assert np.array_equal(again.words.offsets, encoded.words.offsets)


def _plain(template, sentence, position):
    values = []
    for field in template.fields:
        place = position + field.offset
        if place < 0:
            values.append(f"_B{place}")
        elif place >= len(sentence):
            values.append(f"_B+{place - len(sentence) + 1}")
        else:
            value = find_view(field.view)(sentence[place])
            if value is None:
                return None
            values.append(value)
    return f"{template.text}={'|'.join(values)}"


def test_min_count_and_unseen_words():
    features, encoded = built("FORM[0].lower\nFORM[1].lower", min_count=2)
    assert {features.name(number) for number in range(features.n_attributes)} == {
        "FORM[0].lower=the",
        "FORM[1].lower=_B+1",
    }
    assert features.name(0) == "FORM[1].lower=_B+1"  # the most frequent one
    again = features.encode(read_words([["THE", "cat"]]))
    assert names(features, again) == [["FORM[0].lower=the"], ["FORM[1].lower=_B+1"]]
    assert len(encoded.words.ids) == 5


def test_transition_templates_make_rows_of_neighbours():
    features, encoded = built("U0:%x[0,0]\nB1:%x[0,0]\nB")
    steps = encoded.transitions
    assert steps.n_rows == 3  # two in the first sentence, one in the second
    found = [features.name(int(number), transition=True) for number in steps.ids]
    assert found == ["B1=dog", "B", "B1=barks", "B", "B1=3-year-old", "B"]
    assert built("U0:%x[0,0]\nB")[1].transitions is None


def test_keys_that_do_not_fit_into_64_bits():
    sizes = [2**40, 2**40, 2**40]
    codes = [np.array([5, 2**39, 5]), np.array([7, 3, 7]), np.array([2**38, 1, 2])]
    combination = Combination(sizes)
    (keys,) = combination.keys(all_seen(codes), learn=True)
    assert len(set(keys.tolist())) == 3
    for place, key in enumerate(keys.tolist()):
        assert combination.codes(key) == [int(column[place]) for column in codes]
    again = Combination(sizes, combination.seen)
    assert again.space == combination.space
    assert np.array_equal(again.keys(all_seen(codes)), [keys])
    assert again.keys(all_seen([np.array([6]), np.array([7]), np.array([2])])).tolist() == [[-1]]


def all_seen(codes):
    """Fields that see one code at every place."""
    return [(column[None], np.arange(len(column))) for column in codes]


def test_keys_of_fields_that_see_several_things():
    several = np.array([[1, 2, 0], [0, -1, -1]]), np.array([0, 1, 2, 1])
    one = np.array([[4, 3, -1]]), np.array([1, 0, 0, 2])
    found = Combination([3, 5]).keys([several, one])
    assert found.tolist() == [[8, 14, 4, -1], [3, -1, -1, -1]]
    assert Combination([5, 3]).keys([one, several]).tolist() == [[10, 14, 12, -1], [9, -1, -1, -1]]


@pytest.mark.parametrize("space", [100, 2**50])
def test_key_tables_dense_and_sparse(space):
    table = KeyTable(np.array([3, 50]), np.array([1, 0], dtype=np.int32), space)
    empty = KeyTable(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), space)
    assert (table.by_key() is None) == (space > 100)
    keys = np.array([50, 4, -1, 3])
    for tables, place in [([table], 0), ([empty, table, empty], 1)]:
        assert looked_up(tables, place, keys).tolist() == [0, -1, -1, 1]
    assert looked_up([empty, table, empty], 2, keys).tolist() == [-1, -1, -1, -1]


def looked_up(tables, place, keys):
    """The numbers of keys in one of several tables."""
    found = np.empty(len(keys), dtype=np.int64)
    find_all(keys, place, JoinedTables([], tables).tables, found)
    return found


@njit
def find_all(keys, place, tables, found):
    for k in range(len(keys)):
        found[k] = number_of(keys[k], place, tables)


@pytest.mark.parametrize("n_known", [1, 3, 4, 100, 5000])
@pytest.mark.parametrize("space", [2**13, 10**7, 2**62 - 1])
def test_key_tables_find_what_a_dictionary_finds(n_known, space):
    rng = np.random.default_rng(n_known)
    # Most keys lie together, as those of frequent words do; the last possible one is there, too.
    drawn = (space * rng.random(n_known) ** 6).astype(np.int64)
    known = np.unique(np.append(drawn, space - 1))
    numbers = rng.permutation(len(known)).astype(np.int32)
    table = KeyTable(known, numbers, space)
    keys = np.concatenate([known, known - 1, np.minimum(known + 1, space - 1), [-1, 0]])
    expected = dict(zip(known.tolist(), numbers.tolist(), strict=True))
    other = KeyTable(np.array([1, 5]), np.array([4, 3], dtype=np.int32), 2**40)
    for tables, place in [([table], 0), ([other, table], 1)]:
        found = looked_up(tables, place, keys)
        assert found.tolist() == [expected.get(key, -1) for key in keys.tolist()]


# ------------------------------------------------------------------ values that hold several

FEATS = [
    [("dogs", "Case=Nom|Number=Plur"), ("bark", "_"), ("I", "Number=Sing|Case=Nom|Case=Nom")],
    [("a", "Case=Acc")],
]


def built_on(text, sentences, columns=("FORM", "FEATS"), **options):
    words = read_words(sentences, columns)
    return TemplateFeatures.build(parse_templates(text), words, **options)


def test_each_of_several_values_is_an_attribute():
    features, encoded = built_on("FEATS[0].each\nFEATS[-1].lower.each FORM[0]", FEATS)
    found = [sorted(row) for row in names(features, encoded)]
    assert found == [
        ["FEATS[-1].lower.each FORM[0]=_B-1|dogs", "FEATS[0].each=Case=Nom"]
        + ["FEATS[0].each=Number=Plur"],
        ["FEATS[-1].lower.each FORM[0]=case=nom|bark"]
        + ["FEATS[-1].lower.each FORM[0]=number=plur|bark"],
        ["FEATS[0].each=Case=Nom", "FEATS[0].each=Number=Sing"],
        ["FEATS[-1].lower.each FORM[0]=_B-1|a", "FEATS[0].each=Case=Acc"],
    ]
    # The same attribute whatever its place in the value, so it occurs twice.
    kept, _ = built_on("FEATS[0].each", FEATS, min_count=2)
    assert [kept.name(number) for number in range(kept.n_attributes)] == ["FEATS[0].each=Case=Nom"]


def test_new_values_may_hold_more_than_training_saw():
    features, _ = built_on("FEATS[0].each", FEATS)
    new = read_words([[("x", "A=1|B=2|C=3|Number=Sing|Case=Acc")], [("y", "_")]], ("FORM", "FEATS"))
    found = names(features, features.encode(new))
    assert found == [["FEATS[0].each=Number=Sing", "FEATS[0].each=Case=Acc"], []]


def test_a_column_in_which_nothing_is_seen():
    features, encoded = built_on(
        "FEATS[0].each\nFEATS[-1].each\nFORM[0]", [[("x", "_"), ("y", "_")]]
    )
    assert names(features, encoded) == [["FEATS[-1].each=_B-1", "FORM[0]=x"], ["FORM[0]=y"]]


def test_parts_by_their_place():
    sentences = [[("Dogs", "dog|true|NNS"), ("bark", "bark|false|VBP")]]
    features, encoded = built_on("2[0].part1\n2[-1].part3\n2[0].part4", sentences, ("0", "2"))
    assert names(features, encoded) == [
        ["2[0].part1=dog", "2[-1].part3=_B-1"],
        ["2[0].part1=bark", "2[-1].part3=NNS"],
    ]


def test_default_features_see_parts():
    joined = default_templates({"0": ["Dogs"] * 99, "2": ["dog|true"] * 98 + ["x|y|z"]})
    assert [each.text for each in joined if each.text.startswith("2[0]")] == [
        "2[0].part1",
        "2[0].part2",
    ]
    sets = default_templates({"FORM": ["a", "b"], "FEATS": ["A=1|B=2", "_"]})
    assert "FEATS[0].each" in [each.text for each in sets]
    plain = default_templates({"FORM": ["a", "b"], "XPOS": ["NN", "|"]})
    assert "XPOS[0]" in [each.text for each in plain]


def test_one_field_that_sees_several_is_enough():
    with pytest.raises(DataError, match=r"line 2: .* see several things each.*one such field"):
        parse_templates("FORM[0]\nFEATS[0].each FEATS[-1].each")


def test_a_tagger_with_sets_of_features_and_its_file(tmp_path):
    tagger = Tagger(columns=["FORM", "FEATS"], progress=False, max_iterations=5)
    tagger.fit(FEATS, [["N", "V", "P"], ["D"]])
    assert "FEATS[0].each=Case=Acc" in {
        strength.feature for strength in tagger.inspect(99).features["D"]
    }
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.log_prob(FEATS, [["N", "V", "P"], ["D"]]).tobytes() == (
        tagger.log_prob(FEATS, [["N", "V", "P"], ["D"]]).tobytes()
    )


def test_a_constraint_on_one_of_several_values():
    constraint = ExpectationConstraint("FEATS[0].each=Case=Nom", {"N": 1.0, "V": 0.0})
    tagger = Tagger(columns=["FORM", "FEATS"], constraints=[constraint], progress=False)
    tagger.fit(FEATS)
    tags = tagger.predict(FEATS)[0]
    assert (tags[0], tags[2]) == ("N", "N")
