# # Gallery: the figures of the documents
#
# The five source documents have figures; each is one function of `partita.show` here. Every one
# takes plain words and arrays and gives an SVG picture.

import numpy as np

from partita import show
from partita.baselines.contraction import contraction_trace
from partita.grammars.itg import pair_forest
from partita.structures.forests import Forests
from partita.structures.tree_tools import all_trees, crossing_arcs

# ## The trellis and one of its edges
#
# The probability of the edge from y(n-1) to y(n) is the forward message of the left tag, times the
# score of the edge, times the backward message of the right tag, over the partition function.

words, tags = ["the", "dog", "saw", "Mary"], ["DET", "NOUN", "VERB", "NNP"]
show.trellis_edge(words, tags, word=2, left=1, right=2)

# ## The lattice with two words constrained
#
# The entropy of all other words when words 3 and 4 have their tags: the lattices of entropies are
# built in the direction of the arrows (Mann and McCallum, figure 1).

show.constrained_trellis([f"x{i}" for i in range(1, 7)], ["A", "B", "C"], first=2, fixed=[1, 0])

# ## All parses of *John saw Mary*
#
# Without crossing arcs there are twelve, and seven of them have one root.

john = ["John", "saw", "Mary"]
parses = list(all_trees(3, projective=True))
print(len(parses))
show.trees(john, parses)

# With one root:

one_root = list(all_trees(3, projective=True, single_root=True))
print(len(one_root))
show.trees(john, one_root)

# ## A parse with crossing arcs

hearing = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today"]
heads = [2, 4, 4, 0, 2, 7, 5, 4]
crossing = {arc for pair in crossing_arcs(heads) for arc in pair}
show.tree(hearing, heads, marked=crossing)

# ## Chu-Liu-Edmonds, step by step
#
# For each word its best arc; they have a cycle, which becomes one node; the best arcs of that graph
# are a tree; opened, it is the best tree of the first graph.

arcs = np.full((4, 4), -np.inf)
arcs[0, 1:] = [9, 10, 9]
arcs[1, 2:] = [20, 3]
arcs[2, [1, 3]] = [30, 30]
arcs[3, 1:3] = [11, 0]
trace = contraction_trace(arcs, john)
print(trace)
show.contraction(trace.graphs)

# With a single root the arcs of the root are lowered first, by so much that a second never pays.
# Here two words want to hang on the root:

two_roots = np.array([[0, 10, 9], [0, 0, 4], [0, 3, 0]], dtype=float)
print(contraction_trace(two_roots, ["Go", "home"]).heads)
single = contraction_trace(two_roots, ["Go", "home"], single_root=True)
print(single)
show.contraction(single.graphs)

# ## A derivation of an inversion transduction grammar
#
# As a pair of trees: an inverted rule, in the other colour, exchanges its children on the target
# side.

source = ["ich", "habe", "das", "Haus", "gesehen"]
target = ["I", "have", "seen", "the", "house"]
links = np.zeros((5, 5))
for i, j in ((0, 0), (1, 1), (2, 3), (3, 4), (4, 2)):
    links[i, j] = 1
forest = pair_forest(links, np.zeros(5), np.zeros(5), normal_form=True)
best = Forests([forest.hypergraph]).argmax(np.zeros(forest.hypergraph.n_edges)).structures[0]
tree = forest.tree_of(best)
print(tree)
show.derivation(source, target, tree)

# As boxes on the grid of its alignment:

show.derivation_grid(source, target, tree)
