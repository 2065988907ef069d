"""Stores and loads of parts of arrays."""

from __future__ import annotations

import math

from ..affine import Affine
from ..core import Builder, Func, Lit, Value, map_regions
from ..ops.control import COUNTER, call, cond, groups, loop, map_
from ..ops.elementwise import add
from ..ops.flow import apart
from ..ops.shape import dynamic_slice, dynamic_update_slice, pad, reshape, slice_
from ..rewrite import readers
from ..setting import OF_ALL_SIZES
from .known_window import KnownWindow

SHARE = 4  # a part is small if it is at most one in so many of the whole; measured by benchmarks/tune.py
FEW = 2  # bound: elements of a part that is small in any array
# elements of a stored part at a fixed place that are handed on: larger ones are cheaper to read back than to keep;
# measured by benchmarks/tune.py
SMALL = 64
EARLIER = 128  # bound: stores before a load or a store that are looked at: of thousands, each would look at all


def memory(func: Func, exact: bool = False) -> Func:
    """No load reads back what a store before it holds, if that is small or at a place that moves with a loop; no store
    is wholly overwritten unread; none puts back what is there. Parts of parts are parts of the whole; comparisons of
    integers that the bounds of loop counters decide are literals. What is added to a small part of an array, as
    cotangents are, is added there alone; not where `exact`, since -0.0 + 0.0 elsewhere is 0.0. Regions too.
    """
    return _Memory(exact).rebuild(func)


def is_small_part(type):
    """Whether a stored part is handed on; where a size may be another one, no number of elements says so."""
    return type.size <= (1 if OF_ALL_SIZES.get() else SMALL)


class _Memory:
    def __init__(self, exact):
        self.exact, self.known = exact, Affine()
        self.windows = {}  # result of a load or store -> its window
        self.calls = {}

    # -- functions ---------------------------------------------------------------------------------
    def rebuild(self, func, tell=lambda params: None):
        """`func` after the pass; `tell(params)` says what its new parameters stand for."""
        build = Builder(func.name)
        env = {p: build.param(p.type, p.hint) for p in func.params}
        tell([env[p] for p in func.params])
        for eqn in func.eqns:
            operands = [env.get(x, x) for x in eqn.operands]
            build.source, self.hints = eqn.source, tuple(r.hint for r in eqn.results)
            out = self.single(build, eqn, operands) if not eqn.op.multiple else None
            if out is not None:
                env[eqn.results[0]] = out
                continue
            build.replay(eqn, env, attrs=self.regions(eqn, operands))
            for r in eqn.results:
                new = env[r]
                if isinstance(new, Value) and new.type.kind == "i" and not new.type.shape:
                    self.known.form(new)  # now, one equation at a time, so that no chain of them is long
        return self.without_dead(build.finish(tuple(env.get(r, r) for r in func.results)))

    def regions(self, eqn, operands):
        """The attributes of an equation, its regions rebuilt, told what their parameters stand for."""
        attrs, known = eqn.attrs, self.known
        pairs = lambda params, values: [known.same(p, x) for p, x in zip(params, values, strict=True)]
        if eqn.op is cond:
            return map_regions(attrs, lambda f: self.rebuild(f, lambda params: pairs(params, operands[1:])))
        if eqn.op is map_:
            whole = lambda params: [
                known.same(p, x) for p, x, flag in zip(params, operands, attrs["mapped"], strict=True) if not flag
            ]
            return attrs | {"body": self.rebuild(attrs["body"], whole)}
        if eqn.op is loop:
            limit, invariants, _ = groups(operands, **attrs)
            limit = (
                limit[0]
                if limit
                else limit_of(attrs["test"], invariants)
                if attrs["trips"] is None
                else counter_literal(attrs["trips"])
            )

            def tell(params, limit=None):
                known.counter(params[0], limit)
                pairs(params[1 : 1 + len(invariants)], invariants)

            body = self.rebuild(attrs["body"], lambda params: tell(params, limit))
            test = attrs["test"] and self.rebuild(attrs["test"], tell)
            return attrs | {"body": body, "test": test}
        if eqn.op in (call, apart):
            return map_regions(attrs, lambda f: self.calls.get(f) or self.calls.setdefault(f, self.rebuild(f)))
        return attrs

    # -- equations ---------------------------------------------------------------------------------
    def single(self, build, eqn, operands):
        """What an equation of one result becomes, or None where it stays as it is."""
        op, attrs = eqn.op, eqn.attrs
        starts = operands[1:] if op is dynamic_slice else operands[2:] if op is dynamic_update_slice else ()
        if any(x.type is not COUNTER for x in starts):
            return None
        if op is dynamic_slice:
            return self.load(build, operands[0], operands[1:], attrs["sizes"])
        if op is slice_ and set(attrs["stride"]) <= {1}:
            sizes = [b - a for a, b in zip(attrs["start"], attrs["stop"])]
            return self.load(build, operands[0], [counter_literal(a) for a in attrs["start"]], sizes)
        if op is dynamic_update_slice:
            return self.store(build, operands[0], operands[1], operands[2:])
        if op is add and not self.exact:
            return self.added(build, *operands) or self.added(build, *operands[::-1])
        if op is reshape:
            return self.reshaped(build, operands[0], attrs["shape"])
        if op.name in ("lt", "le", "gt", "ge", "eq", "ne") and not eqn.results[0].type.shape:
            truth = build.emit(op, operands, attrs, None, self.hints)
            decided = self.known.decided(truth)
            return truth if decided is None else Lit(decided, truth.type)
        return None

    def reshaped(self, build, x, shape):
        """x in another shape; in that of what it was made from, that."""
        while isinstance(x, Value) and x.eqn is not None and x.eqn.op is reshape:
            x = x.eqn.operands[0]
        if isinstance(x, Lit):
            return Lit(x.value, x.type.like(shape))
        same = x.type.shape == tuple(shape)
        return x if same else build.emit(reshape, (x,), {"shape": tuple(shape)}, None, self.hints)

    def added(self, build, x, part):
        """x + part, where part is zero but for a small window, as a store into x; else None."""
        u, starts = (None, ()) if isinstance(x, Lit) else self.padded(part)
        if u is None or u.type.size > max(x.type.size // SHARE, FEW):
            return None
        total = build.emit(add, (self.load(build, x, starts, u.type.shape), u), {})
        return self.store(build, x, total, starts)

    def padded(self, x):
        """(a part, where it begins) of an array that is zero but for that; (None, ()) of others."""
        eqn = x.eqn if isinstance(x, Value) else None
        if self.stored(x) is not None:
            (zero, u, *_), starts = eqn.operands, self.windows[x].starts
        elif eqn is not None and eqn.op is pad and is_only_around(eqn) and may_be_small(eqn.operands[0].type):
            (u, zero), starts = eqn.operands, [counter_literal(n) for n in eqn.attrs["low"]]
        else:
            return None, ()
        return (u, starts) if isinstance(zero, Lit) and zero.value == 0 else (None, ())

    # -- loads -------------------------------------------------------------------------------------
    def load(self, build, x, starts, sizes):
        window = KnownWindow(self.known, x.type.shape, starts, sizes)
        while (outer := self.source(x)) is not None:
            composed = self.composed(build, outer, window, x.type.shape)
            if composed is None:
                break
            x, window = x.eqn.operands[0], KnownWindow(self.known, x.eqn.operands[0].type.shape, composed, sizes)
        if isinstance(x, Lit):
            return Lit(x.value, x.type.like(sizes))
        if tuple(sizes) == x.type.shape:
            return x
        found = self.held(build, x, window)
        if found is None:
            found = self.crossed(build, x, window)
        return self.part(build, x, window) if found is None else found

    def crossed(self, build, x, window):
        """A load across the window of the last store, as that of the array before it with the few elements put in that
        they share; else None.

        So all loads of a trip can come before its first store, where it writes a row and a column.
        """
        stored = self.stored(x)
        if stored is None or not (window.moves and stored.moves):
            return None
        sizes, here, there = [], [], []  # of the shared part, and where it begins in the load and in the update
        for n, k, m, start, at in zip(x.type.shape, window.sizes, stored.sizes, window.starts, stored.starts):
            if n not in (k, m):
                return None
            sizes.append(min(k, m))
            here.append(at if k == n else counter_literal(0))
            there.append(start if m == n else counter_literal(0))
        if math.prod(sizes) * SHARE > math.prod(window.sizes):
            return None
        before, u = x.eqn.operands[:2]
        return self.store(
            build, self.load(build, before, window.starts, window.sizes), self.load(build, u, there, sizes), here
        )

    def stored(self, x):
        """The window that x is a store into, or None."""
        return (
            self.windows.get(x)
            if isinstance(x, Value) and x.eqn is not None and x.eqn.op is dynamic_update_slice
            else None
        )

    def source(self, x):
        """The window of x if it is a part of another array, read as it stands."""
        eqn = x.eqn if isinstance(x, Value) else None
        return self.windows.get(x) if eqn is not None and eqn.op in (dynamic_slice, slice_) else None

    def composed(self, build, outer, window, shape):
        """The starts in the whole array of a window of a part of it, or None where clamping stands between."""
        starts = []
        for a, b, inside, within, k, n in zip(
            outer.starts, window.starts, outer.inside, window.inside, window.sizes, shape
        ):
            if k == n:
                starts.append(a)
            elif inside and within:
                starts.append(self.sum(build, a, b))
            else:
                return None
        return starts

    def sum(self, build, a, b):
        if isinstance(a, Lit) and isinstance(b, Lit):
            return counter_literal(int(a.value) + int(b.value))
        if isinstance(a, Lit) and a.value == 0 or isinstance(b, Lit) and b.value == 0:
            return b if isinstance(a, Lit) else a
        if a.type is not b.type:
            a, b = (Lit(x.value, y.type) if isinstance(x, Lit) else x for x, y in ((a, b), (b, a)))
        return build.emit(add, (a, b), {})

    def part(self, build, x, window):
        """A load, as a slice where its place is fixed."""
        if window.moves:
            out = build.emit(dynamic_slice, (x, *window.starts), {"sizes": window.sizes}, None, self.hints)
        else:
            start = tuple(c for _, c in window.forms)
            stop = tuple(c + k for c, k in zip(start, window.sizes))
            out = build.emit(
                slice_, (x,), {"start": start, "stop": stop, "stride": (1,) * len(start)}, None, self.hints
            )
        self.windows[out] = window
        return out

    def held(self, build, x, window, whatever=False):
        """What a load of x is known to give, as the part of the last store that holds it, or None.

        A load never becomes one of the array before a store: XLA would keep that alive, and copy it.
        """
        for _ in range(EARLIER):
            if not isinstance(x, Value):
                return Lit(x.value, x.type.like(window.sizes))
            stored = self.stored(x)
            if stored is None:
                return None
            update = x.eqn.operands[1]
            at = stored.offsets(window)
            if at is not None:
                if isinstance(update, Lit):
                    return Lit(update.value, update.type.like(window.sizes))
                if stored.same(window):
                    return update if whatever or window.moves or is_small_part(update.type) else None
                if window.moves or is_small_part(update.type):
                    return self.part(
                        build,
                        update,
                        KnownWindow(self.known, update.type.shape, [counter_literal(d) for d in at], window.sizes),
                    )
                return None
            if not stored.apart(window, self.known):
                return None
            x = x.eqn.operands[0]
        return None

    # -- stores ------------------------------------------------------------------------------------
    def store(self, build, x, u, starts):
        """x with u in it: parts of u that were x's own are left where they are."""
        window = KnownWindow(self.known, x.type.shape, starts, u.type.shape)
        if u.type.shape == x.type.shape:
            return u
        if u.type.size == 0 or self.unchanged(build, x, u, window):
            return x
        inner = u.eqn if isinstance(u, Value) else None
        if self.stored(u) is not None and self.rooted(build, x, u, window):
            at = self.composed(build, window, self.windows[u], u.type.shape)
            if at is not None:
                rest = self.store(build, x, inner.operands[0], starts)
                return self.store(build, rest, inner.operands[1], at)
        out = build.emit(dynamic_update_slice, (x, u, *window.starts), {}, None, self.hints)
        self.windows[out] = window
        return out

    def unchanged(self, build, x, u, window):
        """Whether u is what x holds there already."""
        own = self.source(u)
        if (
            own is not None
            and u.eqn.operands[0].type is x.type
            and own.same(window)
            and self.reaches(x, u.eqn.operands[0], window)
        ):
            return True
        return isinstance(u, Value) and self.held(build, x, window, whatever=True) is u

    def reaches(self, x, older, window):
        """Whether nothing was stored in the window from `older` to x."""
        for _ in range(EARLIER):
            if x is older:
                return True
            stored = self.stored(x)
            if stored is None or not stored.apart(window, self.known):
                return False
            x = x.eqn.operands[0]
        return False

    def rooted(self, build, x, u, window):
        """Whether u is stores into what x holds in the window, one upon the other."""
        while self.stored(u) is not None:
            u = u.eqn.operands[0]
        return self.unchanged(build, x, u, window)

    def without_dead(self, func):
        """`func` without stores that later ones overwrite before anybody else reads the array."""
        reads, dead = readers(func), set()
        for eqn in func.eqns:
            window, x = self.stored(eqn.results[0]) if eqn.results else None, eqn.operands and eqn.operands[0]
            if window is not None and reads[eqn.results[0]]:  # a store that nobody reads is no reader of x
                for _ in range(EARLIER):
                    if reads[x] != 1 or (earlier := self.stored(x)) is None:
                        break
                    if window.offsets(earlier) is not None:
                        dead.add(x.eqn)
                    x = x.eqn.operands[0]
        if not dead:
            return func
        build = Builder(func.name)
        build.params, env = func.params, {}
        for eqn in func.eqns:
            if eqn in dead:
                env[eqn.results[0]] = env.get(eqn.operands[0], eqn.operands[0])
            else:
                build.replay(eqn, env)
        return build.finish(tuple(env.get(r, r) for r in func.results))


def counter_literal(n):
    return Lit(n, COUNTER)


def limit_of(test, invariants):
    """The operand that the counter stays below in a test `counter < limit and ...`, or None."""
    result = test.results[0]
    if not isinstance(result, Value) or result.eqn is None:
        return None
    asked = result.eqn.operands if result.eqn.op.name == "and" else (result,)
    for x in asked:
        if isinstance(x, Value) and x.eqn is not None and x.eqn.op.name == "lt" and x.eqn.operands[0] is test.params[0]:
            limit = x.eqn.operands[1]
            if isinstance(limit, Lit):
                return limit
            at = test.params.index(limit) - 1 if limit in test.params else len(invariants)
            if at < len(invariants):
                return invariants[at]
    return None


def may_be_small(type):
    """Whether the size of an array may tell that this is a small part of it: not where it may be another one."""
    return type.size <= FEW or not OF_ALL_SIZES.get()


def is_only_around(eqn):
    """Whether a pad leaves all elements, side by side."""
    return min(*eqn.attrs["low"], *eqn.attrs["high"], 0) == 0 and not any(eqn.attrs["interior"])
