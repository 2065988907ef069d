"""Cut a derivative program in two: what can run with the primal, and what must wait for cotangents.

The values that cross the cut are the residuals. Which values cross is a choice: a crossing value may
be computed again behind the cut instead, if that is cheap, and those are kept that are lightest together (`mincut`).
"""

from __future__ import annotations

from ..ir.core import Builder, Func, Value
from ..ir.mincut import lightest
from ..ir.op import Cost


def cheap(op):
    """Whether computing a result again costs less than the memory traffic of keeping it."""
    return op.cost <= Cost.DIVISION


class Split:
    """The two halves of `func`, whose first `known` parameters are at hand early and whose first `primal` results are
    the primal's.

    given: known parameters that the late half is handed as they are, so they are never residuals;
    free: whether reading a given one costs nothing (a loop's invariants), or what its size says;
    keep: values that are residuals in any case; also: others that the late half needs; more: results that it has
    besides.

    saved: the residuals, as values of `func`, in order;
    early, late: the equations of the halves, in order (recomputed ones stand in both);
    reads: the given parameters that the late half reads.
    """

    def __init__(self, func, known, primal, given, free, keep=(), also=(), more=()):
        self.func, self.known, self.primal = func, known, primal
        self.given, self.free = set(given), free
        waits, after = self._waits()
        late, reads = self._live((*func.results[primal:], *more), after)
        saved, self.again = self._choose({x for x in reads if x not in waits} | set(also))
        saved = saved.union(keep)
        order = {x: i for i, x in enumerate((*func.params, *(r for e in func.eqns for r in e.results)))}
        self.saved = sorted(saved - self.given, key=order.__getitem__)
        self.late = [e for e in func.eqns if e in late or e in self.again]
        used = {x for e in self.late for x in e.operands} | set(func.results[primal:])
        self.reads = [p for p in func.params[:known] if p in used and p in self.given]
        early, _ = self._live((*func.results[:primal], *self.saved), set(func.eqns) - after)
        self.early = [e for e in func.eqns if e in early]

    def _waits(self):
        """Values and equations that depend on the parameters not known early."""
        values, eqns = set(self.func.params[self.known :]), set()
        for eqn in self.func.eqns:
            if any(x in values for x in eqn.operands):
                values.update(eqn.results)
                eqns.add(eqn)
        return values, eqns

    def _live(self, results, among):
        """Those equations `among` some that `results` or effects need, and all values read."""
        live, reads = set(), {x for x in results if isinstance(x, Value)}
        for eqn in reversed(self.func.eqns):
            if eqn in among and (eqn.effect or any(r in reads for r in eqn.results)):
                live.add(eqn)
                reads.update(x for x in eqn.operands if isinstance(x, Value))
        return live, reads

    def _choose(self, needed):
        """(values to keep, equations to repeat) so that `needed` are known behind the cut: the fewest bytes, then the
        fewest values."""
        unit = 1 + len(self.func.params) + sum(len(e.results) for e in self.func.eqns)

        def price(x):
            if x in self.given:
                return 0 if self.free else unit * weight(x)
            return unit * weight(x) + 1

        kept, again = lightest(needed, price, sources)
        return kept, {x.eqn for x in again}

    def append_early(self, build, env):
        """Append the early half, its parameters bound in `env` -> (primal results, residuals)."""
        _replay(build, self.early, env)
        return tuple(env.get(r, r) for r in self.func.results[: self.primal]), tuple(env[x] for x in self.saved)

    def append_late(self, build, env):
        """Append the late half, `saved`, `reads` and the cotangents bound in `env` -> the derivative's results."""
        _replay(build, self.late, env)
        return tuple(env.get(r, r) for r in self.func.results[self.primal :])


def _replay(build, eqns, env):
    for eqn in eqns:
        build.replay(eqn, env)


def sources(x):
    """The values that x is cheaply computed from, or None."""
    return [y for y in x.eqn.operands if isinstance(y, Value)] if x.eqn is not None and cheap(x.eqn.op) else None


def weight(x):
    """Bytes."""
    return x.type.size * x.type.dtype.itemsize


def halves(func: Func, known: int, primal: int) -> tuple[Func, Func]:
    """-> (early, late): `early(known params) -> (primal results, *residuals)`,
    `late(other params, *residuals) -> the other results`."""
    cut = Split(func, known, primal, given=(), free=False)
    early, late = Builder(func.name), Builder(f"pullback_{func.name}")
    with early:
        env = {p: early.param(p.type, p.hint) for p in func.params[:known]}
        results, saved = cut.append_early(early, env)
    with late:
        env = {p: late.param(p.type, p.hint) for p in (*func.params[known:], *cut.saved)}
        out = cut.append_late(late, env)
    return early.finish((*results, *saved)), late.finish(out)
