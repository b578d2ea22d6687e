"""What to label next: the spans of words whose tags are least certain."""

from partita import show
from partita.demo.page import Section, figure, marked, table
from partita.demo.settings import Settings, clock, percent
from partita.demo.tagging import FEW, L2, few_labels_tagger, tagged
from partita.estimators.tagging.selection import rank
from partita.estimators.tagging.tagger import Tagger

N_WORDS = 4
ROUND = 20


def section(settings: Settings) -> Section:
    """Spans ranked by entropy, and what labelling the most uncertain sentences is worth."""
    train, test = tagged("train"), tagged("dev")
    tagger = few_labels_tagger(FEW, settings.seed)
    pool = train.words[FEW:]
    with clock() as seconds:
        spans = rank(tagger, pool, "span", n_words=N_WORDS, per_word=False)
    best = spans[0]
    chosen = pool[best.sentence]
    settings.say(
        f"The {N_WORDS} words to label next, of {sum(map(len, pool)):,}: "
        f"“{' '.join(chosen[best.first : best.last + 1])}” ({seconds():.1f} s)."
    )
    before = tagger.score(test.words, test.tags)
    gains = _one_round(settings, tagger)
    rows = [
        (marked(pool[choice.sentence], choice.first, choice.last), f"{choice.value:.2f}")
        for choice in spans[: settings.choose(8, 4)]
    ]
    known = {word for words in train.words[:FEW] for word in words}
    spanned = [
        pool[choice.sentence][place]
        for choice in spans[: len(rows)]
        for place in range(choice.first, choice.last + 1)
    ]
    n_marked, n_unknown = len(spanned), sum(word not in known for word in spanned)
    p = tagger.distribution(chosen)
    marginals = p.by_position.marginals
    rounds = [
        (f"{FEW} sentences, none added", percent(before), "0"),
        *(
            (f"{ROUND} more, {name}", percent(gains[key][0]), f"{gains[key][1]:,}")
            for key, name in (("entropy", "the most uncertain"), ("random", "at random"))
        ),
    ]
    return Section(
        name="next",
        title="What to label next",
        what=(
            f"The tagger from {FEW} labelled sentences goes through the {len(pool)} others and "
            f"finds in each the {N_WORDS} neighbouring words whose tags have the highest joint "
            "entropy, exactly. Whoever labels these words first learns most from the work."
        ),
        see=(
            f"{n_unknown} of the {n_marked} marked words were in no labelled sentence. After one "
            f"round of {ROUND} sentences, choosing by entropy gives "
            f"{percent(gains['entropy'][0])} and chance {percent(gains['random'][0])}."
        ),
        same=(
            "partita select pos.model unlabelled.conllu --strategy span \\\n"
            "    > label-these-next.conllu"
        ),
        blocks=[
            table(("the most uncertain spans", "entropy in nats"), rows),
            figure(
                show.trellis(chosen, tagger.tags_, marginals.unary, transitions=marginals.pairwise),
                f"The sentence with the most uncertain span: words {best.first + 1} to "
                f"{best.last + 1}.",
            ),
            table(("one round of labelling", "accuracy", "words labelled for it"), rounds),
        ],
        headline=(f"{best.value:.2f}", f"nats in the {N_WORDS} most uncertain words"),
    )


def _one_round(settings: Settings, tagger: Tagger) -> dict[str, tuple[float, int]]:
    """Accuracy after some more sentences were labelled, and how many words these have."""
    train, test = tagged("train"), tagged("dev")
    gains = {}
    for strategy in ("entropy", "random"):
        picked = rank(tagger, train.words[FEW:], strategy, seed=settings.seed)[:ROUND]
        numbers = [*range(FEW), *(FEW + choice.sentence for choice in picked)]
        again = Tagger(l2=L2, seed=settings.seed, progress=False).fit(
            [train.words[index] for index in numbers], [train.tags[index] for index in numbers]
        )
        accuracy = again.score(test.words, test.tags)
        gains[strategy] = accuracy, sum(choice.n_words for choice in picked)
    settings.say(
        f"Labelling the {ROUND} most uncertain sentences gives {percent(gains['entropy'][0])}, "
        f"{ROUND} at random {percent(gains['random'][0])}."
    )
    return gains
