"""Digests: equal contents, equal digest; and whatever differs tells."""

import functools
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from scipy import sparse

from partita.objectives import Entropy, GeneralizedExpectation, Likelihood, ramp
from partita.training.digests import digest
from partita.training.memory_corpus import MemoryCorpus
from small_corpora import N_WEIGHTS, chain_batches


class Thing:
    def __init__(self, values):
        self.values = values

    @cached_property
    def total(self):
        return self.values.sum()


@dataclass
class WithLock:
    number: int

    def __post_init__(self):
        self.lock = threading.Lock()


def made():
    """Things of all kinds, made anew at each call."""
    return {
        "numbers": [0, 1, -1, True, False, 0.0, -0.0, 0.1, float("inf"), None, 2**70],
        "text": ["", "ä", b"a", "a"],
        "arrays": [np.arange(4), np.arange(4.0), np.arange(4, dtype=np.int32), np.zeros((2, 2))],
        "more arrays": [np.array(["a", "b"]), np.array([(1, 2.0)], "i4,f8"), np.float32(1)],
        "objects": np.array([None, "a", (1, 2)], dtype=object),
        "sparse": sparse.coo_array(([1.0, 2.0, 3.0], ([1, 0, 1], [0, 1, 2])), shape=(2, 3)),
        "sets": [{"a", "b", "c", "d"}, frozenset([1, 2])],
        "containers": [(1, 2), [1, 2], [[1], 2], [1, [2]], {"a": 1}, slice(1, 2), range(3)],
        "thing": Thing(np.arange(3)),
        "lock": WithLock(3),
        "functions": [ramp(0.1, over=20), functools.partial(max, 1), np.sum, len],
        "rng": np.random.default_rng(),
    }


def test_equal_contents_have_equal_digests():
    first, second = made(), made()
    assert digest(first) == digest(second)
    first["thing"].total  # noqa: B018 (fills a cache)
    first["rng"].random()
    assert digest(first) == digest(second)


def test_the_process_does_not_matter():
    """Hashes of text, and so the order of sets, differ from process to process."""
    code = "from test_digests import digest, made; print(digest(made()))"
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.path.dirname(__file__),
        env=environment,
    )
    assert found.stdout.strip() == digest(made())


def test_all_of_them_differ():
    each = [
        item for part in made().values() for item in (part if isinstance(part, list) else [part])
    ]
    found = [digest(item) for item in each]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), -np.zeros(2)),
        (["ab", "c"], ["a", "bc"]),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        (Thing(np.arange(3)), Thing(np.arange(4))),
        (ramp(0.1, over=20), ramp(0.1, over=21)),
        (Likelihood() + 0.1 * Entropy(), Likelihood() + 0.2 * Entropy()),
        (GeneralizedExpectation([0.5, 0.5]), GeneralizedExpectation([0.4, 0.6])),
    ],
)
def test_differences_tell(left, right):
    assert digest(left) != digest(right)


def test_order_of_memory_and_of_bytes_does_not_matter():
    array = np.arange(6.0).reshape(2, 3)
    assert digest(array) == digest(np.asfortranarray(array)) == digest(array.astype(">f8"))
    assert digest(array[:, ::2]) == digest(array[:, ::2].copy())
    matrix = sparse.csr_array(array)
    shuffled = sparse.csr_array(
        (np.array([2.0, 1.0, 5.0, 4.0, 3.0]), np.array([2, 1, 2, 1, 0]), np.array([0, 2, 5]))
    )
    assert (matrix != shuffled).nnz == 0
    assert digest(matrix) == digest(shuffled) == digest(matrix.tocsc())


def test_what_is_shared_does_not_matter():
    array = np.arange(3)
    assert digest([array, array]) == digest([array, array.copy()])


def test_something_that_contains_itself():
    loop = [1]
    loop.append(loop)
    other = [2]
    other.append(other)
    assert digest(loop) != digest(other)


def test_batches_are_told_apart():
    terms = ("Likelihood", "GeneralizedExpectation")
    batches = chain_batches(terms=terms)
    first = MemoryCorpus(Likelihood() + GeneralizedExpectation([0.6, 0.3, 0.1]), batches)
    expected = first.digest
    first.value_and_gradient(np.ones(N_WEIGHTS))
    assert digest(batches) == expected == digest(chain_batches(terms=terms))
    others = [
        chain_batches(terms=terms, seed=1),
        chain_batches(terms=("Likelihood",)),
        batches[:-1],
        batches[::-1],
        [replace(batches[0], sample_weights=np.ones(3)), *batches[1:]],
        [replace(batches[0], targets=batches[1].targets), *batches[1:]],
    ]
    found = {digest(other) for other in others}
    assert len(found) == len(others)
    assert expected not in found
