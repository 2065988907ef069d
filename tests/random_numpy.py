"""Random calls of every captured NumPy name: value, dtype, shape, kind, exception and memory as NumPy has them.

`python tests/random_numpy.py FIRST LAST` draws those seeds of every name, prints each call that differs, and a tally.
--only PATTERN: names that match. --xla: by XLA, where the default runs the programs as generated NumPy (dtypes, kinds, errors; fast).
"""

import argparse
import collections
import contextlib
import copy
import linecache
import re
import signal
import warnings
from unittest import mock

import numpy as np
from calls import draw, names
from random_flow import Slow, program

from wengert import jit
from wengert.backends.xla import dispatch
from wengert.tracer.errors import Fallback, WengertError

WIDTHS = {1: 0, 2: 4e-3, 4: 2e-5, 8: 1e-10}

EXPLAINED = [  # (calls, difference, why): what may differ from NumPy, and is said in docs/semantics.md
    (r"empty", r"values", "np.empty gives zeros"),
    (r"^(ndarray\.)?(arg)?partition:", r"values", "what stands on either side of the k-th is in no order that NumPy promises"),
    (r"^linalg\.eig(vals)?:|^roots:|^poly:", r"dtype",
    "NumPy's eigenvalues are real where the data makes them so; a program has one dtype, the complex one"),
    (r"^power\.reduce", r"values|gives", "NumPy 2.4 gives the first number to the power of the last for rows of floats: a fault of its own"),
    (r"", r"^gives .*NumPy raises AttributeError",
    "lists and Python numbers are arrays here, where NumPy's Python code asks them for what they have not"),
    (r"out=", r"raises ShapeError\('output parameter", "an `out` over which NumPy would repeat the result"),
    (r"out=", r"^kind: (ndarray for \w+|\w+ for ndarray)$",
    "functions of a NumPy scalar give a scalar in the place of `out`, or `out`, as they happen to be written"),
    (r"compress", r"^raises IndexError", "a condition longer than the axis, of which NumPy looks only at what is true"),
    (r"fftshift|roll", r"not enough values to unpack", "NumPy's roll of a number"),
    (r"split", r"for TypeError", "a Python number in the place of an array: another exception"),
    (r"^(polyfit|linalg.lstsq)", r"shape", "residuals are left out where the rank, which is data, is not full"),
    (r"^fft|^trapezoid", r"values.*(inf|nan)", "where a part of a complex number is infinite or NaN, so may the other be"),
    (r"^polymul:", r"shape|empty", "NumPy drops leading zeros first, so the length depends on data; nothing is dropped here"),
    (r"^(dot|matmul|@|inner|vdot|tensordot|einsum|kron|linalg\.\w+|vecdot|vecmat|matvec|convolve|correlate)", r"values.*(inf|nan)",
    "inf and NaN in products of complex numbers: BLAS has rules of its own"),
]


def function(d, seed):
    """The call as a function with a source of its own."""
    file = f"<call {d.name} {seed}>"
    linecache.cache[file] = (len(d.source), None, d.source.splitlines(True), file)
    space = {"np": np}
    exec(compile(d.source, file, "exec"), space)
    return space["f"]


def attempt(f, operands):
    """(result, the operands afterwards, exception)."""
    given = copy_of(operands)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*given), given, None
        except Exception as error:
            return None, given, error


def copy_of(operands):
    """Copies in the layout of the originals."""
    return [relaid(x) if isinstance(x, np.ndarray) else copy.copy(x) for x in operands]


def relaid(x):
    """A copy with the strides of x, in memory of its own."""
    if not x.size or x.base is None:
        return x.copy("K")
    owner = x.base.copy("K")
    start = x.__array_interface__["data"][0] - x.base.__array_interface__["data"][0]
    return np.ndarray(x.shape, x.dtype, owner.data if owner.flags.c_contiguous else owner.T.data, start, x.strides)


def compare(got, want, where=""):
    """What differs between two results, as a text; empty where nothing does."""
    if type(got) is not type(want):
        return f"kind{where}: {type(got).__name__} for {type(want).__name__}"
    if isinstance(want, tuple | list):
        if len(got) != len(want):
            return f"length{where}: {len(got)} for {len(want)}"
        return next((found for k, (g, w) in enumerate(zip(got, want)) if (found := compare(g, w, f"{where}[{k}]"))), "")
    if isinstance(want, np.ndarray | np.generic):
        if got.dtype != want.dtype:
            return f"dtype{where}: {got.dtype} for {want.dtype}"
        if got.shape != want.shape:
            return f"shape{where}: {got.shape} for {want.shape}"
        return "" if close(got, want) else f"values{where}: {got.tolist()!r:.120} for {want.tolist()!r:.120}"
    if isinstance(want, float | complex):
        return "" if close(np.asarray(got), np.asarray(want)) else f"values{where}: {got} for {want}"
    return "" if got == want or isinstance(want, np.dtype | type) and got is want else f"values{where}: {got!r:.60} for {want!r:.60}"


def close(got, want):
    if want.dtype.kind not in "fc":
        return np.array_equal(got, want)
    width = want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1)
    if want.dtype.kind == "c":
        return close(got.real, want.real) and close(got.imag, want.imag) or bool(np.all(np.isfinite(want)) and near(got, want, width))
    return near(got, want, width)


def near(got, want, width):
    """Equal, both NaN, or within rounding of the largest number there is."""
    finite = np.abs(want[np.isfinite(want)]) if want.ndim else np.abs(want) if np.isfinite(want) else np.zeros(0)
    scale = np.max(finite, initial=1e-300)
    with np.errstate(all="ignore"):
        ok = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= WIDTHS.get(width, 1e-10) * max(float(scale), 1e-3))
    return bool(np.all(ok))


def public(error):
    """The class a program can name: NumPy's private ones stand for their public base."""
    return next(c for c in type(error).__mro__ if not c.__name__.startswith(("_", "UFuncTypeError")))


def outcome(name, seed):
    """(verdict, detail, call): agree, refused, explained or different."""
    d = draw(name, seed)
    f = function(d, seed)
    operands = list(d.operands.values())
    want, plain, error = attempt(f, operands)
    got, mine, raised = attempt(jit(f), operands)
    found = difference(want, plain, error, got, mine, raised, operands)
    if found and found != "refused":
        for calls, kind, why in EXPLAINED:
            if re.search(calls, f"{d.name}: {d.text}") and re.search(kind, found):
                return "explained", why, d
    return ("agree" if not found else found if found == "refused" else "different"), found if found != "refused" else str(raised), d


def difference(want, plain, error, got, mine, raised, operands):
    if raised is not None:
        if error is None:
            return "refused" if isinstance(raised,
                WengertError) and type(raised).__name__ != "ShapeError" else f"raises {raised!r:.150}".replace("\n", " ")
        if not isinstance(raised, public(error)):
            return "refused" if isinstance(raised, WengertError) else f"raises {raised!r:.100} for {error!r:.100}".replace("\n", " ")
        return compare(mine, copy_of(operands), " of what was written before it raised ")
    if error is not None:
        return f"gives {got!r:.80}, NumPy raises {error!r:.100}".replace("\n", " ")
    return compare(got, want) or compare(mine, plain, " of operands ")


def limited(name, seed, seconds=20):
    """`outcome`, or "slow" after so many seconds."""

    def stop(*_):
        raise Slow

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return outcome(name, seed)
    except Slow:
        return "slow", "", None
    finally:
        signal.alarm(0)


def quick(by_xla=False):
    """Programs as generated NumPy in the place of XLA."""
    return contextlib.nullcontext() if by_xla else mock.patch.object(dispatch, "program", program)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--refused", action="store_true")
    given = parser.parse_args()
    tally, refusals = collections.Counter(), collections.Counter()
    warnings.simplefilter("ignore", Fallback)
    with quick(given.xla):
        for name in names():
            if not re.search(given.only, name):
                continue
            for seed in range(given.first, given.last):
                verdict, detail, d = limited(name, seed)
                tally[verdict] += 1
                if verdict == "refused":
                    refusals[name, detail.splitlines()[0][:110]] += 1
                elif verdict in ("different", "slow"):
                    types = ", ".join(f"{k}: {getattr(v, 'dtype', type(v).__name__)}{list(np.shape(v))}" for k, v in d.operands.items()) if d else ""
                    print(f"{name} {seed}: {d.text if d else ''}  [{types}]\n      {detail}", flush=True)
    if given.refused:
        for (name, why), count in sorted(refusals.items()):
            print(f"refused {count:4} {name}: {why}")
    print(given.first, given.last, dict(tally), f"{len(names())} names", flush=True)


if __name__ == "__main__":
    main()
