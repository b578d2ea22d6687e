"""`partita train classes`, and a tagger that looks at them."""

from partita import Tagger, samples
from partita.data.word_classes import read_word_classes


def test_from_text_to_a_tagger(run, tmp_path):
    train = samples.path("treebank-train.conllu")
    classes, model = tmp_path / "classes.tsv", tmp_path / "tagger.model"
    status, _, err = run(
        "train classes {train} -o {classes} --n-classes 8", train=train, classes=classes
    )
    assert status == 0, err
    assert "words in 8 classes" in err
    assert len(set(read_word_classes(classes).values())) == 8
    line = "train tagger {train} -o {model} --classes {classes} --lexicon --max-iterations 3"
    status, _, err = run(line, train=train, classes=classes, model=model)
    assert status == 0, err
    features = Tagger.load(model).weight_table().columns["feature"]
    assert any(name.startswith("CLASS[0]=") for name in features)
    assert any(name.startswith("LEXICON[0]=") for name in features)
    (tmp_path / "classes.tsv").write_text("no tab here\n")
    status, _, err = run(line, train=train, classes=classes, model=model)
    assert status == 2
    assert "classes.tsv, line 1: found 'no tab here'" in err
