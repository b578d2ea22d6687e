"""What happens between collection and report: watching the tests, then trying the mutants."""

import argparse
import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import partita
from tools.mutation.__main__ import chosen
from tools.mutation.forks import Lines, forked, limit, passes, traced
from tools.mutation.mutants import Mutant, mutants

SOURCES = Path(partita.__file__).parent
EMITTERS = (
    *(f"kernels/{name}.py" for name in ("cache", "collecting", "commonest", "jit", "linking")),
    "kernels/simd/prefetch.py",
)
"""Files whose functions speak to the compiler, which is switched off here."""
PREFIXES = (
    *("_emit", "_lower", "_type", "_spread", "_define", "define", "emit", "_is_places"),
    *("_addresses", "_check", "_compiled", "_LanesModel", "_MaskModel", "_address"),
    *("_EightM", "_is_single", "_operands", "_called"),
)


NEAR = 10
"""Lines above a mutant."""
QUICK = 0.4
"""Seconds of a test that is tried before slower ones."""
IMPOSSIBLE = 4
"""The status of a mutant that uses fewer names from around its function, which is refused."""


class Trial:
    """A plugin of pytest that tries mutants instead of running the tests."""

    def __init__(self, areas: tuple[str, ...], options: argparse.Namespace) -> None:
        self.options = options
        self.files = [path for area in areas for path in sorted((SOURCES / area).rglob("*.py"))]
        self.lines: Lines = {}
        self.n_lines = 0
        for path in self.files:
            self.lines[str(path)] = self.n_lines
            self.n_lines += len(path.read_text().splitlines()) + 1
        texts = [path.read_bytes() for path in self.files]
        self.digest = hashlib.sha256(b"\0".join(texts)).hexdigest()
        self.verdicts: list[tuple[Mutant, str]] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In the place of the tests."""
        for path in self.files:
            name = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
            importlib.import_module(f"partita.{name}".removesuffix(".__init__"))
        items = spread(session.items, self.options.most)
        took, passed = self.watched(items)
        every = [mutant for path in self.files for mutant in self.of_file(path)]
        picked = [every[k] for k in chosen(len(every), self.options.sample, self.options.seed)]
        known: dict[str, str] = {}
        if self.options.go_on or self.options.again:
            known = json.loads(self.options.verdicts.read_text())
            picked = [mutant for mutant in picked if self.options.go_on or mutant.name in known]
        is_over = {"killed"} if self.options.again else {"killed", "survived", "not reached"}
        self.verdicts = [(m, known[m.name]) for m in picked if known.get(m.name) in is_over]
        tried = [mutant for mutant in picked if known.get(mutant.name) not in is_over]
        _say(f"{len(every)} mutants, of which {len(tried)} are tried")
        self.try_all(tried, items, took, passed)
        found = {mutant.name: verdict for mutant, verdict in self.verdicts}
        self.options.verdicts.write_text(json.dumps(found, indent=0))
        return True

    def of_file(self, path: Path) -> Iterator[Mutant]:
        """The mutants of a file that the options ask for."""
        name = str(path.relative_to(SOURCES))
        if name in EMITTERS:
            return
        speaks = "simd" in name or name == "kernels/meeting.py"
        for mutant in mutants(path, name):
            is_emitter = speaks and mutant.function.startswith(PREFIXES)
            is_asked = any(part in mutant.name for part in self.options.only)
            if is_asked and not is_emitter:
                yield mutant

    def watched(self, items: list[pytest.Item]) -> tuple[np.ndarray, np.ndarray]:
        """Seconds of each test (inf if it is of no use), and the lines it passes, as bits."""
        kept = _read(self.options.kept, self.digest)
        took = np.full(len(items), np.inf)
        passed = np.zeros((len(items), (self.n_lines + 7) // 8), dtype=np.uint8)
        todo = []
        for k, item in enumerate(items):
            if item.nodeid in kept:
                took[k], passed[k] = kept[item.nodeid]
            else:
                todo.append(k)
        jobs = [
            lambda pipe, item=items[k]: traced(item, self.lines, self.options.longest, pipe)
            for k in todo
        ]
        seen = [k for k, item in enumerate(items) if item.nodeid in kept]
        for count, outcome in enumerate(forked(jobs, self.options.jobs), 1):
            seen.append(todo[outcome.index])
            if outcome.status == 0:
                seconds, *lines = outcome.said.split()
                k = todo[outcome.index]
                took[k] = float(seconds)
                bits = np.zeros(passed.shape[1] * 8, dtype=np.uint8)
                bits[np.array(lines, dtype=np.int64)] = 1
                passed[k] = np.packbits(bits)
            if count % 250 == 0 or count == len(todo):
                _say(f"{count} of {len(todo)} tests watched")
                self.options.kept.parent.mkdir(parents=True, exist_ok=True)
                np.savez_compressed(
                    self.options.kept,
                    names=np.array([items[k].nodeid for k in seen]),
                    took=took[seen],
                    passed=passed[seen],
                    digest=np.array(self.digest),
                )
        _say(f"{np.isfinite(took).sum()} of {len(items)} tests are quick enough")
        return took, passed

    def try_all(
        self,
        tried: list[Mutant],
        items: list[pytest.Item],
        took: np.ndarray,
        passed: np.ndarray,
    ) -> None:
        """A verdict for each mutant; Ctrl-C ends with those that there are."""
        functions = _functions(self.lines)
        noticed = _read_noticed(self.options.noticed)
        plans: list[list[int]] = []
        kills = Counter[tuple[str, int]]()

        def planned(mutant: Mutant) -> list[int]:
            """What noticed it the last time comes first, then what noticed others of its file."""
            plan, last = self.plan(mutant, items, took, passed), noticed.get(mutant.name)
            plan.sort(key=lambda k: (items[k].nodeid != last, -kills[mutant.path, k]))
            plans.append(plan)
            return plan

        gc.collect()
        gc.freeze()

        def job(mutant: Mutant, plan: list[int], pipe: int) -> int:
            code = mutant.code()
            for function in functions[str(SOURCES / mutant.path), code.co_qualname]:
                try:
                    function.__code__ = code
                except ValueError:
                    return IMPOSSIBLE
            for k in plan:
                os.write(pipe, f"{k} ".encode())
                # More than it took, since a mutant may well be slower and still be right.
                limit(4 * float(took[k]) + 2)
                if not passes(items[k]):
                    return 1
            return 0

        # Plans are made as they are needed, since they learn from what was tried before.
        jobs = (functools.partial(job, mutant, planned(mutant)) for mutant in tried)
        with contextlib.suppress(KeyboardInterrupt):
            for count, outcome in enumerate(forked(jobs, self.options.jobs), 1):
                mutant, plan = tried[outcome.index], plans[outcome.index]
                verdict = "killed" if outcome.status != 0 else "survived"
                if outcome.status == IMPOSSIBLE:
                    continue
                if not plan:
                    verdict = "not reached"
                elif verdict == "killed":
                    k = int(outcome.said.split()[-1])
                    noticed[mutant.name] = items[k].nodeid
                    kills[mutant.path, k] += 1
                self.verdicts.append((mutant, verdict))
                if verdict != "killed":
                    _say(f"{verdict}: {mutant}")
                if count % 25 == 0 or count == len(tried):
                    _say(f"{count} of {len(tried)} mutants tried")
                    self.options.noticed.write_text(json.dumps(noticed, indent=0))

    def plan(
        self, mutant: Mutant, items: list[pytest.Item], took: np.ndarray, passed: np.ndarray
    ) -> list[int]:
        """Tests that pass the mutant's line, one of every kind first, within the budget.

        Of the quick cases of a kind the slowest comes first: the smallest sizes notice least.
        """
        line = self.lines[str(SOURCES / mutant.path)] + mutant.line
        # A line that is passed late may not have been seen; what passes those above it may pass it.
        for place in range(line, line - NEAR, -1):
            reached = (passed[:, place // 8] >> (7 - place % 8)) & 1 & np.isfinite(took)
            if reached.any():
                break
        kinds: dict[tuple[str, str], list[int]] = defaultdict(list)
        for k in sorted(np.flatnonzero(reached), key=lambda k: -float(took[k])):
            kinds[kind_of(items[k])].append(int(k))
        rounds = zip_longest(*sorted(kinds.values(), key=lambda tests: float(took[tests[-1]])))
        order = [k for turn in rounds for k in turn if k is not None]
        order.sort(key=lambda k: took[k] > QUICK)
        ends = np.cumsum(took[order])
        return order[: int(np.searchsorted(ends, self.options.budget)) + 1]


def _functions(lines: Lines) -> dict[tuple[str, str], list[FunctionType]]:
    """All functions of the sources, by file and name, however they are wrapped."""
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename in lines:
            found[thing.__code__.co_filename, thing.__code__.co_qualname].append(thing)
    return found


def kind_of(item: pytest.Item) -> tuple[str, str]:
    """A test and what it is about, which most often is a structure: the first word of the case."""
    name, _, case = item.nodeid.partition("[")
    return name, "".join(takewhile(str.isalpha, case))


def spread(items: list[pytest.Item], most: int) -> list[pytest.Item]:
    """At most so many cases of each kind, by chance, and always the same of the same ones."""
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[kind_of(item)].append(item)
    by_chance = [sorted(each, key=lambda item: _digest(item.nodeid)) for each in cases.values()]
    return [item for each in by_chance for item in each[:most]]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_noticed(path: Path) -> dict[str, str]:
    """The test that noticed a mutant, by its name, from earlier runs."""
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _read(path: Path, digest: str) -> dict[str, tuple[float, np.ndarray]]:
    """What is known of tests from an earlier run, if the sources are the same still."""
    if not path.exists():
        return {}
    with np.load(path) as kept:
        if str(kept["digest"]) != digest:
            return {}
        rows = zip(kept["names"], kept["took"], kept["passed"], strict=True)
        return {str(name): (took, passed) for name, took, passed in rows}


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
