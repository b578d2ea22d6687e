"""Objects in files: the same back, and no code among them."""

import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from scipy import sparse

from partita import Hypergraph
from partita.objectives import Counts
from partita.structures.forests import Forests
from partita.training.contents import ModelFileError
from partita.training.digests import digest
from partita.training.model_file import read_model, write_model
from partita.training.packing import Code, pack, unpack
from partita.training.records import RecordLayouts, RecordWriter, read_record
from partita.training.shards import StoredBatches
from small_corpora import N_WEIGHTS, chain_batches

Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Frozen:
    values: np.ndarray

    @cached_property
    def total(self):
        return self.values.sum()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Growing(list):
    pass


class Stateful:
    def __init__(self):
        self.kept, self.lock = 3, object()

    def __getstate__(self):
        return {"kept": self.kept}

    def __setstate__(self, state):
        self.kept, self.lock = state["kept"], "new"


def back(value, folder):
    """Through a file."""
    code = Code()
    header, arrays = pack(value, code)
    write_model(folder / "packed", {"kind": "packed", **header}, arrays)
    contents = read_model(folder / "packed", kind="packed")
    return unpack(contents.header, contents.arrays, code.members)


VALUES = [
    [None, True, 3, 2**80, -0.0, 0.1, float("inf"), float("-inf"), "ä\n", b"\0a"],
    [(), (1, (2,)), [], {}, {"a": {2: 3.0}}, {1, 2}, frozenset(["a"]), range(3), slice(1, None)],
    [np.arange(3), np.zeros((0, 2)), np.array(2.5), np.float32(1.5), np.int64(3), np.bool_(True)],
    [np.array(["a", "bcd"]), np.array([(1, 2.0)], "i4,f8"), np.array([None, "x"], dtype=object)],
    [sparse.csr_array(np.eye(3)), sparse.csc_array(np.arange(6.0).reshape(2, 3))],
    [Point(1, np.arange(2)), Fraction(1, 3), OrderedDict(a=1), Frozen(np.arange(3)), 1j],
    [Counts, len, np.sum, Forests],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value[0]).__name__)
def test_values_come_back(tmp_path, value):
    found = back(value, tmp_path)
    assert digest(found) == digest(value)
    assert [type(part) for part in found] == [type(part) for part in value]


def test_objects_come_back(tmp_path):
    slotted, growing = back([Slotted(1, np.arange(2)), Growing([1, 2])], tmp_path)
    assert slotted.a == 1
    assert slotted.b.tolist() == [0, 1]
    assert type(growing) is Growing
    assert growing == [1, 2]
    frozen = Frozen(np.arange(3))
    assert frozen.total == 3
    assert "total" not in vars(back(frozen, tmp_path))
    assert vars(back(Stateful(), tmp_path)) == {"kept": 3, "lock": "new"}


def test_order_of_memory(tmp_path):
    for array in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T):
        found = back(array, tmp_path)
        assert found.tolist() == array.tolist()
        assert found.flags.c_contiguous == array.flags.c_contiguous


def test_what_is_one_object_stays_one(tmp_path):
    array = np.arange(3)
    first, second = back([array, array], tmp_path)
    assert first is second
    loop = [1]
    loop.append(loop)
    found = back(loop, tmp_path)
    assert found[1] is found
    thing = Frozen(np.arange(2))
    object.__setattr__(thing, "me", thing)
    found = back(thing, tmp_path)
    assert found.me is found


def test_what_cannot_be_sent():
    with pytest.raises(TypeError, match="a batch holds a lock, which cannot be sent"):
        pack([__import__("threading").Lock()], Code())


def test_a_hypergraph_is_made_by_its_own_function(tmp_path):
    graph = Hypergraph([0, 1, 1], [[], [0], [0, 0]], 1)
    found = back(graph, tmp_path)
    assert found.tails(2).tolist() == [0, 0]


def test_batches_come_back(tmp_path):
    terms = ("Likelihood", "Entropy", "GeneralizedExpectation")
    batches = chain_batches(terms=terms)
    stored = StoredBatches.write(iter(batches), tmp_path)
    assert len(stored) == len(batches) == len(list(stored))
    assert [digest(batch) for batch in stored[1::3]] == [digest(b) for b in batches[1::3]]
    assert stored.digest == digest(batches)
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    for index, batch in enumerate(batches):
        found = stored[index]
        assert digest(found) == digest(batch)
        assert (
            found.at(weights).log_partition.tobytes() == batch.at(weights).log_partition.tobytes()
        )
    assert [found.name for found in tmp_path.iterdir() if b"partita" in found.read_bytes()] == []


def test_files_of_shards_are_checked_and_name_no_code(tmp_path):
    stored = StoredBatches.write(chain_batches(), tmp_path)
    path = tmp_path / "batches-0"
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="checksum"):
        list(stored)
    path.write_bytes(pickle.dumps(stored) + bytes(len(content)))
    with pytest.raises(ModelFileError, match="no model of Partita's.*Expected a file that"):
        stored[0]


def written(values, path):
    """Values as records of a file: where they are, and the code."""
    code = Code()
    with open(path, "wb") as file:
        writer = RecordWriter(file, code)
        return [writer.write(value) for value in values], code.members


@pytest.mark.parametrize("is_kept", [True, False])
def test_records_come_back(tmp_path, is_kept):
    """Whatever differs from one to the next: numbers, their types, lengths, text, nothing."""
    values = [
        *VALUES[:2],
        *VALUES[3:],
        *[(number, number / 3, {"n": number}, np.arange(number)) for number in range(5)],
        *[(0, 0.0), (0, -0.0), (0, 1), (0, True), (2**70, 1e300), (-(2**63), 5e-324)],
        *[slice(0, number) for number in (1, 2, 2)],
    ]
    path = tmp_path / "records"
    places, code = written(values, path)
    layouts = RecordLayouts()
    for _ in range(2):
        for value, place in zip(values, places, strict=True):
            found = read_record(str(path), place, code, layouts, check=True, is_kept=is_kept)
            assert digest(found) == digest(value)


def test_what_records_have_in_common_is_there_once(tmp_path):
    shared = np.arange(1000)
    values = [(number, "text " * 100, shared, np.arange(number)) for number in range(50)]
    path = tmp_path / "records"
    places, code = written(values, path)
    # The array stands in the first record, and in the layouts of those that know it is common.
    assert path.stat().st_size < 4 * shared.nbytes + 50 * 800
    layouts = RecordLayouts()
    found = [
        read_record(str(path), place, code, layouts, check=True, is_kept=True) for place in places
    ]
    assert len(layouts) <= 3
    assert found[10][2] is found[40][2]
    assert found[10][2] is not found[10][3]
    assert len(pickle.loads(pickle.dumps(layouts))) == 0


def test_what_can_change_is_never_shared(tmp_path):
    values = [([1, 2], {"a": 1}, {1}, Growing([1]), slice(1, 2)) for _ in range(3)]
    path = tmp_path / "records"
    places, code = written(values, path)
    layouts = RecordLayouts()
    first, second = (
        read_record(str(path), place, code, layouts, check=False, is_kept=False)
        for place in places[:2]
    )
    assert first == second == values[0]
    for mine, its in zip(first[:4], second[:4], strict=True):
        assert mine is not its


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_record_with_a_wrong_byte(tmp_path, is_kept):
    """Wherever it is, it is noticed; in what is no array, whenever it is read."""
    path = tmp_path / "records"
    places, code = written([(np.arange(3), 1), (np.arange(4), 2)], path)
    content = path.read_bytes()
    start, size = places[1]
    for wrong in range(start, start + size):
        damaged = bytearray(content)
        damaged[wrong] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            read_record(str(path), places[1], code, RecordLayouts(), check=True, is_kept=is_kept)
    path.write_bytes(content[:-1])
    with pytest.raises(ModelFileError, match="ends before byte"):
        read_record(str(path), places[1], code, RecordLayouts(), check=False, is_kept=is_kept)
