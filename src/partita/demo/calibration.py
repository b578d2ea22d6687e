"""Whether the tagger's probabilities mean what they say."""

import numpy as np

from partita import show
from partita.demo.page import Section, figure, table
from partita.demo.settings import Settings, percent
from partita.demo.tagging import FEW, few_labels_tagger, tagged
from partita.evaluation import calibration_error, reliability


def section(settings: Settings) -> Section:
    """A reliability diagram of the tagger from few labels."""
    test = tagged("dev")
    tagger = few_labels_tagger(FEW, settings.seed)
    p = np.concatenate(tagger.predict_marginals(test.words))
    right = np.array([tag for tags in test.tags for tag in tags])
    found = np.array(tagger.tags_)[p.argmax(axis=1)]
    bins = reliability(p.max(axis=1), found == right)
    error = calibration_error(bins)
    settings.say(f"Its probabilities are off by {percent(error)} on average (calibration error).")
    rows = [
        (
            f"{100 * bin.low:.0f} to {100 * bin.high:.0f} %",
            f"{bin.n:,}",
            percent(bin.mean_probability),
            percent(bin.accuracy),
        )
        for bin in bins
        if bin.n
    ]
    said, was = p.max(axis=1).mean(), (found == right).mean()
    direction = "less" if said < was else "more"
    return Section(
        name="calibration",
        title="Do the probabilities mean what they say?",
        what=(
            f"The tagger from {FEW} labelled sentences gave each of {len(right):,} new words its "
            "likeliest tag, with a probability. The words are sorted into bins by that "
            "probability, and each bin shows how many of its words are right."
        ),
        see=(
            f"Bars that meet the diagonal: of what is called 80 % likely, 80 % should be right. On "
            f"average the tagger said {percent(said)} and was right in {percent(was)}, so it is "
            f"{direction} sure than it may be; the expected calibration error is {percent(error)}."
        ),
        same="partita evaluate pos.model test.conllu --diagram reliability.svg",
        blocks=[
            figure(
                show.reliability(bins, title="Calibration of the tagger"),
                "Share of right tags by probability; the stronger the ink, the more words. A dot "
                "stands at the mean probability of its bin.",
            ),
            table(("probability", "words", "said", "right"), rows),
        ],
        headline=(percent(error), "expected calibration error"),
    )
