"""Random programs with control flow and stores, differentiated: reverse mode against forward mode along a random direction.

`python tests/random_gradients.py FIRST LAST [--xla]` prints each seed that differs, and a tally. Programs run as generated NumPy unless --xla.
"""

import argparse
import collections
import contextlib
import copy
import warnings
from unittest import mock

import numpy as np
from random_flow import Program, arguments, function, program

from wengert import Fallback, grad, jvp
from wengert.backends.xla import dispatch
from wengert.tracer.errors import WengertError

CLOSE = 1e-7


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
    """agree, refused, or how the two modes differ."""
    loss, given = loss_of(function(Program(seed).text, seed)), arguments(seed)
    where = tuple(i for i, x in enumerate(given) if isinstance(x, np.ndarray))
    rng = np.random.default_rng(seed)
    directions = tuple(rng.normal(size=np.shape(x)) if i in where else 0.0 for i, x in enumerate(given))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", Fallback)
            warnings.simplefilter("ignore", RuntimeWarning)
            slopes = grad(loss, argnums=where)(*copy.deepcopy(given))
            _, want = jvp(loss, copy.deepcopy(given), directions)
    except (WengertError, Fallback):
        return "refused"
    except (IndexError, ValueError, ZeroDivisionError, OverflowError, UnboundLocalError):
        return "raises"  # as the program does
    got = sum(float((g * directions[i]).sum()) for g, i in zip(slopes, where))
    size = sum(float(np.abs(g * directions[i]).sum()) for g, i in zip(slopes, where))
    if np.isfinite(got) and np.isfinite(want) and abs(got - want) > CLOSE * max(size, 1e-3):
        return f"differs: {got} in reverse, {want} forwards"
    return "agree"


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
            if found not in ("agree", "refused", "raises"):
                print(seed, found[:300], flush=True)
            tally[found.partition(":")[0]] += 1
    print(asked.first, asked.last, dict(tally))


if __name__ == "__main__":
    main()
