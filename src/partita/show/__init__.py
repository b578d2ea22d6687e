"""Drawings of what the library computes, as SVG without any dependency.

Each function takes plain words and arrays and gives an `Svg`, which a notebook shows by itself and
`save` writes to a file:

>>> from partita import show
>>> drawing = show.trellis(["fish", "swim"], ["NOUN", "VERB"], [[0.9, 0.1], [0.25, 0.75]])
>>> drawing.text.startswith("<svg")
True
"""

from partita.show.contractions import GraphStep, contraction
from partita.show.derivations import derivation, derivation_grid
from partita.show.grids import alignment, arcs
from partita.show.lattices import constrained_trellis, trellis_edge
from partita.show.plots import bars, curves, reliability
from partita.show.svg import Svg
from partita.show.trees import tree, trees
from partita.show.trellises import trellis

__all__ = [
    "GraphStep",
    "Svg",
    "alignment",
    "arcs",
    "bars",
    "constrained_trellis",
    "contraction",
    "curves",
    "derivation",
    "derivation_grid",
    "reliability",
    "tree",
    "trees",
    "trellis",
    "trellis_edge",
]
