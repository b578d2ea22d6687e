# # A tagger
#
# From an annotated file to a model that says how sure it is. The data are the treebank that ships
# with the package: made-up English, with tags that are right by construction, so the accuracies
# here say nothing about real text. Your own CoNLL-U or CoNLL file is read in the same way, by
# `partita.data.read_sentences`.

import numpy as np

import partita as pt
from partita import samples, show

train, dev = samples.treebank("train"), samples.treebank("dev")
sentence = train[3]
for form, tag, chunk in zip(*map(sentence.column, ("FORM", "UPOS", "CHUNK")), strict=True):
    print(f"{form:10} {tag:6} {chunk}")

# ## Learn
#
# A `Tagger` is a linear-chain conditional random field. Its features come from the words: the
# word, its neighbours, prefixes, suffixes and its shape.

tagger = pt.Tagger(tag_column="UPOS", l2=0.1, workers=1).fit(train)
print(tagger.training_.reason)
print(f"accuracy on dev: {tagger.score(dev):.3f}")

# How much does each sentence help? The curve is steep: ten sentences know the frequent words only.

points = []
for n_sentences in (10, 20, 50, 100, 200, 350):
    learner = pt.Tagger(tag_column="UPOS", l2=0.1, workers=1).fit(train[:n_sentences])
    points.append((n_sentences, learner.score(dev)))
    print(f"{n_sentences:4} sentences: {points[-1][1]:.3f}")

show.curves({"UPOS": points}, x_label="labelled sentences", y_label="accuracy")

# ## Ask
#
# `saw` is a verb or a tool, `duck` a verb or an animal, `that` has three tags. The model gives each
# tag at every word its probability, exactly, and the probability of whole sequences.

words = ["She", "saw", "that", "duck", "with", "her", "saw", "."]
[tags] = tagger.predict([words])
print(list(zip(words, tags, strict=True)))
for sequence, log_probability in tagger.k_best([words], 3)[0]:
    print(f"{np.exp(log_probability):.3f}", " ".join(sequence))
distribution = tagger.distribution(words)
print(f"entropy: {distribution.entropy:.3f} nats")

show.trellis(words, tagger.tags_, distribution.marginals.unary)

# The same distribution answers anything that `LinearChain` answers, see the
# [reference](../reference/distribution.md).
#
# ## Why?
#
# Which features decided, and how far ahead of the second-best tag they put it:

print("\n".join(str(tagger.explain(words, 6)).splitlines()[:10]))

# ## Chunks
#
# Chunks are tags too. With a scheme the model gives no probability at all to sequences that spell
# out no chunks (an `I-NP` after `B-VP`, say), neither in training nor in prediction.

chunker = pt.Tagger(
    columns=["FORM", "UPOS"], tag_column="CHUNK", scheme="IOB2", l2=0.1, workers=1
).fit(train)
print(f"accuracy: {chunker.score(dev):.3f}")

from partita.evaluation.chunks import chunk_scores

gold = [sentence.column("CHUNK") for sentence in dev]
print(chunk_scores(gold, chunker.predict(dev)))

# ## Keep it
#
# A model file is a header and plain arrays: nothing in it can run.

tagger.save("pos.model")
assert pt.Tagger.load("pos.model").predict([words]) == [tags]

# On the command line the same is:
#
# ```shell
# partita train tagger train.conllu --l2 0.1 -o pos.model
# partita evaluate pos.model dev.conllu
# partita predict pos.model raw.txt --probability
# ```
