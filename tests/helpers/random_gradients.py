"""Random programs with control flow and stores, differentiated: reverse mode against forward mode along a random direction, and both against
central differences of plain Python. `run` also takes straight lines and loops over rows, of which those without stores are differentiated by
`jax.grad` as well, as functions of jax.numpy.

`python tests/helpers/random_gradients.py FIRST LAST [--xla]` prints each seed that differs, and a tally. Programs run as generated
NumPy unless --xla.
"""

import argparse
import collections
import contextlib
import copy
import re
import warnings
from unittest import mock

import jax
import numpy as np
from draws import Found, reason
from random_flow import Program, arguments, function, program
from sums import Sums, sums_arguments

from wengert import Fallback, grad, jvp
from wengert.backends.xla import dispatch
from wengert.tracer.common.errors import WengertError

CLOSE = 1e-7
STEP = 1e-5  # of the differences: half of it, and twice, have to say the same, or there is a kink near by


def loss_of(f):
    """The sum of the sines of all numbers that a program returns, and of those of its arguments as it leaves them."""

    def loss(*args):
        total = 0.0
        for x in (*f(*args), *args):
            if isinstance(x, np.ndarray | float | np.floating) or getattr(x, "dtype", None) == np.float64:
                total = total + np.sin(x).sum()
        return total

    return loss


def outcome(seed):
    """agree, "refused: why", raises, or how the two modes, and differences of plain Python, differ."""
    return slopes_of(loss_of(function(Program(seed).text, seed)), arguments(seed), seed)


def slopes_of(loss, given, seed):
    where = tuple(i for i, x in enumerate(given) if isinstance(x, np.ndarray))
    rng = np.random.default_rng(seed)
    directions = tuple(rng.normal(size=np.shape(x)) if i in where else 0.0 for i, x in enumerate(given))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", Fallback)
            warnings.simplefilter("ignore", RuntimeWarning)
            slopes = grad(loss, argnums=where)(*copy.deepcopy(given))
            _, want = jvp(loss, copy.deepcopy(given), directions)
    except (WengertError, Fallback) as error:
        return f"refused: {error}"
    except (IndexError, ValueError, ZeroDivisionError, OverflowError, UnboundLocalError):
        return "raises"  # as the program does
    got = sum(float((g * directions[i]).sum()) for g, i in zip(slopes, where))
    size = sum(float(np.abs(g * directions[i]).sum()) for g, i in zip(slopes, where))
    if np.isfinite(got) and np.isfinite(want) and abs(got - want) > CLOSE * max(size, 1e-3):
        return f"differs: {got} in reverse, {want} forwards"
    near, far = differences(loss, given, directions)
    if abs(near - far) < 1e-5 * max(abs(near), 1e-3) and abs(got - near) > 1e-3 * max(abs(near), 1e-3):
        return f"differs: {got} in both modes, {near} by differences"
    return "agree"


def differences(loss, given, directions):
    """Slopes of plain Python along the directions, from two steps."""

    def at(t):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return loss(*copy.deepcopy(tuple(x + t * d if isinstance(x, np.ndarray) else x for x, d in zip(given, directions))))

    try:
        return tuple(float((at(h) - at(-h)) / (2 * h)) for h in (STEP / 2, STEP * 2))
    except (ArithmeticError, IndexError, ValueError, UnboundLocalError):
        return np.nan, np.nan


class Jax(Sums):
    """Those of the straight lines that are functions of jax.numpy as they stand."""

    def statement(self):
        while True:
            lines = super().statement()
            if len(lines) == 1 and re.match(r"\w+ =", lines[0]):
                return lines


def by_jax(seed):
    """`outcome` of a straight line beside jax.grad of the same text."""
    text, given = Jax(seed).text, sums_arguments(seed)
    loss = loss_of(function(text, seed))
    space = {}
    exec(text.replace("import numpy as np", "import jax.numpy as np"), space)
    with jax.enable_x64(True):
        want = jax.grad(lambda *args: sum(jax.numpy.sin(x).sum() for x in (*space["f"](*args), *args[:4], args[4])), argnums=(0, 1, 2, 3))(*given)
    got = grad(loss, argnums=(0, 1, 2, 3))(*copy.deepcopy(given))
    for g, w, name in zip(got, map(np.asarray, want), "abxy"):
        finite = np.isfinite(g) & np.isfinite(w)
        if g.dtype != w.dtype or np.any(np.abs(g - w)[finite] > 1e-6 * max(1e-3, np.max(np.abs(w), initial=0, where=finite))):
            return f"differs: by {name} the largest difference from jax.grad is {np.max(np.abs(g - w)[finite])}"
    return "agree"


def run(seed, engine="numpy"):
    """What draws.py asks of a family."""
    kind = seed % 4
    if kind < 2:
        said, text = outcome(seed), Program(seed).text
    elif kind == 2:
        said, text = by_jax(seed), Jax(seed).text
    else:
        said, text = slopes_of(loss_of(function(Sums(seed).text, seed)), sums_arguments(seed), seed), Sums(seed).text
    head, _, why = said.partition(":")
    return Found.of("" if head == "raises" else f"refused: {reason(why.strip())}" if head == "refused" else said, text, 1 if kind == 2 else 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--xla", action="store_true")
    asked = parser.parse_args()
    tally = collections.Counter()
    with contextlib.nullcontext() if asked.xla else mock.patch.object(dispatch, "program", program):
        for seed in range(asked.first, asked.last):
            try:
                found = outcome(seed)
            except Exception as error:  # whatever is raised is a finding
                found = f"fails: {type(error).__name__}: {error}"
            if found.partition(":")[0] not in ("agree", "refused", "raises"):
                print(seed, found[:300], flush=True)
            tally[found.partition(":")[0]] += 1
    print(asked.first, asked.last, dict(tally))


if __name__ == "__main__":
    main()
