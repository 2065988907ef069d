"""Arrays that a loop stores into, restored in place on the way back.

What the adjoint of a trip reads of an array that is stored into would have to be kept, row by row. Instead what each
store overwrites is kept, and the way back, which is handed the array as the loop left it, puts that back trip by trip:
the array is then what it was, and is read again. A loop within a trip restores its arrays itself, to what they were
before it. Source: Griewank & Walther, Evaluating Derivatives (2008), sec. 4.4 (what is overwritten is kept, and put
back on the way back).
"""

import contextlib
import contextvars

from ..ir.core import Builder, Value
from ..ir.ops.control import loop
from ..ir.ops.shape import dynamic_slice, dynamic_update_slice
from .split import Split, cheap, weight

MANY = 100  # trips that a loop without a bound is taken to make
_inner = contextvars.ContextVar("inner", default=None)


class Around:
    """Whether loops within a trip may take their arrays for there anyway, the trip restoring them too; and whether one
    did."""

    def __init__(self, restores):
        self.restores, self.relied = restores, False


_around = contextvars.ContextVar("around", default=None)


class Circular(Exception):
    """What restores an array waits for what is read of it."""


@contextlib.contextmanager
def noting(restores):
    """Within: (a dictionary that `note_restored` fills, from arrays as they enter a loop to the same, restored by that
    loop's way back; an `Around`)."""
    tokens = _inner.set({}), _around.set(Around(restores))
    try:
        yield _inner.get(), _around.get()
    finally:
        _inner.reset(tokens[0])
        _around.reset(tokens[1])


def note_restored(before, restored):
    """Say that a value of the way back is what `before` was."""
    if _inner.get() is not None and isinstance(before, Value):
        _inner.get()[before] = restored


class UndoChain:
    """The states of one carried array within a trip, and the equations that lead from one to the next: stores, and
    loops that restore."""

    def __init__(self, position, states, links):
        self.position, self.states, self.links = position, states, links
        self.start, self.end = states[0], states[-1]


def chains(func, state, inner):
    """The carried arrays that can be restored. state: their parameters, of which the first results are made."""
    found = []
    for j, p in enumerate(state):
        states, links = [func.results[j]], []
        while states[0] is not p:
            x = states[0]
            eqn = x.eqn if isinstance(x, Value) else None
            if eqn is None or eqn.op not in (dynamic_update_slice, loop):
                break
            before = eqn.operands[0]
            if eqn.op is loop:
                first = len(eqn.operands) - eqn.attrs["carried"]
                before = eqn.operands[first + eqn.results.index(x)]
                if before not in inner:
                    break
            states.insert(0, before)
            links.insert(0, eqn)
        if states[0] is p and p.type.shape:
            found.append(UndoChain(j, states, links))
    return found


def with_windows(func):
    """(`func`, which before each store also reads what it overwrites, {store: that}, {value of func: the same of the
    new one})"""
    build, windows = Builder(func.name), {}
    with build:
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            window = None
            if eqn.op is dynamic_update_slice:
                array, update, *starts = (env.get(x, x) for x in eqn.operands)
                build.source = eqn.source
                window = dynamic_slice(array, *starts, sizes=update.type.shape) if isinstance(array, Value) else None
                build.source = None
            build.replay(eqn, env)
            if window is not None:
                windows[env[eqn.results[0]].eqn] = window
    return build.finish(tuple(env.get(r, r) for r in func.results)), windows, env


class UndoLog(Split):
    """A split whose late half is handed the arrays of `chains` as a trip leaves them, and gives them as it found them.

    windows: {store: what it overwrites}; inner: {array before an inner loop: the same, restored};
    hidden: whether the states of arrays before the last inner loop are not read, which would be too soon.
    """

    def __init__(self, func, known, primal, given, chains, windows, inner, hidden):
        self.chains, self.undo, shown, keep, also = chains, {}, set(), set(), set()
        given = set(given)
        plain = lambda x: (
            not isinstance(x, Value)
            or x in given
            or (x.eqn is not None and cheap(x.eqn.op) and all(map(plain, x.eqn.operands)))
        )
        for chain in chains:
            loops = [k for k, eqn in enumerate(chain.links) if eqn.op is loop]
            shown.update(chain.states[loops[-1] + 1 if loops and hidden else 0 :])
            for before, after, eqn in zip(chain.states, chain.states[1:], chain.links):
                if eqn.op is loop:
                    self.undo[before] = None, [inner[before]]
                    continue
                self.undo[before] = eqn, [after, windows[eqn], *eqn.operands[2:]]
                keep.add(windows[eqn])
                for x in eqn.operands[2:]:
                    if isinstance(x, Value):
                        (also if plain(x) else keep).add(x)
        self.around = given
        restored = [xs[0] for eqn, xs in self.undo.values() if eqn is None]
        super().__init__(func, known, primal, {*given, *shown}, True, keep, also, restored)
        self.steps = self.plan()

    def plan(self):
        """The late half in an order in which every array is restored before it is read: equations, and states to be
        restored."""
        have = {*self.func.params[self.known :], *self.saved, *self.around, *(c.end for c in self.chains)}
        steps, begun = [], set()

        def reach(x):
            stack = [x]
            while stack:
                x = stack[-1]
                if x in have or not isinstance(x, Value):
                    stack.pop()
                    continue
                needs = [
                    y
                    for y in (self.undo[x][1] if x in self.undo else x.eqn.operands)
                    if isinstance(y, Value) and y not in have
                ]
                if needs:
                    if x in begun:
                        raise Circular
                    begun.add(x)
                    stack += needs
                    continue
                steps.append(x if x in self.undo else x.eqn)
                have.update((x,) if x in self.undo else x.eqn.results)
                stack.pop()

        repeated = {e for e in self.late if e in self.again}
        for eqn in self.late:
            if eqn not in repeated and not all(r in have for r in eqn.results):
                for x in eqn.operands:
                    reach(x)
                if not all(r in have for r in eqn.results):
                    steps.append(eqn)
                    have.update(eqn.results)
        for x in (*self.func.results[self.primal :], *(c.start for c in self.chains)):
            reach(x)
        return steps

    def append_late(self, build, env):
        """As of any split; `env` has the end of each chain, and is given its start."""
        for step in self.steps:
            if not isinstance(step, Value):
                build.replay(step, env)
                continue
            store, xs = self.undo[step]
            array, *others = (env.get(x, x) for x in xs)
            env[step] = array if store is None else dynamic_update_slice(array, *others)
        return tuple(env.get(r, r) for r in self.func.results[self.primal :])

    def read(self):
        """The chains some state of which is read, other than to restore another."""
        used = {x for step in self.steps if not isinstance(step, Value) for x in step.operands}
        return [c for c in self.chains if any(x in used for x in c.states)]


def restoring(plain, state, given, inner, trips):
    """An `UndoLog` in the place of the split `plain` of a loop's trip, where it keeps less; else `plain`.

    state: the parameters that are carried; given: those that are not; trips: how many at most, or None.
    """
    if not any(x.type.shape for x in plain.saved):
        return plain
    func, windows, env = with_windows(plain.func)
    inner = {env[a]: env[b] for a, b in inner.items() if a in env and b in env}
    candidates = chains(func, [env[p] for p in state], inner)
    given, best, least = [env[p] for p in given], plain, cost(plain, trips)
    while candidates:
        found = attempt(func, plain, given, candidates, windows, inner)
        if found is None:
            break
        used = found.read()
        if len(used) == len(candidates):
            around = _around.get()
            if cost(found, trips) < least:
                found.plain, best = plain, found
            elif around is not None and around.restores and cost(found, trips, alone=False) < least:
                around.relied, found.plain, best = True, plain, found
            break
        candidates = used
    return best


def attempt(func, plain, given, chains, windows, inner):
    for hidden in (False, True):
        try:
            return UndoLog(func, plain.known, plain.primal, given, chains, windows, inner, hidden)
        except Circular:
            continue
    return None


def cost(half, trips, alone=True):
    """Bytes kept, of a loop of so many trips; with the arrays to be restored, unless they are there anyway."""
    arrays = sum(weight(c.start) for c in half.chains) if alone and isinstance(half, UndoLog) else 0
    return (MANY if trips is None else trips) * sum(map(weight, half.saved)) + arrays
