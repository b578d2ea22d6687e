"""Model files: the same bits back, and no damaged, foreign or newer file is ever taken for good."""

import hashlib
import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from partita.files import atomic_writer
from partita.training.model_file import (
    PREFIX,
    START,
    VERSION,
    ModelFileError,
    read_header,
    read_model,
    write_model,
)

HEADER = {
    "kind": "model",
    "estimator": "tagger",
    "options": {"l2": 0.1, "tags": ["NOUN", "Ä"]},
    "vocabulary": ["word=the", "word=\u2028"],
}
ARRAYS = {"weights": np.arange(5.0), "flags": np.array([[True, False]]), "empty": np.zeros((0, 3))}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tagger.model"
    write_model(path, HEADER, ARRAYS)
    return path


def test_everything_comes_back(model):
    contents = read_model(model, estimator="tagger")
    assert contents.header == HEADER
    assert list(contents.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert contents.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(contents.arrays[name], array)
    contents.arrays["weights"][0] = 1.0  # what was read may be written to


@pytest.mark.parametrize("read", [read_model, read_header])
def test_a_number_is_no_name(read):
    """It would be read from standard input."""
    with pytest.raises(TypeError, match="not int"):
        read(0)


def test_the_header_alone(model):
    header = read_header(model)
    assert header.pop("arrays").keys() == ARRAYS.keys()
    assert header == HEADER
    with pytest.raises(ModelFileError, match="holds a model; expected a checkpoint"):
        read_header(model, kind="checkpoint")


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, ">f8"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
    )
)
def test_arrays_come_back_to_the_last_bit(tmp_path, array):
    # What is not a number is refused, see test_hostile_files.
    assume(array.dtype.kind != "f" or not np.isnan(array).any())
    path = tmp_path / "one.model"
    write_model(path, {"kind": "model"}, {"array": array})
    found = read_model(path).arrays["array"]
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.tobytes() == array.astype(found.dtype).tobytes()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_changed_byte_is_found(model, data):
    content = bytearray(model.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    damaged = model.with_name("changed.model")
    damaged.write_bytes(content)
    with pytest.raises(ModelFileError):
        read_model(damaged)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_other_length_is_found(model, data):
    content = model.read_bytes()
    length = data.draw(st.integers(0, len(content) - 1))
    extra = data.draw(st.binary(min_size=1, max_size=100))
    for changed in (content[:length], content + extra):
        damaged = model.with_name("cut.model")
        damaged.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"damaged|Expected a file that `save`"):
            read_model(damaged)


class _Runs:
    def __reduce__(self):
        return os.mkdir, ("this-was-run",)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04zip", b"1\tThe\tthe\n", pickle.dumps(_Runs())]
)
def test_foreign_files_are_refused_and_nothing_runs(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(
        ModelFileError, match=r"foreign is no model of.*: it (is empty|seems).*check the path"
    ):
        read_model(path)
    assert not Path("this-was-run").exists()


def test_objects_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="expected numbers or booleans"):
        write_model(
            tmp_path / "m", {"kind": "model"}, {"words": np.array(["a", None], dtype=object)}
        )
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        write_model(tmp_path / "m", {"kind": "model", "option": np.zeros(2)}, {})
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        write_model(tmp_path / "m", {"kind": "model", "option": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def forged(path, text, payload=bytes(8)):
    """A file whose checksums are right, by someone who knows the layout."""
    prefix = PREFIX.pack(b"PARTITA\0", VERSION, 0, len(text), len(payload))
    digests = [hashlib.sha256(content).digest() for content in (prefix + text, payload)]
    path.write_bytes(prefix + b"".join(digests) + text + payload)
    return path


@pytest.mark.parametrize(
    "entry",
    [
        {}, 3, None,
        {"type": "|O", "shape": [1], "offset": 0},
        {"type": "no type", "shape": [1], "offset": 0},
        {"type": [["a", "<f8"]], "shape": [1], "offset": 0},
        {"type": "<f8", "shape": [1], "offset": -8},
        {"type": "<f8", "shape": [1], "offset": 8},
        {"type": "<f8", "shape": [-1], "offset": 0},
        {"type": "<f8", "shape": [2**40], "offset": 0},
        {"type": "<f8", "shape": [2**32, 2**32], "offset": 0},
        {"type": "<f8", "shape": [0.5], "offset": 0},
        {"type": "<f8", "shape": "1", "offset": 0},
    ],
)  # fmt: skip
def test_forged_arrays_are_refused(tmp_path, entry):
    text = json.dumps({"kind": "model", "arrays": {"weights": entry}}).encode()
    with pytest.raises(
        ModelFileError, match="not written by this version of Partita.* the array 'weights'"
    ):
        read_model(forged(tmp_path / "forged", text))


@pytest.mark.parametrize(
    "text",
    [b"{nope", b"\xff", b"[]", b"{}", b'{"kind": "model", "arrays": [1]}', b"[" * 10**5],
)
def test_forged_headers_are_refused(tmp_path, text):
    with pytest.raises(ModelFileError, match="not written by this version of Partita.* its header"):
        read_model(forged(tmp_path / "forged", text))


@pytest.mark.parametrize(("version", "word"), [(1, "the older"), (VERSION + 1, "a newer")])
def test_other_versions_say_so(model, version, word):
    content = bytearray(model.read_bytes())
    struct.pack_into("<I", content, 8, version)
    other = model.with_name("other.model")
    other.write_bytes(content)
    message = f"format version {version}; .* Train the model again with this one, or use {word}"
    with pytest.raises(ModelFileError, match=message):
        read_model(other)


def test_kind_and_estimator_are_checked(model):
    with pytest.raises(ModelFileError, match="holds a model; expected a checkpoint"):
        read_model(model, kind="checkpoint")
    with pytest.raises(ModelFileError, match="of kind 'tagger'; expected 'parser'"):
        read_model(model, estimator="parser")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "old.model"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_writer(path) as file:
        file.write("text into a binary file")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_model(tmp_path / "model", {"kind": "model"}, {})
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_header_begins_where_the_layout_says(model):
    assert model.read_bytes()[START : START + 1] == b"{"
