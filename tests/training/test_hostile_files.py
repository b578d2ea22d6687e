"""Files that somebody made on purpose: whole, with the right checksums, and wrong."""

import contextlib
import hashlib
import json
import os
import resource
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.objectives import Likelihood
from partita.training.contents import Contents, is_of, refusing_wrong_contents
from partita.training.memory_corpus import MemoryCorpus
from partita.training.model_file import (
    PREFIX,
    START,
    VERSION,
    ModelFileError,
    read_header,
    read_model,
    write_model,
)
from partita.training.optimisers import LBFGS, Adam, ExpectationMaximisation
from partita.training.trainer import train
from small_corpora import Evidence, chain_batches, evidence_batches, first_weights, most_likely


def forged(path, text, payload=bytes(64), length=None):
    """A file whose checksums are right, by someone who knows the layout."""
    prefix = PREFIX.pack(b"PARTITA\0", VERSION, 0, length or len(text), len(payload))
    digests = [hashlib.sha256(content).digest() for content in (prefix + text, payload)]
    path.write_bytes(prefix + b"".join(digests) + text + payload)
    return path


def arrays(**entries):
    return json.dumps({"kind": "model", "arrays": entries}).encode()


# ------------------------------------------------------------------ arrays and headers


@pytest.mark.parametrize(
    "entry",
    [
        {"type": ">f8", "shape": [1], "offset": 0},
        {"type": "f8", "shape": [1], "offset": 0},
        {"type": "<c16", "shape": [1], "offset": 0},
        {"type": "<f8", "shape": [1], "offset": 8},
        {"type": "<f8", "shape": [True], "offset": 0},
        {"type": "<f8", "shape": [0, 2**70], "offset": 0},
        {"type": "<f8", "shape": [1] * 100, "offset": 0},
        {"type": "<f8", "shape": [8], "offset": 64},
        {"type": "<f8", "shape": [[1]], "offset": 0},
        {"type": "<f8", "shape": {"1": 2}, "offset": 0},
        {"type": "<M8[s]", "shape": [1], "offset": 0},
        {"type": "<f8", "shape": 1, "offset": 0},
    ],
)
def test_arrays_that_we_do_not_write(tmp_path, entry):
    with pytest.raises(ModelFileError, match="version of Partita.* the array 'weights' as"):
        read_model(forged(tmp_path / "forged", arrays(weights=entry)))


def test_arrays_that_overlap(tmp_path):
    entry = {"type": "<f8", "shape": [8], "offset": 0}
    text = arrays(**{f"a{number}": entry for number in range(100)})
    with pytest.raises(ModelFileError, match="arrays that overlap"):
        read_model(forged(tmp_path / "forged", text))


def test_booleans_are_0_or_1(tmp_path):
    text = arrays(flags={"type": "|b1", "shape": [64], "offset": 0})
    assert not read_model(forged(tmp_path / "good", text)).arrays["flags"].any()
    with pytest.raises(ModelFileError, match="the array 'flags'"):
        read_model(forged(tmp_path / "forged", text, bytes([2] * 64)))


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1" * 5000, b'"\\ud800"'])
def test_values_that_are_not_json(tmp_path, value):
    text = b'{"kind": "model", "arrays": {}, "l2": ' + value + b"}"
    with pytest.raises(ModelFileError, match="its header is no JSON"):
        read_model(forged(tmp_path / "forged", text))


@pytest.mark.parametrize("kind", [None, 3, [], {}, "\n"])
def test_a_kind_that_is_none(tmp_path, kind):
    text = json.dumps({"kind": kind, "estimator": kind, "arrays": {}}).encode()
    for reader in (read_model, read_header):
        with pytest.raises(ModelFileError, match="expected a model"):
            reader(forged(tmp_path / "forged", text))


def test_a_model_with_a_weight_that_is_no_number(tmp_path):
    path = tmp_path / "nan.model"
    weights = np.zeros(5)
    weights[2:4] = np.nan, -np.inf
    write_model(path, {"kind": "model"}, {"weights": weights})
    with pytest.raises(ModelFileError, match="1 values in the array 'weights' that are not a num"):
        read_model(path)
    weights[2] = -np.inf  # a probability of 0
    write_model(path, {"kind": "model"}, {"weights": weights})
    assert read_model(path).arrays["weights"][2] == -np.inf


# ------------------------------------------------------------------ memory

LIMITED = """
import resource, sys
import numpy as np
from partita.training.model_file import ModelFileError, read_model
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
try:
    read_model(sys.argv[1])
except ModelFileError as error:
    print(error)
"""


@pytest.mark.parametrize("in_header", [True, False])
def test_a_sparse_file_fills_no_memory(tmp_path, in_header):
    """It claims to have half a gigabyte, and the file system agrees; there is 1/8 to spare."""
    path = tmp_path / "sparse.model"
    text = arrays()
    size = 2**29
    lengths = (size, 0) if in_header else (len(text), size)
    prefix = PREFIX.pack(b"PARTITA\0", VERSION, 0, *lengths)
    content = prefix + hashlib.sha256(prefix + text).digest() + bytes(32)
    path.write_bytes(content + (b"" if in_header else text))
    os.truncate(path, START + sum(lengths))
    command = [sys.executable, "-c", LIMITED, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "is damaged: the checksum of its" in found.stdout
    assert resource.getpagesize()


def test_a_header_beyond_all_measure(tmp_path):
    path = tmp_path / "sparse.model"
    prefix = PREFIX.pack(b"PARTITA\0", VERSION, 0, 2**30 + 1, 0)
    path.write_bytes(prefix + bytes(64))
    os.truncate(path, START + 2**30 + 1)
    with pytest.raises(ModelFileError, match="its header has 1,073,741,825 bytes, more than"):
        read_header(path)


# ------------------------------------------------------------------ what a file says


def test_values_are_taken_by_type():
    contents = Contents({"n": 3, "flag": True, "options": {"l2": 1, "names": ["a", 2]}}, {}, "m")
    assert contents.take("n", int) == 3
    assert isinstance(contents.take("options.l2", float), float)
    assert contents.take("options", dict[str, int | list[str | int]])
    for name, kind in [
        ("absent", int),
        ("n.more", int),
        ("options.absent", Any),
        ("flag", int),
        ("flag", float),
        ("n", str),
        ("n", bool),
        ("n", list[int]),
        ("options", dict[str, int]),
        ("options.names", list[str]),
        ("n", str | None),
    ]:
        with pytest.raises(ModelFileError, match=r"^m was not written by this version of Partita"):
            contents.take(name, kind)
    assert is_of(1.5, Any)


def test_arrays_are_taken_by_type_and_shape():
    contents = Contents({}, {"table": np.zeros((2, 3))}, "m")
    assert contents.array("table", np.float64).shape == (2, 3)
    assert contents.array("table", np.float64, (2, None)).shape == (2, 3)
    for name, kind, shape in [
        ("absent", np.float64, None),
        ("table", np.int64, None),
        ("table", np.float64, (6,)),
        ("table", np.float64, (3, None)),
    ]:
        with pytest.raises(ModelFileError, match=r"^m was not written by this version of Partita"):
            contents.array(name, kind, shape)


@pytest.mark.parametrize(
    "error", [KeyError("a"), TypeError("a"), IndexError("a"), OverflowError("a"), MemoryError("a")]
)
def test_whatever_goes_wrong_is_the_fault_of_the_file(error):
    with pytest.raises(ModelFileError, match=type(error).__name__), refusing_wrong_contents("m"):
        raise error
    with pytest.raises(ModelFileError, match="^as it is$"), refusing_wrong_contents("m"):
        raise ModelFileError("as it is")


# ------------------------------------------------------------------ checkpoints

RUNS = {
    "LBFGS": (Likelihood, chain_batches, LBFGS(n_iterations=8), None),
    "scaled": (Likelihood, chain_batches, LBFGS(n_iterations=8, scaled=True), None),
    "Adam": (Likelihood, chain_batches, Adam(n_iterations=8, average_from=1), None),
    "EM": (Evidence, evidence_batches, ExpectationMaximisation(most_likely), first_weights()),
}


@pytest.fixture(scope="module", params=list(RUNS))
def stopped(request, tmp_path_factory):
    """A run, its checkpoint after some iterations, and the contents of that."""
    objective, batches, optimiser, weights = RUNS[request.param]
    path = tmp_path_factory.mktemp("hostile") / "checkpoint"
    corpus = MemoryCorpus(objective(), batches(), n_threads=1)

    def run(path):
        return train(corpus, optimiser, weights=weights, checkpoint=path, resume=True)

    run(path)
    return run, path, read_model(path, kind="checkpoint")


def test_a_checkpoint_that_was_changed_by_nobody(stopped, tmp_path):
    run, _, contents = stopped
    path = tmp_path / "copy"
    write_model(path, contents.header, contents.arrays)
    assert run(path).n_iterations > 3


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_checkpoint_with_any_array_changed(stopped, tmp_path, data):
    """Removed, of another type, longer, shorter, with a NaN: a sentence, or no harm done."""
    run, _, contents = stopped
    name = data.draw(st.sampled_from(sorted(contents.arrays)))
    array = contents.arrays[name]
    changes = {
        "removed": None,
        "integer": np.zeros(array.shape, np.int32),
        "narrow": array.astype(np.float32),
        "longer": np.concatenate([np.atleast_1d(array), np.atleast_1d(array)]),
        "shorter": np.atleast_1d(array)[:-1],
        "negative": -np.ones_like(array) if array.dtype.kind != "b" else ~array,
        "large": np.full_like(array, 2**40) if array.dtype.kind != "b" else ~array,
        "nan": np.full(array.shape, np.nan),
        "empty": np.zeros((0,) * max(array.ndim, 1)),
        "deeper": array[..., None],
    }
    change = data.draw(st.sampled_from(sorted(changes)))
    changed = {**contents.arrays, name: changes[change]}
    if changes[change] is None:
        del changed[name]
    path = tmp_path / "changed"
    write_model(path, contents.header, changed)
    # Other numbers of the right type are taken for good; EM may notice that they make no sense.
    with contextlib.suppress(ModelFileError, ArithmeticError):
        run(path)


@pytest.mark.parametrize(
    "change",
    [
        {"about": None}, {"about": []}, {"about": {}}, {"about": {"n_weights": "many"}},
        {"best_iteration": None}, {"best_iteration": -1}, {"best_iteration": 10**9},
        {"best_iteration": "3"}, {"best_iteration": True},
    ],
)  # fmt: skip
def test_a_checkpoint_with_a_wrong_header(stopped, tmp_path, change):
    run, _, contents = stopped
    path = tmp_path / "changed"
    write_model(path, {**contents.header, **change}, contents.arrays)
    with pytest.raises(ModelFileError):
        run(path)
