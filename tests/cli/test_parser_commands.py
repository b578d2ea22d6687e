"""The commands with parsers: trees in, trees out, and all that can be asked about them."""

import pytest

from partita import DependencyParser
from partita.cli import main
from partita.data import read_conllu
from partita.data.dependencies import tree_heads
from partita.evaluation import compare_trees, trees_of

TREES = [
    "the/DET/2/det dog/NOUN/3/nsubj barks/VERB/0/root",
    "a/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root ./PUNCT/3/punct",
    "the/DET/3/det old/ADJ/3/amod dog/NOUN/4/nsubj sleeps/VERB/0/root",
    "a/DET/3/det small/ADJ/3/amod cat/NOUN/4/nsubj sees/VERB/0/root dogs/NOUN/4/obj",
    "dogs/NOUN/2/nsubj bark/VERB/0/root loudly/ADV/2/advmod ./PUNCT/2/punct",
    "cats/NOUN/2/nsubj:pass seen/VERB/0/root",
] * 3
RULES = """VERB <- ROOT at least 0.9
DET <- NOUN right 0.95
at least 0.8 of arcs:
    NOUN <- VERB
    ADJ <- NOUN
    VERB <- ROOT
"""
SMALL = "--n-bits 12 --label-bits 8 --workers 1 --no-progress --min-count 1"


def conllu(sentences, trees=True):
    text = ""
    for number, sentence in enumerate(sentences, 1):
        text += f"# sent_id = s{number}\n"
        for position, word in enumerate(sentence.split(), 1):
            form, tag, head, relation = word.split("/")
            if position == 1:
                text += f"1-2\t{form}+\t_\t_\t_\t_\t_\t_\t_\t_\n"
            tree = f"{head}\t{relation}" if trees else "_\t_"
            text += f"{position}\t{form}\t{form}\t{tag}\t{tag}\t_\t{tree}\t_\tNote={form}\n"
        text += "2.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    return text


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A directory of treebanks and models; tests must not change it."""
    directory = tmp_path_factory.mktemp("trees")
    (directory / "train.conllu").write_text(conllu(TREES))
    (directory / "bare.conllu").write_text(conllu(TREES[:5], trees=False))
    (directory / "rules").write_text(RULES)
    (directory / "raw.txt").write_text("the dog barks\n")
    (directory / "tagged.txt").write_text("the DET\ndog NOUN\nbarks VERB\n\na DET\ncat NOUN\n")
    for name, more in (("parser", ""), ("heads", "--no-labels --projective")):
        data, model = str(directory / "train.conllu"), str(directory / f"{name}.model")
        arguments = ["train", "parser", data, "-o", model, *SMALL.split(), *more.split()]
        assert main(arguments) == 0
    tagger = ["train", "tagger", str(directory / "train.conllu")]
    assert main([*tagger, "-o", str(directory / "tagger.model")]) == 0
    return directory


@pytest.fixture
def run(bank, run_in):
    """Runs a command in the directory of the treebanks."""
    return run_in(bank)


def test_from_file_to_trees_and_nothing_is_lost(run, bank):
    status, out, err = run("predict parser.model bare.conllu")
    assert status == 0
    assert out == conllu(TREES[:5])
    assert "Read bare.conllu: 5 sentences" in err


def test_windows_line_ends(run, tmp_path):
    (tmp_path / "crlf.conllu").write_bytes(conllu(TREES[:5], False).replace("\n", "\r\n").encode())
    status, out, _ = run("predict parser.model {path}", path=tmp_path / "crlf.conllu")
    assert (status, out) == (0, conllu(TREES[:5]))


def test_relations_of_the_input_do_not_survive_a_parser_without_labels(run):
    status, out, _ = run("predict heads.model train.conllu")
    assert status == 0
    rows = [row.split("\t") for row in out.split("\n") if row[:1].isdigit()]
    assert {row[7] for row in rows} == {"_"}


def test_columns_with_names(run):
    status, out, _ = run("predict parser.model tagged.txt --names FORM,UPOS")
    assert status == 0
    assert out.split("\n")[0].split("\t") == ["1", "the", "_", "DET", *"__", "2", "det", *"__"]


def test_the_likeliest_tree_with_its_relations(run):
    _, out, _ = run("predict parser.model bare.conllu --decoder joint")
    assert out == conllu(TREES[:5])
    status, _, err = run("predict tagger.model bare.conllu --decoder joint")
    assert status == 2
    assert "decoder is 'joint'" in err


def test_all_that_can_be_asked(run, tmp_path):
    options = "--probability --label-probability --entropy --log-probability --k-best 3 --sample 2"
    paths = {"path": tmp_path / "out.conllu.gz"}
    line = f"predict parser.model bare.conllu {options} --decoder risk -o {{path}}"
    status, out, _ = run(line, **paths)
    assert (status, out) == (0, "")
    sentence = read_conllu(tmp_path / "out.conllu.gz")[4]
    fields = [dict(item.split("=") for item in misc.split("|")) for misc in sentence.column("MISC")]
    assert list(fields[0]) == [
        "Note",
        "ArcProbability",
        "LabelProbability",
        "TreeEntropy",
        "LogProbability",
        *("Best1", "Best1LogProbability", "Best2", "Best2LogProbability"),
        *("Best3", "Best3LogProbability"),
        *("Sample1", "Sample2"),
    ]
    assert fields[0]["Note"] == "dogs"
    assert all(0.5 < float(each["ArcProbability"]) <= 1 for each in fields)
    assert all(0.3 < float(each["LabelProbability"]) <= 1 for each in fields)
    assert [each["Best1"] for each in fields] == list(sentence.column("HEAD"))
    assert fields[0]["LogProbability"] == fields[0]["Best1LogProbability"]
    best = [float(fields[0][f"Best{rank}LogProbability"]) for rank in (1, 2, 3)]
    assert 0 >= best[0] > best[1] >= best[2]
    assert {each["Sample2"] for each in fields} <= set("01234")


def test_more_trees_than_there_are(run, tmp_path):
    (tmp_path / "one.conllu").write_text(conllu(["dogs/NOUN/0/root"]).replace("1-2", "1-1"))
    line = "predict parser.model {path} --k-best 2 --sample 2 --no-replace"
    status, out, _ = run(line, path=tmp_path / "one.conllu")
    assert status == 0
    assert "Sample1=0|Sample2=_\n" in out
    assert "Best1=0|Best1LogProbability=0|Best2=_|Best2LogProbability=-inf" in out


def test_arcs_that_must_be_and_must_not_be(run, tmp_path):
    (tmp_path / "yes").write_text("# sentence head modifier\n1 3 1\ns2 0 1\n")
    (tmp_path / "no").write_text("3 4 3\n")
    line = "predict parser.model bare.conllu --required {yes} --forbidden {no} -o {out}"
    paths = {name: tmp_path / name for name in ("yes", "no", "out")}
    assert run(line, **paths)[0] == 0
    trees = [tree_heads(sentence) for sentence in read_conllu(tmp_path / "out")]
    assert trees[0][0] == 3
    assert trees[1][0] == 0
    assert trees[2][2] != 4


def test_arcs_that_may_not_cross(run, tmp_path):
    # Word 1 hangs on 3, so that 2 <- 4 would cross unless arcs may.
    (tmp_path / "arcs").write_text("5 3 1\n5 4 2\n")
    line = "predict parser.model bare.conllu --required {arcs} "
    status, out, _ = run(line + "--no-projective", arcs=tmp_path / "arcs")
    assert status == 0
    status, out, err = run(line + "--projective", arcs=tmp_path / "arcs")
    assert (status, out) == (2, "")
    assert "bare.conllu, line 35: the sentence has no tree whose arcs do not cross" in err
    assert "required of sentence 's5'" in err


def test_heads_that_are_kept(run, tmp_path):
    rows = conllu(TREES[:1], False).split("\n")
    rows[2] = rows[2].replace("\t_\t_\t_\tNote", "\t3\tx\t_\tNote")
    (tmp_path / "partial.conllu").write_text("\n".join(rows))
    for option, head in (("", "2"), ("--keep-heads", "3")):
        line = f"predict parser.model {{path}} {option}"
        status, out, _ = run(line, path=tmp_path / "partial.conllu")
        assert status == 0
        assert out.split("\n")[2].split("\t")[6] == head


def test_drawings(run, tmp_path):
    line = "predict parser.model bare.conllu --draw {path}"
    status, out, err = run(line, path=tmp_path / "drawn")
    assert (status, out) == (0, conllu(TREES[:5]))
    assert "Wrote 5 drawings to" in err
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == [
        f"{number}.svg" for number in range(1, 6)
    ]
    text = (tmp_path / "drawn" / "1.svg").read_text()
    assert text.startswith("<svg")
    assert "nsubj" in text


def test_a_sentence_of_five_hundred_words(run, tmp_path):
    long = " ".join(["dogs/NOUN/2/nsubj", "bark/VERB/0/root"] + ["loudly/ADV/2/advmod"] * 498)
    (tmp_path / "long.conllu").write_text(conllu([long]))
    for model in ("parser", "heads"):
        status, out, _ = run(f"predict {model}.model {{path}}", path=tmp_path / "long.conllu")
        assert status == 0
        assert out.count("\n") == 500 + 4


def test_explanation(run, tmp_path):
    line = "explain parser.model bare.conllu --sentence 3 --word 2 -n 2 --draw {path}"
    status, out, _ = run(line, path=tmp_path / "tree.svg")
    assert status == 0
    lines = out.split("\n")
    assert lines[0].endswith("the head of 'old' (word 2)")
    assert "'dog' (word 3) (p = 0." in lines[1]
    assert lines[4].split()[2:] == ["the/3", "old/3", "dog/4", "sleeps/0"]
    assert "templates more" in out
    assert (tmp_path / "tree.svg").read_text().startswith("<svg")
    status, out, _ = run("explain parser.model bare.conllu")
    assert status == 0


def test_inspection(run):
    status, out, _ = run("inspect parser.model -n 3")
    assert status == 0
    assert "kind                   parser\n" in out
    assert "trees                  projective, one root" in out
    assert "The strongest features of arcs" in out


# ---------------------------------------------------------------------- evaluation


def test_evaluation(run, tmp_path):
    line = "evaluate parser.model train.conllu --diagram {path} --samples 50"
    status, out, _ = run(line, path=tmp_path / "reliability.svg")
    assert status == 0
    rows = [line.split() for line in out.split("\n")]
    assert rows[1][:4] == ["all", "words", "66", "100.00"]
    assert rows[2][:4] == ["without", "punctuation", "60", "100.00"]
    assert "calibration error of arcs  0." in out
    assert ["1", "to", "10", "66", "100.00", "100.00"] in rows
    assert ["nsubj", "18", "18", "100.00", "100.00", "100.00", "100.00"] in rows
    assert (tmp_path / "reliability.svg").read_text().startswith("<svg")


def test_the_evaluation_is_that_of_what_is_predicted(run, bank, tmp_path):
    run("predict heads.model train.conllu -o {path}", path=tmp_path / "parsed")
    gold, parsed = read_conllu(bank / "train.conllu"), read_conllu(tmp_path / "parsed")
    scores = compare_trees(gold, trees_of(gold, parsed))
    status, out, _ = run("evaluate heads.model train.conllu --samples 10")
    assert status == 0
    cells = out.split("\n")[1].split()
    assert (cells[3], cells[-2]) == (f"{100 * scores.uas:.2f}", "-")


def test_an_evaluation_by_batches_says_the_same(run, bank, tmp_path):
    # The last batch has no heads, and is nothing to complain of.
    path = tmp_path / "some.conllu"
    path.write_text(conllu(TREES[:10]) + conllu(TREES[:5], trees=False))
    whole, parts = (
        run(f"evaluate parser.model {path} --samples 10 --batch {n}") for n in ("100", "3")
    )
    assert whole[:2] == parts[:2]
    assert whole[0] == 0


def test_against_another_system(run, bank, tmp_path):
    for other in ("heads.model", "train.conllu"):
        line = f"evaluate parser.model train.conllu --against {other} --samples 20"
        status, out, _ = run(line)
        assert status == 0
        assert f"against {other}  better by  95 % of samples" in out
        assert ("LAS" in out.split("against")[1].split("words")[0]) == (other == "train.conllu")


# ---------------------------------------------------------------------- training


def test_rules_without_trees(run, tmp_path):
    line = f"train parser --unlabelled bare.conllu --rules rules -o {{model}} --no-labels {SMALL}"
    status, _, err = run(line, model=tmp_path / "ruled.model")
    assert status == 0
    assert "Wrote" in err
    status, out, _ = run("predict {model} bare.conllu", model=tmp_path / "ruled.model")
    assert out.split("\n")[4].split("\t")[6] == "0"


def test_relations_together_with_arcs(run, tmp_path):
    line = f"train parser train.conllu -o {{model}} --labels joint {SMALL}"
    assert run(line, model=tmp_path / "model")[0] == 0
    status, out, _ = run("predict {model} bare.conllu", model=tmp_path / "model")
    assert (status, out) == (0, conllu(TREES[:5]))


def test_the_second_order_and_arcs_that_cross(run, tmp_path):
    crossing = conllu(["a/DET/3/det b/NOUN/4/obj c/VERB/0/root d/ADJ/3/advcl"] * 9)
    (tmp_path / "crossing.conllu").write_text(crossing)
    options = f"--order 2 --sibling-bits 8 --max-iterations 12 {SMALL}"
    paths = {"model": tmp_path / "model", "data": tmp_path / "crossing.conllu"}
    assert run(f"train parser train.conllu {{data}} -o {{model}} {options}", **paths)[0] == 0
    # One sentence in three is far more than the share from which on labels remember.
    for data, trees in ((paths["data"], crossing), ("train.conllu", conllu(TREES))):
        status, out, _ = run("predict {model} {given}", given=data, **paths)
        assert (status, out) == (0, trees)
    status, out, _ = run("inspect {model}", **paths)
    assert "2: arcs and pairs of siblings" in out
    for line in ("predict parser.model bare.conllu", "evaluate parser.model train.conllu"):
        status, out, _ = run(f"{line} --rescorer {{model}}", **paths)
        assert status == 0
    assert "UAS" in out
    status, _, err = run("predict parser.model bare.conllu --rescorer tagger.model")
    assert status != 0
    assert "expected a parser as --rescorer" in err


def test_a_table_of_rules_and_its_share(run, tmp_path):
    (tmp_path / "table").write_text("ROOT\tVERB\nVERB\tNOUN\nNOUN\tDET\nNOUN\tADJ\n")
    line = (
        "train parser --unlabelled bare.conllu --rules {table} --rule-share 0.7 --no-labels "
        f"-o {{model}} {SMALL}"
    )
    paths = {"table": tmp_path / "table", "model": tmp_path / "model"}
    assert run(line, **paths)[0] == 0
    status, _, err = run(line.replace("0.7", "7"), **paths)
    assert status == 2
    assert "table, line 1: the target 7.0 came; expected a share from 0 to 1" in err


def test_held_out_sentences_a_checkpoint_and_a_log(run, tmp_path):
    line = (
        "train parser train.conllu --unlabelled bare.conllu --held-out train.conllu -o {model} "
        "--checkpoint {run} --log {log} --entropy-weight 0.1 --max-iterations 2 --patience 2 "
        f"--warm-start parser.model {SMALL}"
    )
    names = ("model", "run", "log")
    status, _, _ = run(line, **{name: tmp_path / name for name in names})
    assert status == 0
    assert (tmp_path / "run").exists()
    assert (tmp_path / "log").read_text().startswith("{")


MISTAKES = [
    ("train parser -o m", "no data came; name files with trees"),
    ("train parser bare.conllu -o m", "bare.conllu: no word has a head; expected trees"),
    ("train parser raw.txt -o m", "raw.txt: this seems to be plain text, which has no tags"),
    ("train parser {0}/cycle -o m", "cycle, line 3: the words 1 -> 2 -> 1 of sentence 's1'"),
    ("train parser {0}/roots -o m", "roots, line 4: word 2 of sentence 's1' has the head 0"),
    ("train parser {0}/range -o m", "range, line 3: the head of word 1 of sentence 's1' is '9'"),
    ("train parser {0}/text -o m", "text, line 3: the head of word 1 of sentence 's1' is 'x', no"),
    ("train parser train.conllu --rules {0}/bad -o m", "bad, line 1: found 'NOUN VERB'"),
    ("train parser train.conllu --rules none -o m", "none: No such file"),
    ("train parser train.conllu --features {0}/bad -o m", "bad, line 1"),
    ("train parser train.conllu --warm-start tagger.model -o m", "expected one that train parser"),
    ("train parser train.conllu -o none/m", "there is no folder"),
    ("train parser train.conllu --held-out bare.conllu -o m", "bare.conllu: no word has a head"),
    ("predict parser.model raw.txt", "raw.txt: this seems to be plain text"),
    ("predict parser.model bare.conllu --k-best 0", "--k-best is 0; expected 1 or more"),
    ("predict parser.model bare.conllu --sample 0", "--sample is 0; expected 1 or more"),
    ("predict parser.model bare.conllu --tag-column X", "--tag-column is for taggers"),
    ("predict parser.model bare.conllu --no-replace", "--no-replace came without --sample"),
    ("predict heads.model bare.conllu --label-probability", "this parser has no labels"),
    ("predict parser.model bare.conllu --required {0}/arc", "arc, line 2: found the arc from 9"),
    ("predict parser.model bare.conllu --required {0}/line", "line, line 1: found '1 2'"),
    ("predict parser.model bare.conllu --forbidden {0}/sentence", "sentence, line 1: found"),
    ("predict parser.model bare.conllu --required {0}/twice", "line 3: the sentence has no tree "),
    ("predict parser.model bare.conllu --draw {0}/cycle", "Is a file; name a directory"),
    ("predict parser.model bare.conllu --draw none/x", "No such directory"),
    ("predict parser.model {0}/loop --keep-heads", "loop, line 3: the words 1 -> 2 -> 1"),
    ("evaluate parser.model bare.conllu", "no word has a head"),
    ("evaluate parser.model train.conllu --samples 0", "--samples is 0"),
    ("evaluate parser.model train.conllu --against tagger.model", "expected a parser, or a file"),
    ("evaluate parser.model train.conllu --against bare.conllu", "there are 5 sentences, but 18"),
    ("explain parser.model bare.conllu --sentence 6", "--sentence is 6; expected 1 to 5"),
    ("explain parser.model bare.conllu --word 4", "--word is 4; expected 1 to 3"),
    ("explain parser.model bare.conllu --draw none/x", "there is no folder"),
    ("explain parser.model bare.conllu --draw bare.conllu", "the drawing would be written to bare"),
    ("explain parser.model bare.conllu --draw ./parser.model", "which is an input of this command"),
    ("explain tagger.model bare.conllu --draw x", "--draw is for parsers"),
    ("select parser.model bare.conllu", "which this command cannot use"),
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    directory = tmp_path_factory.mktemp("broken")
    for name, first, second in (
        ("cycle", 2, 1),
        ("roots", 0, 0),
        ("range", 9, 0),
        ("text", "x", 0),
        ("loop", 2, 1),
    ):
        text = conllu([f"a/X/{first}/dep b/X/{second}/dep"])
        (directory / name).write_text(text.replace("2.1\t", "2.2\t"))
    (directory / "bad").write_text("NOUN VERB\n")
    (directory / "arc").write_text("1 0 1\n1 9 1\n")
    (directory / "line").write_text("1 2\n")
    (directory / "twice").write_text("1 2 1\n1 3 1\n")
    (directory / "sentence").write_text("77 0 1\n")
    return directory


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_one_message_and_nothing_written(line, message, run, bank, broken):
    before = sorted(path.name for path in (*bank.iterdir(), *broken.iterdir()))
    status, out, err = run(line.replace("{0}", "{broken}"), broken=broken)
    assert (status, out) == (2, "")
    complaints = [text for text in err.split("\n") if text.startswith("partita: ")]
    assert len(complaints) == 1
    assert message in complaints[0]
    assert "Traceback" not in err
    assert sorted(path.name for path in (*bank.iterdir(), *broken.iterdir())) == before


def test_training_by_a_cache_writes_the_same_model(run, tmp_path):
    line = f"train parser train.conllu -o {{path}} --max-iterations 1 {SMALL}"
    plain, cached = tmp_path / "plain", tmp_path / "cached"
    assert run(line, path=plain)[0] == 0
    status, _, err = run(line + " --cache {folder}", path=cached, folder=tmp_path / "kept")
    assert status == 0
    assert "Reading 1 file in 1 block" in err
    one, two = map(DependencyParser.load, (plain, cached))
    assert one.weights_.tobytes() == two.weights_.tobytes()
    assert one.label_weights_.tobytes() == two.label_weights_.tobytes()
