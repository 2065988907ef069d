"""Class patterns of `match`: which class a thing is of is what Python says of it, not of what stands for it in a trace."""

import dataclasses

import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError


@dataclasses.dataclass
class Point:
    x: object
    y: float


class Other(Point):
    pass


def alone(x):
    match x:
        case float():
            return 2.0 * x
        case int():
            return x + 3
        case np.ndarray():
            return (x * 5).sum()
        case list() | tuple():
            return x[0] * 7
        case Other():
            return x.x * x.y
        case Point():
            return x.x - x.y
        case _:
            return -x


def with_guard(x):
    match x:
        case np.ndarray() if x.ndim == 2:
            return x.sum()
        case np.ndarray() | float() if x.sum() > 0 if isinstance(x, np.ndarray) else x > 1:
            return x * 2
        case _:
            return x * 3


def in_method_order(x):
    out = []
    for part in (x, 2.0, [x]):
        match part:
            case np.generic() | float():
                out.append(1)
            case np.ndarray():
                out.append(2)
            case _:
                out.append(3)
    return x * out[0] + out[1] * 10 + out[2]


THINGS = [np.ones(3), np.ones((2, 2)), np.float64(2.0), 2.0, 0.5, 3, np.float32(2.0), [1.0, 2.0], (3.0,), Point(2.0, 3.0), Other(2.0, 3.0),
          -np.ones(2), np.int64(4)]  # fmt: skip


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("x", THINGS, ids=lambda x: f"{type(x).__name__}{getattr(x, 'shape', '')}")
def test_classes_alone(x, whole):
    f = jit(alone, whole=whole)
    for _ in range(2):
        agree(f(x), alone(x))


@pytest.mark.parametrize("x", [t for t in THINGS if isinstance(t, np.ndarray | float)], ids=repr)
def test_classes_with_guards_and_in_order(x):
    for function in (with_guard, in_method_order):
        agree(jit(function, whole=False)(x), function(x))


def test_other_things_shadow_nothing():
    def f(x, isinstance=None):
        subject = 1
        match x:
            case np.ndarray():
                return x * subject
        return None

    agree(jit(f)(np.ones(2)), np.ones(2))


def with_parts(x):
    match x:
        case np.ndarray(ndim=1):
            return x * 2
        case float(y):
            return y * 3
        case np.ndarray() as z:
            return z * 4
    return x


def within_parts(x):
    match x:
        case Point(x=np.ndarray()):
            return x.x * 2
        case [float(), *_]:
            return x[0] * 3
        case (Point() | np.ndarray()) as z:
            return z
        case Point(x=a):
            return a * 5
    return x


@pytest.mark.parametrize("function", [with_parts, within_parts])
@pytest.mark.parametrize("x", THINGS, ids=repr)
def test_classes_with_parts(function, x, falling_back):
    agree(jit(function, whole=False)(x), function(x))


def test_what_is_refused_says_how_to_write_it():
    with pytest.raises(UnsupportedError, match=r"Write case C\(\): without parts, or if isinstance\(x, C\)"):
        jit(with_parts)(np.ones(2))
    made = lambda x: within_parts(Point(x * 2, 1.0))
    with pytest.raises(UnsupportedError, match="a class pattern with parts"):
        jit(made)(np.ones(2))
    agree(jit(made, whole=False)(np.ones(2)), made(np.ones(2)))
