"""`partita evaluate` for translators: BLEU and chrF, with intervals, by length of the sentence."""

from collections.abc import Iterator, Sequence

from partita.cli.answers import TARGET, check_counts, table
from partita.cli.bitexts import read_pairs
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import Options, say, write
from partita.cli.predict.translations import DECODING, translate

Words = Sequence[str]
LENGTHS = (10, 20, 40)
"""Where sentences of different lengths are told apart."""


def run(model: Model, options: Options) -> None:
    """Translate, compare, and print."""
    check_counts(options, ("n_samples",))
    bitext = read_pairs(options.gold, options.target)
    found = translate(model, bitext.source, options)
    for line in scores(found, bitext.target):
        write(line)
    write()
    for line in table(list(by_length(bitext.source, found, bitext.target))):
        write(line)
    _say_sacrebleu(found, bitext.target)


FAMILY = Family("translators", ("translator",), run, (*DECODING, TARGET))


def scores(found: Sequence[Words], references: Sequence[Words]) -> Iterator[str]:
    """BLEU with an interval, and chrF."""
    from partita.evaluation import bootstrap
    from partita.evaluation.translations import corpus_bleu, corpus_chrf

    def bleu(found: Sequence[Words], references: Sequence[Words]) -> float:
        return corpus_bleu(found, references).score

    _, low, high = bootstrap(bleu, found, references, n_samples=200)
    yield f"sentences  {len(found):,}"
    yield f"{corpus_bleu(found, references)}"
    yield f"           95 % of samples: {low:.2f} to {high:.2f}"
    yield f"chrF2 = {corpus_chrf(found, references):.2f}"


def by_length(
    source: Sequence[Words], found: Sequence[Words], references: Sequence[Words]
) -> Iterator[tuple[str, ...]]:
    """Rows of a table: BLEU of the sentences of each length."""
    from partita.evaluation.translations import corpus_bleu

    yield "words", "sentences", "BLEU"
    low = 0
    for high in (*LENGTHS, None):
        chosen = [
            index
            for index, words in enumerate(source)
            if low <= len(words) and (high is None or len(words) <= high)
        ]
        if chosen:
            bleu = corpus_bleu(
                [found[index] for index in chosen], [references[index] for index in chosen]
            )
            name = f"{low} to {high}" if high is not None else f"{low} and more"
            yield name, f"{len(chosen):,}", f"{bleu.score:.2f}"
        low = (high or 0) + 1


def _say_sacrebleu(found: Sequence[Words], references: Sequence[Words]) -> None:
    """The signature that papers quote, where the optional package is there."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        return
    metric = BLEU(tokenize="none", force=True)
    result = metric.corpus_score(
        [" ".join(words) for words in found], [[" ".join(words) for words in references]]
    )
    say(f"sacreBLEU: {result.score:.2f} ({metric.get_signature()})")
