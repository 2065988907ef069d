"""A captured program run once more, as its ops mean it in NumPy, with every value of the stretch in question kept.

What lies between runs as it is quickest: a loop of many trips as a compiled program of its own, which stops after a
given trip. Calls of Python that act on the world are not made again: what they gave in the call is remembered.
"""

import numpy as np

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.core import Builder, Eqn, Func, Lit, has, map_regions
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, groups
from .flags import IR_TESTS, NO, anywhere, one_or_other

SMALL = 4096  # bound: equations, times their trips, from which a loop is compiled to be run again


class Remembered:
    """A function that the program calls; `log` is what such functions gave in the last call, in order."""

    def __init__(self, function, log):
        self.function, self.log = function, log
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __getattr__(self, name):
        return getattr(self.__dict__["function"], name)

    def __call__(self, *arrays):
        out = self.function(*arrays)
        self.log.append(out)
        return out


class Begun:
    """The act with which a program begins whose acts are remembered."""

    __name__ = "begin"

    def __init__(self, log):
        self.log = log

    def __call__(self):
        self.log.clear()
        return ()


def remembering(func, log):
    """`func`, of which the acts that give something are remembered in `log`; itself where there is none."""

    def changed(f):
        return Func(f.name, f.params, [again(e) for e in f.eqns], f.results)

    def again(e):
        if gives(e):
            e.attrs = {**e.attrs, "function": Remembered(e.attrs["function"], log)}
        elif e.regions():
            e.attrs = map_regions(e.attrs, changed)
        return e

    if not has(func, gives):
        return func
    begin = OPS["host"].complete({"function": Begun(log), "results": (), "ordered": True})
    done = changed(func)
    return Func(func.name, func.params, [Eqn(OPS["host"], (), begin, (), None), *done.eqns], func.results)


def gives(eqn):
    """Whether an equation acts on the world, and what that gives is used."""
    return eqn.op.name == "host" and eqn.effect and bool(eqn.results)


class Replay:
    """Equations, regions and loops on arrays. log: what acts gave in the call, in order."""

    def __init__(self, log=()):
        self.left, self.programs = list(log), {}

    # -- equations -----------------------------------------------------------------------------------
    def values(self, func, operands):
        """value -> array of every operand, intermediate and result."""
        env = dict(zip(func.params, operands, strict=True))
        for eqn in func.eqns:
            out = self.run(eqn, [value_at(x, env) for x in eqn.operands])
            env.update(zip(eqn.results, out, strict=True))
        return env

    def results(self, func, operands):
        env = self.values(func, operands)
        return [value_at(r, env) for r in func.results]

    def run(self, eqn, xs):
        """The results of one equation."""
        name = eqn.op.name
        if name == "host":
            out = self.host(eqn, xs)
        elif name == "cond":
            out = self.results(branch_taken(eqn, xs[0]), xs[1:])
        elif name in ("call", "apart"):
            out = self.results(eqn.attrs["body"], xs)
        elif name in ("loop", "map") and self.is_dear(eqn):
            out = self.compiled(("whole", eqn), lambda: alone(eqn), xs)
        elif name == "loop":
            out = self.loop(eqn, xs)
        elif name == "map":
            out = self.mapped(eqn, xs)
        else:
            with np.errstate(all="ignore"):
                out = eqn.op.body(*xs, **eqn.attrs)
            out = out if eqn.op.multiple else (out,)
        return [np.asarray(x, r.type.dtype) for r, x in zip(eqn.results, out, strict=True)]

    def host(self, eqn, xs):
        """A call of Python: made again if it only computes."""
        if not eqn.effect:
            return eqn.op.body(*xs, **eqn.attrs)
        out = self.left.pop(0) if eqn.results and self.left else ()
        return out if isinstance(out, tuple | list) else (out,)

    def loop(self, eqn, xs, upto=np.inf):
        _, invariants, state = loop_parts(eqn, xs)
        i, limit = np.int64(0), min(limit_of(eqn, xs), upto)
        while i < limit and self.goes_on(eqn, (i, *invariants, *state)):
            state = self.results(eqn.attrs["body"], (i, *invariants, *state))
            i += 1
        return state

    def goes_on(self, eqn, given):
        return eqn.attrs["test"] is None or bool(self.results(eqn.attrs["test"], given)[0])

    def mapped(self, eqn, xs):
        runs = [self.results(eqn.attrs["body"], lane(eqn, xs, k)) for k in range(eqn.attrs["size"])]
        columns = zip(*runs, strict=True) if runs else [()] * len(eqn.results)
        return [np.array(c, r.type.dtype).reshape(r.type.shape) for c, r in zip(columns, eqn.results, strict=True)]

    # -- loops ---------------------------------------------------------------------------------------
    def transition(self, eqn, xs, word, upto, place=None):
        """The last trip before `upto` in which what a loop carries became bad -> (that trip or -1, what is carried
        behind all those trips). place: (which of the carried, its flat index) alone is asked; None: all."""
        which, at = (None, 0) if place is None else place
        limit = min(limit_of(eqn, xs), upto)
        limit = np.int64(min(limit, np.iinfo(np.int64).max))
        limits, *_ = loop_parts(eqn, xs)
        given = [limit, np.int64(at), *xs[len(limits) :]]
        *state, last = self.compiled(("search", eqn, word, which), lambda: searching(eqn, word, which), given)
        return int(last), state

    def state(self, eqn, xs, upto):
        """What a loop carries after `upto` trips."""
        return self.transition(eqn, xs, "nan", upto)[1]

    def compiled(self, key, made, xs):
        """The results of a program that is made once, on arrays: through XLA unless Python is in it, or it is small."""
        known = self.programs.get(key)
        if known is None:
            func = made()
            plain = forked.Process.forked or has(func, is_python) or not self.is_dear(func.eqns[-1])
            find = lambda types: (func, range(len(func.params)))
            known = self.programs[key] = func, None if plain else dispatch.program(find, func.name)
        func, program = known
        if program is None:
            return self.of_small(func, xs)
        with dispatch.wide():
            out = program(*[np.asarray(x, p.type.dtype) for x, p in zip(xs, func.params, strict=True)])
        return [np.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]

    def of_small(self, func, xs):
        """The results of a program of one loop, which runs here."""
        env = dict(zip(func.params, xs, strict=True))
        for eqn in func.eqns:
            given = [value_at(x, env) for x in eqn.operands]
            out = self.loop(eqn, given) if eqn.op.name == "loop" else self.run(eqn, given)
            env.update(zip(eqn.results, out, strict=True))
        return [np.asarray(value_at(r, env)) for r in func.results]

    def is_dear(self, eqn):
        """Whether a loop is to be compiled to be run again."""
        return load_of(eqn) > SMALL and not any(has(f, is_python) for f in eqn.regions())


def is_python(eqn):
    return eqn.op.name == "host"


def load_of(eqn):
    """Equations that run; a loop whose trips the data decide counts as many."""
    trips = {"loop": eqn.attrs.get("trips"), "map": eqn.attrs.get("size")}.get(eqn.op.name, 1)
    inner = sum(load_of(e) for f in eqn.regions() for e in f.eqns)
    return 1 + (SMALL if trips is None else trips) * inner


def value_at(x, env):
    return np.full(x.type.shape, x.value, x.type.dtype) if isinstance(x, Lit) else env[x]


def branch_taken(eqn, index):
    """The branch that runs."""
    return eqn.attrs["branches"][min(max(int(index), 0), len(eqn.attrs["branches"]) - 1)]


def loop_parts(eqn, xs):
    """The operands of a loop: its limit if that is data, what stays, what is carried."""
    return groups(xs, test=eqn.attrs["test"], trips=eqn.attrs["trips"], carried=eqn.attrs["carried"])


def limit_of(eqn, xs):
    """The most trips that a loop makes."""
    limit, _, _ = loop_parts(eqn, xs)
    return int(limit[0]) if limit else np.inf if eqn.attrs["trips"] is None else eqn.attrs["trips"]


def lane(eqn, xs, k):
    """What run k of a `map` is given."""
    return [x[k] if flag else x for x, flag in zip(xs, eqn.attrs["mapped"], strict=True)]


def alone(eqn):
    """A program of one equation."""
    build = Builder("replay")
    with build:
        params = [build.param(x.type) for x in eqn.operands]
        out = build.emit(eqn.op, params, eqn.attrs)
    return build.finish(out)


def searching(eqn, word, which):
    """A program of a loop that stops after `limit` trips: (limit, at, invariants, carried) -> (carried, the last trip
    in which something carried became bad, or -1). which: that one is asked, at its flat index `at`; None: all."""
    _, invariants, carried = loop_parts(eqn, eqn.operands)
    body, test = eqn.attrs["body"], eqn.attrs["test"]
    more = (COUNTER, COUNTER)

    def bad(values, at):
        found = NO
        for k, x in enumerate(values):
            if x.type.kind not in "fc" or not x.type.size or which not in (None, k):
                continue
            if which is not None:
                x = OPS["dynamic_slice"](OPS["reshape"](x, shape=(x.type.size,)), at, sizes=(1,))
            mask = IR_TESTS[word](x)
            found = one_or_other(found, anywhere(mask))
        return found

    with Builder("trip") as build:
        i = build.param(COUNTER)
        limit, at = (build.param(t) for t in more)
        kept, state = ([build.param(x.type) for x in xs] for xs in (invariants, carried))
        last = build.param(COUNTER)
        new = build.inline(body, (i, *kept, *state))
        became = OPS["and"](bad(new, at), OPS["not"](bad(state, at)))
        trip = build.finish([*new, OPS["select"](became, i, last)])
    with Builder("goes_on") as build:
        i = build.param(COUNTER)
        limit, at = (build.param(t) for t in more)
        kept, state = ([build.param(x.type) for x in xs] for xs in (invariants, carried))
        build.param(COUNTER)
        goes = OPS["lt"](i, limit)
        if test is not None:
            goes = OPS["and"](goes, build.inline(test, (i, *kept, *state))[0])
        goes_on = build.finish([goes])
    with Builder("search") as build:
        given = [build.param(t) for t in more] + [build.param(x.type) for x in (*invariants, *carried)]
        out = OPS["loop"](
            *given,
            Lit(-1, COUNTER),
            body=trip,
            test=goes_on,
            carried=len(carried) + 1,
            trips=eqn.attrs["trips"],
            bound=eqn.attrs["bound"],
        )
    return build.finish(out)
