"""A linear-chain CRF as the last layer of a tagger."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from partita.data.schemes import Transitions
from partita.torch.distributions import LinearChain
from partita.torch.nn.reductions import Reduction, as_mask, reduced


class CRF(torch.nn.Module):
    """Scores of transitions, learnt beside the network that scores the tags.

    Takes the place of the `CRF` of pytorch-crf: the same arguments, calls and names of parameters,
    so that a state dictionary fits too.

    Parameters
    ----------
    num_tags
        Number of tags, s.
    batch_first
        Whether emissions are (n_sentences, n_words, s); else (n_words, n_sentences, s).
    allowed
        Hard constraints: which tags may be first, follow each other and be last, as
        `partita.data.schemes.allowed_transitions(tags, "IOB2")` says for chunks.

    A mask is true where there is a word. It may have holes: words that it leaves out are not there,
    and their neighbours stand beside each other. Every sentence has at least one word.

    >>> crf = CRF(num_tags=3, batch_first=True)
    >>> tags = torch.tensor([[0, 1, 2], [1, 0, 0]])
    >>> emissions = 5.0 * torch.nn.functional.one_hot(tags, 3)  # for the output of a network
    >>> mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    >>> (-crf(emissions, tags, mask, reduction="mean")).backward()
    >>> crf.decode(emissions, mask)
    [[0, 1, 2], [1, 0]]
    """

    def __init__(
        self, num_tags: int, batch_first: bool = False, *, allowed: Transitions | None = None
    ) -> None:
        if num_tags < 1:
            raise ValueError(f"num_tags is {num_tags}; expected at least 1.")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.end_transitions = torch.nn.Parameter(torch.empty(num_tags))
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags))
        self._is_restricted = allowed is not None
        masks = _forbidden(allowed, num_tags)
        for name, mask in zip(("first", "pairwise", "last"), masks, strict=True):
            # No part of the state, so that states are those of pytorch-crf.
            self.register_buffer(f"_forbidden_{name}", mask, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the scores of transitions evenly from -0.1 to 0.1.

        >>> crf = CRF(num_tags=2)
        >>> crf.reset_parameters()
        >>> bool((crf.transitions.abs() <= 0.1).all())
        True
        """
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -0.1, 0.1)

    def extra_repr(self) -> str:
        """What stands in the brackets when the layer is printed.

        >>> CRF(num_tags=2)
        CRF(num_tags=2, batch_first=False)
        """
        return f"num_tags={self.num_tags}, batch_first={self.batch_first}"

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor,
        mask: Tensor | None = None,
        reduction: Reduction = "sum",
    ) -> Tensor:
        """Log-likelihood of tags, to be maximised; -inf if `allowed` forbids them.

        `reduction` is "sum" over sentences, "mean" of sentences, "token_mean" of words, or "none".
        Tags under the mask's zeros can be anything.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> bool(crf(emissions, torch.tensor([[0, 1]])) > crf(emissions, torch.tensor([[1, 1]])))
        True
        """
        words = self._words(emissions, mask)
        if tags.shape != emissions.shape[:2]:
            raise ValueError(
                f"tags have shape {tuple(tags.shape)} for emissions of shape "
                f"{tuple(emissions.shape)}; expected a tag for every word of every sentence."
            )
        log_probs = self._chain(words).log_prob(words.packed(self._turned(tags)))
        return reduced(log_probs, words.n_words, reduction)

    def distribution(self, emissions: Tensor, mask: Tensor | None = None) -> LinearChain:
        """The distribution over tag sequences, with all that a `LinearChain` knows.

        It is batch-first always, and sentences with holes are closed up.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> crf.distribution(emissions).entropy.shape
        torch.Size([1])
        """
        return self._chain(self._words(emissions, mask))

    def decode(self, emissions: Tensor, mask: Tensor | None = None) -> list[list[int]]:
        """The best tags of each sentence, as many as it has words.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> crf.decode(emissions)
        [[0, 1]]
        """
        words = self._words(emissions, mask)
        return words.lists(self._chain(words).argmax)

    def marginals(self, emissions: Tensor, mask: Tensor | None = None) -> Tensor:
        """The probability of every tag at every word, in the shape of the emissions.

        Can be differentiated; 0 where there is no word.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> crf.marginals(emissions)[0].round()
        tensor([[1., 0.],
                [0., 1.]], grad_fn=<RoundBackward0>)
        """
        words = self._words(emissions, mask)
        return self._turned(words.unpacked(self._chain(words).marginals.unary))

    def k_best(
        self, emissions: Tensor, k: int, mask: Tensor | None = None
    ) -> list[list[tuple[list[int], float]]]:
        """The k best tag sequences of each sentence with their log-probabilities, best first.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> [tags for tags, log_probability in crf.k_best(emissions, 1)[0]]
        [[0, 1]]
        """
        p = self.distribution(emissions, mask)
        log_partitions = p.log_partition.tolist()
        return [
            [(tags.tolist(), score - log_partition) for tags, score in found]
            for found, log_partition in zip(p.k_best(k), log_partitions, strict=True)
        ]

    def sample(
        self,
        emissions: Tensor,
        size: int,
        mask: Tensor | None = None,
        rng: np.random.Generator | None = None,
        *,
        replace: bool = True,
    ) -> list[list[list[int]]]:
        """`size` tag sequences of each sentence, drawn with their probabilities.

        With `replace=False` no two are the same.

        >>> crf = CRF(num_tags=2, batch_first=True)
        >>> emissions = torch.tensor([[[9.0, 0.0], [0.0, 9.0]]])  # one sentence of two words
        >>> samples = crf.sample(emissions, 3, rng=np.random.default_rng(0))
        >>> len(samples[0]), len(samples[0][0])
        (3, 2)
        """
        words = self._words(emissions, mask)
        samples = self._chain(words).sample(size, rng, replace=replace)
        return [
            [row[:n].tolist() for row in rows]
            for rows, n in zip(samples, words.n_words.tolist(), strict=True)
        ]

    def _chain(self, words: "_MaskedWords") -> LinearChain:
        start, pairwise, stop = self.start_transitions, self.transitions, self.end_transitions
        if self._is_restricted:
            start = start.masked_fill(self._forbidden_first, -torch.inf)
            pairwise = pairwise.masked_fill(self._forbidden_pairwise, -torch.inf)
            stop = stop.masked_fill(self._forbidden_last, -torch.inf)
        n_words = None if words.is_full else words.n_words
        return LinearChain(words.emissions, pairwise, start=start, stop=stop, n_words=n_words)

    def _words(self, emissions: Tensor, mask: Tensor | None) -> "_MaskedWords":
        if emissions.dim() != 3 or emissions.shape[2] != self.num_tags:
            raise ValueError(
                f"emissions have shape {tuple(emissions.shape)}; expected three axes, the last "
                f"of {self.num_tags} tags."
            )
        if mask is None:
            emissions = self._turned(emissions)
            n_words = torch.full((len(emissions),), emissions.shape[1])
            return _MaskedWords(emissions, n_words, None, is_full=True)
        return _words(self._turned(emissions), self._turned(as_mask(mask, emissions)))

    def _turned(self, values: Tensor) -> Tensor:
        """Between the caller's order of sentences and words and ours; its own inverse."""
        return values if self.batch_first else values.transpose(0, 1)


class _MaskedWords(NamedTuple):
    """The words of a batch that are there, those of each sentence at its beginning."""

    emissions: Tensor
    n_words: Tensor
    order: Tensor | None
    """Where each word comes from, (n_sentences, longest); None if they did not move."""
    is_full: bool = False
    """Whether no word is missing."""

    def packed(self, values: Tensor) -> Tensor:
        """A number for each word, moved as the words are."""
        return values if self.order is None else values.gather(1, self.order)

    def unpacked(self, values: Tensor) -> Tensor:
        """A row for each word, moved back to where the words came from."""
        return values if self.order is None else _rows(values, self.order.argsort(dim=1))

    def lists(self, tags: Tensor) -> list[list[int]]:
        """The tags of the words that are there."""
        # Of a batch without sentences the tags are an empty list.
        rows = tags.tolist() if len(tags) else []
        return [row[:n] for row, n in zip(rows, self.n_words.tolist(), strict=True)]


def _words(emissions: Tensor, present: Tensor) -> _MaskedWords:
    n_words = present.sum(dim=1)
    positions = torch.arange(present.shape[1], device=present.device)
    if torch.equal(present, positions < n_words[:, None]):
        return _MaskedWords(emissions, n_words, None)
    order = (~present).to(torch.uint8).argsort(dim=1, stable=True)
    return _MaskedWords(_rows(emissions, order), n_words, order)


def _rows(values: Tensor, order: Tensor) -> Tensor:
    return values.gather(1, order[:, :, None].expand_as(values))


def _forbidden(allowed: Transitions | None, num_tags: int) -> list[Tensor]:
    shapes = (num_tags,), (num_tags, num_tags), (num_tags,)
    if allowed is None:
        return [torch.zeros(shape, dtype=torch.bool) for shape in shapes]
    masks: list[Any] = [torch.as_tensor(mask) for mask in allowed]
    for name, mask, shape in zip(("first", "pairwise", "last"), masks, shapes, strict=True):
        if mask.shape != shape or mask.dtype != torch.bool:
            raise ValueError(
                f"allowed.{name} is {mask.dtype} of shape {tuple(mask.shape)}; expected booleans "
                f"of shape {shape} for {num_tags} tags."
            )
    return [~mask for mask in masks]
