# # A parser, from trees and from rules alone
#
# A `DependencyParser` is a conditional random field over trees. Arcs may cross (spanning trees, by
# the matrix-tree theorem) or not (projective trees, by Eisner's algorithm). It learns from trees;
# or, where there are none, from what you know about the language. The treebank is the made-up one
# that ships with the package; a tenth of its sentences have crossing arcs.

import partita as pt
from partita import samples, show
from partita.data.arc_rules import parse_arc_rules
from partita.evaluation import compare_trees

train, dev = samples.treebank("train"), samples.treebank("dev")


def parser(projective=False, **options):
    options |= {"projective": projective, "n_bits": 18, "label_bits": 14, "batch_sentences": 8}
    return pt.DependencyParser(workers=1, progress=False, **options)


def scores(parser, **options):
    return compare_trees(dev, parser.predict(dev, **options))


# ## From trees

for n_trees in (10, 50, 150):
    found = scores(parser().fit(train[:n_trees]))
    print(f"{n_trees:4} trees: {found.uas:.3f} of heads, {found.las:.3f} with relations")

# ## Ask
#
# A question has crossing arcs: its first word is the object of its last verb, and the arc between
# them passes over the verb that both depend on. Arcs are drawn as thick as they are probable.

supervised = parser().fit(train)
question = next(s for s in dev if s.column("FORM")[0] == "What" and len(s) < 12)
[(heads, labels)] = supervised.predict([question])
[probabilities] = supervised.predict_marginals([question])
print(" ".join(question.column("FORM")))
print("heads:", heads.tolist(), "right:", question.column("HEAD"))
print(f"entropy of the tree: {supervised.entropy([question])[0]:.3f} nats")

show.tree(question.column("FORM"), heads, labels=labels, probabilities=probabilities)

# ## From rules alone
#
# Now without a single tree. These rules are what a grammar book says in its first chapters, and one
# number: at least so much of all arcs obeys one of them. (They know the universal tags, as every
# parser here does.)
#
# Read the score with care: whoever wrote these rules also wrote the grammar that made the trees, so
# they fit as no rules for a real language do. On real English, universal rules reach 63 % of heads,
# and 70 % with what there is not ([what pays](../how-to/few-labels.md)). The size of the parser's
# batches was chosen on this `dev`, too.

rules = parse_arc_rules("""
at least 0.85 of arcs:
    VERB <- ROOT
    PUNCT <- VERB left
    NOUN <- VERB
    PROPN <- VERB
    PRON <- VERB
    ADV <- VERB
    AUX <- VERB right
    PART <- VERB right
    SCONJ <- VERB right
    VERB <- VERB left
    DET <- NOUN right
    ADJ <- NOUN right
    NUM <- NOUN right
    PRON <- NOUN right
    ADP <- NOUN right
    ADP <- PROPN right
""")
text = [sentence.replaced("HEAD", ["_"] * len(sentence)) for sentence in train[:200]]
tags = "head.UPOS \n modifier.UPOS \n head.UPOS modifier.UPOS"
ruled = parser(rules=rules, features=tags, projective=True, labels=False).fit([], unlabelled=text)
print(f"from rules: {scores(ruled, decoder='risk').uas:.3f} of heads, without a tree")

# What does it do without learning, when each word hangs on its neighbour?


def chain_score(step):
    right = total = 0
    for sentence in dev:
        for word, head in enumerate(sentence.column("HEAD"), 1):
            right += int(head) == word + step
            total += 1
    return right / total


print(f"each word on the one before: {chain_score(-1):.3f}, on the one after: {chain_score(1):.3f}")

# The rules are constraints on expectations: the model may break them in a sentence, if it keeps
# them in the text as a whole. The gradient is one covariance product a sentence, O(n³), for all
# rules together ([why](../explanations/one-idea.md)); by a covariance matrix it would be O(n⁴).

[arcs] = ruled.predict_marginals([question])
show.arcs(question.column("FORM"), arcs)

# How to hold arcs fixed, evaluate by length and relation, and do all this by the command:
# [Parse, and learn to parse](../how-to/parser.md).
