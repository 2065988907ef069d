"""One call signature of a compiled function: its traces, and the shortest path through them.

An `Entry` belongs to one argument structure, one kind per leaf and one set of static values. Inside it
a `World` holds the traces made while the outside values were as its guard remembers, and a `Version`
is one trace: one combination of shapes and dtypes, which jax.jit's own cache tells apart.
"""

import time

import numpy as np

from ..backends.xla import dispatch
from ..ir.pipeline import run as optimise
from ..ir.source import Source
from ..ir.types import type_of
from . import pytree, world
from .assume import Choices, Chosen, Missing, Tree, Trees, Undecided, Untraced, refuse_effects
from .capture import ARRAY, SCALAR, capture
from .containers import settle
from .errors import ConcretizationError, DeepRecursion, UnsupportedError, message, warn_fallback
from .frames import internal, without_internals
from .impure import Draws
from .signature import kind_for
from .status import failure


class Version:
    """One trace: the function as captured and as compiled, and what explain() tells of it."""

    def __init__(self, captured, func, types, reason, trace_seconds, pass_seconds, assumed=()):
        self.assumed, self.path = assumed, tuple(a.step for a in assumed)  # choices made by value
        self.tree = self.program = None  # the Tree it belongs to then, and its own program
        self.captured, self.func, self.types, self.reason = captured, func, types, reason
        self.trace_seconds, self.pass_seconds, self.first_seconds = trace_seconds, pass_seconds, None
        self.places = None  # which leaves of the call the function takes
        outs = captured.outs
        alone = len(outs) == len(captured.func.results) == 1 and outs[0].how == "value"
        single = alone and pytree.is_leaf(captured.tree) and not captured.layout and captured.given is None
        # the kind of the one result where there is nothing to write, check, share or rebuild
        self.plain = outs[0].kind if single and self.func.results[0] not in self.func.params else None
        self.bytes = sum(r.type.size * r.type.dtype.itemsize for r in func.results)

    def finish(self, raw, leaves, numpy, again, given):
        """Turn raw results into what the function returns; changed arguments are written last, all or none."""
        captured = self.captured
        results = raw if isinstance(raw, tuple) else (raw,)
        if captured.checks:
            if np.asarray(results[-1]):
                raise failure(captured.checks, results[-1])[1]
        if captured.writes and overlapping(leaves, captured):
            return again("an argument that is written shares memory with another array")
        if any(isinstance(leaves[i], np.ndarray) and not leaves[i].flags.c_contiguous for i in captured.layout):
            return again("an argument is not in row-major order, which decides what is a view of it")
        values = [self.own(r, i) if numpy else r for i, r in enumerate(results[: captured.values])]
        for index, new in zip(captured.writes, results[captured.values :]):
            np.copyto(leaves[index], np.asarray(new))
        made = {}
        result = captured.rebuild([self._leaf(o, values, leaves, numpy, made) for o in captured.outs])
        return result if captured.given is None else settle(result, captured.given, given)

    def own(self, result, index):
        """A result as an ndarray the caller may write."""
        value = self.func.results[index]
        shared = value in self.func.params or self.func.results.index(value) != index
        return np.array(result) if shared else dispatch.owned(result)

    def _leaf(self, out, values, leaves, numpy, made):
        if out.how == "object":
            return out.object
        if out.how == "copy":
            return out.object.copy()
        if out.how == "argument":
            return follow(leaves[out.index], out.chain)
        value = values[out.index]
        if not numpy:
            return follow(value, out.chain)
        if out.kind is ARRAY:
            return made.setdefault((out.index, out.chain), follow(value, out.chain))
        return value[()] if out.kind is SCALAR else value.item()


def follow(array, chain):
    """The view that `chain` leads to."""
    for step in chain:
        array = step.apply(array)
    return array


def overlapping(leaves, captured):
    """Whether an array about to be written shares memory with another array the program read."""
    others = [*leaves, *captured.inputs]
    return any(i != j and isinstance(x, np.ndarray) and np.may_share_memory(leaves[i], x) for i in captured.writes for j, x in enumerate(others))


def restore(outside):
    """Give outside arrays that the trace wrote their contents back -> those arrays."""
    written = [(array, before) for array, before in outside if array.tobytes() != before.tobytes()]
    for array, before in written:
        array[...] = before
    return [array for array, _ in written]


def explained(error):
    """NumPy's words for a traced value stored into a plain array, and Python's for endless recursion, in ours; other errors as they are."""
    if type(error) is RecursionError:
        return too_deep(error)
    if type(error) is not ValueError or "setting an array element" not in str(error):
        return error
    tb = error.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    return ConcretizationError(
        message(
            "a traced value was stored into a plain ndarray, one that the function made itself",
            Source(tb.tb_frame.f_code, tb.tb_lasti),
            "Make the array from a traced one, np.zeros_like(x), or pass it as an argument: then it is traced too.",
        )
    ).with_traceback(error.__traceback__)


def too_deep(error):
    """Endless recursion: the function that calls itself, the line where it does, and why tracing does not end."""
    calls, last, tb = {}, {}, error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not internal(code):
            name, _, part = code.co_qualname.partition(".@")  # a part is a body within the function
            key = code.co_filename, name
            if not part and key in last:
                calls.setdefault(key, []).append(last[key])
            last[key] = Source(code, tb.tb_lasti)
        tb = tb.tb_next
    if not calls:
        return error
    (_, name), (*_, source) = max(calls.items(), key=lambda found: len(found[1]))
    text = f"{name} calls itself until Python's stack is full: recursion on traced data does not end while tracing"
    hint = "Both sides of a choice are followed, whatever the data. Write a loop, or give the depth as an int argument."
    return DeepRecursion(message(text, source, hint))


class World:
    """The traces that are valid while `guard` holds, and the program that jax.jit dispatches among them."""

    def __init__(self, name, guard):
        self.guard = guard
        self.versions = {}  # types of the dynamic leaves -> Version
        self.inputs = []  # captured arrays, passed behind the arguments
        self.plain = None  # the kind of the one result, where all versions have just that
        self.call = dispatch.program(self.find, name)

    def give(self, raw):
        """The one result of a program that does nothing else, in NumPy's kind."""
        value = np.array(raw) if self.small else dispatch.owned(raw)
        return value if self.plain is ARRAY else value[()] if self.plain is SCALAR else value.item()

    def find(self, types):
        version = self.versions.get(types[: len(types) - len(self.inputs)])
        if version is None:
            raise Untraced
        return version.func, version.places

    def add(self, version):
        """A new trace; the arrays it captured join the inputs."""
        arguments = len(version.types)
        places = list(range(arguments))
        for array in version.captured.inputs:
            if not any(array is x for x in self.inputs):
                self.inputs.append(array)
            places.append(arguments + next(i for i, x in enumerate(self.inputs) if x is array))
        version.places = places
        if version.assumed:
            self.grow(version)
        self.versions[version.types] = version
        kinds = {v.plain for v in self.versions.values()}
        self.plain = kinds.pop() if len(kinds) == 1 else None
        self.small = all(v.bytes < dispatch.ZERO_COPY for v in self.versions.values())


    def grow(self, version):
        """One more trace for its types: each has a program of its own, and the data of a call says which is right."""
        other = self.versions.get(version.types)
        version.tree = other.tree if other is not None else Tree()
        version.tree.add(version)
        version.program = dispatch.program(lambda types: (version.func, version.places), version.captured.func.name)
        if not isinstance(self.call, Trees):
            self.call = Trees(self.call, self.version_of)

    def version_of(self, leaves):
        types = tuple(kind_for(x, None).type for x in leaves[: len(leaves) - len(self.inputs)])
        if types not in self.versions:
            raise Untraced
        return self.versions[types]


class Entry:
    """See the module. `run(leaves, given)` takes the flat dynamic leaves, and the (args, kwargs) they come from where those have containers."""

    def __init__(self, compiled, leaves, tree, order, dynamic, names, types, flat):
        self.order = order  # of the keys of dicts among the arguments
        self.compiled, self.tree, self.dynamic, self.types, self.flat = compiled, tree, dynamic, types, flat
        self.names = [names[i] for i in dynamic]
        self.static = {names[i]: leaves[i] for i in range(len(leaves)) if i not in dynamic}
        self.leaves = [None if i in dynamic else x for i, x in enumerate(leaves)]
        self.numpy = not any(dispatch.is_device_array(leaves[i]) for i in dynamic)
        self.reads = world.scan(compiled.function, self.static)
        self.worlds = {}  # guard key -> World
        self.current = None

    def run(self, leaves, given=None):
        """The call, on any thread: guard, program, result; a trace first where there is none."""
        here = self.current
        if here is None or not here.guard.holds():
            return self.first(*leaves, given=given)
        try:
            raw = self.launch(here, leaves)
        except Untraced:
            return self.first(*leaves, given=given)
        return self.finish(here, raw, leaves, given)

    # -- making traces -----------------------------------------------------------------------------
    def first(self, *leaves, given=None):
        """The slow path: make sure there is a trace for these leaves in the present world, then run it."""
        with self.compiled.lock:
            version, fresh = self.prepare(leaves)
            try:
                while True:
                    try:
                        start = time.perf_counter()
                        raw = self.launch(self.current, leaves)
                        break
                    except Missing as missing:
                        version, fresh = self.branched(leaves, missing.path), True
            except Undecided:
                return self.plainly(leaves, "a number on which a decision hangs is so close to the edge that rounding decides", given)
            if isinstance(raw, Chosen):
                version, raw = raw.version, raw.raw
            if fresh and version.first_seconds is None:
                dispatch.wait(raw)
                version.first_seconds = time.perf_counter() - start
        return version.finish(raw, leaves, self.numpy, lambda reason: self.plainly(leaves, reason, given), given)

    def branched(self, leaves, path):
        """The trace for data that goes the way `path` through the choices made by value."""
        guard = world.Guard(self.reads)
        kinds = [kind_for(x, n) for x, n in zip(leaves, self.names)]
        version = self.trace(guard, kinds, tuple(k.type for k in kinds), "data took another way", leaves, path)
        if version.path[: len(path)] != path:
            raise UnsupportedError(message(f"{self.compiled.name} takes another way each time it is traced with the same arguments", None))
        self.current.add(version)
        if self.flat:
            self.compiled.front.install(self)
        return version

    def prepare(self, leaves):
        """-> (the version for these leaves, whether it was made just now)."""
        guard = world.Guard(self.reads)
        here = self.worlds.get(guard.key)
        reason = None
        if here is None:
            if self.current is not None:
                changed = guard.changed(self.current.guard.key)
                reason = "changed since: " + ", ".join(str(r) for r in changed)
            here = World(self.compiled.name, guard)
        here.guard = guard
        kinds = [kind_for(x, n) for x, n in zip(leaves, self.names)]
        types = tuple(k.type for k in kinds)
        version = here.versions.get(types)
        fresh = version is None
        if fresh:
            if reason is None:
                reason = self._new_types(types, here) if here.versions else self.compiled.reason_for(self)
            version = self.trace(guard, kinds, types, reason, leaves)
            here.add(version)
        if fresh or here is not self.current:
            self.worlds[guard.key] = self.current = here
            if self.flat:
                self.compiled.front.install(self)
        return version, fresh

    def _new_types(self, types, here):
        last = next(reversed(here.versions))
        return "new " + ", ".join(f"{n}: {t} (was {u})" for n, t, u in zip(self.names, types, last) if t is not u)

    def trace(self, guard, kinds, types, reason, given, path=()):
        choices = Choices(given, path)
        leaves = list(self.leaves)
        for i, k in zip(self.dynamic, kinds):
            leaves[i] = k
        start = time.perf_counter()
        outside = [(v, v.copy()) for v in guard.values if isinstance(v, np.ndarray)]
        draws = Draws([*guard.values, *self.static.values()])
        try:
            captured = capture(self.compiled.function, leaves, self.tree, kinds, self.compiled.name, order=self.order, choices=choices)
        except Exception as error:
            raise without_internals(explained(error)) from error.__cause__
        finally:
            written = restore(outside)
        if written:
            raise UnsupportedError(
                message(
                    f"{self.compiled.name} writes an array that lives outside it, {type_of(written[0])}; its contents were put back",
                    None,
                    "Pass the array as an argument: arguments may be written, and the caller's array then changes at every call.",
                )
            )
        draws.refuse(self.compiled.name)
        refuse_effects(captured.func, choices.taken)
        traced = time.perf_counter()
        func = optimise(captured.func, exact=self.compiled.exact)
        return Version(captured, func, types, reason, traced - start, time.perf_counter() - traced, tuple(choices.taken))

    # -- running -----------------------------------------------------------------------------------
    def launch(self, here, leaves):
        if dispatch.config.jax_enable_x64:
            return here.call(*self.placed(leaves, here.inputs))
        with dispatch.SCOPE:
            return here.call(*self.placed(leaves, here.inputs))

    def placed(self, leaves, inputs):
        """All leaves of the program, on the device asked for."""
        if inputs:
            leaves = [*leaves, *inputs]
        return leaves if self.compiled.device is None else dispatch.put(leaves, self.compiled.device)

    def finish(self, here, raw, leaves, given=None):
        if here.plain is not None:
            return here.give(raw) if self.numpy else raw
        if type(raw) is Chosen:
            return raw.version.finish(raw.raw, leaves, self.numpy, lambda reason: self.plainly(leaves, reason, given), given)
        versions = here.versions
        version = next(iter(versions.values())) if len(versions) == 1 else versions[tuple(kind_for(x, n).type for x, n in zip(leaves, self.names))]
        return version.finish(raw, leaves, self.numpy, lambda reason: self.plainly(leaves, reason, given), given)

    def plainly(self, leaves, reason, given=None):
        """Run the user's function uncaptured, and say so."""
        if self.compiled.plain is None:
            raise UnsupportedError(message(reason, None, "Pass copies: f(x.copy(), y)."))
        warn_fallback(f"{self.compiled.name}: {reason}; the call ran as plain Python, uncompiled", stacklevel=5)
        if given is not None:
            return self.compiled.plain(*given[0], **given[1])
        full = list(self.leaves)
        for i, x in zip(self.dynamic, leaves):
            full[i] = x
        args, kwargs = pytree.unflatten(self.tree, full, self.order)
        return self.compiled.plain(*args, **kwargs)
