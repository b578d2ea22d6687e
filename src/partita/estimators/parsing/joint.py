"""Labels that are learnt together with arcs: every arc with every label has a score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import IntArray
from partita.estimators.parsing.labels import Labels
from partita.features.arc_keys import KeyMaker
from partita.features.labelled_arcs import row_places
from partita.kept import kept_texts
from partita.text.arc_templates import ArcTemplate, parse_arc_templates
from partita.text.attributes import Attributes
from partita.text.label_templates import ENDS, MODIFIER
from partita.text.words import Words

DEFAULT = f"""{MODIFIER}
modifier.UPOS modifier.MARKER
{ENDS}
head.XPOS modifier.XPOS
head.XPOS modifier.XPOS modifier.XPOS[-1]
head.XPOS modifier.XPOS modifier.XPOS[1]
head.FEATS modifier.FEATS modifier.UPOS
head.UPOS modifier.UPOS modifier.MARKER
head.LEMMA modifier.UPOS modifier.MARKER
"""
"""What a label is told by, beside the arc's direction and distance."""


def arc_label_templates(columns: Sequence[str]) -> tuple[ArcTemplate, ...]:
    """The templates of labels for sentences that have some of the CoNLL-U columns."""
    return tuple(each for each in parse_arc_templates(DEFAULT) if each.columns <= set(columns))


@dataclass(frozen=True)
class ArcLabels(Labels):
    """Labels of arcs as the arcs themselves tell them, whatever the rest of the tree is."""

    maker: KeyMaker
    """Makes keys of words."""

    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the number of bits."""
        return {"names": list(self.names), "arcs": self.maker.header()}

    @classmethod
    def restored(cls, header: Mapping[str, Any], n_bits: int) -> "ArcLabels":
        """From what a model file kept."""
        return cls(
            tuple(kept_texts(header["names"], "names")), n_bits, KeyMaker.restored(header["arcs"])
        )

    def attributes(self, words: Words, heads: IntArray) -> Attributes:
        """A row of hashed features for each word; `heads` of all sentences end to end."""
        starts = words.first_nodes
        is_word = np.ones(starts[-1], dtype=np.bool_)
        is_word[starts[:-1]] = False
        roots = np.repeat(starts[:-1], words.n_words)
        keys = self.maker.keys(words)
        places = row_places(keys, roots + heads, np.flatnonzero(is_word), self.n_bits)
        return Attributes(places.ravel(), np.arange(len(heads) + 1) * places.shape[1])
