"""Compiled programs as bytes, through jax's own persistent compilation cache, which has the one public form of them.

jax keeps executables as files in one directory a process, under names that are digests of the lowered module, of
versions, devices and options. Where the user has given it no directory it gets one of ours, private and empty: what is
compiled while `collecting` is read from there, and what was kept from another process is put there
(`install_executables`) before it is asked for. Nothing else is written to it. The machine code of native nests is
collected and placed with them.
"""

import atexit
import contextlib
import os
import pathlib
import shutil
import tempfile
import threading

import jax
from jax.extend import backend

from ...ir.forks import hold_while_forking
from ..native.build import LOGS, NEST, OBJECTS, object_file

DIRECTORY, LEAST = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
ASIDE = "aside"
# how they begin: LLVM ends the process over anything else
OBJECT_FILES = b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa"
LOCK = threading.Lock()
hold_while_forking(LOCK)
_own = []  # [the directory], once there is one


def machine():
    """What a compiled program depends on: the devices, and the versions that run them."""
    devices = jax.devices()
    return [
        jax.__version__,
        backend.get_backend().platform_version,
        len(devices),
        *sorted({f"{d.platform} {d.device_kind}" for d in devices}),
    ]


def directory():
    """The directory of this process, or None where the user has jax keep its executables elsewhere, or not at all."""
    with LOCK:
        now = getattr(jax.config, DIRECTORY)
        if now is None and not _own and jax.config.jax_enable_compilation_cache:
            made = tempfile.mkdtemp(prefix="wengert-")
            atexit.register(remove_directory, made, os.getpid())
            _own.append(now := made)
            jax.config.update(LEAST, float("inf"))  # what the user compiles is not to be written there
            jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
            jax.config.update(DIRECTORY, made)
        return pathlib.Path(now) if _own and now == _own[0] and os.path.isdir(now) else None


def remove_directory(path, process):
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def install_executables(files):
    """Put executables, by name, where jax looks for them -> whether they are there."""
    for name, data in files.items():
        if name.startswith(NEST) and data.startswith(OBJECT_FILES):
            OBJECTS[name] = data
    home = directory()
    if home is None:
        return False
    try:
        for name, data in files.items():
            if not name.startswith(NEST) and not (home / name).exists():
                (home / name).write_bytes(data)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def collecting(files, fresh):
    """Within: `files` receives each executable that is compiled, by name.

    fresh: those of this process are out of the way meanwhile, so that one of the same module is compiled and received
    too.
    """
    home = directory()
    if home is None:
        yield
        return
    before, nests = names(home), set()
    moved = before if fresh else ()
    move(moved, home, home / ASIDE)
    jax.config.update(LEAST, 0.0)
    LOGS.append(nests)
    try:
        yield
    finally:
        jax.config.update(LEAST, float("inf"))
        with contextlib.suppress(OSError):
            files.update((n, (home / n).read_bytes()) for n in names(home) - (set() if fresh else before))
        move(moved, home / ASIDE, home)
        LOGS[:] = [log for log in LOGS if log is not nests]
        if files or fresh:
            files.update((n, data) for n in nests if (data := object_file(n)) is not None)


def names(home):
    return {n for n in os.listdir(home) if n.endswith("-cache")}


def move(files, old, new):
    """Files from one directory to another, as far as that can be done."""
    with contextlib.suppress(OSError):
        new.mkdir(exist_ok=True)
    for name in files:
        with contextlib.suppress(OSError):
            os.replace(old / name, new / name)
