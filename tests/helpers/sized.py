"""Functions at all sizes: the SizeFamily of one, and what its program of symbolic sizes gives beside plain Python."""

import numpy as np

from wengert.backends.numpy.emit import callable_of
from wengert.tracer.api.jit import jit
from wengert.tracer.call.family import NoFamily, family
from wengert.tracer.common import pytree
from wengert.tracer.guards.outside import gathered

SEEN = (10, 11, 23)  # sizes of the calls that are seen first


def random_arguments(n):
    return (np.random.default_rng(n).random(n) + 0.1,)


def types_of(entry, args):
    leaves = pytree.leaves((args, {}))
    return entry.types_of([leaves[i] for i in entry.dynamic])


class Sized:
    """A function, and `arguments(n)` of it at each size. family: its SizeFamily, or None; why: why there is none."""

    def __init__(self, function, arguments, seen=SEEN):
        self.function, self.arguments = function, arguments
        self.compiled = jit(function, engine="numpy", whole=False)
        self.compiled(*arguments(seen[0]))
        entries = list(self.compiled.callee.compiled.entries.values())
        self.family, self.why, self.entry = None, "", entries[0] if entries else None
        if self.entry is None:
            self.why = "it has no entry"
            return
        try:
            self.family = self.compiled.callee(family, self.entry, [self.types(n) for n in seen])
        except NoFamily as error:
            self.why = str(error)

    def types(self, n):
        return types_of(self.entry, self.arguments(n))

    def facts(self):
        return self.family.told_facts() if self.family is not None else self.why

    def extended(self, n):
        return self.compiled.callee(self.family.extended, self.types(n))

    def at(self, n):
        """What the program of symbolic sizes gives at a size; None where it does not serve it."""
        sizes = self.family.serves(self.types(n))
        if sizes is None:
            return None
        version = self.family.version(sizes)
        leaves = [x for k, x in enumerate(pytree.leaves((self.arguments(n), {}))) if k in self.entry.dynamic]
        leaves += gathered(version.captured.inputs, None, None)
        with np.errstate(all="ignore"):
            raw = callable_of(version.func)(*[np.array(x) for x in leaves])
        again = lambda reason: self.function(*self.arguments(n))
        return version.finish(raw, leaves, True, again)

    def against(self, sizes):
        """`wrong`, beside the program traced at the size itself, where there is no plain Python."""
        found, served = [], 0
        for n in sizes:
            served += (given := self.family.serves(self.types(n))) is not None
            if given is not None:
                version = self.compiled.callee(self.family.finder.sample, given).version
                if why := self.family.generic.difference(version.func, given):
                    found.append((n, why))
        return found, served

    def wrong(self, sizes):
        """[(size, what is wrong)] of those that are served; and how many are."""
        found, served = [], 0
        for n in sizes if self.family is not None else ():
            if self.family.serves(self.types(n)) is None:
                continue
            made = outcome(lambda n=n: self.at(n))
            served += 1
            plain = outcome(lambda n=n: self.function(*self.arguments(n)))
            if not same(made, plain):
                found.append((n, f"{shown(made)} is not {shown(plain)}"))
        return found, served


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return "gave", call()
    except Exception as error:
        return "raised", type(error).__name__, str(error).strip().splitlines()[:1]


def shown(found):
    return " ".join(repr(found).split())[:120]


def same(a, b):
    if a[0] != "gave" or b[0] != "gave":
        return a == b
    (xs, tree), (ys, other) = pytree.flatten(a[1]), pytree.flatten(b[1])
    return tree == other and len(xs) == len(ys) and all(map(alike, xs, ys))


def alike(x, y):
    if type(x) is not type(y):
        return False
    if isinstance(x, str):
        return x == y
    x, y = np.asarray(x), np.asarray(y)
    return x.shape == y.shape and x.dtype == y.dtype and np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True)
