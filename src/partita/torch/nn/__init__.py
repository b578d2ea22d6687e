"""Layers that end in a structure: `CRF` over tags, `TreeCRF` over dependency trees."""

from partita.torch.nn.crf import CRF
from partita.torch.nn.tree_crf import Biaffine, SharedDropout, TreeCRF

__all__ = ["CRF", "Biaffine", "SharedDropout", "TreeCRF"]
