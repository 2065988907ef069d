"""What `jit` gives: a function that finds the program for its arguments, and traces where there is none."""

from __future__ import annotations

import re
import threading

from ...autodiff import checkpoints
from ...backends.xla import dispatch
from ...ir.exactness import exactly
from ...ir.parameters import declared
from ...ir.pipeline import run as optimise
from ..cache.keep import cache_for
from ..call.background import Background
from ..call.entry import SignatureEntry
from ..call.explain import explanation
from ..call.fallback import Refused
from ..call.inline_cache import InlineCache, named_of
from ..capture.capture import capture
from ..capture.number_lists import packed_call
from ..capture.shared_containers import sharing
from ..capture.signature import kind_for, kind_of_type, names_of
from ..common import pytree
from ..common.errors import LeakError, UnsupportedError, WengertError, message, shown, warn_fallback
from ..guards import float_errors, patched_numpy
from ..guards.by_class import InstanceCell, by_class
from ..guards.guard import small
from ..guards.isolation import is_answering
from ..guards.static_arguments import Alike, is_memory, key_of
from ..program.emit_structure import places
from ..regions import hooks
from ..rules import rules
from ..values.array import Traced
from ..values.speculate import Speculation
from ..values.storage import current_trace


class Route:
    """What the types of the leaves decide: which leaves are static, and the entries by their values."""

    __slots__ = ("types", "static", "dynamic", "inside", "entries", "promoted", "fixed", "plain", "memory")
    __slots__ += ("alike", "pinned", "refusals")

    def __init__(self, types, promoted=(), plain=None):
        kinds = [kind_of_type(t) for t in types]
        self.types, self.promoted = types, frozenset(promoted)  # ints that are traced, having had too many values
        self.static = [i for i, k in enumerate(kinds) if k is None and i not in self.promoted]
        self.dynamic = [i for i, k in enumerate(kinds) if k is not None or i in self.promoted]
        self.inside = Traced in kinds  # called while another function is traced
        self.memory = [i for i in self.static if is_memory(types[i])]
        self.entries = {}
        self.plain = plain or self  # the route on which no int is traced
        self.fixed = set()  # ints that a trace must know
        # the leaves that are known by their class, and those of them that a trace has to know by identity
        self.alike, self.pinned = {i for i in self.static if by_class(types[i])}, set()
        self.refusals = {}  # static values but for such leaves -> refusals of entries that have no trace

    def key(self, leaves):
        """What tells the entries apart: of instances that are known by their class, the first leaf that is the same
        one."""
        alike, first = self.alike - self.plain.pinned, {}
        return tuple(
            [first.setdefault(id(leaves[i]), i) if i in alike else key_of(leaves[i]) for i in self.static]
        )

    def cells(self, leaves):
        """leaf -> the InstanceCell that it is in during a call."""
        made = {}
        alike = sorted(self.alike - self.plain.pinned)
        return {i: made.setdefault(id(leaves[i]), InstanceCell(self.types[i])) for i in alike}

    def changing(self, static):
        """The leaves that are ints of which this is a third value, all else being as it was."""
        out = []
        for n, i in enumerate(self.static):
            if self.types[i] is int and i not in self.plain.fixed and small(static[n]):
                others = {s[n] for s in self.entries if all(s[m] == v for m, v in enumerate(static) if m != n)}
                out += [i] if len(others) > 1 else []
        return out


class Compiled:
    """The state behind one compiled function: its entries by call signature, and the generated function in front."""

    def __init__(
        self,
        function,
        *,
        plain=None,
        name=None,
        device=None,
        exact=False,
        signature=None,
        engine=None,
        memory=None,
        native=True,
        cache=None,
        tier=None,
        named=None,
        whole=False,
    ):
        self.function, self.plain, self.whole = function, plain, whole
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.entry = SignatureEntry if tier is None else Background
        self.device, self.exact, self.engine, self.native = dispatch.find_device(device), exact, engine, native
        self.memory = None if memory is None else in_bytes(memory)
        self.signature = signature or signature_of(plain or function)
        # sees that of keywords
        self.ordered = self.signature is None or any(
            p.kind is p.VAR_KEYWORD for p in self.signature.parameters.values()
        )
        self.entries = {}  # ((structure, leaf types, orders of keys), promoted ints, static values) -> Entry
        self.routes = {}  # (structure, leaf types, orders of keys) -> Route
        self.warned = set()  # the texts of the Fallback warnings given
        self.lock = threading.RLock()
        self.cache = cache_for(cache, self)
        self.front = InlineCache(self.slow, self.signature, named_of(function) if named is None else named)

    def slow(self, args, kwargs):
        """Any call; the function is simply traced through where its arguments are traced, or what it reads from around
        it is."""
        now = self.front.call.__dict__.get("compiled", self)
        if now is not self:  # the function in front was made another's, as IPython's autoreload does
            return now.slow(args, kwargs)
        trace = current_trace()
        if trace is not None and self.plain is None:
            trace.root.outside.derives = True
        try:
            return self.route(args, kwargs)
        except LeakError:
            if current_trace() is None:
                raise
            return hooks.call(self.function)(*args, **kwargs)

    def route(self, args, kwargs):
        """Flatten, find the entry, run it."""
        try:
            taken = packed_call(args, kwargs)
            leaves, tree = pytree.flatten(taken)
            order = pytree.hashable(
                pytree.key_order((taken[0], taken[1] if self.ordered else pytree.with_sorted_keys(taken[1])))
            )
        except (SystemError, RecursionError) as error:
            if not isinstance(error.__cause__ or error, RecursionError):
                raise
            return self.plainly(
                "its arguments are nested too deeply, or contain themselves", "Pass shallow containers.", args, kwargs
            )
        except ValueError:
            mixed = pytree.without_order((args, kwargs))
            if mixed is None:
                raise
            text = (
                "keys of a dict among its arguments are of several kinds, which have no order: "
                f"{', '.join(map(shown, mixed))}"
            )
            return self.plainly(text, "Use keys of one kind, such as str.", args, kwargs)
        types = tuple(map(type, leaves))
        built = tree, types, order, sharing(args, kwargs, tree)
        route = self.routes.get(built)
        if route is None:
            route = self.routes[built] = Route(types)
            route.pinned |= route.alike if self.entry is not SignatureEntry else set()
        if route.promoted and not all(small(leaves[i]) for i in route.promoted):
            route = route.plain
        if route.inside:
            return hooks.call(self.function)(*args, **kwargs)
        if not float_errors.quiet() and self.plain is not None and not any(map(dispatch.is_device_array, leaves)):
            return self.plainly(float_errors.errstate_text(), float_errors.HINT, args, kwargs)
        if not route.static:
            entry = route.entries.get(()) or self.enter(route, (), leaves, built, args, kwargs)
            return entry.run(leaves, (args, kwargs))
        if route.memory:
            return self.uncaptured(route, leaves, args, kwargs)
        static = route.key(leaves)
        entry = route.entries.get(static) or self.enter(route, static, leaves, built, args, kwargs)
        return entry.run_on(leaves, (args, kwargs))

    def uncaptured(self, route, leaves, args, kwargs):
        """A call with memory of another library's among its arguments: by plain Python."""
        names = names_of(self.signature, *packed_call(args, kwargs))
        found = " and ".join(f"argument {names[i]} is a {type(leaves[i]).__name__}" for i in route.memory)
        text = f"{found}, memory that another library owns, which is neither traced nor compared"
        return self.plainly(text, "Pass np.asarray(x).", args, kwargs)

    def plainly(self, text, hint, args, kwargs):
        """A call that cannot be captured for its arguments, by the user's own function."""
        if self.plain is None:
            raise UnsupportedError(message(text, None, hint))
        warn_fallback(f"{self.name}: {text}; the call ran as plain Python, uncompiled. {hint}")
        return self.plain(*args, **kwargs)

    def enter(self, route, static, leaves, built, args, kwargs):
        """The entry of a signature that has none yet."""
        with self.lock:
            if static not in route.entries:
                found = self.promoted(route, static, leaves, built, args, kwargs)
                if found is not None:
                    return found
                entry = self.entry_for(route, leaves, built, args, kwargs, places((args, kwargs), leaves))
                entry.equal = [key for key in static if type(key) is Alike]
                self.entries[built, route.promoted, static] = route.entries[static] = entry
            return route.entries[static]

    def entry_for(self, route, leaves, built, args, kwargs, placed):
        """A new entry; placed: where its leaves stand in the arguments."""
        cells = route.cells(leaves)
        leaves = [cells.get(i, x) for i, x in enumerate(leaves)]
        names, more = names_of(self.signature, *packed_call(args, kwargs)), [list(cells.items())] if cells else []
        entry = self.entry(self, leaves, built, route.dynamic, names, placed, *more)
        entry.promoted = [names[i] for i in sorted(route.promoted)]
        return entry

    def pin(self, entry, leaves):
        """From now on an entry is that of the instances which it was called with, and others have their own."""
        with self.lock:
            now = self.routes[entry.built]
            for route in {now, now.plain}:
                for key in [k for k, e in route.entries.items() if e is entry]:
                    del route.entries[key]
                    self.entries.pop((entry.built, route.promoted, key), None)
                    route.plain.pinned |= route.alike
                    key = route.key(leaves)
                    self.entries[entry.built, route.promoted, key] = route.entries[key] = entry

    def promoted(self, route, static, leaves, built, args, kwargs):
        """The entry in which an int that keeps changing is traced; None where there is no such int, or a trace must
        know it."""
        for i in () if is_answering() else route.changing(static):
            wider = Route(built[1], {*route.promoted, i}, route.plain)
            key = wider.key(leaves)
            try:
                entry = self.enter(wider, key, leaves, built, args, kwargs)
                if self.entry is SignatureEntry:
                    entry.prepared(leaves)
            except (WengertError, Refused):
                route.plain.fixed.add(i)
                self.entries.pop((built, wider.promoted, key), None)
                continue
            self.routes[built] = wider
            return entry
        return None

    def keep_static(self, entry):
        """An int that was to be traced, in a program made in the background, must be known."""
        with self.lock:
            route = self.routes[entry.built]
            route.plain.fixed |= route.promoted
            self.routes[entry.built] = route.plain
            self.entries = {key: e for key, e in self.entries.items() if e is not entry}

    def statically(self, entry, leaves, given):
        """The call with its ints static: in a program that takes them as numbers, a check has failed."""
        full = entry.filled(leaves)
        args, kwargs = (tuple(full), {}) if entry.flat else given
        route = self.routes[entry.built].plain
        static = route.key(full)
        with self.lock:
            if static not in route.entries:
                found = self.entry_for(route, full, entry.built, args, kwargs, None)
                self.entries[entry.built, route.promoted, static] = route.entries[static] = found
        return route.entries[static].run_on(full, (args, kwargs))

    def reason_for(self, entry):
        """Why an entry is traced for the first time: what differs from the entries before it."""
        others = [e for e in self.entries.values() if e is not entry and e.worlds]
        if not others:
            return "first call"
        last = others[-1]
        if entry.promoted != last.promoted:
            return f"{', '.join(entry.promoted)} keeps changing: a number of the program from here on"
        if last.tree != entry.tree:
            return "new argument structure"
        if last.built[2] != entry.built[2]:
            return "keys in another order"
        if last.built[3] != entry.built[3]:
            return "the same list or dict at other places of the arguments"
        for name, value in entry.static.items():
            if name in last.static and key_of(last.static[name]) != key_of(value):
                return f"new static value {name}={shown(value)} (was {shown(last.static[name])})"
        return "new argument types"

    # -- looking inside ----------------------------------------------------------------------------
    def ir(self, *args, passes=True, **kwargs):
        """The IR function these arguments lead to; `passes=False` as captured, before optimisation."""
        captured = self.captured(args, kwargs)[0]
        if not passes:
            return captured.func
        return optimise(captured.func, exact=self.exact, rules=rules.applying(exact=self.exact), known=captured.bounded)

    def captured(self, args, kwargs, objects=False):
        """-> (the Captured that these arguments lead to, the name of each leaf of theirs, its Kind or None where it is
        static)."""
        patched_numpy.refuse_patched()
        taken = packed_call(args, kwargs)
        leaves, tree = pytree.flatten(taken)
        names = names_of(self.signature, *taken)
        kinds = [kind_for(x, n) if kind_of_type(type(x)) is not None else None for x, n in zip(leaves, names)]
        dynamic = [x for x, k in zip(leaves, kinds) if k is not None]
        stand_ins = [x if k is None else k for x, k in zip(leaves, kinds)]
        with checkpoints.room(self.memory, None), exactly(self.exact):
            traced = [k for k in kinds if k is not None]
            shared = sharing(args, kwargs, tree)
            found = capture(
                self.function,
                stand_ins,
                tree,
                traced,
                self.name,
                choices=Speculation(dynamic),
                objects=objects,
                shared=shared,
            )
        return found, names, kinds

    def explain(self):
        """Every trace: what it relied on, why it was made, and what it cost."""
        return explanation(self)


def signature_of(function):
    """The parameters of a function, or None for builtins that do not tell."""
    try:
        return declared(function)
    except (TypeError, ValueError):
        return None


UNITS = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def in_bytes(memory):
    """"200MB" or a number of bytes, as an int."""
    size = memory
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kKMG]?i?B)\s*", memory)
        size = float(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None
    if isinstance(size, int | float) and size > 0:
        return int(size)
    raise ValueError(
        f"memory={memory!r} is no size\n  Write a number of bytes, or text such as memory='200MB' or memory='1.5GiB'."
    )
