"""Functions without source: what they store outside is found, put back, and done by plain Python instead."""

import types

import numpy as np
import pytest

from wengert import WengertError, jit

BODIES = """
    OUTER[0] = x
    OUTER[0] = x; return OUTER[5]
    o.a = x * 2; return o.a
    o.a = x * 2; raise ValueError(3)
    o.b = x
    D['a'] = x; return D['a'] + k
    D['new'] = x
    del D['a']
    A[0] = x; return A[0]
    o.inner.a += x
    m.a = x
    m.held[0] = x
    for i in range(9): OUTER[i] = x
    OUTER[:1] = [x, x]
    OUTER.append(x)
    return sorted([3.0, x], key=counting)
"""


class Held:
    pass


def space_of(body):
    o = Held()
    o.a, o.inner = 1.0, Held()
    o.inner.a = 1.0
    m = types.ModuleType("other")
    m.a, m.held = 1.0, [1.0]
    space = {"OUTER": [1.0, 2.0], "D": {"a": 1.0}, "A": np.zeros(2), "o": o, "m": m, "np": np}
    exec(f"def counting(v):\n    OUTER[0] += 1\n    return v\ndef f(x, k):\n    {body.strip()}\n", space)
    return space


def state(space):
    return repr([space["OUTER"], space["D"], space["A"].tolist(), space["o"].a, getattr(space["o"], "b", None),
                 space["o"].inner.a, space["m"].a, space["m"].held])  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
@pytest.mark.parametrize("body", BODIES.strip().splitlines())
def test_what_is_stored_outside_is_stored_at_every_call(body):
    mine, plain = space_of(body), space_of(body)
    compiled = jit(mine["f"], whole=False)
    for x, k in ((2.5, 1), (3.5, 2), (4.5, 2)):
        try:
            want = plain["f"](x, k)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(x, k)
        else:
            assert compiled(x, k) == want
        assert state(mine) == state(plain)


@pytest.mark.parametrize("body", [b for b in BODIES.strip().splitlines() if "append" not in b])  # calls have hooks there too
def test_a_refusal_leaves_everything_as_it_was(body):
    mine, untouched = space_of(body), space_of(body)
    for _ in range(2):
        with pytest.raises(WengertError):
            jit(mine["f"])(2.5, 1)
        assert state(mine) == state(untouched)
