"""The commands on small files: what they write, where, and that nothing is lost."""

import io
import subprocess
import sys

import pytest

from partita import HiddenMarkovTagger, Segmenter
from partita.cli.select import STRATEGIES
from partita.data import read_constraints, read_sentences
from partita.data.formats import parse_sentences as read_sentences_of
from partita.estimators.tagging.tagger import Tagger


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_from_file_to_tags(run, kind):
    status, out, err = run(f"predict {kind}.model raw.txt")
    assert (status, out.split("\n")[:2]) == (0, ["the\tDET", "small\tADJ"])
    assert out.count("\n\n") == 2
    assert "Reading raw.txt: plain text\n" in err
    assert "Plain text: punctuation is split off words" in err
    assert "Read raw.txt: 2 sentences, 6 words" in err


def test_patterns_stand_for_their_files(run, files, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.conllu").write_bytes((files / "train.conllu").read_bytes())
    line = "train hmm {0}/*.conllu --held-out {0}/[b].conllu -o {0}/m".replace("{0}", "{folder}")
    status, _, err = run(line, folder=tmp_path)
    assert status == 0, err
    reads = [text for text in err.split("\n") if text.startswith("Read ")]
    assert [text.split(":")[0][-8:] for text in reads] == ["a.conllu", "b.conllu", "b.conllu"]
    assert run("predict {folder}/m {folder}/a*", folder=tmp_path)[0] == 0


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_conllu_keeps_everything_else(run, files, kind):
    status, out, _ = run(f"predict {kind}.model train.conllu")
    assert status == 0
    assert out == (files / "train.conllu").read_text()


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_all_that_can_be_asked(run, files, tmp_path, kind):
    options = "--probability --entropy --span-entropy 3 --log-probability --k-best 2 --decoder risk"
    path = tmp_path / "out.conllu.gz"
    status, out, err = run(f"predict {kind}.model train.conllu {options} -o {{path}}", path=path)
    assert (status, out) == (0, "")
    assert f"Wrote {path}" in err
    misc = read_sentences(path)[0].column("MISC")[0]
    names = [item.split("=")[0] for item in misc.split("|")]
    expected = ["SpaceAfter", "Probability", "Entropy", "SpanEntropy", "LogProbability"]
    expected += ["Best1", "Best1LogProbability", "Best2", "Best2LogProbability"]
    assert names == expected
    values = dict(item.split("=") for item in misc.split("|"))
    assert 0.3 < float(values["Probability"]) <= 1
    assert float(values["Best2LogProbability"]) < float(values["Best1LogProbability"]) <= 0
    assert values["LogProbability"] == values["Best1LogProbability"]
    assert values["SpanEntropy"] == values["Entropy"]  # the sentence has three words


def test_a_model_that_is_normalised_at_every_step(run, tmp_path):
    model = tmp_path / "local.model"
    line = "train tagger train.conllu -o {model} --normalisation local --max-iterations 5"
    status, _, err = run(line, model=model)
    assert status == 0, err
    assert Tagger.load(model).normalisation == "local"
    assert run("predict {model} raw.txt", model=model)[1].startswith("the\tDET")


def test_columns_get_a_new_column(run):
    status, out, err = run("predict tagger.model train.txt --probability")
    assert status == 0
    word, gold, found, probability = out.split("\n")[0].split(" ")
    assert (word, gold, found) == ("the", "DET", "DET")
    assert 0.3 < float(probability) <= 1
    assert "Taking column '0' for 'FORM'" in err


def test_a_column_to_replace(run):
    status, out, _ = run("predict tagger.model train.txt --tag-column -1")
    assert (status, out.split("\n")[0]) == (0, "the DET")


def test_running_text(run, tmp_path):
    (tmp_path / "text").write_text("The dog, a cat (the small one) bark.\n")
    _, out, err = run("predict tagger.model {path}", path=tmp_path / "text")
    words = "The dog , a cat ( the small one ) bark ."
    assert [line.split("\t")[0] for line in out.split("\n") if line] == words.split()
    assert "Writing columns: FORM, predicted\n" in err
    _, out, err = run("predict tagger.model {path} --pretokenised", path=tmp_path / "text")
    assert out.split("\n")[1].startswith("dog,\t")
    assert "punctuation" not in err


def test_the_column_that_looks_like_tags(run, tmp_path):
    # As in the citations of Cora: word, tag, and features that differ at almost every word.
    rows = [f"w{n % 9}\t{'AB'[n % 2]}\tf{n}\n" + "\n" * (n % 10 == 9) for n in range(200)]
    (tmp_path / "cora").write_text("".join(rows))
    status, _, err = run("train tagger {folder}/cora -o {folder}/m", folder=tmp_path)
    assert status == 0
    assert "The last column has too many values for tags; column '1' has few." in err
    assert Tagger.load(tmp_path / "m").tags_ == ("A", "B")
    run("train tagger {folder}/cora --tag-column 2 -o {folder}/m", folder=tmp_path)
    assert len(Tagger.load(tmp_path / "m").tags_) == 200


def test_more_sequences_than_there_are(run, tmp_path):
    (tmp_path / "one").write_text("dog\n")
    status, out, _ = run("predict tagger.model {path} --k-best 9", path=tmp_path / "one")
    assert status == 0
    assert out.rstrip().endswith("_\t-inf")


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_tags_drawn_without_replacement(run, tmp_path, kind):
    (tmp_path / "one").write_text("barks\n")
    n_tags = 4
    line = f"predict {kind}.model {{path}} --sample {n_tags + 1} --no-replace"
    status, out, _ = run(line, path=tmp_path / "one")
    assert status == 0
    _, _, *drawn, missing = out.split()
    assert (len(set(drawn)), missing) == (n_tags, "_")
    _, out, _ = run(f"predict {kind}.model {{path}} --sample 1", path=tmp_path / "one")
    assert len(out.split()) == 3


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_tags_that_are_fixed(run, tmp_path, kind):
    (tmp_path / "fixed").write_text("the ?\ndog VERB\n\nbarks ?\n")
    status, out, _ = run(f"predict {kind}.model {{path}} --fixed 1", path=tmp_path / "fixed")
    assert status == 0
    assert out.split("\n")[1] == "dog VERB VERB"


def test_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the cat meows\n")))
    status, out, _ = run("predict tagger.model -")
    assert (status, out.split("\n")[0]) == (0, "the\tDET")


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_evaluation(run, tmp_path, kind):
    picture = tmp_path / "reliability.svg"
    status, out, _ = run(f"evaluate {kind}.model train.conllu --diagram {{path}}", path=picture)
    assert status == 0
    assert "accuracy           100.00%" in out
    assert "calibration error  0." in out
    assert "NOUN      5      5     5     100.00  100.00  100.00" in out
    assert picture.read_text().startswith("<svg")


def test_evaluation_of_tags_that_training_never_saw(run, tmp_path):
    (tmp_path / "gold").write_text("the DET\ndog X\n\nbarks ?\n")
    status, out, err = run("evaluate tagger.model {path} --tag-column 1", path=tmp_path / "gold")
    assert status == 0
    assert "Note: 1 words have tags that training never saw: X" in err
    assert "words              2\n" in out
    assert "accuracy           50.00%" in out


def test_chunks_in_another_scheme(run, tmp_path):
    model = tmp_path / "chunks.model"
    line = "train tagger chunks.txt --convert BIOES --scheme auto -o {model}"
    status, _, err = run(line, model=model)
    assert status == 0
    assert "Learning the tags in column '2'" in err
    assert "Converting tags from IOB2 to BIOES" in err
    assert Tagger.load(model).predict([[("the", "DT"), ("cat", "NN")]]) == [["B-NP", "E-NP"]]
    status, out, _ = run("evaluate {model} chunks.txt", model=model)
    assert status == 0
    assert "accuracy: 100.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00" in out
    status, out, _ = run("predict {model} chunks.txt --convert IOB1", model=model)
    assert [line.split()[-1] for line in out.split("\n")[:2]] == ["I-NP", "I-NP"]


@pytest.mark.parametrize(
    "options", ["--n-restarts 2", "--features usual --optimiser em --max-iterations 3"]
)
def test_words_alone(run, tmp_path, options):
    model = tmp_path / "induced.model"
    line = "train hmm --unlabelled raw.txt --n-tags 2 -o {model} "
    assert run(line + options, model=model)[0] == 0
    status, out, _ = run("evaluate {model} train.conllu --many-to-one", model=model)
    assert status == 0
    assert "many-to-one accuracy" in out


def test_unlabelled_text_constraints_warm_start_and_weights(run, files, tmp_path):
    assert len(read_constraints(files / "expectations")) == 3
    (tmp_path / "weights").write_text("1\n" * 5)
    line = (
        "train tagger train.conllu -o {model} --unlabelled raw.txt --entropy-weight 0.1 "
        "--constraints expectations --warm-start tagger.model --class-weights NOUN=2,VERB=1 "
        "--sample-weight {weights} --max-iterations 3 --no-progress"
    )
    paths = {"model": tmp_path / "more.model", "weights": tmp_path / "weights"}
    status, _, err = run(line, **paths)
    assert status == 0
    assert "Wrote" in err


def test_constraints_alone(run, tmp_path):
    line = "train tagger --unlabelled raw.txt --constraints expectations -o {model}"
    status, _, _ = run(line, model=tmp_path / "expected.model")
    assert status == 0
    assert Tagger.load(tmp_path / "expected.model").tags_ == ("DET", "NOUN", "VERB")


def test_templates_in_a_file(run, tmp_path):
    (tmp_path / "template").write_text("U00:%x[0,0]\nB\n")
    line = "train tagger train.txt --features {template} -o {model}"
    paths = {"template": tmp_path / "template", "model": tmp_path / "crfpp.model"}
    assert run(line, **paths)[0] == 0


@pytest.mark.parametrize(("kind", "text"), [("tagger", "FORM[0]"), ("hmm", "(start)")])
def test_inspection(run, kind, text):
    status, out, err = run(f"inspect {kind}.model")
    first = out.split("\n")
    assert status == 0
    assert first[0].split() == ["file", f"{kind}.model,", *first[0].split()[2:]]
    assert first[2].split(None, 2) == ["tags", "from", "column 'UPOS'"]
    assert "5 sentences (5 with tags), 16 words" in out
    assert len(first) <= 12
    assert "--all shows" in err
    status, out, _ = run(f"inspect {kind}.model --all -n 40")
    assert status == 0
    assert "options: " in out
    assert text in out
    assert "from \\ to" in out


def test_explanation(run):
    status, out, _ = run("explain tagger.model raw.txt --sentence 1 --word 3 -n 2")
    assert status == 0
    assert out.startswith("'dog' (word 3) has NOUN with probability 0.")
    assert "features more" in out
    assert run("explain tagger.model raw.txt")[0] == 0


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_what_to_label_next(run, kind):
    status, out, err = run(f"select {kind}.model train.conllu --batch-words 4")
    assert status == 0
    assert "words in 1 of 5 sentences" in err
    [sentence] = read_sentences_of(out)
    assert 2 <= len(sentence) <= 4
    assert "_" not in sentence.column("UPOS")


def test_spans_to_label_next(run, tmp_path):
    line = "select tagger.model raw.txt --strategy span --n-words 2 --batch-words 2 -o {path}"
    status, out, _ = run(line, path=tmp_path / "next.txt")
    assert (status, out) == (0, "")
    [sentence] = read_sentences(tmp_path / "next.txt")
    assert sentence.names == ("0", "1")
    assert sum(tag != "?" for tag in sentence.column("1")) == 2
    # What was written can be learnt from.
    line = "train tagger train.txt {path} --columns 0 -o {model}"
    assert run(line, path=tmp_path / "next.txt", model=tmp_path / "m")[0] == 0


def test_spans_beside_what_is_labelled(run, tmp_path):
    (tmp_path / "partial").write_text("the DET\nsmall ?\ncat NOUN\n")
    line = "select tagger.model {path} --format columns --fixed 1 --strategy span --n-words 1"
    status, out, _ = run(line + " --tag-column 1", path=tmp_path / "partial")
    assert (status, out) == (0, "the DET\nsmall ADJ\ncat NOUN\n\n")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_lists(run, strategy):
    status, out, _ = run(f"select tagger.model raw.txt --strategy {strategy} --list --per-word")
    assert status == 0
    first, *rows = out.rstrip().split("\n")
    assert first == "value\tfile\tfirst line\tlast line\twords"
    assert {row.split("\t")[2] for row in rows} == {"1", "3"}


def test_replay(run, tmp_path):
    line = "simulate hmm train.conllu train.conllu --seed-words 3 --batch-words 4 --diagram {path}"
    status, out, err = run(line, path=tmp_path / "curves.svg")
    assert status == 0
    rows = [row.split("\t") for row in out.rstrip().split("\n")]
    assert rows[0] == ["strategy", "words", "accuracy"]
    assert {row[0] for row in rows[1:]} == {"entropy", "random", "all"}
    assert rows[-1][1] == "16"
    assert "99% of the accuracy with all labels by entropy:" in err
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")


def test_replay_of_a_tagger(run):
    line = "simulate tagger train.conllu train.conllu --strategies random --seed-words 9 --seed 3"
    status, out, _ = run(line)
    assert status == 0
    assert "random\t16\t" in out


def test_the_demonstration(run, monkeypatch):
    # The report itself has its own tests.
    calls = []
    monkeypatch.setattr(
        "partita.demo.write_report", lambda path, **options: calls.append((path, options)) or 1.0
    )
    status, out, err = run("demo --quick --seed 3 --output report.html")
    assert status == 0
    assert out.strip().endswith("report.html")
    assert "Done in 1 s" in err
    ((path, options),) = calls
    assert (path, options["seed"], options["quick"]) == ("report.html", 3, True)


def test_a_real_process_answers_at_once(files):
    command = [sys.executable, "-m", "partita.cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "partita train tagger train.conllu -o pos.model" in done.stdout
    # What takes time is NumPy and all that needs it.
    code = "import sys, partita.cli.parser as p; p.build_parser(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_real_process_with_a_mistake(files):
    command = [sys.executable, "-m", "partita.cli", "predict", "none.model", "raw.txt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=files, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    # On a busy machine there may be signs of life before it.
    assert done.stderr.endswith("partita: none.model: No such file or directory. Check the path.\n")
    assert "Traceback" not in done.stderr


def test_a_resumed_run_says_so(run, tmp_path):
    line = "train tagger train.conllu -o {folder}/my.model --checkpoint {folder}/my.ckpt --resume"
    for words in ("Starting anew, since there is no", "Going on from"):
        status, _, messages = run(line, folder=tmp_path)
        assert status == 0
        assert f"{words} {tmp_path}/my.ckpt" in messages


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_batches_change_nothing(run, kind, tmp_path):
    outputs = []
    for batch in (1, 2, 1000):
        path = tmp_path / f"out{batch}"
        line = f"predict {kind}.model train.conllu --probability --batch {batch} -o {path}"
        assert run(line)[0] == 0
        outputs.append(path.read_text())
    assert outputs[0] == outputs[1] == outputs[2]
    status, _, err = run(f"predict {kind}.model train.conllu --batch 0")
    assert status == 2
    assert "--batch is 0; expected 1 or more" in err


@pytest.mark.parametrize("kind", [Tagger, HiddenMarkovTagger, Segmenter])
def test_training_by_a_cache_writes_the_same_model(run, tmp_path, kind):
    line = f"train {kind.kind} train.conllu -o {{path}} --max-iterations 3"
    plain, cached = tmp_path / "plain", tmp_path / "cached"
    assert run(line, path=plain)[0] == 0
    status, _, err = run(line + " --cache {folder}", path=cached, folder=tmp_path / "kept")
    assert status == 0
    assert "Reading 1 file in 1 block; learning the tags in column 'UPOS'" in err
    words = [["the", "old", "cat", "barks"]]
    found = [kind.load(path).predict_marginals(words)[0] for path in (plain, cached)]
    assert found[0].tobytes() == found[1].tobytes()


def test_workers_of_the_command(run):
    expected = run("predict tagger.model train.conllu --batch 2")[1]
    assert run("predict tagger.model train.conllu --batch 2 --workers 2")[1] == expected
    status, _, err = run("predict tagger.model train.conllu --workers many")
    assert status != 0
    assert "workers is 'many'; expected a number of threads" in err


@pytest.mark.parametrize("line", ["evaluate tagger.model {path}", "evaluate hmm.model {path}"])
def test_evaluation_a_batch_at_a_time(run, files, line):
    path = files / "train.conllu"
    expected = run(line, path=path)[1]
    assert "accuracy" in expected
    assert run(line + " --batch 1 --workers 1", path=path)[1] == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_selection_a_batch_at_a_time(run, strategy):
    line = f"select tagger.model train.conllu --batch-words 6 --strategy {strategy}"
    expected = run(line)[1]
    assert expected.count("\n\n") >= 1
    assert run(line + " --batch 1")[1] == expected


BY_COPIES = """
import sys
from partita.cli import main, workers
from partita.data import compressed
workers.LONG, compressed.PIECE = 1, 150
sys.exit(main(sys.argv[1:]))
"""


def by_copies(line):
    """The status and the messages of a command that shares out its input among two processes."""
    command = [sys.executable, "-c", BY_COPIES, *line, "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    # On a busy machine there may be signs of life.
    lines = [line for line in done.stderr.split("\n") if not line.startswith("still at work")]
    return done.returncode, "\n".join(lines)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
@pytest.mark.parametrize("name", ["train.conllu", "train.txt --names FORM,GOLD"])
def test_long_files_are_shared_out_among_processes(run, files, tmp_path, name):
    name, *more = name.split()
    path, out = tmp_path / name, tmp_path / "out"
    path.write_text(30 * ((files / name).read_text() + "\n"))
    line = ["predict", str(files / "tagger.model"), str(path), "--batch", "2", *more]
    status, expected, said = run(" ".join([*line, "--workers", "1"]))
    assert by_copies([*line, "-o", str(out)]) == (status, f"{said}Wrote {out}\n")
    assert out.read_text() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_processes_name_the_line_of_a_mistake(files, tmp_path):
    path, out = tmp_path / "many.conllu", tmp_path / "out"
    text = 30 * (files / "train.conllu").read_text()
    path.write_text(f"{text}1\tdog\n\n")
    status, messages = by_copies(
        ["predict", str(files / "tagger.model"), str(path), "-o", str(out)]
    )
    assert status == 2
    assert f"{path}, line {text.count(chr(10)) + 1}: found 2 columns" in messages
    assert not out.exists()
