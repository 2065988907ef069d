"""The classes that NumPy gives to results of instances of subclasses: every example of the catalogue, against NumPy itself."""

import numpy as np
import pytest
from compare import agree
from subclasses import laid_open

import wengert
from wengert import jit
from wengert.tracer.catalogue import run


class Bare(np.ndarray):
    pass


class Counted(np.ndarray):
    """How many instances stand in the line from an argument to a result is seen."""

    def __array_finalize__(self, of):
        self.steps = getattr(of, "steps", 0) + 1


def drawn(example):
    return "rng" in example.operands or "random" in example.text or not example.operands


EXAMPLES = [e for e in run.examples() if not drawn(e)]
REFUSED = 0.12  # bound: share of the examples that are captured of plain arrays, and refused of instances


def arguments(example, kind):
    given = run.operands()
    found = [given[name] for name in example.operands]
    return [x.view(kind) if isinstance(x, np.ndarray) and x.dtype.kind != "M" and kind else x for x in found]


def outcome(f, args):
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except wengert.UnsupportedError:
            raise
        except Exception as error:
            return error


def compared(example, kind):
    """True where an example agrees with NumPy, None where it is refused, of plain arrays too or of instances alone (False)."""
    f = run.function_of(example)
    try:
        jit(f)(*arguments(example, None))
    except Exception:
        return None
    args, plain = arguments(example, kind), arguments(example, kind)
    try:
        got = outcome(jit(f), args)
    except wengert.UnsupportedError:
        return False
    want = outcome(f, plain)
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{example.text}: {got!r:.100} against {want!r:.100}"
    else:
        agree(laid_open([got, args]), laid_open([want, plain]), 1e-9)
    return True


@pytest.mark.as_numpy
@pytest.mark.parametrize("kind", [Bare, Counted])
@pytest.mark.parametrize("part", range(3))
def test_every_fourth_example_has_numpys_class(kind, part):
    found = [compared(example, kind) for example in EXAMPLES[part :: 12 if kind is Bare else 13]]
    assert found.count(False) <= 2 * REFUSED * found.count(True)


@pytest.mark.slow
@pytest.mark.as_numpy
@pytest.mark.parametrize("kind", [Bare, Counted])
def test_every_example_has_numpys_class(kind):
    found = [compared(example, kind) for example in EXAMPLES]
    assert found.count(False) <= REFUSED * (found.count(True) + found.count(False))
