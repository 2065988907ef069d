"""Random calls of every captured NumPy name: value, dtype, shape, kind, exception and memory as NumPy has them.

`python tests/helpers/random_numpy.py FIRST LAST` draws those seeds of every name, prints each call that differs, and a tally.
--only PATTERN: names that match. --xla: by XLA, where the default runs the programs as generated NumPy (dtypes, kinds, errors; fast).
--straight: what the second call gives of programs that are one generated function; --straight nests: and of them as nests.
Calls run in a process of their own, which is ended where one takes too long: NumPy itself may spin in C.
"""

import argparse
import ast
import collections
import contextlib
import copy
import linecache
import multiprocessing
import re
import warnings
from unittest import mock

import numpy as np
from calls import draw, names
from random_flow import program

from wengert import jit
from wengert.backends.xla import dispatch
from wengert.tracer.common.errors import WengertError
from wengert.tracer.program import backend_choice

ULPS = 4  # so far may an element be from NumPy's, in units of its last place: NumPy's own vectors and scalars differ by two
POWER = 64  # times as far for complex powers by XLA: exp(y log x) has the rounding of the logarithm y log x times
ROUNDINGS = {2: 4, 4: 64, 8: 256}  # and, by its width, an element of what is summed: times epsilon, times the sum of the operands' magnitudes
SUMMED = (  # names whose results come of several roundings; an element of any other is one number's function, or a copy
    r"sum|mean|average|var\b|std\b|prod|dot|matmul|^@|inner|einsum|kron|trace|linalg|fft|poly|roots|convolve|correlate|cov|corrcoef|interp|"
    r"percentile|quantile|median|trapezoid|gradient|histogram|unwrap|space$|^pad|i0|sinc|reduce|accumulate|\.at$|vec|cross|apply|vander"
)

EXPLAINED = [  # (calls, difference, why): what may differ from NumPy, and is said in docs/semantics.md
    (r"", r"^the exception of the other mistake$", "of a call with two mistakes it is open which of the two exceptions is raised"),
    (r"", r"^other vectors", "vectors of eigenvalues and singular values, given only up to a factor"),
    (r"^empty_like:|^pad:.*mode='empty'", r"^zeros", "np.empty gives zeros"),
    (r"", r"^in order", "an order that NumPy does not promise"),
    (r"^roots:", r"^near roots", "roots that lie near each other move by the square root of a rounding"),
    (r"^\w+\.at:.*np\.(nan|inf).*\[a: u?int", r"^values", "casts of NaN within ufunc.at: NumPy's buffers cast four at a time, or one by one"),
    (r"^(float_)?power", r"^values not finite", "minus infinity to the power one half, by a square root or not"),
    (r"", r"^element by element", "NumPy's vectorised power and arctan2 combine other elements than a reduction asks for: a fault of its own"),
    (r"", r"^of a list or number", "lists and Python numbers are arrays here, where NumPy's Python code asks them for what they have not"),
    (r"^(\w+\.(reduceat|accumulate)|(ndarray\.)?(nan)?cum(sum|prod)|cumulative_(sum|prod)):.*out=", r"raises ShapeError\(.output parameter",
    "NumPy writes into a corner of a larger `out`"),
    (r"^fft\.(ir|h)fft.*\[(.*, )?0[,\]]", r"^values", "NumPy's irfft and hfft of no numbers reads memory that nobody wrote"),
    (r"^(linalg\.)?(vecdot|matvec|vecmat|matmul):.*out=", r"raises ShapeError\(.non-broad", "NumPy puts the one product into a smaller `out`"),
    (r"^isin:", r"NumPy raises MemoryError", "NumPy makes a table of all numbers between the least and the greatest"),
    (r"^unpackbits:.*count=.*\[(.*, )?0[,\]]", r"^values", "NumPy's unpackbits of no bytes, and with a count, reads memory that nobody wrote"),
    (r"^(nan)?(median|quantile|percentile):.*out=", r"raises ShapeError\(.output parameter", "NumPy repeats quantiles over a larger `out`"),
    (r"", r"^without partial results", "NumPy keeps partial results in an `out` of another dtype, and loses digits there"),
    (r"^piecewise:.*lambda t: -t.*bool", r"^raises TypeError\('The numpy boolean negative", "NumPy calls no piece that no element takes"),
    (r"^fft\..*out=", r"cannot hold a step of shape", "NumPy repeats a step of the transform over `out`, and transforms that"),
    (r"10\*\*20", r"for (TypeError\(\"Cannot cast scalar from dtype\('O'\)|OverflowError\('Python int too large)",
    "Python integers beyond 64 bits are objects to NumPy"),
    (r"^fft|^trapezoid", r"^values not finite", "where a part of a complex number is infinite or NaN, so may the other be"),
    (r"^(ndarray\.)?(dot|matmul|inner|vdot|tensordot|einsum|kron|linalg\.\w+|vecdot|vecmat|matvec|convolve|correlate|multiply\.\w+|(nan)?(cum)?prod|vander)"
    r":.*complex",
    r"^values not finite", "inf and NaN in products of complex numbers: BLAS has rules of its own"),
    (r"^histogram.*weights=.* b: u?int", r"^values.* by XLA$", "sums of weights beyond their dtype are cast from float64, each machine's way"),
    (r"^nextafter.*bool", r"^values.* by XLA$", "subnormal numbers are zero to XLA"),
    (r"^\w+\.(at|outer):.*complex", r"^values not finite", "NumPy's quotient of complex numbers is not one and the same in all its loops"),
    (r"^polydiv:", r"^shape\[1\]", "remainders of np.polydiv keep leading zeros, and what roundings leave of them"),
    (r"^(geom|log|lin)space:.*dtype=(int|'?[iu]\d)", r"^values", "whole numbers of what has been rounded"),
    (r"^histogram.*weights=", r"^of infinite weights", "bins of infinite weights: NumPy takes differences of running sums"),
    (r"complex", r"^on the cut", "the sign of a zero beside a negative number decides the side of a branch cut"),
    (r"complex|dtype='?(c8|c16)|\dj", r"^values not finite", "infinities and NaN in steps of complex numbers: NumPy's loops and XLA have rules each"),
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
    with np.errstate(all="ignore"):
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


def compare(got, want, tolerance, where=""):
    """What differs between two results, as a text; empty where nothing does."""
    if type(got) is not type(want):
        return f"kind{where}: {type(got).__name__} for {type(want).__name__}"
    if isinstance(want, tuple | list):
        if len(got) != len(want):
            return f"length{where}: {len(got)} for {len(want)}"
        return next((found for k, (g, w) in enumerate(zip(got, want)) if (found := compare(g, w, tolerance, f"{where}[{k}]"))), "")
    if isinstance(want, np.ndarray | np.generic):
        if got.dtype != want.dtype:
            return f"dtype{where}: {got.dtype} for {want.dtype}"
        if got.shape != want.shape:
            return f"shape{where}: {got.shape} for {want.shape}"
        return values(got, want, tolerance, where)
    if isinstance(want, float | complex):
        return values(np.asarray(got), np.asarray(want), tolerance, where)
    return "" if got == want or isinstance(want, np.dtype | type) and got is want else f"values{where}: {got!r:.60} for {want!r:.60}"


def values(got, want, tolerance, where):
    """What `compare` says of two arrays of one dtype and shape."""
    good = got == want if want.dtype.kind not in "fc" else tolerance(got, want)
    if np.all(good):
        return ""
    if want.dtype.kind not in "fc":
        infinite = False
    elif want.dtype.kind == "c":  # one side may have lost what is infinite or NaN to the other
        infinite = not np.any(np.isfinite(got[~good]) & np.isfinite(want[~good]))
    else:
        infinite = not np.any(np.isfinite(got[~good]) | np.isfinite(want[~good]))
    return f"values{' not finite' * infinite}{where}: {got.tolist()!r:.120} for {want.tolist()!r:.120}"


def tolerance_of(d, by_xla):
    """(got, want) -> where they agree: equal, both NaN, or within the roundings of d's function."""
    numbers = [np.asarray(x) for x in d.operands.values()]
    narrow = [x.real.dtype for x in numbers if x.dtype.kind in "fc"]
    short = narrow + [np.dtype(f"f{2 * x.dtype.itemsize}") for x in numbers if x.dtype.kind in "iu" and x.dtype.itemsize < 4]  # hidden by `out`
    size = sum(float(np.sum(np.abs(x[np.isfinite(x)]), dtype=float)) for x in numbers)
    summed = re.search(SUMMED, d.name)
    largest = max((float(np.max(np.abs(x), where=np.isfinite(x), initial=0)) for x in numbers), default=0.0) if "logaddexp" in d.name else 0.0

    def agree(got, want):
        with np.errstate(all="ignore"):
            a, b = parts(got), parts(want)
            apart, big = np.abs(a - b), np.max(np.where(np.isfinite(b), np.abs(b), 0), axis=0)
            powers = POWER if by_xla and "power" in d.name and want.dtype.kind == "c" else 1
            if summed:
                info = np.finfo(min([want.real.dtype, *narrow], key=lambda dtype: dtype.itemsize))  # steps may be taken in it
                room = powers * ROUNDINGS[info.dtype.itemsize] * float(info.eps) * np.maximum(size, np.max(big, initial=0.0))
            else:
                big = np.maximum(big, big.dtype.type(largest))  # of which the rest is taken
                least = min([big.dtype, *(short if "out=" in d.text else [])], key=lambda dtype: dtype.itemsize)
                room = powers * ULPS * np.spacing(big.astype(least))
            return np.all((a == b) | np.isnan(a) & np.isnan(b) | (apart <= room), axis=0)

    return agree


def parts(x):
    """Real and imaginary parts along a new first axis."""
    return np.stack([x.real, x.imag]) if x.dtype.kind == "c" else np.asarray(x)[None]


def public(error):
    """The class a program can name: NumPy's private ones stand for their public base."""
    return next(c for c in type(error).__mro__ if not c.__name__.startswith(("_", "UFuncTypeError")))


def outcome(name, seed, by_xla=False, answered=lambda: None, straight=None):
    """(verdict, detail, the call): agree, refused, explained or different. `answered` is called when NumPy has given its answer."""
    choice = mock.patch.object(backend_choice, "CHOICE", straight or "xla")
    with warnings.catch_warnings(), choice, contextlib.nullcontext() if by_xla else quick():
        warnings.simplefilter("ignore")
        d = draw(name, seed)
        f = function(d, seed)
        operands = list(d.operands.values())
        want, plain, error = attempt(f, operands)
        answered()
        compiled = jit(f)
        if straight:
            attempt(compiled, operands)
        return verdict(d, (want, plain, error), attempt(compiled, operands), by_xla)


def verdict(d, plainly, compiled, by_xla):
    """What `outcome` says of the drawn call, of two times (result, operands afterwards, exception)."""
    (want, plain, error), (got, mine, raised), operands = plainly, compiled, list(d.operands.values())
    found = difference(want, plain, error, got, mine, raised, operands, tolerance_of(d, by_xla))
    if found and found != "refused":
        found = because(d, found, want, got, error, raised)
    kind = lambda v: f"{v.dtype}{list(v.shape)}" if isinstance(v, np.ndarray) else f"a {type(v).__name__}"
    found = f"{found} by XLA" if by_xla and found.startswith("values") else found
    types = ", ".join(f"{k}: {kind(v)}" for k, v in d.operands.items())
    call = f"{d.text}  [{types}]"
    for calls, kind, why in EXPLAINED:
        if found and found != "refused" and re.search(calls, f"{d.name}: {call}") and re.search(kind, found):
            return "explained", f"{why} | {found}", call
    return ("agree", "", call) if not found else ("refused", str(raised), call) if found == "refused" else ("different", found, call)


def because(d, found, want, got, error, raised):
    """A difference, after its cause where that is seen in the numbers."""
    if None not in (error, raised) and not isinstance(raised, public(error)) and two_mistakes(d, raised):
        return "the exception of the other mistake"
    if re.match(r"('|object of type ')(bool|int|float|complex|list)' (object )?has no ", str(error)):
        return "of a list or number: " + found
    if not found.startswith("values"):
        return found
    method = d.name.rpartition(".")[2]
    if (method in ("reduce", "reduceat") or method in REDUCTIONS) and "out=" in d.text and same_without_out(d, got):
        return "without partial results: " + found
    if d.name.startswith(("power.", "arctan2.")) and same_by_element(d, got):
        return "element by element: " + found
    if d.name.startswith("histogram") and any(x.dtype.kind in "fc" and not np.isfinite(x).all() for x in map(np.asarray, d.operands.values())):
        return "of infinite weights: " + found
    if np.iscomplexobj(want) and d.name in ("std", "ndarray.std", "nanstd", "sqrt") and np.allclose(np.square(got), np.square(want)):
        return "on the cut: " + found
    if d.name in FACTORS and FACTORS[d.name](d.operands["a"], got, want):
        return "other vectors: " + found
    if method == "eigvals" and np.allclose(np.sort_complex(got), np.sort_complex(want), rtol=1e-3 if want.dtype.char in "fF" else 1e-9):
        return "in order: " + found
    if method == "roots" and got.shape == want.shape and np.allclose(np.sort_complex(got), np.sort_complex(want), rtol=1e-2, atol=1e-2):
        return "near roots: " + found
    if method in ("empty_like", "pad") and not np.any(np.where(want == got, 0, got)):
        return "zeros: " + found
    if method in UNORDERED and not re.search("stable(?!=False)|mergesort", d.text) and in_order(d, method, want, got):
        return "in order: " + found
    return found


REDUCTIONS = {f"{nan}{name}" for nan in ("", "nan", "a") for name in ("sum", "prod", "max", "min", "mean", "median")}
UNORDERED = {"partition": -1, "argpartition": -1, "argsort": -1, "unique": None, "unique_values": None}


def in_order(d, method, want, got):
    """Whether `got` has the elements of `want` sorted, or the places of those."""
    tree = ast.parse(d.text, mode="eval").body
    if isinstance(tree, ast.Tuple):  # of a method that works in place
        tree, want, got = tree.elts[0], want[1], got[1]
    axis = next((eval(ast.unparse(k.value), {"np": np, **d.operands}) for k in tree.keywords if k.arg == "axis"), UNORDERED[method])
    if method in ("argpartition", "argsort"):
        x = np.ravel(d.operands["a"]) if axis is None else np.atleast_1d(d.operands["a"])
        got, want = (np.take_along_axis(x, v, -1 if axis is None else axis) for v in (got, want))
    (got, *others), (want, *their) = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    axis = -1 if axis is None else axis
    order = np.argsort(want, axis)
    same = lambda x, y: np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
    belongs = lambda g, w: g.shape == order.shape and same(g, w[order]) or g.max(initial=0) < got.size and same(got[g], want[w])
    return same(got, np.take_along_axis(want, order, axis)) and all(map(belongs, others, their))


def difference(want, plain, error, got, mine, raised, operands, tolerance):
    if raised is not None:
        if error is None:
            return "refused" if isinstance(raised,
                WengertError) and type(raised).__name__ != "ShapeError" else f"raises {raised!r:.150}".replace("\n", " ")
        if not isinstance(raised, public(error)):
            return "refused" if isinstance(raised, WengertError) else f"raises {raised!r:.100} for {error!r:.100}".replace("\n", " ")
        return compare(mine, copy_of(operands), tolerance, " of what was written before it raised ")
    if error is not None:
        return f"gives {got!r:.80}, NumPy raises {error!r:.100}".replace("\n", " ")
    return compare(got, want, tolerance) or compare(mine, plain, tolerance, " of operands ")


def quick():
    """Programs as generated NumPy in the place of XLA."""
    return mock.patch.object(dispatch, "program", program)


def same_without_out(d, got):
    """Whether `out`, of another dtype, holds what NumPy's function gives without it, cast in the end."""
    try:
        return np.array_equal(np.asarray(evaluated(d, {"np": np, **d.operands})).astype(got.dtype), got, equal_nan=True)
    except Exception:
        return False


def same_by_element(d, got):
    """Whether a ufunc's reduction is what comes of its elements when the ufunc is called on two at a time."""
    if isinstance(got, tuple):  # of a method that works in place
        return False
    ufunc, x = d.name.partition(".")[0], np.asarray(d.operands["a"]).astype(got.dtype)
    boxed = np.empty(x.shape, object)
    for i in np.ndindex(x.shape):
        boxed[i] = x[i]
    one = np.frompyfunc(lambda x, y: getattr(np, ufunc)(x, y), 2, 1)
    try:
        want = np.asarray(evaluated(d, {"np": np, "one": one, **d.operands, "a": boxed}, (f"np.{ufunc}.", "one."))).astype(got.dtype)
        return np.allclose(got, want, rtol=8 * float(np.finfo(got.dtype).eps), atol=0, equal_nan=True)
    except Exception:
        return False


def evaluated(d, names, instead=("", "")):
    """What the call gives without `out`; with a name in it replaced, without `dtype` too."""
    call = ast.parse(d.text, mode="eval").body
    call.keywords = [k for k in call.keywords if k.arg != "out" and (instead == ("", "") or k.arg != "dtype")]
    with np.errstate(all="ignore"):
        return eval(ast.unparse(call).replace(*instead), names)


def spectral(a, got, want):
    """Whether eigenvalues agree and the vectors are such, of length 1."""
    (w, v), (other, _) = got, want
    return fits(a @ v, v * w[..., None, :]) and fits(w, other) and fits(np.linalg.norm(v, axis=-2), 1)


def singular(a, got, want):
    """Whether singular values agree and the product is the matrix."""
    if not isinstance(got, tuple):
        return False
    (u, s, vh), n = got, got[1].shape[-1]
    return fits((u[..., :n] * s[..., None, :]) @ vh[..., :n, :], a) and fits(s, want[1])


def fits(x, y):
    single = np.asarray(x).dtype.name in ("float32", "complex64")
    return np.allclose(x, y, rtol=0, atol=(1e-4 if single else 1e-11) * max(1.0, float(np.max(np.abs(x), initial=0))))


FACTORS = {"linalg.eig": spectral, "linalg.eigh": spectral, "linalg.svd": singular}


def two_mistakes(d, raised):
    """Whether NumPy raises our exception for a call with one mistake less: one keyword left out, or operands of one shape, or of one dtype."""
    call = ast.parse(d.text, mode="eval").body
    texts = [d.text]
    for inner in (n for n in ast.walk(call) if isinstance(n, ast.Call)):
        for k in list(inner.keywords):
            inner.keywords.remove(k)
            texts.append(ast.unparse(call))
            inner.keywords.append(k)
    forms = [np.copy, *(lambda x, s=s: np.ones(s(x), x.dtype) for s in (lambda x: 3, lambda x: (1, 1), lambda x: (1,) * x.ndim))]
    forms += [lambda x: np.ones(x.shape), lambda x: np.zeros(x.shape, bool)]
    for text in texts:
        for form in forms:
            operands = {k: form(x) if isinstance(x, np.ndarray | np.generic) else x for k, x in d.operands.items()}
            try:
                eval(text, {"np": np, **operands})
            except Exception as error:
                if isinstance(raised, public(error)):
                    return True
    return False


class Worker:
    """`outcome` in another process, which is ended after so many seconds: NumPy may spin, or crash, which is "unanswered"; we may not."""

    def __init__(self, by_xla=False, seconds=20, straight=None):
        self.by_xla, self.seconds, self.straight, self.process = by_xla, seconds, straight, None

    def __call__(self, name, seed):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, end = context.Pipe()
            self.process = context.Process(target=serve, args=(end, self.by_xla, self.straight), daemon=True)
            self.process.start()
            end.close()  # so that its end is seen here
            self.pipe.recv()  # it has begun
        self.pipe.send((name, seed))
        whose = "unanswered"
        with contextlib.suppress(EOFError):
            while self.pipe.poll(self.seconds):
                found = self.pipe.recv()
                if found != "answered":
                    return found
                whose = "different"
        self.stop()
        return whose, "the call does not come back", ""

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def spin(pipe, by_xla, straight):
    """As `serve`, but no call ever comes back."""
    pipe.send("ready")
    while True:
        pass


def serve(pipe, by_xla, straight):
    """Calls that come down the pipe, one after another."""
    pipe.send("ready")
    while True:
        name, seed = pipe.recv()
        try:
            pipe.send(outcome(name, seed, by_xla, lambda: pipe.send("answered"), straight))
        except Exception as error:
            pipe.send(("different", f"the test fails with {error!r:.200}", ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--straight", nargs="?", choices=("numpy", "nests"), const="numpy")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--explained", action="store_true")
    given = parser.parse_args()
    tally, told = collections.Counter(), collections.Counter()
    run = Worker(given.xla, straight=given.straight)
    for name in names():
        if not re.search(given.only, name):
            continue
        for seed in range(given.first, given.last):
            verdict, detail, call = run(name, seed)
            tally[verdict] += 1
            if verdict in ("refused", "explained"):
                told[verdict, name if verdict == "refused" else "", detail.partition(" | ")[0].partition("\n")[0][:110]] += 1
            if verdict not in ("agree", "refused") and (verdict != "explained" or given.explained):
                print(f"{name} {seed}: {call}\n      {verdict}: {detail}", flush=True)
    for (verdict, name, why), count in sorted(told.items()):
        if verdict == "refused" and given.refused or verdict == "explained" and given.explained:
            print(f"{verdict} {count:4} {name}: {why}")
    run.stop()
    print(given.first, given.last, dict(tally), f"{len(names())} names", flush=True)


if __name__ == "__main__":
    main()
