"""A translator from pairs of sentences alone."""

from collections.abc import Sequence

import numpy as np

from partita import samples
from partita.demo.page import Section, table
from partita.demo.settings import Settings, clock
from partita.estimators.translation.grammars import Hiero, Itg
from partita.estimators.translation.translator import Translator
from partita.evaluation.translations import corpus_bleu, corpus_chrf

MAX_WORDS = 12
GLOSS, ITG = "word for word (Model 1)", "inversion transduction grammar"
HIERO = "hierarchical phrases"

Texts = Sequence[Sequence[str]]


def section(settings: Settings) -> Section:
    """Two grammars against word for word, and what they make of some sentences."""
    train, test = samples.bitext("train"), samples.bitext("dev")
    train = train[: settings.choose(len(train), 100)]
    english, german = [each.pair.source for each in train], [each.pair.target for each in train]
    new, references = [each.pair.source for each in test], [each.pair.target for each in test]
    translators, found = _translated(settings, (english, german), new, references)
    scores = {name: corpus_bleu(texts, references).score for name, texts in found.items()}
    rows = [
        (name, f"{scores[name]:.1f}", f"{corpus_chrf(texts, references):.1f}")
        for name, texts in found.items()
    ]
    best = max(translators, key=lambda name: scores[name])
    translator = translators[best]
    short = [index for index, words in enumerate(new) if len(words) <= 8][: settings.choose(6, 3)]
    sentence = new[short[0]]
    likely = [
        (" ".join(each.words), f"{float(np.exp(each.log_probability)):.3f}")
        for each in translator.k_best([sentence], 4)[0]
    ]
    examples = [
        tuple(" ".join(words[index]) for words in (new, found[best], references)) for index in short
    ]
    return Section(
        name="translator",
        title="A translator",
        what=(
            f"A conditional random field over synchronous derivations translates {len(test)} new "
            f"sentences after {len(train)} pairs ({translator.counts_}). Derivations are never "
            "observed: the gradient is the difference of two expectations over forests."
        ),
        see=(
            f"BLEU is {scores[GLOSS]:.1f} word for word, and "
            f"{scores[best]:.1f} at best ({best}). Beside each translation stands the reference: "
            "see what was learnt, and what was not."
        ),
        same=(
            "import partita as pt\nfrom partita import samples\n\n"
            "english, german = ([pair[i] for pair, _ in samples.bitext('train')] for i in (0, 1))\n"
            "translator = pt.Translator(max_words=12).fit(english, german)\n"
            "translator.predict(english[:3])\n"
            "translator.k_best(english[:3], 4)\n\n"
            "partita train translator train.en train.de -o translate.model"
        ),
        blocks=[
            table(("translator", "BLEU", "chrF"), rows),
            table(("English", best, "reference"), examples),
            table((f"translations of “{' '.join(sentence)}”", "probability, at least"), likely),
        ],
        headline=(f"{scores[best]:.1f}", f"BLEU, {best}"),
    )


def _translated(
    settings: Settings, pairs: tuple[Texts, Texts], new: Texts, references: Texts
) -> tuple[dict[str, Translator], dict[str, list[tuple[str, ...]]]]:
    """Both translators, and what they and a lexicon make of new sentences."""
    with clock() as seconds:
        translator = Translator(
            grammar=Itg(
                n_translations=8,
                n_insertions=8,
                n_companions=2,
                n_bits=16,
                max_iterations=settings.choose(6, 1),
            ),
            max_words=settings.choose(MAX_WORDS, 8),
            seed=settings.seed,
            progress=False,
        ).fit(*pairs)
    found = {GLOSS: translator.gloss(new), ITG: translator.predict(new)}
    settings.say(
        f"A translator from {len(pairs[0])} pairs reaches a BLEU of "
        f"{corpus_bleu(found[ITG], references).score:.1f} ({seconds():.1f} s)."
    )
    with clock() as seconds:
        phrases = Translator(
            grammar=Hiero(n_tuning=settings.choose(200, 20)), seed=settings.seed, progress=False
        ).fit(*pairs)
    found[HIERO] = phrases.predict(new)
    settings.say(
        "One with hierarchical phrases reaches "
        f"{corpus_bleu(found[HIERO], references).score:.1f} ({seconds():.1f} s)."
    )
    return {ITG: translator, HIERO: phrases}, found
