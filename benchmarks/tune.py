"""The constants of one machine that decide whether a rule or a lowering is applied, measured again: today's value
beside the one in the code.

    python benchmarks/tune.py [NAME...]

Each gate is asked at several sizes: one program is compiled with the gate open and once with it shut, and the two take
turns. Its value today is the first size from which the special form takes less than 0.95 of the time at every size
(`up to`: the last size up to which it does). The ratios, shut/open, stand beside it: above 1 the special form is
quicker. What is measured is the gate as a whole, on the way a user's call goes, of one program: a ratio near 1 may also
say that another condition shut the gate both times. Of constants without such a size, `settings.py` has programs that
run with some values, and quantities that are measured as such. On a machine that others use, ratios are some 0.3 off.
"""

import importlib
import sys
from contextlib import contextmanager
from unittest import mock

import numpy as np

from wengert import jit
from wengert.benchmarks.gates import GATES
from wengert.benchmarks.settings import QUANTITIES, SETTINGS
from wengert.benchmarks.timing import interleave, table
from wengert.tracer.call.shared import forget_shared
from wengert.tracer.program import backend_choice

ENOUGH = 1 / 0.95  # shut/open from which the special form is worth its place


class Asked:
    """A number that knows whether it has been used: a program that never comes to its gate measures nothing."""

    used = False

    def _noting(name):
        def method(self, *others):
            self.used = True
            return getattr(super(), name)(*others)

        return method

    __lt__, __le__, __gt__, __ge__, __mul__, __rmul__, __floordiv__, __rfloordiv__, __rsub__, __radd__ = map(_noting, (
        "__lt__", "__le__", "__gt__", "__ge__", "__mul__", "__rmul__", "__floordiv__", "__rfloordiv__", "__rsub__",
        "__radd__",
    ))  # fmt: skip


class AskedInt(Asked, int):
    """An int of that kind."""


class AskedFloat(Asked, float):
    """A float of that kind."""


@contextmanager
def at(name, value):
    """The constant of that name is another for a while, and its module has kept nothing made with the other."""
    module, constant = place(name)
    before = getattr(module, constant)
    setattr(module, constant, value)
    forget(module)
    try:
        yield
    finally:
        setattr(module, constant, before)
        forget(module)


def forget(module):
    """Empty the caches of a module's functions."""
    for x in list(vars(module).values()):
        if callable(clear := getattr(x, "cache_clear", None)):
            clear()


def place(name):
    """(module, name of the constant in it)"""
    module, _, constant = name.rpartition(".")
    return importlib.import_module(f"wengert.{module}"), constant


def compiled(name, f, arguments, value, engine="xla"):
    """A program compiled with the constant at a value; LookupError where nothing compares it."""
    chosen = None if engine in ("auto", "nests") else engine
    forget_shared()  # nothing that was compiled with it at another
    form, asked = jit(lambda *xs: f(*xs), engine=chosen, cache=False), noting(value)
    with at(name, asked), mock.patch.object(backend_choice, "CHOICE", engine if engine == "nests" else None):
        form(*arguments)
        form(*arguments)  # some forms are chosen when a program is called again
    if not asked.used:
        raise LookupError(f"{name} is not asked about by {f.__name__} on {[np.shape(x) for x in arguments]}")
    return form


def noting(value):
    """A number that knows whether it has been used."""
    return AskedFloat(value) if isinstance(value, float) else AskedInt(value)


def ratio(name, gate, size):
    """How many times as long a program takes with the gate shut as with it open."""
    f, arguments = gate.program(size)
    forms = {side: compiled(name, f, arguments, getattr(gate, side), gate.engine) for side in ("taken", "left")}
    times = interleave({side: lambda g=g: g(*arguments) for side, g in forms.items()}, 0.1, 15, 15)
    return times["left"] / times["taken"]


def today(gate, ratios):
    """The size from which, or up to which, the special form pays; the text says where that is at none, or at all that
    were tried."""
    pays = [r > ENOUGH for r in ratios] if gate.up_to else [r > ENOUGH for r in ratios][::-1]
    sizes = list(gate.sizes) if gate.up_to else list(gate.sizes)[::-1]
    count = pays.index(False) if False in pays else len(pays)
    return (
        f"{sizes[count - 1]}"
        if 0 < count < len(pays)
        else "none"
        if not count
        else f"{'>=' if gate.up_to else '<='}{sizes[-1]}"
    )


def shares(name, setting):
    """What part of today's time a program takes with each of a setting's values."""
    f, arguments = setting.program()
    forms = {v: compiled(name, f, arguments, v, setting.engine) for v in setting.values}
    forms["today"] = compiled(name, f, arguments, getattr(*place(name)), setting.engine)
    times = interleave({v: lambda g=g: g(*arguments) for v, g in forms.items()}, 0.1, 15, 15)
    return [times[v] / times["today"] for v in setting.values]


def quickest(setting, parts):
    """The value with which a program is quickest; "any" where it makes no difference worth a name."""
    least = min(parts)
    return f"{setting.values[parts.index(least)]}" if max(parts) > least * ENOUGH else "any"


def main(names):
    rows, settings, quantities = [], [], []
    for name in names or (*GATES, *SETTINGS, *QUANTITIES):
        value = str(getattr(*place(name)))
        if name in GATES:
            gate = GATES[name]
            ratios = [ratio(name, gate, size) for size in gate.sizes]
            found = ", ".join(f"{size}: {r:.2f}" for size, r in zip(gate.sizes, ratios))
            rows.append([name, value, today(gate, ratios), found])
        elif name in SETTINGS:
            parts = shares(name, SETTINGS[name])
            found = ", ".join(f"{v}: {s:.2f}" for v, s in zip(SETTINGS[name].values, parts))
            settings.append([name, value, quickest(SETTINGS[name], parts), found])
        else:
            quantities.append([name, value, f"{QUANTITIES[name]():.3g}"])
    for lines, titles in (
        (rows, ["gate", "in the code", "today", "shut/open at each size"]),
        (settings, ["setting", "in the code", "quickest", "time with each value, as a part of that with today's"]),
        (quantities, ["quantity", "in the code", "today"]),
    ):
        if lines:
            table(lines, titles)
            print()


if __name__ == "__main__":
    main(sys.argv[1:])
