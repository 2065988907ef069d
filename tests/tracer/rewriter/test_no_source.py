"""Functions without source: loops are captured through the function's own bytecode, branches on data say what is missing."""

import copy

import numpy as np
import pytest
from compare import agree

from wengert import ConcretizationError, UnsupportedError, grad, jit
from wengert.tracer.common.errors import CannotRoll

SOURCE = '''
import numpy as np
from numpy import zeros as nothing

K = 3.0

def plain(x):
    s = 0.0
    for i in range(100):
        s = s + x * i
    return s

def rows(A):
    s = 0.0
    for row in A:
        s = s + row.sum() * K
    return s

def nested(A):
    n, m = A.shape
    B = np.zeros((n, m))
    t = nothing(m)
    for i in range(n):
        for j in range(m):
            B[i, j] = A[i, j] * 2 + i * j
            t[j] += B[i, j]
    return B, t

def temporaries(A):
    acc = np.zeros(3)
    for k in range(50):
        tmp = A[k] * 2
        q = tmp.sum()
        acc += tmp * q
    return acc, q, k

def several(A):
    s = 0.0
    for k, (a, b) in enumerate(zip(A, A)):
        s += (k * a * b).sum()
    return s

def otherwise(x):
    s = 0.0
    for i in range(100):
        s += x
    else:
        s = -s
    return s + i

def unwinds(x):
    s = 0.0
    for i in range(100):
        try:
            s += x
        finally:
            s = s * 0.5
    return s

def inside_with(x):
    s = 0.0
    with np.errstate(all="ignore"):
        for i in range(100):
            s += x * i
    return s

def helper(x, n):
    for i in range(n):
        x = x * 1.01
    return x

def calls(x):
    s = 0.0
    for i in range(30):
        s += helper(x, 20)
    return s

def in_while(x):
    n = 0
    while n < 5:
        n += 1
        for i in range(100):
            x = x + i
    return x

def writes(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x

def deep(A):
    s = 0.0
    for a in range(4):
        for b in range(3):
            for c in range(6):
                for d in range(7):
                    s += A[a, b] * c * d
    return s

def counted(x):
    s = 0.0
    for i in range(int(x)):
        s += x
    return s

def swaps(a, b):
    for i in range(51):
        a, b = b, a
    return a - b

def leaves(x):
    s = 0.0
    for i in range(40):
        s += x
        if i == 5:
            return s

def breaks(x):
    s = 0.0
    for i in range(40):
        if i == 5:
            break
        s += x
    return s, i

def caught(x):
    s = 0.0
    try:
        for i in range(20):
            s += x
            if i == 3:
                raise ValueError
    except ValueError:
        s = s + 100 * i
    return s

def listed(x):
    made = []
    for i in range(20):
        made.append(i)
    return x * sum(made), [x * i for i in range(5) for j in range(2)]

def captures(x):
    y, s = 2.0, 0.0
    f = lambda v: v * y
    for i in range(30):
        s += f(x)
    return s

def rebinds(x):
    total = x * 0.0
    def inner():
        nonlocal total
        for i in range(40):
            total = total + x * i
    inner()
    return total

def global_loop(x):
    global K
    for i in range(3):
        K = K + 0.0
    return x * K

def tuples(x):
    return sum(tuple(x)), [row for row in x], max(list(range(3)))

def closure():
    level = 2.0
    def inner(x):
        s = 0.0
        for i in range(64):
            s += x * level
        return s
    return inner

def data(x):
    if x > 0:
        return x
    return -x

def long_exit(x):
    s = 0.0
    for i in range(1000):
        s += x
        if s > 30:
            break
    return s
'''
SPACE = {"__name__": "sourceless"}
exec(compile(SOURCE, "<sourceless>", "exec"), SPACE)
A = np.random.default_rng(0).normal(size=(50, 3))
ROLLED = [
    ("plain", 1.5), ("rows", A), ("nested", A[:5]), ("temporaries", A), ("several", A), ("otherwise", 1.5), ("inside_with", 1.5), ("calls", 1.5),
    ("in_while", 1.5), ("writes", A[:, 0].copy()), ("deep", A), ("counted", 7.5),
]  # fmt: skip
WRITTEN_OUT = [
    ("unwinds", 1.5), ("swaps", A[0].copy(), A[1].copy()), ("leaves", 1.5), ("breaks", 1.5), ("caught", 1.5), ("listed", 1.5), ("captures", 1.5),
    ("rebinds", 1.5), ("global_loop", 1.5), ("tuples", A[0].copy()),
]  # fmt: skip


def check(function, *args):
    plain, compiled = copy.deepcopy(args), copy.deepcopy(args)
    want, made = function(*plain), jit(function)
    agree(made(*compiled), want)
    agree(compiled, plain)
    return made


@pytest.mark.parametrize("case", ROLLED, ids=lambda c: c[0])
def test_loops_are_captured_whole(case):
    name, *args = case
    made = check(SPACE[name], *args)
    assert " loop " in str(made.ir(*copy.deepcopy(args)))


@pytest.mark.parametrize("case", WRITTEN_OUT, ids=lambda c: c[0])
def test_other_loops_run_as_they_are(case):
    name, *args = case
    check(SPACE[name], *args)


def test_closures():
    assert " loop " in str(check(SPACE["closure"](), 1.5).ir(1.5))


def test_globals_stay_live(monkeypatch):
    made = jit(SPACE["rows"])
    agree(made(A), SPACE["rows"](A))
    monkeypatch.setitem(SPACE, "K", 5.0)
    agree(made(A), SPACE["rows"](A))


def test_a_branch_on_data_names_what_is_missing():
    f, plain = jit(SPACE["data"]), SPACE["data"]
    assert [f(x) for x in (1.0, -1.0)] == [plain(x) for x in (1.0, -1.0)]  # by value
    with pytest.raises(ConcretizationError, match="the source of data is not at hand"):
        grad(plain)(1.0)


def test_a_long_loop_left_on_data_is_refused():
    with pytest.raises((CannotRoll, ConcretizationError, UnsupportedError)):
        jit(SPACE["long_exit"])(0.001)  # more trips than there are choices by value


def test_missing_names_raise_name_error():
    space = {}
    exec("def f(x):\n    return nowhere(x)", space)
    with pytest.raises(NameError, match="nowhere"):
        jit(space["f"])(1.0)


def test_the_line_of_an_error_in_a_captured_loop():
    space = {}
    exec(compile("def f(x):\n    s = 0.0\n    for i in range(9):\n        s += x\n        s += x[9, 9]\n    return s", "<lines>", "exec"), space)
    with pytest.raises(IndexError) as caught:
        jit(space["f"])(np.ones((3, 3)))
    tb = caught.value.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    assert (tb.tb_frame.f_code.co_filename, tb.tb_lineno, tb.tb_frame.f_code.co_name) == ("<lines>", 5, "f")
