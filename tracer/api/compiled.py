"""What `jit` gives: a function that finds the program for its arguments, and traces where there is none."""

from __future__ import annotations

import inspect
import re
import threading
import time

from ...backends.xla import dispatch
from ...backends.xla.device_list import find_device
from ...backends.xla.processes import is_one_of_several
from ...ir.forks import RENEWED
from ...ir.parameters import declared
from ..blame.watch import twin_for
from ..cache.keep import cache_for
from ..call import pickled, plain_runs, shared, slow_calls
from ..call.background import Background
from ..call.entry import SignatureEntry
from ..call.fallback import left_to_python
from ..call.inline_cache import InlineCache, named_of
from ..call.inside_jax import InsideJax
from ..call.kept import KeptTraces
from ..call.leaf_groups import leaves_text
from ..call.patience import SEEN, Patience, are_all_plain
from ..call.route import Route, better_known
from ..capture.number_lists import packed_call
from ..capture.shared_containers import sharing
from ..capture.signature import names_of
from ..common import pytree
from ..common.errors import UnsupportedError, message, shown, warn_fallback, without_sizes
from ..common.frames import function_place
from ..guards import float_errors
from ..guards.by_class import InstanceCell
from ..guards.by_way import CalleeCell
from ..guards.guard import small
from ..guards.isolation import is_answering
from ..guards.static_arguments import Alike, key_of, memory_hint
from ..program.emit_structure import places
from ..regions import hooks
from ..values.storage import current_trace
from .inspecting import Inspecting

MOST = 64  # bound: traces, under guards of their own, of functions that are made alike


class Compiled(Inspecting):
    """The state behind one compiled function: its entries by call signature, and the generated function in front."""

    def __init__(
        self,
        function,
        *,
        plain=None,
        name=None,
        device=None,
        exact=False,
        precision="highest",
        promote="numpy",
        signature=None,
        engine=None,
        memory=None,
        native=True,
        cache=None,
        tier=None,
        named=None,
        whole=False,
        debug=None,
        dynamic=None,
        donate=(),
        twin=None,
        make=None,
        root=None,
    ):
        """debug: what calls are watched for, a `Debug`; twin: (what was given to the transform, a Debug) -> the same
        function, watched for that; make: of what was given to the transform, the function to be traced, where several
        functions that are made alike share all this; root: the user's function at the bottom of the first of them."""
        self.has_plain, self.whole, self.make = plain is not None, whole, make
        self.debug, self.twin, self.twins = debug, twin, {}
        self.is_of_compiled = hasattr(plain, "compiled")
        self.cell = None if make is None else CalleeCell()
        self._function, self._plain = (function, plain) if make is None else (None, None)
        self.key = None  # under which others find this
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.place = function_place(function)
        self.entry = SignatureEntry if tier is None else Background
        self.precision, self.promote, self.donate = precision, promote, donate
        self.exact = exact or debug is not None and bool(debug.born)  # NumPy's errors are those of what is written
        self.device, self.engine, self.native = find_device(device), engine, native
        self.dynamic = dynamic if tier is None and debug is None else False
        self.memory = None if memory is None else in_bytes(memory)
        self.signature = signature or signature_of(plain or function)
        if make is not None and self.signature is not None:
            self.signature = without_values(self.signature)
        # sees that of keywords
        self.ordered = self.signature is None or any(
            p.kind is p.VAR_KEYWORD for p in self.signature.parameters.values()
        )
        self.entries = {}  # ((structure, leaf types, orders of keys), promoted ints, static values) -> Entry
        self.routes = {}  # (structure, leaf types, orders of keys) -> Route
        self.warned = set()  # the texts of the Fallback warnings given, without sizes
        self.reasons = set()  # why plain Python has answered calls, as far as it was logged
        self.lock, self.patience, self.kept = threading.RLock(), Patience(), KeptTraces(self)
        self.slow_calls = slow_calls.SlowCalls()
        RENEWED.add(self)
        self.cache = cache_for(cache if debug is None else False, self)
        named = named_of(function) if named is None else named
        self.front = InlineCache(self, self.signature, named, len(getattr(root, "__closure__", None) or ()))

    def lowering(self):
        """The options by which its programs are lowered, as `dispatch.program` takes them."""
        options = {"native": self.native, "exact": self.exact, "precision": self.precision}
        return {**options, "device": self.device}

    @property
    def function(self):
        """What is traced, in a call."""
        return self._function if self.cell is None else self.cell.callee.function

    @property
    def plain(self):
        """The user's own function, in a call; None where plain Python has none."""
        found = self._plain if self.cell is None or not self.has_plain else self.cell.callee.given
        return found if self.debug is None or found is None else self.debug.plain(found)

    def __reduce__(self):
        return pickled.reduced_compiled(self)

    def callee(self):
        """The Callee of the call that this thread runs."""
        return self.front.own if self.cell is None else self.cell.callee

    def bound(self):
        """Let no more functions join where there are many traces: of each, the guard is asked in turn."""
        if self.key is not None and sum(len(e.worlds) for e in self.entries.values()) > MOST:
            self.unshare()

    def unshare(self):
        """What is made from now on has traces of its own."""
        if self.key is not None:
            shared.take_out(self)

    def slow(self, args, kwargs):
        """Any call; in a trace the function is traced through: what it reads is read by that trace."""
        if plain_runs.calls_itself(self, args, kwargs):
            return self.plain(*args, **kwargs)
        now = self.callee().in_front()
        if now is not self.callee():  # the function in front was made another's, as IPython's autoreload does
            return now(now.compiled.slow, args, kwargs)
        trace = current_trace()
        if trace is None:
            patience = self.patience
            if max(patience.refused, patience.left) >= SEEN and self.rests(args, kwargs):
                with left_to_python(self, patience.why or patience.refusal):
                    return self.plain(*args, **kwargs)
            left, plain, start = patience.left, self.slow_calls.is_plain_next(self, args, kwargs), time.perf_counter()
            if plain:
                with left_to_python(self, slow_calls.TEXT):
                    out = self.plain(*args, **kwargs)
            else:
                out = self.route(args, kwargs)
                if patience.left == left:  # a program has answered
                    patience.left = 0
            self.slow_calls.took(self, plain, time.perf_counter() - start)
            return out
        if not self.has_plain:
            trace.root.outside.derives = True
        return hooks.call(self.function)(*args, **kwargs)

    def rests(self, args, kwargs):
        """Whether a call is left to plain Python without a look at what it is given: nothing of jax's."""
        return are_all_plain(args, kwargs) and (self.patience.rests() or self.patience.leaves())

    def route(self, args, kwargs):
        """Flatten, find the entry, run it."""
        try:
            leaves, tree, order = self.flattened(args, kwargs)
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
        if not float_errors.quiet() and not any(map(dispatch.is_device_array, leaves)):
            if self.has_plain:
                return self.plainly(float_errors.errstate_text(), float_errors.HINT, args, kwargs)
            if self.debug is None and (words := float_errors.words_raised()):
                return twin_for(self, words)(*args, **kwargs)
        if not route.static:
            entry = route.entries.get(()) or self.enter(route, (), leaves, built, args, kwargs)
            return entry.run(leaves, (args, kwargs))
        if route.memory:
            return self.uncaptured(route, leaves, args, kwargs)
        static = route.key(leaves)
        entry = route.entries.get(static) or self.enter(route, static, leaves, built, args, kwargs)
        return entry.run_on(leaves, (args, kwargs))

    def flattened(self, args, kwargs):
        """-> (leaves of a call, their structure, the order of the keys in it)."""
        taken = packed_call(args, kwargs)
        leaves, tree = pytree.flatten(taken)
        keys = pytree.key_order((taken[0], taken[1] if self.ordered else pytree.with_sorted_keys(taken[1])))
        return leaves, tree, pytree.hashable(keys)

    def known_entry(self, args, kwargs):
        """-> (the entry of a call, None where there is none yet; its leaves)."""
        leaves, tree, order = self.flattened(args, kwargs)
        types = tuple(map(type, leaves))
        route = self.routes.get((tree, types, order, sharing(args, kwargs, tree)))
        if route is not None and route.promoted and not all(small(leaves[i]) for i in route.promoted):
            route = route.plain
        if route is None or route.inside or route.memory:
            return None, leaves
        return route.entries.get(route.key(leaves) if route.static else ()), leaves

    def uncaptured(self, route, leaves, args, kwargs):
        """A call with memory of another library's among its arguments: by plain Python."""
        names = names_of(self.signature, *packed_call(args, kwargs))
        found = " and ".join(f"argument {names[i]} is a {type(leaves[i]).__name__}" for i in route.memory)
        text = f"{found}, memory that another library owns, which is neither traced nor compared"
        return self.plainly(text, memory_hint(type(leaves[route.memory[0]])), args, kwargs)

    def plainly(self, text, hint, args, kwargs):
        """A call that cannot be captured for its arguments, by the user's own function."""
        if not self.has_plain or self.promote != "numpy":
            raise UnsupportedError(message(text, None, hint))
        warn_fallback(f"{self.name}: {text}; the call ran as plain Python, uncompiled. {hint}")
        with left_to_python(self, text):
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
                self.kept.leave_untraced(route)
                self.entries[built, route.promoted, static] = route.entries[static] = entry
            return route.entries[static]

    def entry_for(self, route, leaves, built, args, kwargs, placed):
        """A new entry; placed: where its leaves stand in the arguments."""
        if is_one_of_several():  # when a program takes over is a matter of time, which differs between them
            self.entry = SignatureEntry
        cells = route.cells(leaves)
        leaves = [cells.get(i, x) for i, x in enumerate(leaves)]
        names, more = names_of(self.signature, *packed_call(args, kwargs)), [list(cells.items())] if cells else []
        made = InsideJax if route.jax else self.entry
        entry = made(self, leaves, built, route.dynamic, names, placed, *more)
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
        """The entry in which an int that keeps changing is traced; None where there is no such int, a trace must know
        it, or this is the second value and the program is a better one where it is known."""
        for i, values in () if is_answering() else route.changing(static):
            wider = Route(built[1], {*route.promoted, i}, route.plain)
            key, postponed = wider.key(leaves), route.plain.postponed
            if values == 1 and ((wider.promoted, key) in postponed or self.entry is not SignatureEntry):
                continue
            try:
                known = postponed.pop((wider.promoted, key), None)
                entry = known or self.enter(wider, key, leaves, built, args, kwargs)
                wider.entries[key] = self.entries[built, wider.promoted, key] = entry
                if self.entry is SignatureEntry:
                    ahead = known or entry.trace_ahead(leaves)
                    if values == 1 and better_known(ahead):
                        postponed[wider.promoted, key] = entry
                        del self.entries[built, wider.promoted, key]
                        continue
                    entry.prepared(leaves)
            except Exception:  # what the function itself raises, it raises with the int known, too
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

    def is_news(self, text):
        """Whether no Fallback has said so, of arrays of these or other sizes; it is noted."""
        text = without_sizes(text)
        known = text in self.warned
        self.warned.add(text)
        return not known

    def reason_for(self, entry):
        """Why an entry is traced for the first time: what differs from the entries before it."""
        others = [e for e in self.entries.values() if e is not entry and e.worlds]
        if not others:
            return "first call"
        last = others[-1]
        if entry.promoted and entry.promoted != last.promoted:
            return f"{', '.join(entry.promoted)} keeps changing: a number of the program from here on"
        if last.tree != entry.tree:
            return "new argument structure"
        if last.built[2] != entry.built[2]:
            return "keys in another order"
        if last.built[3] != entry.built[3]:
            return "the same list or dict at other places of the arguments"
        for name, value in entry.static.items():
            if type(value) is InstanceCell:  # which is of its entry
                continue
            if name in last.static and key_of(last.static[name]) != key_of(value):
                return f"new static value {name}={shown(value)} (was {shown(last.static[name])})"
        pairs = [(n, entry.types[i], last.types[i]) for n, i in zip(entry.names, entry.dynamic)]
        other = [(n, f"{type_name(t)} (was {type_name(u)})") for n, t, u in pairs if t is not u]
        return f"new types: {leaves_text(other)}" if other else "new argument types"


def type_name(cls):
    """What the user writes for a type, `float` or `numpy.float64`."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def without_values(signature):
    """A signature that keeps no default and no annotation alive."""
    kept = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else None)
        for p in signature.parameters.values()
    ]
    return inspect.Signature(kept)


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
