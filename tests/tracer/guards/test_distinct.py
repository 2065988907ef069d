"""Lists and dicts outside that become one object after a trace took them for two, and the other way round."""

import numpy as np
import pytest

from wengert import jit


class Holder:
    pass


def holders(kind, count):
    made = [Holder() for _ in range(count)]
    for i, o in enumerate(made):
        o.held = [float(i), 2.0] if kind is list else {0: float(i), 1: 2.0}
    return made


def stored(a, b):
    a.held[0] = a.held[0] + 1.0
    return b.held[0] * 1.0


def added(a, b):
    a.held[0] += 1.0
    a.held[1] = a.held[0] * b.held[1]
    return b.held[0] + b.held[1]


def asked(a, b):
    return 1.0 if a.held is b.held else 2.0


@pytest.mark.parametrize("engine", [None, "numpy"])
@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("what", [stored, added, asked])
@pytest.mark.parametrize("order", ["apart first", "one first", "in turn"])
@pytest.mark.parametrize("count", [2, 4])
def test_one_or_several(engine, kind, what, order, count):
    def answers(wrap):
        a, b, *more = holders(kind, count)

        def f():
            rest = 0.0
            for other in more:
                rest = rest + other.held[1]
            return what(a, b) + rest

        f, own, out = wrap(f), b.held, []
        for one in {"apart first": (0, 0, 1, 1), "one first": (1, 1, 0, 0), "in turn": (0, 1, 0, 1, 0)}[order]:
            a.held[0], own[0] = 5.0, 5.0  # that tell nothing
            b.held = a.held if one else own
            out += [f(), f()]
            if more:
                more[0].held = own if one else a.held
                out += [f(), repr((a.held, b.held))]
        return out

    assert answers(lambda f: jit(f, engine=engine)) == answers(lambda f: f)


def test_kept_on_disk(tmp_path):
    a, b = holders(list, 2)

    def f(x):
        a.held[0] = a.held[0] + 1.0
        return x * b.held[0]

    x = np.arange(3.0)
    jit(f, cache=tmp_path)(x)
    a.held[0] = b.held[0]
    b.held = a.held
    now = a.held[0] + 1.0
    np.testing.assert_array_equal(jit(f, cache=tmp_path)(x), x * now)
