"""Where compiled code goes, and what a user is told while it is made."""

import importlib
import importlib.util
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest

from partita.kernels import cache


def test_a_folder_of_its_own_where_nothing_else_can_be_written(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(cache, "_is_writable", lambda folder: False)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    with caplog.at_level(logging.WARNING, "partita"):
        cache.choose_folder()
    assert numba.config.CACHE_DIR.startswith(str(tmp_path))
    assert "Set NUMBA_CACHE_DIR" in caplog.text


def test_a_folder_that_others_may_write_to_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(cache, "_is_writable", lambda folder: False)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cache.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "private"))
    usual = tmp_path / f"partita-{os.getuid()}"
    usual.mkdir()
    usual.chmod(0o777)
    cache.choose_folder()
    assert numba.config.CACHE_DIR == str(tmp_path / "private")
    usual.chmod(0o700)
    assert cache._is_ours(usual)
    usual.rmdir()
    usual.symlink_to(tmp_path)
    assert not cache._is_ours(usual)


def test_the_users_own_choice_stays(monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "/mine")
    monkeypatch.setattr(cache, "_is_writable", lambda folder: False)
    cache.choose_folder()
    assert numba.config.CACHE_DIR == "/mine"


def test_folders_that_can_be_written_to(tmp_path):
    assert cache._is_writable(tmp_path / "new")
    (tmp_path / "file").write_text("")
    assert not cache._is_writable(tmp_path / "file")


def event(module):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_long_compilations_are_announced_once(monkeypatch, caplog):
    clock = iter([0.0, 0.0, 1.0, 1.0, 5.0, 5.0, 7.0, 7.0, 9.0, 9.0, 10.0, 10.0])
    monkeypatch.setattr(cache.time, "monotonic", lambda: next(clock))
    announcer = cache.Announcer()
    chains, other = event("partita.kernels.chains.scaled"), event("somebody.else")
    with caplog.at_level(logging.WARNING, "partita"):
        announcer.on_start(other)
        announcer.on_end(other)
        announcer.on_start(other)
        assert not caplog.records
        announcer.on_start(chains)
        announcer.on_end(chains)
        announcer.on_end(other)
    assert [record.args for record in caplog.records] == [("chains",)]


def test_a_folder_that_is_chosen_is_used_and_silent_the_second_time(tmp_path):
    code = "from partita.text.vocabulary import HashedVocabulary as V; V(8)['a']"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        for _ in range(2)
    ]
    assert [each.returncode for each in runs] == [0, 0]
    assert list(tmp_path.rglob("*.nbi"))
    assert runs[1].stderr == ""


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        # As if a class had another name when the code was kept.
        lambda data: data.replace(b"Known", b"Other"),
    ],
)
def test_kept_code_that_cannot_be_read_is_compiled_again(tmp_path, monkeypatch, suffix, damage):
    (tmp_path / "kept.py").write_text(
        "from typing import NamedTuple\n"
        "from partita.kernels.jit import kernel\n"
        "class Known(NamedTuple):\n"
        "    a: int\n"
        "@kernel\n"
        "def answer(known):\n"
        "    return known.a\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(2):
        monkeypatch.delitem(sys.modules, "kept", raising=False)
        kept = importlib.import_module("kept")
        assert kept.answer(kept.Known(3)) == 3
        (path,) = (tmp_path / "__pycache__").glob(f"*{suffix}")
        path.write_bytes(damage(path.read_bytes()))
    monkeypatch.delitem(sys.modules, "kept")


def import_file(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_code_whose_imports_have_changed_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "KERNELS", tmp_path)
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    jit, deep, step, caller = (
        tmp_path / f"{name}.py" for name in ("jit", "deep", "step", "caller")
    )
    jit.write_text("")
    step.write_text(
        "from partita.kernels.jit import step\n"
        "from partita.kernels.deep import NUMBER\n"
        "@step\ndef number():\n    return NUMBER\n"
    )
    caller.write_text(
        "from partita.kernels.jit import kernel\n"
        "from partita.kernels.step import number\n"
        "@kernel\ndef answer():\n    return number()\n"
    )
    hits = []
    for number in (1, 1, 2):
        for known in (cache._digest, cache._imported, cache._text):
            known.cache_clear()
        deep.write_text(f"NUMBER = {number}\n")
        for path in (deep, step):
            import_file(path, f"partita.kernels.{path.stem}")
        answer = import_file(caller, "caller").answer
        assert answer() == number
        hits.append(sum(answer.stats.cache_hits.values()))
    assert hits == [0, 1, 0]


def test_what_a_file_imports_of_the_kernels():
    kernels = cache.KERNELS
    everything = set(kernels.rglob("*.py"))
    for path in everything:
        assert cache._imported(path) <= everything
    assert kernels / "simd" / "lanes.py" in cache._imported(kernels / "projective" / "scaled.py")
    # A package: all its modules.
    assert kernels / "forests" / "best.py" in cache._imported(kernels / "forests" / "batches.py")
