"""Methods of C that are bound to containers, arrays and buffers from outside, under other names; and memory that has two names."""
# ruff: noqa: F821

import array
import collections
import contextvars
import functools

import numpy as np
import pytest

from wengert import jit


class Holder:
    def __init__(self, f):
        self.f = f


class Keeper:
    def __init__(self):
        self.items = S
        self.add = self.items.append


def begin():
    """Outside objects, and what is bound to them, as they are before the first call."""
    made = {"S": [], "D": {}, "Q": collections.deque(), "T": set(), "B": bytearray(3), "F": bytearray(3), "N": np.zeros(2), "P": [9, 8, 7, 6, 5]}
    made |= {"U": collections.UserDict(), "CV": contextvars.ContextVar("cv", default=0)}
    made |= {"R": np.zeros(3, [("a", "f8"), ("n", "U2")]), "W": np.array(["b", "c"]), "E": array.array("d", [1.0, 2.0])}
    made |= {"AT": (3, 4, 5).index, "CNT": frozenset("ab").__contains__, "UP": "ab".upper, "LEN": (1, 2).__len__, "SUM": np.array(["b", "c"]).tolist}
    S, D = made["S"], made["D"]
    made |= {"CB": S.append, "QB": made["Q"].append, "TB": made["T"].add, "BB": made["B"].append, "ADD": made["N"].__iadd__, "POP": made["P"].pop}
    made |= {"PUT": D.__setitem__, "GET": D.get, "EXT": S.extend, "TUP": (S.append,), "DIC": {"h": S.append}, "O": Holder(S.append)}
    made |= {"PART": functools.partial(S.append, "p"), "RA": made["R"]["a"], "WV": made["W"].view(np.uint32)}
    globals().update(made | {"EV": np.frombuffer(made["E"]), "FV": np.frombuffer(made["F"], np.uint8)})


def told():
    arrays = [N.tolist(), R.tolist(), W.tolist(), E.tolist()]
    return repr((S, D, list(Q), sorted(T), bytes(B), bytes(F), P, dict(U), CV.get(), arrays))


def helper(add, x):
    add("p") if x[0] > 0 else add("n")


def by_own_name(x):
    add = S.append
    if x[0] > 0:
        add("p")


def by_own_counter(x):
    c = collections.Counter()
    u = c.update
    if x[0] > 0:
        u("aab")
    else:
        u("b")
    return x * c["a"] + c["b"]


def by_own_partial(x):
    g = functools.partial(S.append, "p")
    if x[0] > 0:
        g()


def in_trips(x):
    for k in range(3):
        if x[k % 2] > 0:
            CB(k)


def in_trips_of_an_object(x):
    keeper = Keeper()
    for k in range(3):
        if x[k % 2] > 0:
            keeper.add(k)


def counted(x):
    U["p"] = U.get("p", 0) + 1
    return x + U.get("p", 0)


def appended_within(x):
    U.setdefault("l", []).append(1)
    return x + len(U["l"])


def updated(x):
    U.update(a=len(U))
    U["n"] = U["a"]


def of_a_context(x):
    if x[0] > 0:
        CV.set(CV.get() + 1)
    return CV.get() + x


def seen_by_field(x):
    RA[0] += 1
    return x + R["a"][0]


def stored_by_both(x):
    RA[:2] += x**2
    R["n"][0] = "q"


def seen_as_letters(x):
    WV[0] += 1
    return x * (W[0] == "c")


def seen_in_bytes(x):
    FV[0] += 1
    return x + F[0]


def seen_in_numbers(x):
    EV[0] += 1
    return x + E[0]


PROGRAMS = {
    f.__name__ if f.__name__ != "<lambda>" else f"call {k}": f
    for k, f in enumerate((
        lambda x: CB("p"), lambda x: QB("p"), lambda x: TB("p"), lambda x: BB(65), lambda x: ADD(1), lambda x: POP() * x, lambda x: EXT(["a", "b"]),
        lambda x: TUP[0]("p"), lambda x: DIC["h"]("q"), lambda x: PART(), lambda x: PART() if x[0] > 0 else None,
        lambda x: O.f("p") if x[0] > 0 else None,
        lambda x: PUT("p", GET("p", 0) + 1) if x[0] > 0 else None, lambda x: PUT(len(D), 1), lambda x: CB(float(x[0])), lambda x: list(map(CB, "ab")),
        lambda x: CB("p") if x[0] > 0 else CB("n"), lambda x: helper(S.append, x),
        by_own_name, by_own_counter, by_own_partial, in_trips, in_trips_of_an_object, counted, appended_within, updated, of_a_context,
        lambda x: x * AT(4), lambda x: AT(4) * x if x[0] > 0 else LEN() * x, lambda x: x * CNT("a"), lambda x: UP() if x[0] > 0 else SUM(),
        lambda x: [(3, 4).index(k) for k in (4, 3)] * 2, lambda x: x * S.count("p") + D.__len__(),
        seen_by_field, stored_by_both, seen_as_letters, seen_in_bytes, seen_in_numbers,
    ))
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_plain_python(name, falling_back):
    f = PROGRAMS[name]
    xs, want = [np.array([s, 2.0]) for s in (1.0, -1.0, 1.0, -1.0, 1.0)], []
    begin()
    for x in xs:
        result = f(x.copy())
        want.append((repr(result), told()))
    begin()
    compiled = jit(f)
    for x, (result, state) in zip(xs, want):
        assert repr(compiled(x.copy())) == result
        assert told() == state


def test_a_default_argument(falling_back):
    S = []

    def f(x, add=S.append):
        add("p")
        return x

    compiled = jit(f)
    for k in range(3):
        compiled(np.ones(2))
        assert S == ["p"] * (k + 1)
