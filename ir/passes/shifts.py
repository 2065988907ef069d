"""The greatest element that a softmax or its logarithm takes out of its exponentials."""

from __future__ import annotations

from ..core import Builder, Func, Lit, Value
from ..ops.elementwise import add, div, sub
from ..ops.flow import stop_gradient
from ..ops.reduction import reduce_max, reduce_sum
from ..ops.shape import broadcast, reshape
from ..ops.transcendental import exp, log
from .masks import users_of


def shifts(func: Func) -> Func:
    """No derivative passes through the greatest element m of x where it only keeps exponentials small. Regions too.

    In `t - log(sum(exp(t)))`, in `exp(t) / sum(exp(t))` and in `log(sum(exp(t))) + m`, t being `x - m` along the axes
    of the sum, m cancels: the derivative by m is zero, and is not computed. So it is where nothing else reads what is
    computed from m. The derivatives that are left are the same but for rounding.
    """
    return _shifts(func, {}) if any_maximum(func) else func


def any_maximum(func):
    return any(eqn.op is reduce_max or any(map(any_maximum, eqn.regions())) for eqn in func.eqns)


def _shifts(func, done):
    if func not in done:
        build, env, users = Builder.again(func), {}, users_of(func)
        for eqn in func.eqns:
            build.replay(eqn, env, attrs=eqn.mapped(lambda region: _shifts(region, done)))
            if eqn.op is reduce_max and Shift(eqn, users).cancels():
                build.source, (m,) = eqn.source, eqn.results
                env[m] = build.emit(stop_gradient, (env.get(m, m),), {})
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


class Shift:
    """What reads a maximum, followed to where it cancels.

    eqn: the maximum of x along some axes; users: as `users_of` gives them. Rows are values with one element for each
    place of the other axes: of their shape, or with axes of size one for those of the maximum.
    """

    def __init__(self, eqn, users):
        (self.x,), (self.m,), self.axes, self.users = eqn.operands, eqn.results, eqn.attrs["axes"], users
        shape = self.x.type.shape
        self.kept = tuple(n for n in range(len(shape)) if n not in self.axes)
        self.flat = tuple(shape[n] for n in self.kept)
        self.held = tuple(1 if n in self.axes else size for n, size in enumerate(shape))
        self.sums, self.logs = [], []  # the rows that are sums of exponentials, and logarithms of them

    def cancels(self):
        """Whether all that reads the maximum is one of the three forms."""
        if not isinstance(self.x, Value) or self.m.type.kind != "f":
            return False
        ends = self.ends_of_rows(self.m)
        shifted = [eqn for eqn, spread, _ in ends if spread and is_op(eqn, sub) and eqn.operands[0] is self.x]
        if not shifted or not all(self.is_exponential(eqn.results[0]) for eqn in shifted):
            return False
        self.logs = [eqn.results[0] for s in self.sums for eqn, _, _ in self.ends_of_rows(s) if is_op(eqn, log)]
        ours = {eqn.results[0] for eqn in shifted}
        return (
            all(eqn in shifted or self.adds_logarithm(eqn) for eqn, _, _ in ends)
            and all(self.ends_well(t) for t in ours)
            and all(self.divides_or_logs(s, ours) for s in self.sums)
            and all(self.subtracts_or_adds(found, ours) for found in self.logs)
        )

    def ends_of_rows(self, row):
        """[(equation that reads rows, whether they were spread over x's shape, the value it reads)], through reshapes
        that hold the axes; None for an equation where a result of the function is, or rows are laid otherwise."""
        found, todo = [], [(row, False)]
        while todo:
            value, spread = todo.pop()
            for eqn in self.users.get(value, ()):
                if is_op(eqn, reshape) and not spread:
                    fits = eqn.results[0].type.shape in (self.flat, self.held)
                    (todo if fits else found).append((eqn.results[0], False) if fits else (None, False, value))
                elif is_op(eqn, broadcast) and not spread:
                    fits = eqn.results[0].type.shape == self.x.type.shape and eqn.attrs["dims"] == self.places(value)
                    (todo if fits else found).append((eqn.results[0], True) if fits else (None, False, value))
                else:
                    found.append((eqn, spread, value))
        return found

    def places(self, row):
        """Where the axes of rows lie in x."""
        return tuple(range(self.x.type.ndim)) if row.type.ndim == self.x.type.ndim else self.kept

    def is_exponential(self, t):
        """Note the sums of the exponential of t."""
        for eqn in self.users.get(t, ()):
            if is_op(eqn, exp):
                sums = [e for e in self.users.get(eqn.results[0], ()) if is_op(e, reduce_sum)]
                self.sums += [e.results[0] for e in sums if e.attrs["axes"] == self.axes]
        return bool(self.sums)

    def ends_well(self, t):
        """Whether t is read by an exponential, of which only quotients and sums are made, or less a logarithm."""
        for eqn in self.users.get(t, ()):
            if is_op(eqn, exp):
                if not all(self.is_of_softmax(reader, eqn.results[0]) for reader in self.users.get(eqn.results[0], ())):
                    return False
            elif not (is_op(eqn, sub) and eqn.operands[0] is t and self.is_row(eqn.operands[1], self.logs)):
                return False
        return True

    def is_of_softmax(self, reader, e):
        """Whether what reads an exponential e sums it up, or divides it by its sums."""
        if is_op(reader, reduce_sum):
            return reader.results[0] in self.sums
        return is_op(reader, div) and reader.operands[0] is e and self.is_row(reader.operands[1], self.sums)

    def divides_or_logs(self, s, ours):
        return all(
            is_op(eqn, log)
            or is_op(eqn, div)
            and spread
            and eqn.operands[1] is row
            and is_made_by(eqn.operands[0], exp)
            and eqn.operands[0].eqn.operands[0] in ours
            for eqn, spread, row in self.ends_of_rows(s)
        )

    def subtracts_or_adds(self, found, ours):
        return all(
            is_op(eqn, sub)
            and spread
            and eqn.operands[0] in ours
            and eqn.operands[1] is row
            or not spread
            and self.adds_logarithm(eqn)
            for eqn, spread, row in self.ends_of_rows(found)
        )

    def adds_logarithm(self, eqn):
        """Whether an equation adds the maximum to a logarithm of such a sum, row by row."""
        if not is_op(eqn, add):
            return False
        roots = [self.root(x) for x in eqn.operands]
        return self.m in roots and any(r in self.logs for r in roots)

    def is_row(self, x, among):
        """Whether x is one of some rows, spread over x's shape."""
        return isinstance(x, Value) and is_op(x.eqn, broadcast) and self.root(x.eqn.operands[0]) in among

    def root(self, x):
        """The rows that x is, through reshapes."""
        while isinstance(x, Value) and is_op(x.eqn, reshape):
            x = x.eqn.operands[0]
        return x


def is_op(eqn, op):
    return eqn is not None and eqn.op is op


def is_made_by(x, op):
    return not isinstance(x, Lit) and is_op(x.eqn, op)
