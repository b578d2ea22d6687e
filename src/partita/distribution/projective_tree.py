"""Distributions over projective dependency trees: Eisner's algorithm."""

from partita.distribution.trees import Tree
from partita.structures.projective_trees import ProjectiveTrees


class ProjectiveTree(Tree):
    """p(tree) proportional to exp(sum over words of arcs[head, word]), over projective trees.

    In a projective tree all words between a head and its modifier descend from the head, so that
    no arcs cross. Scores and structures are described at `Tree`. Log-partition and marginals cost
    O(n³), the covariance product about twice as much.

    >>> import numpy as np
    >>> p = ProjectiveTree(np.zeros((4, 4)))  # John saw Mary
    >>> float(np.exp(p.log_partition).round(9))
    12.0
    >>> p.marginals[:, 1:].round(3)  # the heads of each word
    array([[0.583, 0.333, 0.583],
           [0.   , 0.333, 0.167],
           [0.25 , 0.   , 0.25 ],
           [0.167, 0.333, 0.   ]])
    >>> float(np.exp(ProjectiveTree(np.zeros((4, 4)), single_root=True).log_partition).round(9))
    7.0
    """

    structures: ProjectiveTrees
    kind = ProjectiveTrees
