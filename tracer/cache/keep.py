"""The programs of one Compiled on disk: found before a signature is traced, kept after its first run."""

import contextlib
import logging
import os
import pathlib
import time

from ...backends.xla import executables
from ..common import events
from ..guards.by_class import present
from ..rules import rules
from ..sharding.placement import Placement
from . import record
from .described import OPTIONS, Unsaid, described, digest
from .environment import environment
from .store import Store
from .watch import watching

VARIABLE = "WENGERT_CACHE"
TEXT = "program"  # the part that is the program's text; the others are executables
OFF = ("", "0", "off", "no", "false")


def default():
    """The directory that cache=True means where the environment names none."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "wengert"


def environment_directory():
    """The directory that the environment names, or None."""
    name = os.environ.get(VARIABLE, "")
    return (
        None if name.lower() in OFF else default() if name.lower() in ("1", "on", "yes", "true") else pathlib.Path(name)
    )


def is_unkept(asked):
    """Whether no program is kept on disk. asked: as `jit` takes it."""
    return asked is False or asked is None and environment_directory() is None


def cache_for(asked, compiled):
    """The Cache of a Compiled. asked: as `jit` takes it."""
    if is_unkept(asked):
        return Uncached()
    return Cache(compiled, environment_directory() or default() if asked is None or asked is True else asked)


class Uncached:
    """A Cache that keeps nothing."""

    keeps = False

    def load(self, entry, types):
        return None

    def watch(self):
        return contextlib.nullcontext()

    def collect(self, version):
        return contextlib.nullcontext({})

    def keep(self, entry, version, files):
        pass


class Cache:
    """What `Entry` asks: `load` before it traces, `watch` while it does, `collect` while a program is compiled, `keep`
    after its first run."""

    keeps = True

    def __init__(self, compiled, directory):
        self.compiled, self.store = compiled, Store(directory)

    def key(self, entry, types):
        """A digest of all that decides a program but the state of the world outside; Unsaid where something cannot be
        described."""
        c = self.compiled
        if c.device is not None and not isinstance(c.device, Placement):
            raise Unsaid("it is for one device")
        static = [None if i in entry.dynamic else described(present(x)) for i, x in enumerate(entry.leaves)]
        kinds = [[t.__module__, t.__qualname__] for t in entry.types]
        structure = [record.skeleton(entry.tree), record.described_key_order(entry.order), repr(entry.shared)]
        arguments = [*structure, kinds, static, entry.names, entry.promoted, [repr(t) for t in types]]
        options = {n: described(getattr(c, n)) for n in OPTIONS} | ({"mesh": c.device.said()} if c.device else {})
        return digest([environment(), options, described(c.function), arguments])

    def roots(self, entry):
        """What a trace starts from: the function, and the static arguments."""
        return [self.compiled.function, *(x for i, x in enumerate(entry.leaves) if i not in entry.dynamic)]

    def load(self, entry, types):
        """A version made by another process that holds here, or None."""
        if rules.in_force():  # a file does not tell of them
            return None
        start, found = time.perf_counter(), self.find(entry, types)
        seconds, arguments = time.perf_counter() - start, entry.shown_types(types)
        if type(found) is str:
            text = f"no program of ({arguments}) on disk: {found}"
            events.report("cache", "miss", text, seconds, level=logging.DEBUG)
            return None
        text = f"read the program of ({arguments}) from {self.store.directory}, {found.equations} equations"
        told = {"types": types, "names": entry.names, "equations": found.equations}
        events.report("cache", "hit", text, seconds, **told)
        return found

    def find(self, entry, types):
        """The same; in words, why there is none."""
        try:
            key = self.key(entry, types)
        except Unsaid as error:
            return f"it cannot be looked for, {error}"
        others = 0
        for path, told, parts in self.store.find(key):
            version = record.restored_trace(told, parts.pop(TEXT).decode(), self.roots(entry), types)
            if version is not None:
                executables.install_executables(parts)
                self.store.used(path)
                version.kept, version.file = f"read from {self.store.directory}", path
                return version
            others += 1
        if others:
            return f"{others} there rely on other values from outside"
        return f"none like it in {self.store.directory}"

    def watch(self):
        """A `with` around a trace."""
        return watching()

    def collect(self, version):
        """A `with` around the first run of a version, giving {name: executable} of what is compiled."""
        return collected(version.file is None)

    def keep(self, entry, version, files):
        """Write a version that has run, with its executables."""
        if version.file is not None:
            if files:  # executables that were not there, or of another form
                self.store.add(version.file, files)
            return
        try:
            start = time.perf_counter()
            record.refuse_unsaid(version)
            if version.watch is None or version.watch.why:
                raise Unsaid(version.watch.why[0] if version.watch else "it was traced while another function was")
            key = self.key(entry, version.types)
            told, text = record.said(version, self.roots(entry))
        except Unsaid as error:
            version.kept = f"not kept: {error}"
            events.report("cache", "not kept", version.kept, of=self.compiled, why=str(error))
            return
        name = digest([told["reads"], [repr(p.type) for p in version.func.params]])[:32]
        failed = self.store.write(key, name, told, {TEXT: text.encode(), **files})
        version.kept = f"not kept: {failed}" if failed else f"kept in {self.store.directory}"
        seconds = time.perf_counter() - start
        events.report("cache", "not kept" if failed else "kept", version.kept, seconds, of=self.compiled, why=failed)


@contextlib.contextmanager
def collected(fresh):
    files = {}
    with executables.collecting(files, fresh):
        yield files
