"""Small pieces of work that use every kernel a user is likely to need; for `partita compile`."""

import sys
from collections.abc import Callable

import numpy as np

import partita as pt
from partita.cli.compile import DONE
from partita.distribution.base import Distribution
from partita.structures.slopes import single_slopes

WORDS = [["the", "dog", "sees", "a", "cat"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
TAGS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["N", "V"]]
MANY_TAGS = [f"T{number}" for number in range(20)]
MANY_WORDS = 1000 * [[f"w{tag}" for tag in MANY_TAGS]]
"""Ten batches or more, which threads share in another way than a few."""
HEADS = [[2, 3, 0, 5, 3], [2, 3, 0], [2, 0]]
LABELS = [["det", "nsubj", "root", "det", "obj"], ["det", "nsubj", "root"], ["nsubj", "root"]]
TARGET = [["der", "Hund", "sieht", "eine", "Katze"], ["eine", "Katze", "schläft"]]


def ask(p: "Distribution") -> None:
    """Every question that any distribution answers."""
    rng = np.random.default_rng(0)
    assert p.marginals is not None
    assert p.entropy is not None
    assert p.argmax is not None
    p.entropy_gradient()
    p.k_best(2)
    p.sample(2, rng)


def chain() -> None:
    """Shared transitions and transitions by position, few tags and many."""
    rng = np.random.default_rng(0)
    for n_tags in (3, 20):
        ask(pt.LinearChain(rng.normal(size=(4, n_tags)), rng.normal(size=(n_tags, n_tags))))
        ask(pt.LinearChain(rng.normal(size=(4, n_tags)), rng.normal(size=(3, n_tags, n_tags))))
    # A padded batch has a door of its own, and so have scores of networks.
    unary, pairwise = rng.normal(size=(2, 4, 3)), rng.normal(size=(3, 3))
    ask(pt.LinearChain(unary, pairwise, n_words=[4, 2]))
    ask(pt.LinearChain(unary.astype(np.float32), pairwise.astype(np.float32), n_words=[4, 2]))


def segments() -> None:
    """Few tags and many."""
    rng = np.random.default_rng(0)
    for n_tags in (3, 6):
        ask(pt.SegmentChain(rng.normal(size=(4, 3, n_tags)), rng.normal(size=(n_tags, n_tags))))


def trees(kind: "type[pt.ProjectiveTree] | type[pt.SpanningTree]") -> None:
    """One root and many, with labels and without."""
    rng = np.random.default_rng(0)
    ask(kind(rng.normal(size=(3, 3, 2)), labelled=True))
    for single_root in (False, True):
        ask(kind(rng.normal(size=(6, 6)), single_root=single_root))
    # Sentences of a batch are computed side by side, four or eight, one alone by itself.
    for arcs, n_words in (
        (rng.normal(size=(2, 6, 6)), [5, 3]),
        (rng.normal(size=(8, 6, 6)), None),
    ):
        ask(kind(arcs, n_words=n_words))
        # Those of networks, and the way back of their gradients.
        p = kind(arcs.astype(np.float32), n_words=n_words)
        p.infer_single()
        marginals = p.take_single_marginals()
        if marginals is not None:
            single_slopes(p.structures, p._form, marginals, np.ones(len(arcs)))


def siblings() -> None:
    """Second-order trees, one root and many."""
    rng = np.random.default_rng(0)
    for single_root in (False, True):
        arcs, parts = rng.normal(size=(6, 6)), rng.normal(size=(6, 6, 6))
        ask(pt.SiblingTree(arcs, parts, single_root=single_root))


def constituents() -> None:
    """Binary trees, with labels and without."""
    rng = np.random.default_rng(0)
    ask(pt.ConstituencyTree(rng.normal(size=(5, 5))))
    ask(pt.ConstituencyTree(rng.normal(size=(5, 5, 2)), labelled=True))
    # Sentences of a batch are computed side by side, four or eight.
    ask(pt.ConstituencyTree(rng.normal(size=(8, 5, 5))))


def forest() -> None:
    """A small hypergraph."""
    hypergraph = pt.Hypergraph([0, 1, 2, 2], [[], [], [0, 1], [1, 1]], 2)
    p = pt.HypergraphDistribution(hypergraph, [0.0, 0.1, 0.2, 0.3])
    ask(p)


def tagger() -> None:
    """All pairs and observed ones, by all sentences and by mini-batches, few batches and many."""
    by_all = pt.Tagger(max_iterations=2, progress=False, optimiser="lbfgs")
    by_all.fit(MANY_WORDS, len(MANY_WORDS) * [MANY_TAGS])
    for options in ({}, {"pairs": "observed"}, {"optimiser": "adagrad"}, {"entropy_weight": 0.1}):
        unlabelled = WORDS if "entropy_weight" in options else []
        found = pt.Tagger(max_iterations=2, progress=False, **options)
        found.fit(WORDS, TAGS, unlabelled=unlabelled)
        # With a word that is new: what views see of such words is a kernel of its own.
        found.predict([*WORDS, ["mice", "sleep"]])
        found.predict_marginals(WORDS)


def segmenter() -> None:
    """Tags as segments, without and with some that are not known."""
    found = pt.Segmenter(max_iterations=2, progress=False, entropy_weight=0.1)
    found.fit(WORDS, [["D", "N", "?", "D", "N"], *TAGS[1:]], unlabelled=WORDS)
    found.predict(WORDS)
    found.predict_marginals(WORDS)


def hmm() -> None:
    """Without any tags, few batches and many."""
    for words, n_tags in ((WORDS, 2), (MANY_WORDS, len(MANY_TAGS))):
        found = pt.HiddenMarkovTagger(n_tags=n_tags, max_iterations=2, progress=False).fit(words)
        found.predict(WORDS)


def parser() -> None:
    """Projective and not, with labels."""
    sentences = [
        list(zip(words, tags, strict=True)) for words, tags in zip(WORDS, TAGS, strict=True)
    ]
    for projective in (True, False):
        found = pt.DependencyParser(
            projective=projective, n_bits=10, label_bits=6, max_iterations=1, progress=False
        )
        found.fit(sentences, HEADS, LABELS)
        found.predict(sentences)
        found.predict_marginals(sentences)


def aligner() -> None:
    """Hidden Markov models in agreement, and the CRF."""
    for model in ("hmm", "crf"):
        found = pt.Aligner(model=model, progress=False).fit(WORDS[:2], TARGET)
        found.predict(WORDS[:2], TARGET)


def translator() -> None:
    """Both grammars, few batches and many."""
    for grammar, n_times in ((pt.Itg(), 4), (pt.Itg(), 260), (pt.Hiero(), 4)):
        found = pt.Translator(grammar=grammar, progress=False)
        found.fit(WORDS[:2] * n_times, TARGET * n_times)
        found.predict(WORDS[:2])


FIRST_USES: dict[str, Callable[[], None]] = {
    "chain": chain,
    "segments": segments,
    "projective": lambda: trees(pt.ProjectiveTree),
    "spanning": lambda: trees(pt.SpanningTree),
    "siblings": siblings,
    "constituents": constituents,
    "forest": forest,
    "tagger": tagger,
    "hmm": hmm,
    "segmenter": segmenter,
    "parser": parser,
    "aligner": aligner,
    "translator": translator,
}


def do_what_is_read() -> None:
    """Do the pieces of work whose names come on standard input; a line for each when it is done."""
    for line in sys.stdin:
        try:
            FIRST_USES[line.strip()]()
        except Exception as error:
            print(repr(error).replace("\n", " "), flush=True)
        else:
            print(DONE, flush=True)
