# # Label bias
#
# A chain can be normalised in two ways: over whole sequences, as a conditional random field is, or
# at every step, p(tag | tag before, words), as a maximum-entropy Markov model is (McCallum, Freitag
# and Pereira 2000). The features may be the same. The second has a flaw, which one can see.

import numpy as np

import partita as pt
from partita import samples, show
from partita.structures.local_chains import locally_normalised

# ## A small example
#
# Two words, *rib* and *rob*, letter by letter (Lafferty, McCallum and Pereira 2001). After *r* the
# model must be at r1 or r2, and only the second letter tells which: *i* belongs to the upper path,
# *o* to the lower one. Every step has its score; the scores of *r* are even.

tags = ["r1", "i", "b1", "r2", "o", "b2"]
follows = np.full((6, 6), -np.inf)
for left, right in ((0, 1), (1, 2), (3, 4), (4, 5)):
    follows[left, right] = 0.0
letters = np.full((3, 6), -np.inf)
letters[0, [0, 3]] = 0.0
letters[1, [1, 4]] = -3.0, 3.0  # the second letter is an o
letters[2, [2, 5]] = 0.0
whole = pt.LinearChain(letters, follows)

# Normalised over sequences, the *o* decides, also about the letter before it:

show.trellis(
    list("rob"), tags, whole.marginals.unary, transitions=whole.by_position.marginals.pairwise
)

# The same scores, normalised at every step:

steps = whole.with_scores(locally_normalised(whole.structures, whole.scores))
show.trellis(
    list("rob"), tags, steps.marginals.unary, transitions=steps.by_position.marginals.pairwise
)

# From r1 only one tag can follow, so that it follows with probability 1, whatever the letter is: it
# is not heard. What reached r1 at the first letter, half of everything, stays there.

for name, p in (("whole sequences", whole), ("every step", steps)):
    print(f"{name:16} p(r2 o b2) = {np.exp(p.log_prob([3, 4, 5])):.3f}")

# ## In a tagger
#
# `Tagger(normalisation="local")` is the same tagger, trained and asked with the same features. With
# features of the word alone, all knowledge of what comes after a word must travel backwards along
# the tags, which is what normalising at every step prevents.

train, dev = samples.treebank("train"), samples.treebank("dev")
for features in (None, "FORM[0]\nFORM[0].suffix2\ntransition:"):
    for normalisation in ("global", "local"):
        tagger = pt.Tagger(
            tag_column="UPOS",
            features=features,
            normalisation=normalisation,
            max_iterations=60,
            workers=1,
        ).fit(train)
        seen = "the word alone" if features else "default features"
        print(f"{seen:16} {normalisation:6} accuracy on dev {tagger.score(dev):.3f}")

# On real text (every fourth training sentence of English EWT, parts of speech in per cent, and of
# CoNLL-2000, F1 of chunks; `python -m benchmarks.normalisation`):
#
# | features | EWT, whole sequences | every step | CoNLL-2000, whole sequences | every step |
# |---|---|---|---|---|
# | default, which look at the words around | 93.4 | 93.3 | 93.0 | 92.8 |
# | of the word alone | 91.3 | 89.3 | 83.9 | 80.7 |
#
# Features that look ahead make up for label bias; the chain itself does not.
