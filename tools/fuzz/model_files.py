"""Model files and checkpoints: damaged, or whole with right checksums and wrong contents."""

import hashlib
import json
import zlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from partita import samples
from partita.arrays import Array
from partita.training.model_file import MAGIC, PREFIX, START, VERSION, read_model, write_model
from tools.fuzz.mutations import changed, mutated
from tools.fuzz.target import Finding, Target, run_command

ARRAYS = ["gone", "shorter", "longer", "flat", "deeper", "narrow", "integer", "negative", "large"]
ARRAYS += ["nan", "infinite", "zero", "empty", "mixed"]


class Files(Target):
    """An input is a file's name and a change.

    Of bytes, of the header (by path), of what the header says of an array, or of an array.
    """

    kind: str

    def prepare(self) -> None:
        """Files that are right, of as many kinds as there are."""
        self.paths = {path.stem: path for path in self.made()}
        self.bytes = {name: path.read_bytes() for name, path in self.paths.items()}
        self.contents = {
            name: read_model(path, kind=self.kind) for name, path in self.paths.items()
        }

    def made(self) -> list[Path]:
        """The files."""
        raise NotImplementedError

    def draw(self, rng: Random) -> Any:
        """Mostly with right checksums, behind which there is more to go wrong."""
        name = rng.choice(sorted(self.paths))
        contents = self.contents[name]
        kind = rng.random()
        if kind < 0.2:
            return [name, "bytes", mutated(rng, self.bytes[name]).hex()]
        if kind < 0.6 or not contents.arrays:
            key = rng.choice(sorted(contents.header))
            return [name, "header", key, changed(rng, contents.header[key])]
        array = rng.choice(sorted(contents.arrays))
        if kind < 0.7:
            entry = _header_of(self.bytes[name])["arrays"][array]
            field = rng.choice(sorted(entry))
            return [name, "entry", array, field, changed(rng, entry[field])]
        return [name, "array", array, rng.choice(ARRAYS), rng.randrange(1000)]

    def known_as(self, case: Any) -> str | None:
        """For each file the arguments are understood once, and anew for one input of twenty."""
        return case[0] if zlib.crc32(repr(case).encode()) % 20 else None

    def write(self, case: Any) -> Path:
        """The file that an input describes."""
        name, kind, *rest = case
        path = self.folder / "changed"
        contents = self.contents[name]
        if kind == "bytes":
            path.write_bytes(bytes.fromhex(rest[0]))
        elif kind == "header":
            key, value = rest
            write_model(path, _with(contents.header, key.split("."), value), contents.arrays)
        elif kind == "entry":
            path.write_bytes(_with_entry(self.bytes[name], *rest))
        else:
            array, change, number = rest
            arrays = dict(contents.arrays)
            if array in arrays:
                new = _changed(arrays.pop(array), change, number)
                arrays |= {} if new is None else {array: new}
            write_model(path, contents.header, arrays)
        return path


class Models(Files):
    """Models are asked for predictions; what is refused is refused with the file's name."""

    name, kind = "models", "model"

    def made(self) -> list[Path]:
        """One of every kind, of our smallest samples."""
        return trained(self.folder)

    def check(self, case: Any) -> None:
        """The command answers, or says what is wrong."""
        path = self.write(case)
        data = {"aligner": "pair.txt", "translator": "source.txt"}.get(case[0], "two.conllu")
        command = ["predict", str(path), str(self.folder / data)]
        status, _, errors = run_command(command, known_as=self.known_as(case))
        if status == 2 and not (any(word in errors for word in ("changed", data, "memory"))):
            raise Finding(errors)


class Checkpoints(Files):
    """Runs go on from checkpoints that they did not write."""

    name, kind = "checkpoints", "checkpoint"

    def made(self) -> list[Path]:
        """Of runs with other optimisers."""
        self.data = _part(self.folder, "treebank-train.conllu", "few.conllu", 4)
        paths = []
        for name in ("lbfgs", "sgd", "owlqn"):
            paths.append(self.folder / f"{name}.checkpoint")
            status, _, errors = run_command(self.command(name, paths[-1]))
            if status:
                raise Finding(errors)
        return paths

    def command(self, name: str, checkpoint: Path) -> list[str]:
        """A run of three iterations."""
        chosen = {"sgd": ["--optimiser", "sgd"], "owlqn": ["--optimiser", "owlqn"]}.get(name, [])
        options = ["--max-iterations", "3", "--checkpoint", str(checkpoint), *chosen]
        return ["train", "tagger", str(self.data), "-o", str(self.folder / "out.model"), *options]

    def check(self, case: Any) -> None:
        """The run goes on, or says what is wrong; what it wrote can be read."""
        path = self.write(case)
        model = self.folder / "out.model"
        model.unlink(missing_ok=True)
        command = [*self.command(case[0], path), "--resume"]
        status, _, errors = run_command(command, known_as=self.known_as(case))
        if status == 0:
            read_model(model)
        if status == 2 and "changed" not in errors:
            raise Finding(errors)


def trained(folder: Path) -> list[Path]:
    """A small model of every kind, and files for them to answer."""
    tree = _part(folder, "treebank-train.conllu", "few.conllu", 6)
    _part(folder, "treebank-train.conllu", "two.conllu", 2)
    chunks = _part(folder, "chunks-train.txt", "chunks.txt", 6)
    pairs = folder / "pairs.txt"
    lines = samples.path("bitext-train.txt").read_text(encoding="utf-8").splitlines()[:12]
    pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "pair.txt").write_text(lines[0] + "\n", encoding="utf-8")
    source = [line.partition("|||")[0] for line in lines[:1]]
    (folder / "source.txt").write_text("\n".join(source) + "\n", encoding="utf-8")
    made = []
    for kind, data in {
        "tagger": tree,
        "hmm": tree,
        "segmenter": chunks,
        "parser": tree,
        "aligner": pairs,
        "translator": pairs,
    }.items():
        path = folder / f"{kind}.model"
        few = ["--n-bits", "10", "--label-bits", "10"] if kind == "parser" else []
        iterations = [] if kind in ("aligner", "translator") else ["--max-iterations", "2"]
        command = ["train", kind, str(data), "-o", str(path), *iterations, *few]
        status, _, errors = run_command(command)
        if status:
            raise Finding(f"{' '.join(command)}: {errors}")
        made.append(path)
    return made


def _part(folder: Path, sample: str, name: str, n_sentences: int) -> Path:
    """The first sentences of a sample."""
    path = folder / name
    blocks = samples.path(sample).read_text(encoding="utf-8").split("\n\n")[:n_sentences]
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return path


def _with(header: Any, steps: list[str], value: Any) -> Any:
    """A copy of a header in which what the steps lead to is another value."""
    first, *rest = steps
    return {**header, first: _with(header[first], rest, value) if rest else value}


def _header_of(data: bytes) -> dict[str, Any]:
    """The header of a file, with where its arrays lie."""
    header: dict[str, Any] = json.loads(data[START : START + PREFIX.unpack_from(data)[3]])
    return header


def _with_entry(data: bytes, array: str, field: str, value: Any) -> bytes:
    """A file that says of an array what is not so, with right checksums."""
    header, payload = _header_of(data), data[START + PREFIX.unpack_from(data)[3] :]
    header["arrays"].setdefault(array, {})[field] = value
    text = json.dumps(header).encode()
    prefix = PREFIX.pack(MAGIC, VERSION, 0, len(text), len(payload))
    digests = hashlib.sha256(prefix + text).digest() + hashlib.sha256(payload).digest()
    return prefix + digests + text + payload


def _changed(array: Array, change: str, number: int) -> Array | None:
    """An array with one thing wrong; None for no array at all."""
    flat = np.atleast_1d(array)
    place = number % max(flat.size, 1)
    is_number = array.dtype.kind in "fiu"
    if change in ("nan", "infinite") and array.dtype.kind != "f":
        change = "large"
    if change in ("negative", "large", "mixed", "zero") and not is_number:
        change = "shorter"
    if change in ("nan", "infinite", "negative", "large", "mixed"):
        values = {"nan": np.nan, "infinite": np.inf, "negative": -1}
        new = array.copy().reshape(-1)
        if new.size:
            limit = 1e308 if array.dtype.kind == "f" else np.iinfo(array.dtype).max
            with np.errstate(over="ignore"):
                new[place] = np.asarray(values.get(change, limit)).astype(array.dtype)
        if change == "mixed":
            np.random.default_rng(number).shuffle(new)
        return new.reshape(array.shape)
    return {
        "gone": None,
        "shorter": flat[:-1],
        "longer": np.concatenate([flat, flat]),
        "flat": array.reshape(-1),
        "deeper": array[..., None],
        "narrow": array.astype(np.float32) if is_number else array,
        "integer": np.zeros(array.shape, np.int32),
        "zero": np.zeros_like(array),
        "empty": np.zeros((0,) * max(array.ndim, 1), array.dtype),
    }[change]
