"""Partita: exact structured prediction over sequences, trees and forests.

    import partita as pt

    p = pt.LinearChain(unary, pairwise)
    p.log_partition, p.marginals, p.entropy, p.argmax

Names are imported when they are first used, so that `import partita` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita import show
    from partita.distribution.constituency_tree import ConstituencyTree
    from partita.distribution.hypergraph import HypergraphDistribution
    from partita.distribution.linear_chain import LinearChain
    from partita.distribution.projective_tree import ProjectiveTree
    from partita.distribution.segment_chain import SegmentChain
    from partita.distribution.sibling_tree import SiblingTree
    from partita.distribution.spanning_tree import SpanningTree
    from partita.estimators.alignment.aligner import Aligner
    from partita.estimators.alignment.models import HiddenMarkovAlignment, ItgAlignment, Model1
    from partita.estimators.parsing.parser import DependencyParser
    from partita.estimators.segmenting.segmenter import Segmenter
    from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger
    from partita.estimators.tagging.tagger import Tagger
    from partita.estimators.tagging.word_classes import WordClasses
    from partita.estimators.translation.grammars import Hiero, Itg
    from partita.estimators.translation.translator import Translator
    from partita.structures.hypergraph import Hypergraph

__version__ = "0.2.0"

__all__ = [
    "Aligner",
    "ConstituencyTree",
    "DependencyParser",
    "HiddenMarkovAlignment",
    "HiddenMarkovTagger",
    "Hiero",
    "Hypergraph",
    "HypergraphDistribution",
    "Itg",
    "ItgAlignment",
    "LinearChain",
    "Model1",
    "ProjectiveTree",
    "SegmentChain",
    "Segmenter",
    "SiblingTree",
    "SpanningTree",
    "Tagger",
    "Translator",
    "WordClasses",
    "__version__",
    "show",
]

_MODULES = {
    "Aligner": "partita.estimators.alignment.aligner",
    "ConstituencyTree": "partita.distribution.constituency_tree",
    "DependencyParser": "partita.estimators.parsing.parser",
    "HiddenMarkovAlignment": "partita.estimators.alignment.models",
    "HiddenMarkovTagger": "partita.estimators.tagging.hidden_markov_tagger",
    "Hiero": "partita.estimators.translation.grammars",
    "Hypergraph": "partita.structures.hypergraph",
    "HypergraphDistribution": "partita.distribution.hypergraph",
    "Itg": "partita.estimators.translation.grammars",
    "ItgAlignment": "partita.estimators.alignment.models",
    "LinearChain": "partita.distribution.linear_chain",
    "Model1": "partita.estimators.alignment.models",
    "ProjectiveTree": "partita.distribution.projective_tree",
    "SegmentChain": "partita.distribution.segment_chain",
    "Segmenter": "partita.estimators.segmenting.segmenter",
    "SiblingTree": "partita.distribution.sibling_tree",
    "SpanningTree": "partita.distribution.spanning_tree",
    "Tagger": "partita.estimators.tagging.tagger",
    "Translator": "partita.estimators.translation.translator",
    "WordClasses": "partita.estimators.tagging.word_classes",
    "show": "partita.show",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"partita has no {name!r}; it has {', '.join(sorted(_MODULES))}.")
    module = import_module(_MODULES[name])
    # Some names, such as show, are modules themselves.
    value = module if module.__name__ == f"partita.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
