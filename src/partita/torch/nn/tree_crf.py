"""A dependency-tree CRF as the last layer of a parser."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from partita.torch.distributions import ProjectiveTree, SpanningTree
from partita.torch.nn.reductions import Reduction, as_mask, reduced


class Biaffine(torch.nn.Module):
    """score[a, b] = [x_a; 1]ᵀ U [y_b; 1], for each of `n_outputs` matrices U.

    `left` and `right` are (..., n_left) and (..., n_right); with `pairs` every row of one meets
    every row of the other, else they go row by row. U starts at 0, so that all trees are equally
    likely at first.

    >>> scorer, left, right = (
    ...     Biaffine(4, 5, n_outputs=2),
    ...     torch.randn(1, 3, 4),
    ...     torch.randn(1, 3, 5),
    ... )
    >>> scorer.pairs(left, right).shape, scorer.rows(left, right).shape
    (torch.Size([1, 3, 3, 2]), torch.Size([1, 3, 2]))
    """

    def __init__(self, n_left: int, n_right: int, n_outputs: int = 1) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(n_outputs, n_left + 1, n_right + 1))

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """(B, n, n_left), (B, m, n_right) -> (B, n, m, n_outputs)."""
        halves = torch.einsum("bxi,oij->boxj", _with_ones(left), self.weights)
        return torch.einsum("boxj,byj->bxyo", halves, _with_ones(right))

    def rows(self, left: Tensor, right: Tensor) -> Tensor:
        """(B, n, n_left), (B, n, n_right) -> (B, n, n_outputs)."""
        halves = torch.einsum("bxi,oij->bxoj", _with_ones(left), self.weights)
        return torch.einsum("bxoj,bxj->bxo", halves, _with_ones(right))


class TreeCRF(torch.nn.Module):
    """A distribution over dependency trees from a vector for each word (Dozat & Manning 2017).

    Each word's vector becomes one as a head and one as a modifier, by a layer with dropout; a
    biaffine form of the two scores the arc. Labels are scored alike, each arc's by itself:

        p(tree, labels) = p(tree) prod over words of p(label | arc)

    Parameters
    ----------
    n_inputs
        Length of a word's vector.
    n_labels
        Number of labels; None for trees without.
    projective
        Whether trees with crossing arcs are left out.
    single_root
        Whether exactly one word hangs on the root.
    n_arc_units, n_label_units
        Length of the vectors of heads and modifiers.
    dropout
        Share of these vectors that is left out in training, and of a word's vector.

    Calls take vectors (n_sentences, n_words, n_inputs) and a mask that is true where there is a
    word. It may have holes: words that it leaves out are not there. Heads count the words of the
    row from 1, as everywhere, those left out too; 0 is the root, whose vector is learnt.

    >>> _ = torch.manual_seed(0)
    >>> layer = TreeCRF(n_inputs=4, n_labels=2)
    >>> vectors = torch.randn(2, 3, 4)
    >>> heads, labels = torch.tensor([[2, 0, 2], [0, 1, 1]]), torch.tensor([[0, 1, 0], [1, 0, 0]])
    >>> loss = -layer(vectors, heads, labels, reduction="mean")
    >>> loss.backward()
    >>> float(loss.detach().exp().round())  # 9 trees with one root, 2³ labellings
    72.0
    """

    def __init__(
        self,
        n_inputs: int,
        n_labels: int | None = None,
        *,
        projective: bool = False,
        single_root: bool = True,
        n_arc_units: int = 400,
        n_label_units: int = 100,
        dropout: float = 0.33,
    ) -> None:
        super().__init__()
        self.tree_class = ProjectiveTree if projective else SpanningTree
        self.single_root = single_root
        self.root = torch.nn.Parameter(torch.randn(n_inputs) / n_inputs**0.5)

        def layer(n_units: int) -> Any:
            return torch.nn.Sequential(
                torch.nn.Linear(n_inputs, n_units), torch.nn.LeakyReLU(0.1), SharedDropout(dropout)
            )

        self.arc_heads, self.arc_modifiers = layer(n_arc_units), layer(n_arc_units)
        self.arc_scorer = Biaffine(n_arc_units, n_arc_units)
        self.n_labels = n_labels
        if n_labels is not None:
            self.label_heads, self.label_modifiers = layer(n_label_units), layer(n_label_units)
            self.label_scorer = Biaffine(n_label_units, n_label_units, n_labels)

    def forward(
        self,
        vectors: Tensor,
        heads: Tensor,
        labels: Tensor | None = None,
        mask: Tensor | None = None,
        reduction: Reduction = "sum",
    ) -> Tensor:
        """Log-likelihood of trees, (n_sentences, n_words), to be maximised.

        Without `labels`, that of the heads alone. `reduction` as in `CRF`.

        >>> layer, vectors = TreeCRF(n_inputs=4, n_labels=2), torch.randn(1, 3, 4)
        >>> layer(vectors, torch.tensor([[2, 0, 2]])).exp().detach().round(decimals=3)  # of nine
        tensor(0.1110)
        """
        present = as_mask(mask, vectors)
        log_probs = self.distribution(vectors, mask).log_prob(heads)
        if labels is not None:
            scores = log_softmax(self.label_scores(vectors, heads), dim=-1)
            chosen = scores.gather(2, self._known(labels, present)[:, :, None])[:, :, 0]
            log_probs = log_probs + chosen.where(present, 0.0).sum(dim=1)
        return reduced(log_probs, present.sum(dim=1), reduction)

    def _known(self, labels: Tensor, present: Tensor) -> Tensor:
        """A caller's labels, checked; 0 where there is no word, whatever stands there."""
        if labels.shape != present.shape:
            raise ValueError(
                f"labels have shape {tuple(labels.shape)}; expected {tuple(present.shape)}, a "
                "label for every word of every sentence."
            )
        wrong = present & ((labels < 0) | (labels >= (self.n_labels or 0)))
        if wrong.any():
            sentence, word = wrong.nonzero()[0].tolist()
            raise ValueError(
                f"labels[{sentence}, {word}] is {labels[sentence, word].item()}; expected 0 to "
                f"{(self.n_labels or 0) - 1}. Leave out of the mask what is no word, or labels "
                "where they are not known."
            )
        return labels.where(present, 0)

    def distribution(
        self, vectors: Tensor, mask: Tensor | None = None
    ) -> ProjectiveTree | SpanningTree:
        """The distribution over trees without labels: marginals, entropy, k-best trees, samples.

        >>> layer, vectors = TreeCRF(n_inputs=4, n_labels=2), torch.randn(1, 3, 4)
        >>> layer.distribution(vectors).marginals.shape
        torch.Size([1, 4, 4])
        """
        return self._trees(self.arcs(vectors), mask)

    def _trees(self, arcs: Tensor, mask: Tensor | None) -> ProjectiveTree | SpanningTree:
        words = None if mask is None else as_mask(mask, arcs[:, 1:])
        return self.tree_class(arcs, self.single_root, mask=words)

    def arcs(self, vectors: Tensor) -> Tensor:
        """Scores [head, modifier], (n_sentences, n_words + 1, n_words + 1); the root is row 0.

        >>> layer, vectors = TreeCRF(n_inputs=4, n_labels=2), torch.randn(1, 3, 4)
        >>> layer.arcs(vectors).shape
        torch.Size([1, 4, 4])
        """
        with_root = self._with_root(vectors)
        scores = self.arc_scorer.pairs(self.arc_heads(with_root), self.arc_modifiers(with_root))
        return scores[..., 0]

    def label_scores(self, vectors: Tensor, heads: Tensor) -> Tensor:
        """Scores of the labels of the arcs of given trees, (n_sentences, n_words, n_labels).

        >>> layer, vectors = TreeCRF(n_inputs=4, n_labels=2), torch.randn(1, 3, 4)
        >>> layer.label_scores(vectors, torch.tensor([[2, 0, 2]])).shape
        torch.Size([1, 3, 2])
        """
        if self.n_labels is None:
            raise ValueError("this TreeCRF has no labels; make it with n_labels=...")
        all_heads = self.label_heads(self._with_root(vectors))
        index = heads.clamp(min=0)[:, :, None].expand(-1, -1, all_heads.shape[2])
        return self.label_scorer.rows(all_heads.gather(1, index), self.label_modifiers(vectors))

    def decode(
        self, vectors: Tensor, mask: Tensor | None = None, *, least_risk: bool = False
    ) -> Any:
        """The likeliest trees: heads, or (heads, labels) with the best label of each arc.

        Both (n_sentences, n_words), -1 where there is no word. With `least_risk`, the trees with
        the most right arcs that can be expected: their arcs' probabilities have the largest sum.

        >>> layer, vectors = TreeCRF(n_inputs=4, n_labels=2), torch.randn(1, 3, 4)
        >>> heads, labels = layer.decode(vectors)
        >>> heads.shape, labels.shape
        (torch.Size([1, 3]), torch.Size([1, 3]))
        """
        p = self.distribution(vectors, mask)
        if least_risk:
            p = self._trees(p.marginals, mask)
        # Of a batch without sentences the answer is an empty list.
        heads = p.argmax if len(vectors) else vectors.new_empty(vectors.shape[:2], dtype=torch.long)
        if self.n_labels is None:
            return heads
        labels = self.label_scores(vectors, heads).argmax(dim=-1)
        return heads, labels.where(heads >= 0, -1)

    def _with_root(self, vectors: Tensor) -> Tensor:
        root = self.root.expand(len(vectors), 1, -1)
        return torch.cat([root, vectors], dim=1)


class SharedDropout(torch.nn.Module):
    """Dropout that leaves out the same units of all words of a sentence.

    >>> dropped = SharedDropout(0.5)(torch.ones(1, 3, 8))
    >>> bool((dropped == dropped[:, :1]).all())  # the same units of all three words
    True
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, vectors: Tensor) -> Tensor:
        """(n_sentences, n_words, n_units), scaled so that means stay."""
        if not self.training or self.share == 0:
            return vectors
        kept = vectors.new_empty(len(vectors), 1, vectors.shape[2]).bernoulli_(1 - self.share)
        return vectors * kept / (1 - self.share)


def _with_ones(vectors: Tensor) -> Tensor:
    return torch.cat([vectors, vectors.new_ones(*vectors.shape[:-1], 1)], dim=-1)
