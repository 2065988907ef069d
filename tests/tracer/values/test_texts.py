"""Text with the program's numbers in it: returned, stored, joined, printed, and asked for its letters."""

import copy
import dataclasses
import json
import re
import warnings

import numpy as np
import pytest
from random_keys import outcome

from wengert import Fallback, UnsupportedError, jit
from wengert.tracer.common.errors import WengertError


class Point:
    def __init__(self, x):
        self.x, self.label = x, f"<{x:.2f}>"

    def __str__(self):
        return f"Point({self.x})"


@dataclasses.dataclass
class Named:
    x: float
    name: str = ""


def written_after(a):
    s, t, u = f"{a}", "%s" % a, str(a[:2])  # noqa: UP031
    a[0] = 5.0
    print(s, a)
    return s, t, u, f"{a}"


def stored(x, d):
    p = Point(x)
    d["text"], d["x"] = f"{x}", x
    d.setdefault("more", []).append("%d" % int(x))  # noqa: UP031
    texts = [f"{x!r}", "a"]
    return p, str(p), texts, texts, Named(x, p.label), (p, texts)


def on_one_side(x):
    if x < -2:
        raise ValueError("too small")
    if x < 0:
        return f"negative {x}"
    return "%.3f" % x  # noqa: UP031


def joined(a, sep):
    s = ""
    for v in a[:5]:
        s += f"{v:.1f}" + sep
    return sep.join([f"{v:.2f}" for v in a]), sep.join(f"{v:.3g}" for v in a), s.rstrip(sep) + "\n"


def joined_in_a_loop(a):
    parts = []
    for k in range(40):
        parts.append(f"{a[k % 3] * k:.1f}")
    return " ".join(parts), len(parts)


def letters(x, s):
    t = f"{x:6.1f}".strip() + s
    return t.ljust(9) + "|", t * 2, t[1:], t.upper(), t.replace(".", ","), t % (), f"{t!r:>10}", f"{t:>10}"


def kinds(x, n):
    return f"{x} {x!r} {float(x)}", str(x * 2), repr(x), f"{n:04d} {n * n:5d}|", str(n > 2), f"{np.array([x, 1])}"


def asked(x):
    t = f"{x}"
    counted = len(t), t.split("."), t.find("5"), "5" in t, t in "1.5 and 2.5", [*t], sorted([t, "2"]), max(t, "2"), t.encode()
    compared = t == "1.5", "1.5" == t, t != f"{x + 1}", t < "2", bool(t), t or "none", not t, {t: 1}, {t, "a"}, float(t) + 1
    return counted, compared, isinstance(t, str), type(t) is str, isinstance(t, int | str), re.sub(r"\.", ",", t), hash(t) == hash("1.5")


def copied(x):
    made = [f"{x}", (f"{x:.1f}",)]
    return copy.deepcopy(made), copy.copy(made), tuple(made), list(made), made


def on_both_sides(x):
    s = f"big {x}" if x > 2 else "small"
    if x > 1:
        t = f"{x:.1f}"
    else:
        t = "less"
    return s + " " + t


CALLS = [
    (written_after, [(np.ones(3),), (np.zeros(3),)]),
    (stored, [(x, {"a": 1.0}) for x in (1.5, -2.0, 1.5)]),
    (on_one_side, [(1.0,), (-2.5,), (3.0,), (-0.5,), (1.0,)]),
    (joined, [(np.arange(6.0), ", "), (np.arange(6.0) * 1.5, "; ")]),
    (joined_in_a_loop, [(np.arange(3.0),), (np.array([1.0, 5.0, 2.0]),)]),
    (letters, [(1.5, "a"), (2.25, "b")]),
    (kinds, [(np.float32(0.1), 2), (np.float32(0.3), 3), (np.float32(2.0), 4), (np.float32(2.0), 5)]),
    (asked, [(1.5,), (2.5,), (1.5,)]),
    (copied, [(1.5,), (2.5,)]),
    (on_both_sides, [(1.5,), (2.5,), (0.5,), (3.5,)]),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("f", "calls"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.filterwarnings("error:.*plain Python")
def test_as_python(f, calls, whole):
    compiled = jit(f, whole=whole)
    for given in calls:
        assert outcome(compiled, given) == outcome(f, given)


def test_one_trace_makes_the_texts_of_all_numbers():
    def told(x, d):
        d["said"] = f"{x:.3f}"
        return [d["said"], f"{x:g}"]

    compiled = jit(told)
    for x in (1.0, 2.5, -3.25, float("inf"), float("nan"), 1e300, -0.0):
        assert outcome(compiled, (x, {})) == outcome(told, (x, {}))
    assert compiled.explain().startswith("told: 1 trace(s)")


@pytest.mark.filterwarnings("ignore:.*plain Python")
def test_what_does_not_take_it_is_refused(falling_back):
    def in_json(x):
        return json.dumps({"a": f"{x}"})

    def in_an_array(x):
        a = np.empty(2, object)
        a[0] = f"{x}"
        return a[0], len(a)

    def of_numpys(x):
        return np.array([f"{x}", "a"]).tolist()

    def added_to_a_number(x):
        return f"{x}" + 1

    for f in (in_json, in_an_array, of_numpys, added_to_a_number):
        compiled = jit(f)
        for x in (1.5, 2.5):
            assert outcome(compiled, (x,)) == outcome(f, (x,))
        with pytest.raises(WengertError):
            jit(f, whole=True)(1.5)


def test_the_letters_of_an_arrays_text_are_not_known():
    def counted(a):
        return len(f"{a}")

    with pytest.raises(UnsupportedError, match="text of a traced value"):
        jit(counted)(np.ones(3))
    with pytest.warns(Fallback, match="text of a traced value"):
        assert jit(counted, whole=False)(np.ones(3)) == len(f"{np.ones(3)}")


FORMS = [
    "f'{c}'", "f'{c!r:>9}'", "str(c)", "repr([c, 1])", "'%s' % (c,)", "'{}'.format(c)", "str({'a': c.sum()})",
    "json.dumps(c, default=str)",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_code_without_hooks_makes_no_text_of_traced_values(form, falling_back):
    """`eval` keeps a function from being rewritten: its texts would be of what stands for the numbers, for good."""
    space = {"json": json}
    exec(f"def f(x):\n    c = x.mean(0); label = eval('1')\n    return {form}", space)
    f = jit(space["f"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        for x in (np.ones((3, 2)), np.full((3, 2), 2.5)):
            assert f(x) == space["f"](x)
