"""BLEU and chrF of translations, and how good one translation is for another.

`corpus_bleu` and `corpus_chrf` give the numbers of sacreBLEU for texts that are already cut into
words (its option `tokenize="none"`), without the package.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.bitext import n_grams as gram_kernels

Words = Sequence[str]
MOST_WORDS = 4
"""The longest n-grams of BLEU."""
MOST_LETTERS = 6
"""The longest character n-grams of chrF."""
BETA = 2.0
"""How much more chrF values recall than precision."""


@dataclass(frozen=True)
class BleuScore:
    """BLEU and what it is made of.

    >>> print(corpus_bleu([["a", "cat", "sat"]], [["a", "cat", "sat", "down"]]))
    BLEU = 0.00 (100.0/100.0/100.0/0.0, brevity penalty 0.717, 3 words against 4)
    """

    score: float
    """0 to 100."""
    precisions: tuple[float, ...]
    """Of n-grams of 1 to 4 words, 0 to 100."""
    brevity_penalty: float
    n_words: float
    """Of the translations."""
    n_reference_words: float

    def __str__(self) -> str:
        precisions = "/".join(f"{value:.1f}" for value in self.precisions)
        return (
            f"BLEU = {self.score:.2f} ({precisions}, brevity penalty {self.brevity_penalty:.3f}, "
            f"{self.n_words:,} words against {self.n_reference_words:,})"
        )


def corpus_bleu(
    translations: Sequence[Words],
    references: Sequence[Words],
    sample_weight: Sequence[float] | FloatArray | None = None,
) -> BleuScore:
    """BLEU-4 of a corpus (Papineni et al. 2002): one reference each, no smoothing that helps.

    exp(mean of log precisions of 1 to 4 words) times min(1, exp(1 - reference words / words)). An
    order without any match is counted as if it had half of one, then a quarter, and so on, as
    sacreBLEU does ("exp"); an order that no translation is long enough for has precision 0. With
    `sample_weight`, a number for each sentence, its words count so much.

    >>> words = "the cat sat on the mat".split()
    >>> corpus_bleu([words], [words]).score
    100.0
    """
    check_lengths(translations, references)
    weights = np.ones(len(references)) if sample_weight is None else np.asarray(sample_weight)
    if weights.shape != (len(references),):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; expected ({len(references)},), a number for "
            "each sentence."
        )
    matches, totals, lengths = np.zeros(MOST_WORDS), np.zeros(MOST_WORDS), np.zeros(2)
    for words, reference, weight in zip(translations, references, weights.tolist(), strict=True):
        found, n_grams = _matches(words, reference)
        matches += weight * np.array(found)
        totals += weight * np.array(n_grams)
        lengths += weight * np.array([len(words), len(reference)])
    # Whole numbers stay so, for people to read.
    n_words, n_reference = (int(each) if each.is_integer() else each for each in lengths.tolist())
    penalty = _brevity(n_words, n_reference)
    shares, half = [], 1.0
    for match, total in zip(matches.tolist(), totals.tolist(), strict=True):
        # Without a single match, smoothing would have nothing to start from.
        if total == 0 or not matches.any():
            shares.append(0.0)
        elif match == 0:
            half /= 2.0
            shares.append(half / total)
        else:
            shares.append(match / total)
    score = 0.0
    if all(shares):
        # Logarithms of shares, not of percentages: that of 1 is exactly 0, and 100 exactly 100.
        score = 100.0 * penalty * math.exp(sum(map(math.log, shares)) / MOST_WORDS)
    precisions = tuple(100.0 * share for share in shares)
    return BleuScore(score, precisions, penalty, n_words, n_reference)


def sentence_bleu(words: Words, reference: Words) -> float:
    """Smoothed BLEU-4 of one sentence, 0 to 1: a match more is counted for n-grams of 2 to 4 words.

    (Lin and Och 2004.) The gain of minimum Bayes risk decoding.

    >>> round(sentence_bleu("a cat sat".split(), "a cat sat".split()), 9)
    1.0
    >>> 0.0 < sentence_bleu("a dog sat".split(), "a cat sat".split()) < 1.0
    True
    """
    return float(pairwise_bleu([words], [reference])[0, 0])


def pairwise_bleu(translations: Sequence[Words], references: Sequence[Words]) -> FloatArray:
    """`sentence_bleu` of every translation with every reference, (n, m); O(words) each.

    >>> pairwise_bleu([["a"], ["b"]], [["a"]]).tolist()
    [[1.0], [0.0]]
    """
    lengths = np.array([len(words) for words in translations])[:, np.newaxis]
    reference_lengths = np.array([len(words) for words in references])
    log_sum = np.zeros((len(translations), len(references)))
    for order, found in enumerate(_common(translations, references), start=1):
        total = np.maximum(lengths - order + 1, 0)
        extra = float(order > 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_sum += np.log((found + extra) / (total + extra))
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.minimum(1.0 - reference_lengths / lengths, 0.0)
        gains: FloatArray = np.exp(log_sum / MOST_WORDS + brevity)
    # Without words there is no precision; nothing is a perfect translation of nothing only.
    gains[lengths[:, 0] == 0] = reference_lengths == 0
    return gains


def _common(translations: Sequence[Words], references: Sequence[Words]) -> Iterator[FloatArray]:
    """How many n-grams of each translation each reference has too, (n, m), for each order."""
    sentences, known = [*translations, *references], dict[str, int]()
    words = np.array(
        [known.setdefault(word, len(known)) for each in sentences for word in each], dtype=np.int64
    )
    lengths = np.array([len(each) for each in sentences], dtype=np.int64)
    rows, places, grams = (
        np.repeat(np.arange(len(sentences)), lengths),
        np.arange(len(words)),
        words,
    )
    # How many words of the sentence are left from each of them on.
    left = np.repeat(np.cumsum(lengths), lengths) - places
    for order in range(1, MOST_WORDS + 1):
        if order > 1:
            # An n-gram is one of fewer words and the word behind it.
            kept = left[places] >= order
            places = places[kept]
            longer = grams[kept] * len(known) + words[places + order - 1]
            grams = np.unique(longer, return_inverse=True)[1]
        n_grams = int(grams.max(initial=-1)) + 1
        cells, counts = np.unique(rows[places] * n_grams + grams, return_counts=True)
        row, own = np.divmod(cells, max(n_grams, 1))
        offsets = np.searchsorted(row, np.arange(len(sentences) + 1))
        found = np.empty((len(translations), len(references)))
        gram_kernels.common(own, counts, offsets, n_grams, found)
        yield found


def corpus_chrf(translations: Sequence[Words], references: Sequence[Words]) -> float:
    """chrF2 (Popović 2015), 0 to 100: the F-score of character n-grams, recall counting double.

    Words are joined without blanks; precision and recall are averaged over n-grams of 1 to 6
    letters that both sides have.

    >>> corpus_chrf([["a", "cat"]], [["a", "cat"]])
    100.0
    """
    check_lengths(translations, references)
    totals = np.zeros((MOST_LETTERS, 3))
    for words, reference in zip(translations, references, strict=True):
        texts = "".join(words), "".join(reference)
        for order in range(1, MOST_LETTERS + 1):
            ours, theirs = (_letters(text, order) for text in texts)
            common = sum((ours & theirs).values())
            # As sacreBLEU: a side too short for an order says nothing about the other's.
            n_ours = sum(ours.values()) if theirs else 0
            totals[order - 1] += n_ours, sum(theirs.values()), common
    return _f_score(totals)


def _f_score(totals: FloatArray) -> float:
    """From n-grams found, expected and common for each order."""
    used = (totals[:, 0] > 0) & (totals[:, 1] > 0)
    if not used.any():
        return 0.0
    found, expected, common = totals[used].T
    precision, recall = (common / found).mean(), (common / expected).mean()
    if precision + recall == 0:
        return 0.0
    factor = BETA**2
    return float(100.0 * (1 + factor) * precision * recall / (factor * precision + recall))


def _letters(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


def _n_grams(words: Words) -> Counter[tuple[str, ...]]:
    """How often each n-gram of up to four words occurs."""
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, MOST_WORDS + 1)
        for start in range(len(words) - order + 1)
    )


def _matches(words: Words, reference: Words) -> tuple[list[int], list[int]]:
    """Matches of each order, each at most as often as the reference has it; n-grams of each."""
    found = [0] * MOST_WORDS
    for gram, count in (_n_grams(words) & _n_grams(reference)).items():
        found[len(gram) - 1] += count
    return found, [max(len(words) - order, 0) for order in range(MOST_WORDS)]


def _brevity(n_words: float, n_reference: float) -> float:
    if n_words >= n_reference:
        return 1.0
    return math.exp(1.0 - n_reference / n_words) if n_words else 0.0


def check_lengths(translations: Sequence[Words], references: Sequence[Words]) -> None:
    """As many of each, and words, not text."""
    if len(translations) != len(references):
        raise ValueError(
            f"there are {len(translations)} translations and {len(references)} references; "
            "expected one reference for each translation."
        )
    for name, sentences in (("translation", translations), ("reference", references)):
        for index, words in enumerate(sentences):
            if isinstance(words, str):
                raise ValueError(
                    f"{name} {index} (counting from 0) is the text {words!r}; expected a list of "
                    "words. Split it."
                )
