"""Random programs: plain NumPy against the compiled function, in values, kinds, mutation, aliasing and exceptions.

Hypothesis writes straight-line functions as source text, with views, stores through views, in-place
operators, reductions and broadcasting, over two array arguments and a float; `pytest -m slow` draws many more.
"""

import linecache
import zlib

import numpy as np
import pytest
from compare import agree, check_same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wengert import grad, jit

UNARY = ["np.tanh({0})", "np.sin({0})", "-{0}", "np.abs({0})", "{0} * {0}", "np.exp(-np.abs({0}))", "{0}.copy()", "np.sqrt(np.abs({0}) + 1)"]
BINARY = [
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "np.maximum({0}, {1})",
    "{0} / (2 + np.abs({1}))",
    "np.where({0} > {1}, {0}, {1})",
    "np.hypot({0}, {1})",
]
VIEWS = [
    "{0}[::-1]",
    "{0}[1:]",
    "{0}[:, ::2]",
    "{0}.T",
    "{0}[1]",
    "{0}.reshape(-1)",
    "{0}[..., None]",
    "{0}[:, 1]",
    "{0}[np.array([1, 0])]",
    "{0}.ravel()[1:]",
]
REDUCE = [
    "{0}.sum(axis=0)",
    "{0}.mean()",
    "{0}.max(axis=-1)",
    "np.cumsum({0}, axis=0)",
    "{0}.sum()",
    "np.sort({0}, axis=-1)",
    "{0}.std()",
    "np.concatenate([{0}, {0}], 0)",
]
STORES = [
    "{0}[...] = {1}", "{0}[0] = 2.0", "{0} += {1}", "{0} *= 0.5", "{0}[1:] = {0}[:-1]", "{0}[::2] -= s", "{0}[{0} > 0] = s",
    "np.add({0}, {1}, out={0})", "{0}[np.array([0, 1])] += {1}", "{0}.T[0] = s", "np.add.at({0}, np.array([0, 0]), s)",
    "{0}[-1], {0}[0] = {0}[0].copy(), {0}[-1].copy()",
]  # fmt: skip


@st.composite
def programs(draw, stores=True):
    """Source of `def f(a, b, s)`; names a, b, v0, v1, ... are arrays of at least one element."""
    names, lines = ["a", "b"], []
    for n in range(draw(st.integers(2, 9))):
        family = draw(st.sampled_from([UNARY, BINARY, VIEWS, REDUCE, STORES] if stores else [UNARY, BINARY, VIEWS, REDUCE]))
        text = draw(st.sampled_from(family)).format(draw(st.sampled_from(names)), draw(st.sampled_from([*names, "s"])))
        if family is STORES:
            lines.append(text)
        else:
            lines.append(f"v{n} = {text}")
            names.append(f"v{n}")
    result = ", ".join(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)))
    return "import numpy as np\ndef f(a, b, s):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {result},\n"


def compiled_from(source):
    file = f"<program {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def arguments(seed, dtype=float):
    rng = np.random.default_rng(seed)
    shapes = [((3, 4), (3, 4)), ((3, 4), (4,)), ((4, 3), (4, 3)), ((3, 3), (3, 1))]
    first, second = shapes[seed % len(shapes)]
    return (rng.normal(size=first) * 2).astype(dtype), (rng.normal(size=second) * 2).astype(dtype), float(rng.normal())


def check(source, seed, dtype):
    """Plain and compiled agree; a program NumPy refuses for a reason of its own is refused with the same class."""
    check_same(compiled_from(source), *arguments(seed, dtype), rtol=1e-9)


@settings(max_examples=60, deadline=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs(), st.integers(0, 1000), st.sampled_from([np.float64, np.float64, np.int64, np.float32]))
def test_random_programs(source, seed, dtype):
    check(source, seed, dtype)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1000), st.sampled_from([np.float64, np.float64, np.int64, np.float32]))
def test_many_random_programs(source, seed, dtype):
    check(source, seed, dtype)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs(stores=False), st.integers(0, 1000))
def test_gradients_of_random_programs(source, seed):
    f = compiled_from(source)
    a, b, s = arguments(seed)

    def loss(a):
        return sum((np.cos(x) * (x > -1e300)).sum() for x in f(a, b, s) if x is not b)

    try:
        with np.errstate(all="raise"):
            value = loss(a)
    except Exception:  # a program NumPy refuses: the other tests compare how
        return
    agree(jit(loss)(a), value, rtol=1e-9)
    t = np.random.default_rng(seed).normal(size=a.shape)
    slope = float((grad(loss)(a) * t).sum())
    estimates = [(loss(a + h * t) - loss(a - h * t)) / (2 * h) for h in (1e-5, 1e-6)]
    if abs(estimates[0] - estimates[1]) < 1e-5 * (1 + abs(slope)):  # away from kinks, differences settle
        assert abs(slope - estimates[1]) < 1e-4 * (1 + abs(slope))
