"""Active learning: which sentences, or spans of words, to label next.

Any estimator will do that gives distributions over tags: `distributions(sentences)`, batches in
order (`HiddenMarkovTagger`), or `distribution(sentence)`, one at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from partita.arrays import FloatArray, IntArray
from partita.data.schemes import UNKNOWN
from partita.distribution.chain_entropy import entropy_of, span_entropies
from partita.distribution.linear_chain import LinearChain
from partita.objectives.partial import known_tags
from partita.text.sentences import has_columns, is_matrix, listed, read_tokens, tokens_of
from partita.text.words import read_words

STRATEGIES = {
    "entropy": "entropy of the tag sequence, exactly",
    "span": "entropy of the most uncertain span of n_words words",
    "n_best": "entropy of the k best sequences alone (Kim et al. 2006)",
    "least_confidence": "minus the log-probability of the best sequence",
    "token_entropy": "entropy of a word's tag, on average over the words",
    "density": "entropy times similarity to the other sentences (Settles & Craven 2008)",
    "random": "chance, to compare with",
}


class Choice(NamedTuple):
    """Words to label: those from `first` to `last`, both included, of a sentence, from 0."""

    sentence: int
    first: int
    last: int
    value: float
    """How much there is to learn from them, as the strategy sees it; in nats for entropies."""

    @property
    def n_words(self) -> int:
        """How many words there are to label."""
        return self.last - self.first + 1


def rank(
    estimator: Any,
    sentences: Sequence[Any],
    strategy: str = "entropy",
    *,
    n_words: int = 5,
    k: int = 10,
    beta: float = 1.0,
    per_word: bool = True,
    vectors: sparse.csr_array | None = None,
    fixed: Sequence[Sequence[str]] | None = None,
    seed: int = 0,
) -> list[Choice]:
    """Unlabelled sentences, the most worth labelling first; empty ones are left out.

    Parameters
    ----------
    estimator
        A trained tagger.
    sentences
        In any form that it takes.
    strategy
        One of `STRATEGIES`. With "span" a choice is a span of `n_words` words (the whole sentence
        if it is shorter), else a whole sentence.
    k
        For "n_best".
    beta, vectors
        For "density": the exponent of the similarity, and a row of features for each sentence (its
        words if left out).
    per_word
        Divide by the number of words to be labelled, since that is what labelling costs. Without
        it long sentences come first, and on English EWT entropy then needed more words than
        chance (42,000 against 36,000 of 51,000, and 22,000 with it).
    fixed
        Tags that are known already, and `?` elsewhere: entropies are then those of the others,
        given these, and a span has at least one word that is not known.
    seed
        For "random".

    >>> from partita import HiddenMarkovTagger
    >>> tagger = HiddenMarkovTagger(min_count=1).fit([["a", "b"], ["c"]], [["X", "Y"], ["Y"]])
    >>> [choice.sentence for choice in rank(tagger, [["a", "b"], [None, None], ["c"]])]
    [1, 2, 0]
    """
    check_strategy(strategy)
    if n_words < 1 or k < 1:
        raise ValueError(f"n_words is {n_words} and k is {k}; expected 1 or more of each.")
    sentences = listed(sentences)
    full = [index for index, sentence in enumerate(sentences) if len(sentence)]
    present = [sentences[index] for index in full]
    known = None if fixed is None else _numbers(estimator, [fixed[index] for index in full])
    if strategy == "span":
        found = [
            span
            for p, tags in distributions(estimator, present, known)
            for span in uncertain_spans(p, n_words, tags)
        ]
    else:
        if strategy == "random":
            values = np.random.default_rng(seed).random(len(full))
        else:
            measure = _measure(strategy, k)
            batches = [measure(p) for p, _ in distributions(estimator, present, known)]
            values = np.concatenate([np.zeros(0), *batches])
        if strategy == "density" and len(full):
            given = bags_of_words(present) if vectors is None else vectors[full]
            values = values * mean_similarities(given) ** beta
        ends = (len(words) - 1 for words in present)
        found = [(0, end, value) for end, value in zip(ends, values.tolist(), strict=True)]
    choices = [Choice(index, *span) for index, span in zip(full, found, strict=True)]
    if per_word and strategy not in ("random", "token_entropy"):
        choices = [choice._replace(value=choice.value / choice.n_words) for choice in choices]
    return sorted(choices, key=lambda choice: (-choice.value, choice.sentence))


def take(choices: Sequence[Choice], n_words: int) -> list[Choice]:
    """The first choices that together have at most `n_words` words; one at least.

    >>> take([Choice(0, 0, 4, 3.0), Choice(1, 0, 1, 2.0), Choice(2, 3, 3, 1.0)], n_words=7)
    [Choice(sentence=0, first=0, last=4, value=3.0), Choice(sentence=1, first=0, last=1, value=2.0)]
    """
    totals = np.cumsum([choice.n_words for choice in choices])
    return list(choices[: max(1, int(np.searchsorted(totals, n_words, side="right")))])


def distributions(
    estimator: Any, sentences: Sequence[Any], known: Sequence[IntArray] | None = None
) -> Iterator[tuple[LinearChain, list[IntArray]]]:
    """Distributions over the tags of sentences that have words, in order, a batch at a time.

    `known` has the numbers of tags that are known, and -1 elsewhere; each batch comes with its own.
    """
    first = 0
    for p in _unconditional(estimator, sentences):
        chains, last = p.structures, first + p.structures.n_sentences
        if known is None:
            tags = [np.full(n, -1) for n in chains.n_words]
        else:
            tags = list(known[first:last])
            p = p.with_scores(np.where(known_tags(chains, tags), p.scores, -np.inf))
        yield p, tags
        first = last


def _unconditional(estimator: Any, sentences: Sequence[Any]) -> Iterator[LinearChain]:
    if hasattr(estimator, "distributions"):
        yield from estimator.distributions(sentences)
        return
    if not hasattr(estimator, "distribution"):
        raise TypeError(
            f"{type(estimator).__name__} came; expected a trained tagger with a method "
            "`distributions(sentences)` or `distribution(sentence)`."
        )
    for sentence in sentences:
        p = estimator.distribution(sentence)
        yield LinearChain.from_flat(p.structures, p.scores)


def uncertain_spans(
    p: LinearChain, n_words: int, known: Sequence[IntArray]
) -> list[tuple[int, int, float]]:
    """For each sentence the first and last word of its most uncertain span, and its entropy.

    Only spans with a word whose tag is not known (-1) are considered, if there is any.
    """
    found = []
    for unary, pairs, tags in zip(*p.by_position.marginals, known, strict=True):
        length = min(n_words, len(unary))
        entropies = span_entropies(unary, pairs, length)
        n_open = np.convolve(tags < 0, np.ones(length, dtype=np.int64), "valid")
        first = int(np.argmax(np.where(n_open > 0, entropies, -np.inf)))
        found.append((first, first + length - 1, float(entropies[first])))
    return found


def token_entropies(p: LinearChain) -> FloatArray:
    """For each sentence the entropy of a word's tag, on average over its words."""
    return np.array([entropy_of(unary, (1,)).mean() for unary in p.marginals.unary])


def mean_similarities(vectors: sparse.csr_array) -> FloatArray:
    """The mean cosine of each row with all rows, in one pass: that with the mean of unit rows.

    >>> mean_similarities(sparse.csr_array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])).round(3)
    array([0.667, 0.667, 0.333])
    """
    rows = sparse.csr_array(vectors, dtype=np.float64)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    units = sparse.csr_array(rows.multiply(inverse[:, None]))
    mean = np.asarray(units.sum(axis=0)).ravel() / max(len(norms), 1)
    similarities: FloatArray = units @ mean
    return similarities


def bags_of_words(sentences: Sequence[Any]) -> sparse.csr_array:
    """How often each word (or column, or feature of a word) occurs in each sentence.

    >>> bags_of_words([["a", "b", "a"], ["b"]]).toarray()
    array([[2., 1.],
           [0., 1.]])
    """
    numbers: dict[Any, int] = {}
    rows, columns = [], []
    for row, sentence in enumerate(sentences):
        for item in _items(sentence):
            rows.append(row)
            columns.append(numbers.setdefault(item, len(numbers)))
    shape = (len(sentences), len(numbers))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def check_strategy(strategy: str) -> None:
    """It is one of `STRATEGIES`."""
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy is {strategy!r}; expected one of {', '.join(STRATEGIES)}.")


def _numbers(estimator: Any, fixed: Sequence[Sequence[str]]) -> list[IntArray]:
    """Tags as the numbers of an estimator, -1 for `?`."""
    numbers = {tag: number for number, tag in enumerate(estimator.tags_)}
    numbers[UNKNOWN] = -1
    for tag in {tag for tags in fixed for tag in tags}.difference(numbers):
        raise ValueError(
            f"the tag {tag!r} is fixed; the model knows {', '.join(estimator.tags_)}. Use one of "
            "these, or ? where the tag is not known."
        )
    return [np.array([numbers[tag] for tag in tags], dtype=np.int64) for tags in fixed]


def _measure(strategy: str, k: int) -> Callable[[LinearChain], FloatArray]:
    measures: dict[str, Callable[[LinearChain], FloatArray]] = {
        "entropy": lambda p: p.entropy,
        "density": lambda p: p.entropy,
        "n_best": lambda p: p.n_best_entropy(k),
        # The same order as by 1 - p, without long sentences all rounded to 1.
        "least_confidence": lambda p: p.renyi_entropy(np.inf),
        "token_entropy": token_entropies,
    }
    return measures[strategy]


def _items(sentence: Any) -> Iterator[Any]:
    """What there is to compare sentences by."""
    if has_columns(sentence):
        yield from read_tokens([sentence])[0]
        return
    if is_matrix(sentence):
        # Which features its words have; how much of them is another question.
        matrix = read_words([sentence]).matrix
        yield from () if matrix is None else matrix.indices.tolist()
        return
    for token in tokens_of(sentence):
        if isinstance(token, dict):
            yield from ((name, str(value)) for name, value in token.items())
        elif isinstance(token, list | tuple):
            yield from enumerate(token)
        else:
            yield token
