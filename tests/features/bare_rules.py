"""Features of source sentences whose words can only be deleted."""

import numpy as np

from partita.features.source_rules import SourceRuleFeatures, SourceRules
from partita.grammars.choices import TargetChoices
from partita.grammars.source_parts import SourceParts


def bare_rules(words, classes, n, longest):
    """The rules of such a sentence; words and classes are padded."""
    nothing = np.zeros(0, dtype=np.int64)
    links, insertions = (
        TargetChoices(nothing, np.zeros(k + 1, dtype=np.int64)) for k in (n, n + 1)
    )
    rest = nothing, nothing, np.zeros((0, 3)), nothing, np.zeros((0, 1))
    return SourceRules(SourceParts(links, insertions, longest), words, classes, *rest)


def bare_features(words, classes, n, n_bits):
    """The features of one, whose target has a word at most."""
    return SourceRuleFeatures([bare_rules(words, classes, n, 1)], n_bits)
