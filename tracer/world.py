"""What a function reads from outside: globals, closure cells and attributes, found by scanning its bytecode.

The scan follows calls into other Python functions of the user's. Modules, functions and classes are
guarded by identity, numbers and strings by type and value, small containers leaf by leaf, arrays by
identity only: their contents are inputs of the program, re-read at every call.
"""

import builtins
import dis
import inspect
import os
import types

import numpy as np

from ..backends.xla.dispatch import is_device_array
from .errors import UnsupportedError
from .frames import internal

MISSING = object()
LIMIT = 1000  # leaves of a container that are guarded one by one
LIBRARIES = ("numpy", "math", "cmath", "scipy", "jax")  # their attributes are taken as fixed
SILENT = ("PUSH_NULL", "CACHE", "PRECALL", "NOP", "RESUME", "COPY_FREE_VARS", "EXTENDED_ARG")
SCALARS = (bool, int, float, complex, str, bytes, type(None))


class Read:
    """One outside read: a global, builtin, cell or attribute, what the user calls it, and the line that reads it."""

    __slots__ = ("kind", "owner", "key", "name", "file", "line")

    def __init__(self, kind, owner, key, name, file, line):
        self.kind, self.owner, self.key, self.name, self.file, self.line = kind, owner, key, name, file, line

    def get(self):
        """The value now, or MISSING."""
        if self.kind == "global":
            return self.owner.get(self.key, MISSING)
        if self.kind == "builtin":
            return MISSING if self.key in self.owner else True
        if self.kind == "cell":
            try:
                return self.owner.cell_contents
            except ValueError:
                return MISSING
        return getattr(self.owner, self.key, MISSING)

    def test(self, n):
        """Python text that is true while the value is the object `v{n}`; `o{n}` is the owner."""
        return {
            "global": f"o{n}[{self.key!r}] is v{n}",
            "builtin": f"{self.key!r} not in o{n}",
            "cell": f"o{n}.cell_contents is v{n}",
            "attribute": f"o{n}.{self.key} is v{n}" if str(self.key).isidentifier() else f"getattr(o{n}, {self.key!r}) is v{n}",
        }[self.kind]

    def __str__(self):
        return f"{self.name} ({os.path.basename(self.file)}:{self.line})"


def scan(function, static=()):
    """All outside reads of `function` and of the user's functions it calls; `static` maps parameter names to objects."""
    reads, seen = {}, set()
    _scan(function, dict(static), reads, seen)
    return list(reads.values())


def _scan(function, params, reads, seen):
    function, params = _unwrap(function, params)
    code = getattr(function, "__code__", None)
    if code is None or (code, tuple(sorted((k, id(v)) for k, v in params.items()))) in seen or internal(code):
        return
    seen.add((code, tuple(sorted((k, id(v)) for k, v in params.items()))))
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    for sub in _codes(code):
        _scan_code(sub, function.__globals__, cells, params, reads, seen)


def _unwrap(function, params):
    """The plain function under bound methods and partials, with the objects they bind."""
    params = dict(params)
    while True:
        if inspect.ismethod(function):
            names = function.__func__.__code__.co_varnames if hasattr(function.__func__, "__code__") else ()
            if names:
                params[names[0]] = function.__self__
            function = function.__func__
        elif hasattr(function, "func") and hasattr(function, "keywords"):
            params |= function.keywords
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isfunction(function) and inspect.isfunction(inspect.getattr_static(type(function), "__call__", None)):
            function = types.MethodType(type(function).__call__, function)
        else:
            return function, params


def _codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _scan_code(code, space, cells, params, reads, seen):
    """Follow `name.attr.attr` chains that start at a global, a cell or a static parameter."""
    instructions = list(dis.get_instructions(code))
    stored = {name for i in instructions for name in _fast_names(i, "STORE")}
    chain, line = None, code.co_firstlineno

    def step(kind, owner, key, name):
        read = Read(kind, owner, key, name, code.co_filename, line)
        value = read.get()
        if value is MISSING:
            return None
        reads.setdefault((kind, id(owner), key), read)
        return value, name

    for ins in instructions:
        line = (ins.positions.lineno if ins.positions else None) or line
        if ins.opname in SILENT:
            continue
        if ins.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            builtin = ins.argval not in space and hasattr(builtins, ins.argval)
            chain = step("builtin" if builtin else "global", space, ins.argval, ins.argval)
            chain = None if builtin else chain
        elif ins.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and ins.argval in cells:
            chain = step("cell", cells[ins.argval], "", ins.argval)
        elif (loaded := _fast_names(ins, "LOAD")) and loaded[-1] in params and loaded[-1] not in stored:
            chain = (params[loaded[-1]], loaded[-1])
        elif ins.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain is not None:
            chain = _attribute(*chain, ins.argval, step, reads, seen)
        else:
            chain = None
        if chain is not None and callable(chain[0]) and not isinstance(chain[0], type):
            _scan(chain[0], {}, reads, seen)


def _fast_names(ins, verb):
    """The locals that an instruction loads, or stores; Python 3.13 has instructions for two at a time."""
    verbs = [part for part in ins.opname.split("_") if part in ("LOAD", "STORE")]
    if "_FAST" not in ins.opname or verb not in verbs:
        return []
    names = ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)
    return [name for name, v in zip(names, verbs) if v == verb]


def _attribute(owner, name, key, step, reads, seen):
    if isinstance(owner, types.ModuleType) and owner.__name__.split(".")[0] in LIBRARIES:
        return getattr(owner, key, MISSING), f"{name}.{key}"
    if isinstance(owner, (*SCALARS, np.ndarray)) or is_device_array(owner):
        return None
    found = inspect.getattr_static(owner, key, MISSING)
    if isinstance(found, property):  # what the getter reads is what is relied on
        _scan(types.MethodType(found.fget, owner), {}, reads, seen)
        return None
    if inspect.isfunction(found) and not isinstance(owner, types.ModuleType):  # a method: guarded where the class holds it
        return getattr(owner, key), f"{name}.{key}"
    return step("attribute", owner, key, f"{name}.{key}")


class Guard:
    """The outside values one trace relied on; `inline` gives the tests as text, about 15 ns a value."""

    def __init__(self, reads):
        self.reads = reads
        self.values = [r.get() for r in reads]
        self.key = tuple(snapshot(v) for v in self.values)
        space = {}
        exec(f"def test():\n    return {' and '.join(self.inline('', space)) or 'True'}", space)
        self._test = space["test"]

    def inline(self, k, space):
        """Python tests that hold while nothing changed; the objects they name are put into `space`, numbered `k`."""
        tests = []
        for n, (read, value) in enumerate(zip(self.reads, self.values)):
            n = f"{n}_{k}"
            if type(value) in (list, tuple, dict):  # mutable, or holding what is: compared leaf by leaf
                space |= {f"r{n}": read.get, f"k{n}": snapshot(value), "snapshot": snapshot}
                tests.append(f"snapshot(r{n}()) == k{n}")
            else:
                space |= {f"o{n}": read.owner, f"v{n}": value}
                tests.append(read.test(n))
        return tests

    def holds(self):
        """Whether every value is still the same object (containers: still equal)."""
        try:
            return self._test()
        except (KeyError, AttributeError, ValueError):
            return False

    def changed(self, key):
        """The reads whose values differ from the snapshot `key`."""
        return [r for r, old, new in zip(self.reads, key, self.key) if old != new]


def snapshot(value, budget=LIMIT):
    """What is compared later: (type, value) for numbers and strings, leaves for containers, identity for the rest."""
    if isinstance(value, SCALARS):
        return (type(value), value if value == value else "nan")
    if isinstance(value, np.generic):
        return (type(value), value.tobytes())
    if type(value) in (list, tuple):
        _within(value, budget)
        return (type(value), tuple(snapshot(v, budget) for v in value))
    if type(value) is dict:
        _within(value, budget)
        return (dict, tuple((k, snapshot(v, budget)) for k, v in value.items()))
    if isinstance(value, types.MethodType):
        return (value.__func__, id(value.__self__))
    return Same(value)


def _within(container, budget):
    if len(container) > budget:
        raise UnsupportedError(
            f"a container of {len(container)} items is read from outside the function; guarding each at every call would be slow.\n"
            "  Pass it as an argument, or hold the numbers in an array."
        )


class Same:
    """Equal only to a wrapper of the very same object; keeps it alive so that its id is not reused."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __eq__(self, other):
        return isinstance(other, Same) and self.object is other.object

    def __hash__(self):
        return id(self.object)
