"""Questions to distributions: answers are numbers, and agree with each other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.fuzz.distributions import ROOTS
from tools.fuzz.target import Finding

Answer = Callable[[Any, np.random.Generator], Any]

ALPHAS = (0.0, 1e-9, 0.5, 1 - 1e-9, 1.0, 2.0, 50.0, 1e6, np.inf)
FINITE: dict[str, Answer] = {
    "log_partition": lambda p, rng: p.log_partition,
    "marginals": lambda p, rng: p.marginals,
    "entropy": lambda p, rng: p.entropy,
    "argmax": lambda p, rng: p.argmax,
    "best_score": lambda p, rng: p.best_score,
    "covariance_product": lambda p, rng: p.covariance_product(p.marginals),
    "expectation": lambda p, rng: p.expectation(p.marginals),
    "renyi_entropy": lambda p, rng: p.renyi_entropy(float(rng.choice(ALPHAS))),
    "n_best_entropy": lambda p, rng: p.n_best_entropy(3),
    "entropy_gradient": lambda p, rng: p.entropy_gradient(),
    "score": lambda p, rng: p.score(p.argmax),
    "log_prob": lambda p, rng: p.log_prob(p.argmax),
    "indicators": lambda p, rng: p.indicators(p.argmax),
    "kl_divergence": lambda p, rng: p.kl_divergence(p),
    "covariance": lambda p, rng: p.covariance() if _size(p.marginals) < 300 else 0.0,
    "pair_marginals": lambda p, rng: p.pair_marginals(),
    "span_entropy": lambda p, rng: p.span_entropy(*sorted(rng.integers(3, size=2))),
    "constrained_entropy": lambda p, rng: p.constrained_entropy(*_constraint(p, rng)),
    "most_uncertain_span": lambda p, rng: p.most_uncertain_span(int(rng.integers(1, 4))),
    "entropy_by_forward_pass": lambda p, rng: p.entropy_by_forward_pass(),
    "entropy_gradient_by_lattices": lambda p, rng: p.entropy_gradient_by_lattices(),
    "entropy_lattices": lambda p, rng: p.entropy_lattices,
    "marginals_by_position": lambda p, rng: p.marginals_by_position,
    "gradient": lambda p, rng: _gradient(p, lambda p: p.log_partition + p.entropy),
    "gradient_of_score": lambda p, rng: _gradient(p, lambda p: p.log_prob(p.argmax)),
}
"""Questions all of whose answers are numbers."""
INFINITE: dict[str, Answer] = {
    "max_marginals": lambda p, rng: p.max_marginals,
    "cross_entropy": lambda p, rng: p.cross_entropy(_less(p, rng)),
    "inside": lambda p, rng: p.inside,
    "outside": lambda p, rng: p.outside,
    "score_of_anything": lambda p, rng: p.score(_anything(p, rng)),
}
"""Those whose answers may be infinite."""
ONLY: dict[str, tuple[str, ...]] = {
    "pair_marginals": ROOTS,
    "inside": ("forest",),
    "outside": ("forest",),
}
ONLY |= dict.fromkeys(
    [
        "span_entropy",
        "constrained_entropy",
        "most_uncertain_span",
        "entropy_by_forward_pass",
        "entropy_gradient_by_lattices",
        "entropy_lattices",
        "marginals_by_position",
    ],
    ("chain", "chain-by-position", "chain-with-ends"),
)
"""What not every structure can be asked."""
ON_TENSORS = ("gradient", "gradient_of_score")
NOT_ON_TENSORS = ("best_score", "n_best_entropy", "entropy_gradient", "indicators", "covariance")


def questions_of(kind: str, on_tensors: bool) -> list[str]:
    """All that a structure can be asked."""
    left_out = {*NOT_ON_TENSORS, *ONLY} if on_tensors else {*ON_TENSORS}
    left_out |= {question for question, kinds in ONLY.items() if kind not in kinds}
    return [question for question in (*FINITE, *INFINITE, *CHECKED) if question not in left_out]


def ask(p: Any, question: str, rng: np.random.Generator) -> None:
    """One question; a finding if its answer cannot be right."""
    if question in FINITE:
        _check(question, FINITE[question](p, rng), np.isfinite)
    elif question in INFINITE:
        _check(question, INFINITE[question](p, rng), lambda array: ~np.isnan(array))
    else:
        CHECKED[question](p, rng)


# ---------------------------------------------------------------------- answers that agree


def _check_k_best(p: Any, rng: np.random.Generator) -> None:
    """All different, best first, and as many as there are."""
    k = int(rng.integers(1, 7))
    for found, count in zip(_lists(p, p.k_best(k)), _each(p, p.count), strict=True):
        scores = [score for _, score in found]
        if sorted(scores, reverse=True) != scores or not np.isfinite(scores).all():
            raise Finding(f"k_best has scores {scores}")
        n_different = len({_key(structure) for structure, _ in found})
        if not n_different == len(found) == min(k, count):
            raise Finding(f"k_best({k}) gave {len(found)} structures of {count}: {found}")


def _check_samples(p: Any, rng: np.random.Generator) -> None:
    """Each can be."""
    for drawn in _of_sentences(p, p.sample(3, rng)):
        if any(len(field) != 3 for field in (drawn if isinstance(drawn, tuple) else (drawn,))):
            raise Finding(f"sample(3) gave {drawn}")


def _check_distinct(p: Any, rng: np.random.Generator) -> None:
    """No two are the same; more than there are is an error."""
    counts = _each(p, p.count)
    size = min(*counts, int(rng.integers(1, 7))) if counts else 1
    for drawn in _of_sentences(p, p.sample(size, rng, replace=False)):
        rows = list(zip(*drawn, strict=True)) if isinstance(drawn, tuple) else list(drawn)
        if len({_key(row) for row in rows}) != size or len(rows) != size:
            raise Finding(f"sample({size}, replace=False) gave {drawn}")
    if counts and min(counts) < 100:
        try:
            p.sample(min(counts) + 1, rng, replace=False)
        except ValueError:
            return
        raise Finding(f"sample gave more structures than {min(counts)}")


def _check_count(p: Any, rng: np.random.Generator) -> None:
    """A whole number of Python."""
    for count in _each(p, p.count):
        if type(count) is not int or count < 0:
            raise Finding(f"count is {count!r}")


def _check_restricted(p: Any, rng: np.random.Generator) -> None:
    """Anything can be asked of what is left: some parts, or all that may be."""
    if rng.random() < 0.5:
        left = p.restricted(_mapped(lambda values: values > 0, p.marginals))
    else:
        left = _less(p, rng)
    names = [*FINITE, *INFINITE]
    kinds = [name for name in names if name not in {*ONLY, *ON_TENSORS, *NOT_ON_TENSORS}]
    ask(left, kinds[rng.integers(len(kinds))], rng)


CHECKED: dict[str, Answer] = {
    "count": _check_count,
    "k_best": _check_k_best,
    "sample": _check_samples,
    "distinct": _check_distinct,
    "restricted": _check_restricted,
}
"""Questions with checks of their own."""
BASIC = ["log_partition", "marginals", "entropy", "argmax", "max_marginals", "count", "best_score"]
BASIC += ["covariance_product", "k_best", "sample", "expectation", "restricted", "renyi_entropy"]
BASIC += ["score", "log_prob", "kl_divergence", "covariance"]
"""What all structures on arrays can be asked."""

# ---------------------------------------------------------------------- helpers


def _less(p: Any, rng: np.random.Generator) -> Any:
    """The same scores, some parts forbidden at random."""
    share = rng.choice([0.02, 0.1, 0.5])
    return p.restricted(_mapped(lambda values: _coins(values, share, rng), p.marginals))


def _coins(values: Any, share: float, rng: np.random.Generator) -> Any:
    coins = rng.random(tuple(values.shape)) >= share
    return coins if isinstance(values, np.ndarray) else values.new_tensor(coins) > 0


def _mapped(function: Callable[[Any], Any], values: Any) -> Any:
    if isinstance(values, tuple):
        return type(values)(*[_mapped(function, value) for value in values])
    return (
        [_mapped(function, value) for value in values]
        if isinstance(values, list)
        else function(values)
    )


def _anything(p: Any, rng: np.random.Generator) -> Any:
    """Something like a structure, with a number or two that are not."""
    values = [np.array(array, copy=True) for array in _arrays(p.argmax)] or [np.zeros(2)]
    kind = rng.integers(5)
    for array in values:
        if array.size and array.dtype != object:
            array.flat[rng.integers(array.size)] = rng.choice([0, 1, 2, 7, -1, 2**40])
    if kind == 0:
        values = [values[0][:-1], *values[1:]]
    elif kind == 1:
        values = [values[0].astype(float), *values[1:]]
    elif kind == 2:
        values = values[::-1]
    return values[0] if _is_one(p) and len(values) == 1 else values


def _constraint(p: Any, rng: np.random.Generator) -> tuple[int, Any]:
    tags = [rng.integers(p.structures.n_tags, size=2) for _ in range(p.structures.n_sentences)]
    return int(rng.integers(2)), tags[0] if _is_one(p) else tags


def _gradient(p: Any, loss: Callable[[Any], Any]) -> Any:
    leaves = [tensor for tensor in p._tensors if tensor.requires_grad]
    for tensor in leaves:
        tensor.grad = None
    loss(p).sum().backward()
    return [tensor.grad for tensor in leaves if tensor.grad is not None]


def _plain(p: Any) -> Any:
    """The distribution on arrays."""
    return getattr(p, "numpy", p)


def _is_one(p: Any) -> bool:
    return bool(_plain(p)._form.kind == "one")


def _of_sentences(p: Any, samples: Any) -> list[Any]:
    """Samples of each sentence; heads and labels of a padded batch come in arrays for all."""
    if _is_one(p):
        return [samples]
    return list(zip(*samples, strict=True)) if isinstance(samples, tuple) else list(samples)


def _lists(p: Any, found: Any) -> Any:
    return [found] if _is_one(p) else found


def _each(p: Any, found: Any) -> list[Any]:
    return [found] if _is_one(p) else list(found)


def _key(structure: Any) -> str:
    return str([array.tolist() for array in _arrays(structure)])


def _arrays(values: Any) -> list[Any]:
    if isinstance(values, tuple | list):
        return [array for value in values for array in _arrays(value)]
    return [np.asarray(values.detach() if hasattr(values, "detach") else values)]


def _size(values: Any) -> int:
    return sum(array.size for array in _arrays(values))


def _check(question: str, values: Any, is_right: Callable[[Any], Any]) -> None:
    for array in _arrays(values):
        if array.dtype != object and not is_right(array).all():
            raise Finding(f"{question} is {array}")
