"""Translators: BLEU-4 on Multi30k, German to English, at most 15 words, and the time of each step.

    PARTITA_DATA=... python -m benchmarks.translator [DATA] [--quick] [--pairs N] [--threads N]
    python -m benchmarks.translator --grammars itg

DATA is a folder with multi30k/{train,val}.lc.norm.tok.{de,en} (or the variable PARTITA_DATA). The
development part is `val`. Held-out likelihood, which chooses the pass, is of the last 300 training
pairs, which are not trained on.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.timing import Table, Turns, aim, seconds_of, write_json
from partita import Hiero, Itg, Translator
from partita.arrays import FloatArray
from partita.data.bitext import read_bitext
from partita.evaluation.translations import corpus_bleu, corpus_chrf

MAX_WORDS = 15
N_HELD_OUT = 300
AIMED_PAIRS = 10_000
"""So many pairs are to be learnt from in the CPU seconds of `CPU_AIMS`, files read."""
CPU_AIMS = {"ITG": 60.0, "hiero": 30.0}
PACE_AIMS = {"ITG LV-CRF, minimum Bayes risk, 100 samples": 60.0, "hiero, best derivation": 100.0}
"""Sentences a second, one thread."""
THREAD_PAIRS = 10_000
"""Are learnt from with one thread and with two, which is to be so many times as fast."""
THREAD_AIM = 1.7

Sentences = Sequence[tuple[str, ...]]
Pairs = tuple[Sentences, Sentences]


def read_part(data: Path, part: str) -> Pairs:
    """The pairs of one part, both sides at most `MAX_WORDS` long."""
    files = [data / "multi30k" / f"{part}.lc.norm.tok.{language}" for language in ("de", "en")]
    bitext = read_bitext(*files)
    skipped = {*bitext.empty, *bitext.longer(MAX_WORDS)}
    kept = [pair for index, pair in enumerate(bitext) if index not in skipped]
    return [pair.source for pair in kept], [pair.target for pair in kept]


def judged(table: Table, step: str, seconds: float, dev: Pairs, translate: Callable[[], Sentences]):
    """A row: BLEU and chrF of translations, seconds of training, sentences a second."""
    began = time.perf_counter()
    found = translate()
    taken = time.perf_counter() - began
    bleu = corpus_bleu(found, dev[1])
    table.add(
        step=step,
        bleu=round(bleu.score, 2),
        chrf=round(corpus_chrf(found, dev[1]), 2),
        brevity_penalty=round(bleu.brevity_penalty, 3),
        training_seconds=round(seconds, 1),
        sentences_a_second=round(len(found) / taken, 1),
    )


def run_itg(train: Pairs, held_out: Pairs, dev: Pairs, options, table: Table, pace: Table) -> None:
    """The gloss of Model 1, and the latent-variable CRF with four decoders."""
    translator = Translator(
        grammar=Itg(max_iterations=options.passes, n_bits=options.bits),
        n_pairs=options.pairs,
        max_words=MAX_WORDS,
        workers=options.threads,
        progress=True,
    )
    began, cpu_began = time.perf_counter(), time.process_time()
    translator.fit(*train, held_out=held_out)
    seconds, dev_source = time.perf_counter() - began, dev[0]
    options.cpu["ITG"] += time.process_time() - cpu_began
    judged(table, "Model 1 gloss, monotone", 0.0, dev, lambda: translator.gloss(dev_source))
    for step, arguments in (
        ("ITG LV-CRF, best derivation", {"length": "any"}),
        ("ITG LV-CRF, best derivation of the likeliest length", {}),
        ("ITG LV-CRF, minimum Bayes risk, 100 samples", {"decoder": "risk"}),
        ("ITG LV-CRF, most fluent of the 100 likeliest", {"decoder": "fluent"}),
    ):
        judged(
            table,
            step,
            seconds,
            dev,
            lambda given=arguments: translator.predict(dev_source, **given),
        )
    history, counts = translator.training_.history, translator.counts_
    passes = len(history) / history[-1].seconds
    pace.add(
        pairs=counts.n_pairs,
        used=counts.n_used,
        unreachable=counts.n_unreachable,
        passes=len(history),
        n_bits=options.bits,
        seconds_a_pass=round(1 / passes, 1),
        pairs_a_second=round(passes * counts.n_used),
        threads=options.threads,
        held_out_losses=" ".join(f"{record.held_out:.0f}" for record in history),
    )


def run_hiero(train: Pairs, dev: Pairs, options, table: Table) -> None:
    """Hierarchical rules, three decoders."""
    translator = Translator(
        grammar=Hiero(),
        n_pairs=options.pairs,
        max_words=MAX_WORDS,
        workers=options.threads,
        progress=True,
    )
    began, cpu_began = time.perf_counter(), time.process_time()
    translator.fit(*train)
    seconds = time.perf_counter() - began
    options.cpu["hiero"] += time.process_time() - cpu_began
    for step, decoder in (
        ("hiero, best derivation", "best"),
        ("hiero, minimum Bayes risk, 100 samples", "risk"),
        ("hiero, most fluent of the 100 likeliest", "fluent"),
    ):
        judged(
            table,
            step,
            seconds,
            dev,
            lambda given=decoder: translator.predict(dev[0], decoder=given),
        )


def thread_times(train: Pairs, held_out: Pairs, options, table: Table) -> None:
    """The same from pairs to model with one thread and with two; the weights must be the same.

    They take turns, three times, and figures are medians.
    """
    grammars = {"ITG": Itg(max_iterations=options.passes, n_bits=options.bits), "hiero": Hiero()}
    for name, grammar in grammars.items():
        if name.lower() not in options.grammars:
            continue
        weights: list[FloatArray] = []
        held = held_out if name == "ITG" else None
        runs = [partial(learn, grammar, workers, train, held, weights) for workers in (1, 2)]
        turns = Turns([[seconds_of(run) for run in runs] for _ in range(3)])
        assert all((each == weights[0]).all() for each in weights)
        one, two = turns.medians
        table.add(
            grammar=name,
            pairs=THREAD_PAIRS,
            one_thread_seconds=round(one, 1),
            two_threads_seconds=round(two, 1),
            times_as_fast=round(turns.gains[1], 2),
        )


def learn(
    grammar: Itg | Hiero,
    workers: int,
    train: Pairs,
    held_out: Pairs | None,
    weights: list[FloatArray],
) -> None:
    """Fit a translator and keep its weights."""
    translator = Translator(
        grammar=grammar, n_pairs=THREAD_PAIRS, max_words=MAX_WORDS, workers=workers, progress=False
    )
    weights.append(translator.fit(*train, held_out=held_out).model_.weights)


def main() -> None:
    """Run what was asked for, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA", "."), type=Path)
    parser.add_argument("--quick", action="store_true", help="few pairs, and no results written")
    parser.add_argument("--pairs", type=int, default=None)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--bits", type=int, default=20, help="2**N weights of the ITG")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--grammars", nargs="+", default=["itg", "hiero"])
    options = parser.parse_args()
    if not (options.data / "multi30k").is_dir():
        raise SystemExit(
            f"{options.data / 'multi30k'} is not there; name the folder of the data: "
            "python -m benchmarks.translator DATA, or PARTITA_DATA=DATA make bench-translator."
        )
    cpu_began = time.process_time()
    source, target = read_part(options.data, "train")
    options.cpu = dict.fromkeys(CPU_AIMS, time.process_time() - cpu_began)
    dev = read_part(options.data, "val")
    if options.quick:
        options.pairs = options.pairs or 500
        dev = dev[0][:50], dev[1][:50]
    held_out = source[-N_HELD_OUT:], target[-N_HELD_OUT:]
    train = source[:-N_HELD_OUT], target[:-N_HELD_OUT]
    title = f"Multi30k German to English, {len(dev[0])} sentences of at most {MAX_WORDS} words"
    table = Table(title)
    pace = Table("Training of the ITG LV-CRF: D_n(x) and D(x, y) of every pair, a pass")
    if "itg" in options.grammars:
        run_itg(train, held_out, dev, options, table, pace)
    if "hiero" in options.grammars:
        run_hiero(train, dev, options, table)
    threads = Table("From pairs to model, one thread and two")
    if not options.quick:
        thread_times(train, held_out, options, threads)
    tables = [each for each in (table, pace, threads) if each.rows]
    for each in tables:
        print(each)
    aims = [
        aim(f"{row['step']}: sentences a second", row["sentences_a_second"], least=least)
        for row in table.rows
        if (least := PACE_AIMS.get(row["step"])) is not None
    ]
    aims += [
        aim(f"{row['grammar']}, two threads: times as fast", row["times_as_fast"], least=THREAD_AIM)
        for row in threads.rows
    ]
    if options.pairs == AIMED_PAIRS:
        aims += [
            aim(f"{name}, {AIMED_PAIRS:,} pairs from files to model: CPU seconds", spent, most=most)
            for (name, most), spent in zip(CPU_AIMS.items(), options.cpu.values(), strict=True)
            if name.lower() in options.grammars
        ]
    for each in aims:
        print(each)
    if not options.quick:
        print(f"\nWritten to {write_json('translator', tables, aims=aims)}")


if __name__ == "__main__":
    main()
