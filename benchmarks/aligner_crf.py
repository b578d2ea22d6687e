"""The latent-variable CRF aligner: error rates on Hansards and English-Czech, and its speed.

    PARTITA_DATA=... python -m benchmarks.aligner_crf [DATA] [--quick] [--threads N]

DATA as for `benchmarks.aligner`. The generative models are learnt once, from the words of training
and development pairs, and all rows share them. "plain" is log P(y | x, n) alone, in one direction;
"both" the mean over both directions; "pool" what `Aligner` answers without gold links. Gold links
of Hansards are learnt from the 37 dev pairs by cross-validation, in `N_FOLDS` parts: links are
always judged on pairs whose own gold was not seen.
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.aligner import Task, read_arguments, read_task
from benchmarks.timing import Table, write_json
from partita import Aligner
from partita.arrays import FloatArray
from partita.data.alignments import Alignment, read_alignments
from partita.estimators.alignment.itg_links import ItgLinks
from partita.estimators.alignment.material import read_pairs
from partita.estimators.alignment.models import ItgAlignment
from partita.estimators.alignment.symmetrise import above, least_risk
from partita.evaluation.alignments import link_counts

N_FOLDS = 4
THRESHOLDS = (0.3, 0.4, 0.5)
Sentences = Sequence[Sequence[str]]


def row(table: Table, name: str, found: Sequence[FloatArray], gold: Sequence[Alignment]) -> None:
    """AER and F1 of a model's probabilities at some thresholds, and by least risk."""
    cells = {}
    for title, links in [
        *((f"> {t}", [above(p, t) for p in found]) for t in THRESHOLDS),
        ("least risk", [least_risk(p) for p in found]),
    ]:
        counts = link_counts(gold, links)
        cells[title] = f"{100 * counts.error_rate:.1f} / {100 * counts.f1:.1f}"
    table.add(model=name, **cells)
    print(table.rows[-1], file=sys.stderr)


def without_gold(crf: ItgLinks, task: Task, table: Table) -> None:
    """Rows of the models that learn from words alone."""
    _, dev, gold = task
    evidence = crf.evidence(dev.source, dev.target)
    generative = [(e.forward + e.backward) / 2 for e in evidence]
    # Pairs that are too large for the CRF have no evidence of it.
    latent = [e.latent or [p, p] for e, p in zip(evidence, generative, strict=True)]
    row(table, "HMM, mean of both directions", generative, gold)
    row(table, "CRF, plain", [each[0] for each in latent], gold)
    row(table, "CRF, both", [np.mean(each, axis=0) for each in latent], gold)
    row(table, "CRF, pool", crf.probabilities(dev.source, dev.target, "mean"), gold)


def with_gold(
    aligner: Aligner, source: Sentences, target: Sentences, gold: Sequence[Alignment]
) -> ItgLinks:
    """The CRF of an aligner, and one on top of it that learnt from gold links."""
    pairs = read_pairs(source, target, alignments=gold)
    return aligner.chosen_model().learn_gold(aligner.model_, pairs, aligner)[0]


def cross_validated(aligner: Aligner, task: Task) -> list[FloatArray]:
    """Probabilities of the dev pairs, each by a supervised CRF that did not see its gold links."""
    _, dev, gold = task
    found: dict[int, FloatArray] = {}
    for fold in range(N_FOLDS):
        known = [k for k in range(len(gold)) if k % N_FOLDS != fold]
        asked = [k for k in range(len(gold)) if k % N_FOLDS == fold]
        model = with_gold(
            aligner,
            [dev.source[k] for k in known],
            [dev.target[k] for k in known],
            [gold[k] for k in known],
        )
        sides = [dev.source[k] for k in asked], [dev.target[k] for k in asked]
        answers = model.probabilities(*sides, "mean")
        found |= dict(zip(asked, answers, strict=True))
    return [found[k] for k in range(len(gold))]


def unsupervised(task: Task, options: dict[str, object]) -> tuple[Aligner, float]:
    """The CRF without gold links, and the seconds it took with the generative models."""
    train, dev, _ = task
    begin = time.perf_counter()
    aligner = Aligner(model=ItgAlignment(), progress=True, **options)  # type: ignore[arg-type]
    aligner.fit([*train.source, *dev.source], [*train.target, *dev.target])
    return aligner, time.perf_counter() - begin


def main() -> None:
    arguments, data = read_arguments("aligner_crf")
    threads = arguments.threads
    hansards = read_task(data / "hansards", "e", "f", "a", arguments.quick)
    table = Table("Hansards dev, AER / F1, per cent")
    aligner, seconds = unsupervised(hansards, {"workers": threads})
    without_gold(aligner.model_, hansards, table)
    row(
        table,
        "CRF, gold of other dev pairs",
        cross_validated(aligner, hansards),
        hansards[2],
    )
    table.add(model="seconds to learn, without gold", **{"least risk": round(seconds)})
    czech = read_task(data / "czenali_en_cs", "en", "cs", "sure", arguments.quick)
    other = Table("English-Czech dev, AER / F1, per cent (1,800 pairs, 5 letters of each word)")
    aligner, seconds = unsupervised(czech, {"workers": threads, "n_letters": 5})
    without_gold(aligner.model_, czech, other)
    train, dev, gold = czech
    known = read_alignments(data / "czenali_en_cs" / "train.sure")[: len(train)]
    begin = time.perf_counter()
    supervised = with_gold(aligner, train.source, train.target, known)
    found = supervised.probabilities(dev.source, dev.target, "mean")
    row(other, "CRF, 1,800 gold", found, gold)
    learning = time.perf_counter() - begin
    other.add(model="seconds to learn, with gold", **{"least risk": round(seconds + learning)})
    for each in (table, other):
        print(each)
    if not arguments.quick:
        print(f"\nWritten to {write_json('aligner_crf', [table, other])}")


if __name__ == "__main__":
    main()
