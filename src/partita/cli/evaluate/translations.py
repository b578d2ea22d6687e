"""`partita evaluate` for translators: BLEU and chrF, with intervals, by length of the sentence."""

from collections.abc import Iterator, Sequence
from typing import Any

from partita.cli.answers import TARGET, check_counts, table
from partita.cli.bitexts import read_pairs
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import Options
from partita.cli.predict.translations import DECODING, translate
from partita.cli.results import Measures, write_results

Words = Sequence[str]
LENGTHS = (10, 20, 40)
"""Where sentences of different lengths are told apart."""
OURS = "Partita, whose numbers are those of sacreBLEU with tokenize=none (pip install sacrebleu)"
N_SAMPLES = 200


def run(model: Model, options: Options) -> None:
    """Translate, compare, and print."""
    check_counts(options, ("n_samples",))
    bitext = read_pairs(options.gold, options.target)
    found = translate(model, bitext.source, options)
    measures = {
        **scores(found, bitext.target),
        "by_words": by_length(bitext.source, found, bitext.target),
    }
    write_results(options, measures, _lines)


FAMILY = Family("translators", ("translator",), run, (*DECODING, TARGET))


def scores(found: Sequence[Words], references: Sequence[Words]) -> dict[str, Any]:
    """BLEU with an interval, and chrF; by sacreBLEU where it is installed, and said so."""
    from partita.evaluation import bootstrap
    from partita.evaluation.translations import corpus_bleu, corpus_chrf

    def bleu(found: Sequence[Words], references: Sequence[Words]) -> float:
        return corpus_bleu(found, references).score

    interval = bootstrap(bleu, found, references, n_samples=N_SAMPLES)
    measures: dict[str, Any] = {
        "sentences": len(found),
        "bleu": interval.value,
        "bleu_interval": (interval.low, interval.high),
        "chrf": corpus_chrf(found, references),
        "parts": corpus_bleu(found, references),
        "counted_by": OURS,
    }
    return {**measures, **(_by_sacrebleu(found, references) or {})}


def _by_sacrebleu(found: Sequence[Words], references: Sequence[Words]) -> Measures | None:
    """The scores that papers quote, with their signature; None without the optional package."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        return None
    texts, right = ([" ".join(words) for words in side] for side in (found, references))
    bleu, chrf = BLEU(tokenize="none", force=True), CHRF()
    return {
        "bleu": bleu.corpus_score(texts, [right]).score,
        "chrf": chrf.corpus_score(texts, [right]).score,
        "counted_by": f"sacreBLEU, BLEU {bleu.get_signature()}, chrF2 {chrf.get_signature()}",
    }


def by_length(
    source: Sequence[Words], found: Sequence[Words], references: Sequence[Words]
) -> dict[str, Measures]:
    """Number and BLEU of the sentences of each length."""
    from partita.evaluation.translations import corpus_bleu

    low, measures = 0, dict[str, Measures]()
    for high in (*LENGTHS, None):
        chosen = [
            index
            for index, words in enumerate(source)
            if low <= len(words) and (high is None or len(words) <= high)
        ]
        if chosen:
            ours, right = ([side[index] for index in chosen] for side in (found, references))
            name = f"{low} to {high}" if high is not None else f"{low} and more"
            measures[name] = {"sentences": len(chosen), "bleu": corpus_bleu(ours, right).score}
        low = (high or 0) + 1
    return measures


def _lines(measures: Any) -> Iterator[str]:
    low, high = measures["bleu_interval"]
    parts = measures["parts"]
    precisions = "/".join(f"{value:.1f}" for value in parts.precisions)
    yield f"sentences    {measures['sentences']:,}"
    yield f"BLEU         {measures['bleu']:.2f} (95 % of samples: {low:.2f} to {high:.2f})"
    yield f"precisions   {precisions} of 1 to 4 words"
    yield (
        f"length       {parts.n_words:,} words against {parts.n_reference_words:,}, brevity "
        f"penalty {parts.brevity_penalty:.3f}"
    )
    yield f"chrF2        {measures['chrf']:.2f}"
    yield f"counted by   {measures['counted_by']}"
    yield ""
    rows = [("words", "sentences", "BLEU")]
    for name, each in measures["by_words"].items():
        rows.append((name, f"{each['sentences']:,}", f"{each['bleu']:.2f}"))
    yield from table(rows)
