"""A run as it stands, on disk: enough to go on as if it had never stopped."""

import os
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, SingleArray
from partita.training.contents import (
    Contents,
    ModelFileError,
    check_numbers,
    refusing_wrong_contents,
)
from partita.training.digests import DIGEST
from partita.training.model_file import read_model, write_model
from partita.training.optimisers.base import Optimiser, State

HISTORY = "history"
"""The array with a row for every iteration; NaN where there were no held-out data."""


class Record(typing.NamedTuple):
    """One iteration of a run."""

    iteration: int
    loss: float
    gradient_norm: float
    held_out: float
    """The loss on held-out data; not a number where there are none."""
    seconds: float
    """Since the run began, interruptions not counted."""


@dataclass(frozen=True)
class Run:
    """All there is to know of a run between two iterations."""

    state: State
    history: tuple[Record, ...] = ()
    best_weights: FloatArray | None = None
    """Those with the smallest loss on held-out data, where there are such data."""
    best_held_out: float = float("inf")
    best_iteration: int = 0
    model: FloatArray | None = None
    """What to use if the iteration that follows, which may write over the state, is broken off."""

    @property
    def seconds(self) -> float:
        """How long the run took so far."""
        return self.history[-1].seconds if self.history else 0.0


def write_checkpoint(path: str | os.PathLike[str], run: Run, about: dict[str, Any]) -> None:
    """Write a run to a file, in one step; `about` says what it is a run of."""
    arrays = dict(_stored("state", run.state))
    arrays[HISTORY] = np.array(run.history, dtype=np.float64).reshape(-1, len(Record._fields))
    arrays["best_held_out"] = np.asarray(run.best_held_out)
    if run.best_weights is not None:
        arrays["best_weights"] = run.best_weights
    header = {"kind": "checkpoint", "about": about, "best_iteration": run.best_iteration}
    write_model(path, header, arrays)


def read_checkpoint(
    path: str | os.PathLike[str], optimiser: Optimiser[Any], about: dict[str, Any]
) -> Run:
    """The run in a file, which must be a run of the same thing."""
    contents = read_model(path, kind="checkpoint")
    found = contents.take("about", dict[str, Any])
    for name in {**about, **found}:
        there, here = found.get(name), about.get(name)
        if there != here:
            how = _difference(name, there, here)
            raise ModelFileError(
                f"{os.fspath(path)} is a checkpoint of another run: {how}. Resume with "
                "the options, the data and the version of that run, or give another file for the "
                "checkpoints of this one."
            )
    with refusing_wrong_contents(path):
        return _run(contents, optimiser, about["n_weights"])


def _run(contents: Contents, optimiser: Optimiser[Any], n_weights: int) -> Run:
    state = _restored(optimiser.state_type, contents, "state")
    best_iteration = contents.take("best_iteration", int)
    # Kernels do not look how long an array is.
    if not (state.fits(n_weights) and optimiser.accepts(state)):
        raise ValueError("the arrays of its state do not fit together")
    if not 0 <= best_iteration <= state.iteration:
        raise ValueError(f"its best iteration is {best_iteration}, of {state.iteration}")
    best = None
    if "best_weights" in contents.arrays:
        best = contents.array("best_weights", np.float64, (n_weights,))
    check_numbers(
        contents.path,
        {name: array for name, array in contents.arrays.items() if array.ndim and name != HISTORY},
    )
    rows = contents.array(HISTORY, np.float64, (state.iteration, len(Record._fields))).tolist()
    return Run(
        state,
        tuple(Record(int(iteration), *numbers) for iteration, *numbers in rows),
        best,
        float(contents.array("best_held_out", np.float64, ())),
        best_iteration,
    )


def _difference(name: str, there: Any, here: Any) -> str:
    """What tells two runs apart; digests mean nothing to a reader."""
    if name.endswith(DIGEST) and there is not None and here is not None:
        return f"{name.removesuffix(DIGEST)} there is not what it is here"
    return f"{name.removesuffix(DIGEST)} is {there!r} there and {here!r} here"


class CheckpointWriter:
    """Writes a run to its file, where there is one; a full disk does not end the run."""

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, Any]) -> None:
        self._path = path
        self._about = about
        self.problem = ""
        """A sentence that says why the last run is not in the file; empty if it is."""

    def write(self, run: Run) -> None:
        """Write the run, or remember why not."""
        if self._path is None:
            return
        try:
            write_checkpoint(self._path, run, self._about)
            self.problem = ""
        except OSError as error:
            self.problem = (
                f"The checkpoint {os.fspath(self._path)} could not be written: "
                f"{error.strerror or error}."
            )


def _stored(name: str, value: Any) -> typing.Iterator[tuple[str, Array]]:
    """Numbers, arrays, tuples and dataclasses as arrays with dotted names."""
    if is_dataclass(value):
        for field in fields(value):
            yield from _stored(f"{name}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple):
        yield f"{name}.n", np.asarray(len(value))
        for index, item in enumerate(value):
            yield from _stored(f"{name}.{index}", item)
    else:
        yield name, np.asarray(value)


def _restored(kind: Any, contents: Contents, name: str) -> Any:
    """The inverse of `_stored`, guided by the types of the fields."""
    if is_dataclass(kind):
        kinds = typing.get_type_hints(kind)
        return kind(  # type: ignore[operator]
            **{
                field.name: _restored(kinds[field.name], contents, f"{name}.{field.name}")
                for field in fields(kind)
            }
        )
    if typing.get_origin(kind) is tuple:
        count = int(contents.array(f"{name}.n", np.int64, ()))
        item = typing.get_args(kind)[0]
        return tuple(_restored(item, contents, f"{name}.{index}") for index in range(count))
    if kind in (bool, int, float):
        return kind(contents.array(name, np.asarray(kind()).dtype, ()))
    return contents.array(name, np.float32 if kind == SingleArray else np.float64)
