"""Every message a user can meet, in golden text: the situation, the user's line, and what to write instead."""

import collections
import copy
import functools
import gc
import math
import operator
import os
import random
import re
import types

import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit, jvp, vjp, vmap
from wengert.tracer.numpy_api.operators import BINARY, COMPARE
from wengert.tracer.values.poison import Poison

V, M = np.ones(3), np.ones((2, 3))
kept = []


def branch(x):
    for i in range(3):
        y = x[None] if x[i] > 0 else -x
        for row in y:
            x = x + row.sum()
    return x


def loop(x):
    while x.sum() > 1:
        x = np.concatenate([x, x]) / 2
    return x


def asked_by_c(x):
    s = 0.0
    for v in x:
        s += len(list(filter(None, [v, v + 1])))
    return s


def use_unmerged(x):
    for i in range(3):
        if x[i] > 0:
            y = x
        else:
            y = None
        for v in y:
            x = x + v
    return x


def recursive(x):
    if x.sum() < 1:
        return x
    return recursive(x / 2)


def uncollected(f):
    """f(), without the functions that the collector calls: on a full stack they fail, and pytest tells of that."""
    gc.disable()
    try:
        return f()
    finally:
        gc.enable()


def size_of_data(x):
    return np.zeros(int(x.sum()))


async def awaited(x):
    return x


def returns_coroutine(x):
    return [awaited(x)]


def returns_generator(x):
    return numbers(x)


def many_ways(x):
    for i in (0, 1, 2, 3, 4):
        y = (x[i], None) if x[i] > 0 else (x[i],)
        x = x + len(y)
    return x


def calls_many_ways():
    f = jit(many_ways)
    for n in range(32):
        f(np.array([20.0 if n >> k & 1 else -20.0 for k in range(5)]))


def choice(x):
    if x > 0:
        return x
    return -x


def plain_array():
    return np.fromiter((0.0 for _ in range(3)), float)


def stores_outside(x):
    y = plain_array()
    for i in range(3):
        y[i] = x[i]


def leaves_try(x):
    for i in range(3):
        try:
            if x[i] > 0:
                return i
        finally:
            x[i] = 0
    return 3


def shapes(x, y):
    z = x * 2
    return z + y


KEEPING = """def keeping(x):
    kept.append(x * 2)
    return x
"""
library = {"__name__": "operator", "kept": kept}  # what passes for a pure library, and keeps what it is given
exec(compile(KEEPING, os.__file__, "exec"), library)
keeping = library["keeping"]


def leak(x):
    return keeping(x)


def use_leak(x):
    return x + kept[-1]


def outside(x):
    return np.sum(kept[-1])


def ragged(x):
    return np.sum([x, [1.0, 2.0, 3.0], [x, x]])


def growing(n):
    total = 0.0
    for _ in range(3):
        n = n + 1
        total += np.zeros(n).sum()
    return total


CASES = {
    "shapes": lambda: jit(shapes)(np.ones(3), np.ones(4)),
    "matmul": lambda: jit(lambda a, b: a @ b)(M, M),
    "branch": lambda: jit(branch)(V),
    "branch_array": lambda: jit(choice)(V),
    "while": lambda: jit(loop)(V),
    "asked_by_c": lambda: vmap(asked_by_c)(np.ones((2, 3))),
    "unmerged": lambda: jit(use_unmerged)(V),
    "recursive": lambda: uncollected(lambda: jit(recursive)(V)),
    "size_of_data": lambda: vmap(size_of_data)(np.ones((2, 3))),
    "async": lambda: jit(awaited),
    "returns_coroutine": lambda: jit(returns_coroutine)(V),
    "returns_generator": lambda: jit(returns_generator)(V),
    "many_ways": calls_many_ways,
    "stores_outside": lambda: jit(stores_outside)(V),
    "leaves_try": lambda: jit(leaves_try)(V),
    "index_of_list": lambda: vmap(lambda x: "abc"[x.argmax()])(np.ones((2, 3))),
    "range_of_traced": lambda: vmap(lambda x: sum(range(x.argmax())))(np.ones((2, 3))),
    "traced_slice_step": lambda: jit(lambda x: x[:: x.argmax()])(V),
    "size_without_bound": lambda: vmap(growing)(np.arange(3)),
    "lengths_differ": lambda: jit(lambda x, n: x[:n] + np.ones(2))(V, np.int64(3)),
    "nothing_selected": lambda: jit(lambda x: x[x > 9].max())(V),
    "array_of_traced": lambda: jit(lambda x: np.broadcast(x, x))(V),
    "unknown_function": lambda: jit(lambda x: np.isnat(x))(V),
    "unknown_method": lambda: jit(lambda x: x.tobytes())(V),
    "unknown_length": lambda: vmap(lambda x: np.fft.fft(x[x > 0]))(np.ones((2, 3))),
    "masked_store_of_many": lambda: store_many(),
    "object_array": lambda: jit(lambda x: x)(np.array([1, "a"], object)),
    "string_array": lambda: jit(lambda x: x)(np.array(["a"])),
    "ragged_list": lambda: jit(ragged)(1.0),
    "consumed": lambda: jit(lambda x, s: x * sum(s.g))(1.0, types.SimpleNamespace(g=iter([1.0]))),
    "changed_by_c": lambda: jit(lambda x, c: (c.update("a"), x)[1])(V, collections.Counter()),
    "foreign_operand": lambda: jit(lambda x: np.hypot(x, "a"))(V),
    "static_index": lambda: jit(lambda x: x[5])(V),
    "traced_index": lambda: jit(lambda x, i: x[i])(V, np.array([7])),
    "read_only": lambda: read_only(),
    "complex_store": lambda: complex_store(),
    "out_untraced": lambda: jit(lambda x: np.add(x, 1, out=plain_array()))(V),
    "leak": lambda: (jit(leak)(V), jit(use_leak)(V)),
    "leak_outside": lambda: (jit(leak)(V), outside(V)),
    "zero_division": lambda: jit(lambda a, b: a / b)(1.0, 0.0),
    "loss_not_scalar": lambda: grad(lambda x: x * 2)(V),
    "loss_of_integers": lambda: grad(lambda x: x.argmax())(V),
    "loss_complex": lambda: grad(lambda x: x.sum() * 1j)(V),
    "integer_argument": lambda: grad(lambda x: x.sum())(np.arange(3)),
    "integer_in_tree": lambda: grad(lambda p: p["w"].sum())({"w": V, "n": np.arange(3)}),
    "no_such_argument": lambda: grad(lambda x: x.sum(), argnums="w")(V),
    "called_too_early": lambda: grad(3.0),
    "jit_of_a_number": lambda: jit(3),
    "cotangent": lambda: vjp(np.sin, V)[1](np.ones(2)),
    "tangent": lambda: jvp(np.sin, (V,), (np.ones(3, np.float32),)),
    "casting": lambda: jit(lambda x: np.add(x, 1.5, out=x))(np.arange(3)),
    "random": lambda: jit(lambda x: x + random.choice([x, x]))(V),
    "generator": lambda: jit(numbers)(V),
    "device": lambda: jit(lambda x: x, device="tpu9"),
}  # fmt: skip


def numbers(x):
    yield x


def store_many():
    def f(x):
        x[x > 0] = np.array([1.0, 2.0])

    jit(f)(V.copy())


def read_only():
    v = V.copy()
    v.flags.writeable = False

    def f(x):
        x[0] = 1.0

    jit(f)(v)


def complex_store():
    def f(x):
        x[0] = 1j

    jit(f)(V.copy())


@pytest.mark.parametrize("name", CASES)
def test_message(name, golden):
    kept.clear()
    with pytest.raises(Exception) as caught:
        CASES[name]()
    error = caught.value
    text = re.sub(r"  at \S*?([\w.]+\.py):", r"  at \1:", "\n".join([str(error), *getattr(error, "__notes__", [])]))
    text = re.sub(r"test_errors\.py:\d+", "test_errors.py:LINE", text)
    text = text.replace("float division by zero", "division by zero")  # which Python 3.14 says
    assert len(text.splitlines()) <= 8
    golden(f"errors/{name}.txt", f"{type(error).__name__} ({', '.join(c.__name__ for c in type(error).__mro__[1:-3])})\n{text}")


ASKING = {
    round, math.floor, math.ceil, math.trunc, operator.index, complex, float, int, bool, len, iter, next, reversed, hash, str, format, abs, sum, list,
    sorted, bytes, copy.copy, copy.deepcopy, np.asarray, np.round, np.sin, np.stack, math.sqrt, operator.methodcaller("sum"), range, max,
    *(getattr(operator, name) for name in "neg pos invert not_ truth".split()),
}  # fmt: skip
BETWEEN = (divmod, pow, *(getattr(operator, n) for n in operator.__all__ if n in BINARY or n in COMPARE or n[0] == "i" and n[1:] in BINARY))


@pytest.mark.parametrize("other", [3, 2.5, np.float32(1), V, [1], (1,), None], ids=repr)
def test_nothing_is_answered_by_what_was_not_merged(other):
    """Python's and NumPy's ways of asking a thing raise what the message says, as any use does."""
    thing = Poison("y is two things")
    for ask in (*ASKING, *(functools.partial(f, other) for f in BETWEEN), *(lambda x, f=f: f(x, other) for f in BETWEEN)):
        with pytest.raises(UnsupportedError, match="y is two things"):
            ask(thing)


def test_the_line_is_the_users():
    with pytest.raises(ValueError) as caught:
        jit(shapes)(np.ones(3), np.ones(4))
    line = shapes.__code__.co_firstlineno + 2
    assert f"test_errors.py:{line}\n    return z + y" in "\n".join(caught.value.__notes__)


def test_our_frames_are_not_in_the_traceback():
    with pytest.raises(ValueError) as caught:
        jit(shapes)(np.ones(3), np.ones(4))
    files = {os.path.basename(os.path.dirname(str(entry.path))) for entry in caught.traceback}
    assert "numpy_api" not in files and "ir" not in files
