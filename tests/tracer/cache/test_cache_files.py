"""The files of a cache: damaged, foreign, written by many at a time, on disks that refuse."""

import ast
import builtins
import errno
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time
import warnings

import jax
import numpy as np
import pytest
from cached import EXPECTED, SIMPLE, X, kept_file

from wengert import __main__ as cli
from wengert import jit
from wengert.backends.xla import executables
from wengert.tracer.cache import store
from wengert.tracer.cache.store import Store


def test_damaged_files_are_as_if_they_were_not_there(process):
    path = kept_file(process)
    whole = path.read_bytes()
    places = [*range(0, 64), *np.random.default_rng(0).integers(64, len(whole), 200)]
    damaged = [whole[:n] for n in places] + [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in places]
    damaged += [b"", b"something else", whole + b"x"]
    for data in damaged:
        assert store.unpacked(data) is None
    for data in damaged[:: len(damaged) // 4]:
        path.write_bytes(data)
        came, result = process.run(SIMPLE, X)
        assert came == "kept" and np.allclose(result, EXPECTED)
        assert path.read_bytes()[:16] == whole[:16]
        assert process.run(SIMPLE, X)[0] == "read"


def test_a_file_under_another_key_is_not_believed(process):
    path = kept_file(process)
    other = SIMPLE.replace("* 2", "* 3")
    process.run(other, X)
    ((second, _),) = [f for f in Store(process.cache).all() if f[0] != path]
    second.write_bytes(path.read_bytes())
    came, result = process.run(other, X)
    assert came == "kept" and np.allclose(result, np.sin(X) * 3 + 1)


def test_a_directory_in_the_place_of_a_file(process):
    """An empty one gives way; in another there is something that is not ours."""
    path = kept_file(process)
    path.unlink()
    path.mkdir()
    assert [process.run(SIMPLE, X)[0] for _ in range(2)] == ["kept", "read"]
    path.unlink()
    path.mkdir()
    (path / "note").write_text("mine")
    came, result = process.run(SIMPLE, X)
    assert came.startswith("not kept") and np.allclose(result, EXPECTED) and (path / "note").read_text() == "mine"


def test_files_that_others_may_write_are_not_believed(process, monkeypatch):
    path = kept_file(process)
    path.chmod(0o666)
    assert process.run(SIMPLE, X)[0] == "kept"
    assert path.stat().st_mode & 0o777 == 0o600 and process.run(SIMPLE, X)[0] == "read"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert process.run(SIMPLE, X)[0] == "kept"


@pytest.mark.parametrize("where", ["mkstemp", "write", "rename"])
def test_a_directory_that_cannot_be_written(process, monkeypatch, where):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    real = builtins.open
    with monkeypatch.context() as patch:
        if where == "mkstemp":
            patch.setattr(store.tempfile, "mkstemp", fail)
        elif where == "rename":
            patch.setattr(store.os, "replace", fail)
        else:
            patch.setattr(store, "open", lambda f, mode: _Full(real(f, mode)) if mode == "wb" else real(f, mode), raising=False)
        came, result = process.run(SIMPLE, X)
    assert came == "not kept: OSError: No space left on device" and np.allclose(result, EXPECTED)
    assert [p for p in process.cache.rglob("*") if p.is_file()] == []
    assert [process.run(SIMPLE, X)[0] for _ in range(2)] == ["kept", "read"]


class _Full:
    """A file on a disk that fills up half-way."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_directory_that_is_a_file_or_is_not_there(process):
    (process.path / "file").write_text("")
    for cache in (process.path / "file", process.path / "deep" / "er", "/proc/no"):
        came, result = process.run(SIMPLE, X, cache=cache)
        assert np.allclose(result, EXPECTED)
        assert came == "kept" if "deep" in str(cache) else came.startswith("not kept")


def test_the_least_recently_used_goes_first(tmp_path, monkeypatch):
    files = Store(tmp_path)
    monkeypatch.setattr(store, "MOST", 5000)
    keys = [f"{n:064x}" for n in range(6)]
    for n, key in enumerate(keys):
        files.write(key, "a", {"n": n}, {"program": b"x" * 1000})
        for path, _ in files.all():
            if path.parent.name == keys[0]:
                os.utime(path, (2e9, 2e9))
            elif path.parent.name == key:
                os.utime(path, (1e9 + n, 1e9 + n))
    assert {p.parent.name for p, _ in files.all()} == {keys[0], *keys[3:]}
    assert [told["n"] for _, told, _ in files.find(keys[0])] == [0]
    for n in range(store.EACH + 3):
        files.write(keys[0], f"{n}", {"n": n}, {})
    assert len([p for p, _ in files.all() if p.parent.name == keys[0]]) <= store.EACH
    assert files.clear() > 0 and not files.all() and not list(tmp_path.iterdir())


def test_writers_at_the_same_time(tmp_path):
    files, key, bad = Store(tmp_path), "a" * 64, []

    def work(n):
        for k in range(20):
            files.write(key, "same", {"n": n}, {"program": bytes([n]) * 5000})
            for _, told, parts in files.find(key):
                if parts["program"] != bytes([told["n"]]) * 5000:
                    bad.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not bad and len(files.all()) == 1 and not list(tmp_path.rglob("*.part"))


WRITER = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("store", sys.argv[1])
store = importlib.util.module_from_spec(spec)
spec.loader.exec_module(store)
files, n = store.Store(sys.argv[2]), int(sys.argv[3])
print("begun", flush=True)
for k in range(int(sys.argv[4])):
    assert files.write("a" * 64, str(k % 3), {"n": n}, {"program": bytes([n]) * 300_000}) is None
    for _, told, parts in files.find("a" * 64):
        assert parts["program"] == bytes([told["n"]]) * 300_000
"""


def writer(directory, n, times):
    return subprocess.Popen([sys.executable, "-S", "-c", WRITER, store.__file__, directory, str(n), str(times)], stdout=subprocess.PIPE)


def test_processes_that_write_at_the_same_time(tmp_path):
    processes = [writer(tmp_path, n, 10) for n in range(8)]
    assert [p.wait() for p in processes] == [0] * 8
    found = list(Store(tmp_path).find("a" * 64))
    assert len(found) == 3 and all(parts["program"] == bytes([told["n"]]) * 300_000 for _, told, parts in found)
    assert not list(tmp_path.rglob("*.part"))


def test_processes_that_are_killed_while_they_write(tmp_path, monkeypatch):
    for n in range(6):
        process = writer(tmp_path, n, 1 << 30)
        process.stdout.readline()
        time.sleep(0.01 + 0.007 * n)
        process.kill()
        process.wait()
        found = list(Store(tmp_path).find("a" * 64))
        assert all(parts["program"] == bytes([told["n"]]) * 300_000 for _, told, parts in found)
        assert len(found) == len(Store(tmp_path).all())  # none of them damaged
    unfinished = tmp_path / ("a" * 64) / "begun.part"
    unfinished.write_bytes(b"half")
    Store(tmp_path).trim()
    assert unfinished.exists()  # somebody may be at it
    monkeypatch.setattr(store, "FORGOTTEN", -1.0)
    Store(tmp_path).trim()
    assert not list(tmp_path.rglob("*.part")) and list(Store(tmp_path).find("a" * 64))


def test_two_worlds_are_two_files_and_each_is_found(process):
    text = "K = {}\ndef f(x):\n    return x * K\n"
    assert [process.run(text.format(k), X)[0] for k in (2.0, 3.0, 2.0, 3.0)] == ["kept", "kept", "read", "read"]


def test_the_command_lists_and_clears(process, capsys, monkeypatch):
    kept_file(process)
    monkeypatch.setenv("WENGERT_CACHE", str(process.cache))
    assert cli.main(["cache"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{process.cache}: 1 program(s), 0.0 MB") and second.endswith("kB  f(%x: f64[5]) -> f64[5]")
    assert cli.main(["cache", str(process.cache), "--clear"]) == 0
    assert capsys.readouterr().out == f"{process.cache}: 1 program(s) removed\n"
    assert process.run(SIMPLE, X)[0] == "kept"


def test_where_programs_are_kept(process, monkeypatch, tmp_path):
    f = process.load(SIMPLE).f
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for value, cache, where in (
        ("", None, None),
        ("", True, tmp_path / "home" / "wengert"),
        ("0", None, None),
        ("1", None, tmp_path / "home" / "wengert"),
        (str(tmp_path / "a"), None, tmp_path / "a"),
        (str(tmp_path / "a"), True, tmp_path / "a"),
        (str(tmp_path / "a"), False, None),
        (str(tmp_path / "a"), str(tmp_path / "b"), tmp_path / "b"),
    ):
        monkeypatch.setenv("WENGERT_CACHE", value)
        found = getattr(jit(f, cache=cache).compiled.cache, "store", None)
        assert (found and found.directory) == where
    assert not hasattr(jit(f, cache=True, check=True).compiled.cache, "store")
    with pytest.raises(TypeError, match="jit keeps programs in a directory"):
        jit(f, cache=3)


class Trap:
    """A pickle that leaves a directory behind when it is read."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nothing_that_is_found_is_unpickled(process):
    """A pickle in the place of a file, and in a well-formed file in the place of machine code, is never read as one."""
    trap = process.path / "unpickled"
    foreign = pickle.dumps(Trap(trap))
    path = kept_file(process)
    told, parts = store.unpacked(path.read_bytes())
    assert len(parts) == 2
    for data in (foreign, store.packed(told, {n: x if n == "program" else foreign for n, x in parts.items()})):
        path.write_bytes(data)
        (path.parent / "foreign.wengert").write_bytes(foreign)
        jax.clear_caches()
        for compiled in executables.directory().glob("*-cache"):
            compiled.unlink()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, result = process.run(SIMPLE, X)
        assert np.allclose(result, EXPECTED) and not trap.exists()
    pickle.loads(foreign)
    assert trap.exists()


def test_no_module_can_unpickle():
    """None imports what reads pickles or code, but to copy objects within the process."""
    root = pathlib.Path(store.__file__).parents[2]
    found = set()
    for path in [p for part in ("tracer", "ir", "autodiff", "backends", "compat") for p in (root / part).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
            if {str(n).partition(".")[0] for n in names} & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}:
                found.add(str(path.relative_to(root)))
    assert not found
