# # A grammar from brackets, and from words alone
#
# Trees of phrases come as brackets. This page reads a grammar off them, parses with it, scores the
# result as EVALB does, and then forgets the brackets and learns the rules' probabilities from words
# alone. The brackets are made up here, by a grammar that we know; a file of the Penn Treebank's
# kind is read by `read_brackets(path)`.
#
# ## A grammar that makes sentences
#
# Tails are symbols, or text for a word.

import numpy as np

import partita as pt
from partita.data import parse_brackets
from partita.evaluation import compare_brackets
from partita.grammars.cfg import ContextFreeGrammar
from partita.grammars.inside_outside import estimate

RULES = {
    ("S", ("NP", "VP")): 1.0,
    ("NP", ("D", "N")): 0.7,
    ("NP", ("NP", "PP")): 0.3,
    ("VP", ("V", "NP")): 0.6,
    ("VP", ("VP", "PP")): 0.4,
    ("PP", ("P", "NP")): 1.0,
    ("D", "the"): 0.6,
    ("D", "a"): 0.4,
    ("N", "dog"): 0.4,
    ("N", "park"): 0.4,
    ("N", "telescope"): 0.2,
    ("V", "sees"): 0.7,
    ("V", "likes"): 0.3,
    ("P", "in"): 0.5,
    ("P", "with"): 0.5,
}
truth = ContextFreeGrammar.from_probabilities(RULES, list(RULES.values()))


def made_up(symbol, rng):
    """A tree of a symbol as brackets, its rules drawn at random."""
    mine = [rule for rule in RULES if rule[0] == symbol]
    tails = mine[rng.choice(len(mine), p=[RULES[rule] for rule in mine])][1]
    below = [tails] if isinstance(tails, str) else [made_up(tail, rng) for tail in tails]
    return f"({symbol} {' '.join(below)})"


rng = np.random.default_rng(0)
trees = parse_brackets("\n".join(made_up("S", rng) for _ in range(600)))
trees = [tree for tree in trees if len(tree.words) <= 17]
training, held_out = trees[:400], trees[400:]
print(len(training), "trees to learn from, for instance")
print(training[1])

# ## Read off the trees
#
# The probability of a rule is its share among those of the same head.

grammar = ContextFreeGrammar.of_trees(training)
for rule, score in zip(grammar.rules, grammar.scores, strict=True):
    if not rule.is_word:
        print(f"{rule!s:14} {np.exp(score):.2f}")

# The trees of a sentence are a forest, and every question to it has an exact answer: how probable
# the sentence is, how many trees it has, how uncertain one is among them.

words = ["the", "dog", "sees", "a", "park", "with", "the", "telescope", "in", "a", "park"]
forest = grammar.forest(words)
p = pt.HypergraphDistribution(forest.hypergraph, grammar.edge_scores(forest))
print(f"p(words) = {np.exp(p.log_partition):.2e}")
print(f"entropy of its trees: {p.entropy:.2f} nats")
for edges, score in p.k_best(2):
    print(f"{np.exp(score - p.log_partition):.2f} {grammar.tree(forest, edges)}")

# ## How good are the best trees?
#
# Where a phrase with a preposition belongs is a guess, as for everybody who sees no more than the
# tags, so not all brackets can be right.

print(compare_brackets(held_out, [grammar.parse(tree.words) for tree in held_out]))

# ## From words alone
#
# The same rules, their probabilities forgotten: inside-outside estimation finds some under which
# the sentences are likely. Rules that begin alike stay alike, so they begin at random.

begin = grammar.with_scores(np.log(rng.uniform(0.5, 1.5, size=len(grammar.rules))))
found = estimate(begin, [tree.words for tree in training], n_iterations=200)
print(f"log-likelihood {found.log_likelihoods[0]:.0f} -> {found.log_likelihoods[-1]:.0f}")
for rule, before, after in zip(grammar.rules, grammar.scores, found.grammar.scores, strict=True):
    if not rule.is_word:
        print(f"{rule!s:14} with trees {np.exp(before):.2f}, without {np.exp(after):.2f}")
print(compare_brackets(held_out, [found.grammar.parse(tree.words) for tree in held_out]))

# ## Scores of your own for spans
#
# Where scores come from a model of spans and not from rules, `ConstituencyTree` is the
# distribution: all binary trees, with a score for every span (and label). `binary_rows` makes its
# rows from brackets, and `bracketed` goes back. Here all spans of gold score 1 and others 0.

from partita.data import binary_rows, bracketed, span_labels

tree = parse_brackets("(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N park))))")[0]
labels = span_labels([tree])
rows = binary_rows(tree, {label: number for number, label in enumerate(labels)})
spans = np.zeros((5, 5, len(labels)))
spans[tuple(rows.T)] = 1.0
q = pt.ConstituencyTree(spans, labelled=True)
print(f"p(tree) = {np.exp(q.log_prob(rows)):.4f} of e^{q.log_partition:.2f} in all")
print("P(NP over the first two words) =", q.marginals[0, 1, labels.index("NP")].round(3))
print(bracketed(q.argmax, labels, tree.words, tree.tags))
