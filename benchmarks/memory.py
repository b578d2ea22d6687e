"""Peaks of memory, of training and of predicting, beside those of the peers.

    python -m benchmarks.memory [DATA] [--only CASE ...]

DATA is the folder of the corpora (or PARTITA_DATA). Training and predicting are processes by
themselves, which read what they need from files; a peer's process has nothing of ours but the
reader of files, and no NumPy unless it needs it. Iterations are few, since memory does not grow
from the second pass on. With `--only`, the rows of other cases stay as they were, and say of which
commit they are. Five minutes on a quiet machine; load makes it slower and changes no figure.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.crfsuite_features import TEMPLATE, obvious, plain_names, words_of
from benchmarks.peaks import peak_bytes
from partita.data.bitext import read_bitext
from partita.data.formats import read_sentences

EWT, BASQUE, GREEK = "ud_en_ewt/en_ewt", "ud_eu_bdt/eu_bdt", "ud_grc_ptnk/grc_ptnk"
PASSES, N_TAGS = 5, 20


class Way(NamedTuple):
    """A library: from data to a file with a model, and from both to answers."""

    learn: Callable[[Any, str], Any]
    answer: Callable[[Any, str], Any]
    is_ours: bool = True


Read = Callable[[Path, str], Any]
"""The folder of the data, and "train" or "dev"."""


class Case(NamedTuple):
    """Data, and who learns from them; ours come first."""

    read: Read
    ways: dict[str, Way]
    most: float | None = None
    """Megabytes that the first may take beyond Python with Numba; None for thrice CRFsuite's."""


# ---------------------------------------------------------------------- data


def treebank(name: str, most: int | None = None) -> Read:
    """The first sentences of a treebank."""
    return lambda data, part: list(read_sentences(data / f"{name}-ud-{part}.conllu"))[:most]


def chunks(data: Path, part: str) -> Any:
    """CoNLL-2000; the development part is the last tenth."""
    sentences = list(read_sentences(data / "conll2000" / "train.txt"))
    cut = len(sentences) * 9 // 10
    return sentences[:cut] if part == "train" else sentences[cut:]


def words_alone(data: Path, part: str) -> Any:
    """The words of EWT."""
    return [list(words_of(sentence)) for sentence in treebank(EWT)(data, part)]


def hansards(data: Path, part: str) -> Any:
    """50,000 pairs, or the first 5,000 of them."""
    pairs = read_bitext(*(data / "hansards" / f"train.{language}" for language in "ef"))
    return pairs.source[: None if part == "train" else 5000], pairs.target


def captions(data: Path, part: str) -> Any:
    """2,000 pairs of Multi30k of at most 15 words, or the development part's."""
    name = "train" if part == "train" else "val"
    files = [data / "multi30k" / f"{name}.lc.norm.tok.{language}" for language in ("de", "en")]
    bitext = read_bitext(*files)
    skipped = {*bitext.empty, *bitext.longer(15)}
    kept = [pair for index, pair in enumerate(bitext) if index not in skipped][:2000]
    return [pair.source for pair in kept], [pair.target for pair in kept]


# ---------------------------------------------------------------------- ours


def wake() -> None:
    """Import what is ours, and use a kernel."""
    import numpy as np

    import partita as pt

    _ = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2))).marginals


def ours(name: str, **options: Any) -> Way:
    """One of our estimators, from sentences with columns."""

    def learn(train: Any, path: str) -> None:
        import partita as pt

        getattr(pt, name)(progress=False, **options).fit(train).save(path)

    def answer(dev: Any, path: str) -> None:
        import partita as pt

        getattr(pt, name).load(path).predict(dev)

    return Way(learn, answer)


def our_aligner(pairs: Any, path: str) -> None:
    """The hidden Markov models of both directions, in agreement."""
    import partita as pt

    pt.Aligner(model="hmm", progress=False).fit(*pairs).save(path)


def aligned(pairs: Any, path: str) -> None:
    """Links of pairs."""
    import partita as pt

    source, target = pairs
    pt.Aligner.load(path).predict(source, target[: len(source)])


def translator(grammar: str) -> Way:
    """Two passes of a translator, and the best derivations of 200 sentences."""

    def learn(pairs: Any, path: str) -> None:
        import partita as pt

        chosen = pt.Itg(max_iterations=2) if grammar == "itg" else pt.Hiero()
        pt.Translator(grammar=chosen, max_words=15, progress=False).fit(*pairs).save(path)

    def answer(pairs: Any, path: str) -> None:
        import partita as pt

        pt.Translator.load(path).predict(pairs[0][:200])

    return Way(learn, answer)


# ---------------------------------------------------------------------- peers


def crfsuite(column: str, features: Callable[[Any], Any], *, dense: bool = False) -> Way:
    """python-crfsuite; the features of a sentence are forgotten when it has them."""

    def learn(train: Any, path: str) -> None:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set_params({"c2": 0.1, "max_iterations": PASSES})
        trainer.set_params({"feature.possible_transitions": True, "feature.possible_states": dense})
        for sentence in train:
            trainer.append(features(sentence), sentence.column(column))
        trainer.train(path)

    def answer(dev: Any, path: str) -> None:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        for sentence in dev:
            tagger.tag(features(sentence))

    return Way(learn, answer, is_ours=False)


def of_words(sentence: Any) -> Any:
    """The features that a careful user writes for words alone."""
    words = words_of(sentence)
    return [obvious(words, place) for place in range(len(words))]


def numbered(sentences: Any, order: dict[str, int]) -> Any:
    """As hmmlearn wants words and lengths."""
    import numpy as np

    flat = [order.setdefault(word, len(order)) for word in chain.from_iterable(sentences)]
    return np.array(flat)[:, None], [len(sentence) for sentence in sentences]


def hmmlearn_learn(sentences: Any, path: str) -> None:
    """Expectation-maximisation by hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM

    order: dict[str, int] = {"": 0}
    given = numbered(sentences, order)
    model = CategoricalHMM(N_TAGS, implementation="scaling", n_iter=PASSES, random_state=0)
    with open(path, "wb") as file:
        pickle.dump((model.fit(*given), order), file)


def hmmlearn_answer(sentences: Any, path: str) -> None:
    """The best tags by hmmlearn."""
    with open(path, "rb") as file:
        model, order = pickle.load(file)
    known = [[word if word in order else "" for word in words] for words in sentences]
    model.predict(*numbered(known, order))


# ---------------------------------------------------------------------- cases

TAGS = {
    "default": ours("Tagger", tag_column="UPOS"),
    "L-BFGS": ours("Tagger", tag_column="UPOS", optimiser="lbfgs", max_iterations=PASSES),
    "python-crfsuite": crfsuite("UPOS", of_words),
}
PLAIN = {"optimiser": "lbfgs", "max_iterations": PASSES, "features": TEMPLATE, "scheme": None}
CASES = {
    "tags, Ancient Greek, 727 sentences": Case(treebank(GREEK, 727), TAGS),
    "tags, Basque, 1,000": Case(treebank(BASQUE, 1000), TAGS),
    "tags, EWT, 12,544": Case(treebank(EWT), TAGS),
    "chunks, CoNLL-2000, all pairs": Case(
        chunks,
        {
            "L-BFGS": ours("Tagger", tag_column="2", pairs="all", **PLAIN),
            "python-crfsuite": crfsuite("2", plain_names, dense=True),
        },
    ),
    "chunks, CoNLL-2000, observed pairs": Case(
        chunks,
        {
            "L-BFGS": ours("Tagger", tag_column="2", pairs="observed", **PLAIN),
            "python-crfsuite": crfsuite("2", plain_names),
        },
    ),
    "segments, CoNLL-2000": Case(
        chunks,
        {
            "Segmenter, AdaGrad": ours(
                "Segmenter", tag_column="2", optimiser="adagrad", max_iterations=2
            )
        },
    ),  # fmt: skip
    "hidden Markov model, EWT, 20 tags": Case(
        words_alone,
        {
            "expectation-maximisation": ours(
                "HiddenMarkovTagger", n_tags=N_TAGS, max_iterations=PASSES
            ),
            "hmmlearn": Way(hmmlearn_learn, hmmlearn_answer, is_ours=False),
        },
    ),
    "trees, EWT, 12,544": Case(
        treebank(EWT),
        {
            "default, two passes": ours("DependencyParser", max_iterations=2),
            "second order, two passes": ours("DependencyParser", order=2, max_iterations=2),
        },
        most=600.0,
    ),
    "links, Hansards, 50,000 pairs": Case(hansards, {"HMM": Way(our_aligner, aligned)}),
    "translations, Multi30k, 2,000 pairs": Case(
        captions, {"ITG": translator("itg"), "hiero": translator("hiero")}
    ),
}
STEPS = ("learn", "answer")


def measured(data: Path, case: str, way: str, step: str, path: str) -> dict[str, int]:
    """What runs in a process of its own: peaks before it reads anything, and at its end."""
    read, ways, _ = CASES[case]
    if ways[way].is_ours:
        wake()
    before = peak_bytes()
    given = read(data, "train" if step == "learn" else "dev")
    getattr(ways[way], step)(given, path)
    return {"before": before, "end": peak_bytes()}


def rows_of(data: Path, case: str) -> list[dict[str, Any]]:
    """A row for every library."""
    rows = []
    for way in CASES[case].ways:
        peaks = {}
        with tempfile.TemporaryDirectory() as folder:
            for step in STEPS:
                command = [sys.executable, "-m", "benchmarks.memory", str(data)]
                command += ["--run", case, way, step, f"{folder}/model"]
                # The first run may compile, and a process that compiles takes more.
                for _ in range(2 if CASES[case].ways[way].is_ours else 1):
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{case}, {way}, {step}: {done.stderr[-300:]}", file=sys.stderr)
                    break
                peaks[step] = json.loads(done.stdout.splitlines()[-1])
        if len(peaks) == len(STEPS):
            rows.append(row_of(case, way, peaks))
            print(rows[-1], file=sys.stderr)
    return rows


def row_of(case: str, way: str, peaks: dict[str, dict[str, int]]) -> dict[str, Any]:
    """In megabytes, 10**6 bytes."""
    before, training = (round(peaks["learn"][name] / 1e6) for name in ("before", "end"))
    predicting = round(peaks["answer"]["end"] / 1e6)
    return {
        "what": case,
        "by": way,
        "training": training,
        "predicting": predicting,
        "before reading": before,
        "training beyond that": training - before,
        "predicting beyond that": predicting - before,
    }


def aims_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Training beyond Python with Numba: thrice what CRFsuite takes, or so many megabytes."""
    from benchmarks.timing import aim, if_earlier

    theirs = {row["what"]: row["training"] for row in rows if row["by"] == "python-crfsuite"}
    found, seen = [], set()
    for row in rows:
        what, own = row["what"], row["training beyond that"]
        if what in seen:
            continue
        seen.add(what)
        if what in theirs:
            name = f"{what}: megabytes of training beyond Numba, over CRFsuite's{if_earlier(row)}"
            found.append(aim(name, own / theirs[what], most=3))
        elif CASES[what].most is not None:
            name = f"{what}: megabytes of training beyond Numba{if_earlier(row)}"
            found.append(aim(name, own, most=CASES[what].most))
    return found


def headlines_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Training, ours beside the peer's, for the summary of the page."""
    from benchmarks.timing import if_earlier

    found = []
    for case, (_, ways, _) in CASES.items():
        peaks = {row["by"]: row for row in rows if row["what"] == case}
        peers = [way for way in ways if not ways[way].is_ours and way in peaks]
        first = peaks.get(next(iter(ways)))
        if first and peers:
            beyond = first["training beyond that"]
            own = f"{first['training']} MB, {beyond} beyond Python and Numba{if_earlier(first)}"
            theirs = ", ".join(f"{way} {peaks[way]['training']} MB" for way in peers)
            found.append({"what": f"{case}: memory of training", "ours": own, "peers": theirs})
    return found


def main() -> None:
    """Measure, print, and write benchmarks/results/memory.json."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    arguments.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the corpora are, or set PARTITA_DATA.")
    if options.run:
        print(json.dumps(measured(options.data, *options.run)))
        return
    from benchmarks.timing import Table, earlier_rows, write_json

    new = list(chain.from_iterable(rows_of(options.data, case) for case in options.only))
    every = [*new, *earlier_rows("memory", "what", new)]
    rows = [row for case in CASES for row in every if row["what"] == case]
    table = Table("Peaks of processes, megabytes", rows)
    print(table)
    print(write_json("memory", [table], headlines_of(rows), aims_of(rows)))


if __name__ == "__main__":
    main()
