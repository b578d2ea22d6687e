"""What all layers with a likelihood share: masks of words, and sums of sentences."""

from typing import Literal, get_args

import torch

Reduction = Literal["none", "sum", "mean", "token_mean"]


def reduced(log_probs: torch.Tensor, n_words: torch.Tensor, reduction: Reduction) -> torch.Tensor:
    """Log-probabilities of sentences as they are, their sum, or their mean by sentence or word."""
    if reduction == "none":
        return log_probs
    if reduction == "sum":
        return log_probs.sum()
    if reduction == "mean":
        return log_probs.mean()
    if reduction == "token_mean":
        return log_probs.sum() / n_words.sum()
    raise ValueError(
        f"reduction is {reduction!r}; expected one of {', '.join(get_args(Reduction))}."
    )


def as_mask(mask: torch.Tensor | None, batch: torch.Tensor) -> torch.Tensor:
    """A caller's mask of words as booleans, (n_sentences, longest); all words without one."""
    if mask is None:
        return torch.ones(batch.shape[:2], dtype=torch.bool, device=batch.device)
    if mask.shape != batch.shape[:2]:
        raise ValueError(
            f"mask has shape {tuple(mask.shape)} for a batch of shape {tuple(batch.shape)}; "
            "expected the same sentences and words, true where there is a word."
        )
    return mask.bool()
