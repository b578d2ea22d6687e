"""The cases of the conformance suite, on tensors: what is added there is tested here too."""

import numpy as np
import torch

import cases
import partita.torch as ptt

# The structure that a tutorial defines has no class on tensors.
CASES = [case for case in cases.CASES if case.name != "own-structure"]


def on_tensors(case, scores, monkeypatch):
    """The case's distribution, built of tensors by the names of `partita.torch`."""
    with monkeypatch.context() as patch:
        patch.setattr(cases, "pt", ptt)
        return case.build(scores)


def tensors(values, requires_grad=True, dtype=torch.float64):
    """Arrays in nested lists and tuples as tensors."""
    if isinstance(values, list | tuple):
        return type(values)(tensors(value, requires_grad, dtype) for value in values)
    return torch.tensor(np.asarray(values), dtype=dtype, requires_grad=requires_grad)


def checkable(values):
    """The same, as `gradcheck` wants it: tensors of nothing (transitions of one word) are fixed."""
    for leaf in leaves(values):
        leaf.requires_grad_(leaf.numel() > 0)
    return values


def leaves(values):
    """The tensors in nested lists and tuples."""
    if isinstance(values, list | tuple):
        return [leaf for value in values for leaf in leaves(value)]
    return [values]


def filled(template, flat):
    """Tensors in the places of a template's."""
    queue = list(flat)

    def fill(place):
        if isinstance(place, list | tuple):
            return type(place)(fill(value) for value in place)
        return queue.pop(0)

    return fill(template)


def vector(values):
    """Tensors in nested lists and tuples as one array."""
    return np.concatenate([leaf.detach().numpy().ravel() for leaf in leaves(values)])
