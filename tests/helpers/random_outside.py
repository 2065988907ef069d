"""Random programs that read and change the world outside, which changes between their calls; run as a script it tries many.

    python tests/helpers/random_outside.py 0 300 [--xla]

The world is a folder of files, the environment, arguments of the process, context variables, objects of libraries, functions of modules that
are exchanged, module globals and callbacks that read them. After each change the function runs plainly and compiled: what they give, what they
say and what they leave in files must be the same. `draw(rng)` is a case, `differences(case)` what differs, "refused: why", or None. A source
is one line of SOURCES: an expression, and a statement that changes what it reads, `k` being the number of the call.
"""

import argparse
import collections
import contextlib
import dataclasses
import io
import linecache
import logging
import os
import random
import re
import sys
import tempfile
import warnings
from unittest import mock

import numpy as np
from compare import agree
from random_flow import program

from wengert import jit
from wengert.backends.xla import dispatch
from wengert.tracer.common.errors import WengertError

HEAD = """import bisect, contextlib, contextvars, functools, itertools, json, logging, math, operator, os, pathlib, re, sys, threading, time, warnings
import numpy as np, scipy.interpolate, scipy.optimize, scipy.sparse
CONTEXT, LOCAL, LOG = contextvars.ContextVar("context", default=0.5), threading.local(), logging.getLogger("outside")
LOCAL.a = 1.5
SPARSE, G, TABLE, LIMITS = scipy.sparse.csr_array(np.eye(3)), 2.0, np.arange(3.0), [1.0, 4.0]
SPLINE = scipy.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)
SIN, TANH = math.sin, np.tanh
def helper(v):
    return v * G
@contextlib.contextmanager
def lent():
    yield G
def told():
    return float(pathlib.Path('b.txt').read_text())
class Slots:  # whose methods Python runs by itself; what they say changes
    n = 0
    tell = staticmethod(lambda: G)
    def __getattr__(self, k):
        if k.startswith('_'):
            raise AttributeError(k)
        return self.tell()
    def __format__(self, spec):
        return str(self.tell())
    def __eq__(self, o):
        return self.tell() > 2.6
    def __lt__(self, o):
        return (self.n - o.n) * (self.tell() - 2.6) < 0
    def __hash__(self):
        return 1
    def __bool__(self):
        return self.tell() > 2.6
    def __len__(self):
        return int(abs(self.tell()))
    def __index__(self):
        return int(abs(self.tell()))
    def __float__(self):
        return self.tell()
    def __radd__(self, o):
        return self.tell()
    def __delattr__(self, k):
        self.left = self.tell()
    @functools.cached_property
    def kept(self):
        return self.tell()
class Files(Slots):  # likewise, of what is in a file: no program can ask it where nothing is captured
    tell = staticmethod(told)
def numbered(kind, n):
    made = kind()
    made.n = n
    return made
def deleted(made):
    del made.some
    return made.left
def given(kind):
    yield kind().tell()
class Check(type):
    def __instancecheck__(cls, o):
        return G > 2.6
class Checked(metaclass=Check):
    pass
"""
SLOTS = ["{0}().some", "float(f'{{{0}()}}')", "len({{{0}(), {0}()}})", "[{0}(), {0}()].count(3)", "sorted([numbered({0}, 1), numbered({0}, 2)])[0].n",
    "float(any([{0}()]))", "sum(map(len, [{0}()]))", "[3.0, 5.0, 7.0][:{0}()][0:1].count(3.0)", "sum(map(float, [{0}()]))", "sum([{0}()])",
    "deleted({0}())", "{0}().kept", "sum(given({0}))", "min([numbered({0}, 1), numbered({0}, 2)]).n"]  # fmt: skip
SOURCES = [
    ("np.load('a.npy')", "np.save('a.npy', np.full(3, k + 1.0))"),
    ("np.load('a.npy').sum()", "np.save('a.npy', np.ones(k + 1, 'f4' if k % 2 else 'f8'))"),
    ("np.loadtxt('a.txt').sum()", "pathlib.Path('a.txt').write_text(' '.join(map(str, range(k + 1))))"),
    ("float(pathlib.Path('b.txt').read_text())", "pathlib.Path('b.txt').write_text(f'{k}.5')"),
    ("len(json.loads(pathlib.Path('c.json').read_text()))", "pathlib.Path('c.json').write_text(json.dumps([1] * k))"),
    ("os.path.getsize('a.txt')", "pathlib.Path('a.txt').write_text('1 ' * (k + 1))"),
    ("(2.0 if os.path.exists('d') else 3.0)", "pathlib.Path('d').unlink() if os.path.exists('d') else pathlib.Path('d').touch()"),
    ("len(os.listdir('sub'))", "pathlib.Path(f'sub/{k}').touch()"),
    ("float(os.environ.get('OUTSIDE', '1'))", "os.environ['OUTSIDE'] = str(k)"),
    ("len(sys.argv)", "sys.argv.append('a')"),
    ("len(sys.argv[-1])", "sys.argv.append('a' * k)"),
    ("CONTEXT.get()", "CONTEXT.set(k + 0.5)"),
    ("CONTEXT.get()", "CONTEXT.set(np.full(3, float(k)))"),
    ("LOCAL.a", "LOCAL.a = k * 0.5"),
    ("SPARSE.sum()", "SPARSE.data[:] = k"),
    ("(SPARSE @ np.ones(3))", "SPARSE.data[k % 3] = k"),
    ("SPARSE.diagonal()[1]", "SPARSE.data[1] = k"),
    ("SPLINE(1.5)", "SPLINE.c[...] = k"),
    ("math.sin(0.5)", "math.sin = (lambda v: v + k) if k % 3 else SIN"),
    ("np.tanh(x).sum()", "np.tanh = (lambda v: v * k) if k % 3 else TANH"),
    ("helper(1.5)", "G = G + 1"),
    ("sorted([3.0, 1.0, 2.0], key=helper)[0]", "G = -G"),
    ("max([3.0, 1.0, 2.0], key=lambda v: v * G)", "G = -G"),
    ("list(map(helper, [1.0, 2.0]))[1]", "G = G + 0.5"),
    ("list(itertools.accumulate([1.0, 2.0], lambda a, b: a + b * G))[1]", "G = G + 0.5"),
    ("functools.reduce(lambda a, b: a * G + b, [1.0, 2.0, 3.0])", "G = G + 0.5"),
    ("np.vectorize(helper)([1.0, 2.0])[1]", "G = G + 0.5"),
    ("scipy.optimize.brentq(lambda v: v - G, -100.0, 100.0)", "G = G + 0.5"),
    ("bisect.bisect(LIMITS, 2.0)", "LIMITS[0] = k"),
    ("bisect.bisect(LIMITS, 2.0, key=lambda v: v * G)", "G = G + 0.5"),
    ("operator.methodcaller('sum')(TABLE)", "TABLE[k % 3] = k"),
    ("float(np.geterr()['over'] == 'raise')", "np.seterr(over='raise' if k % 2 else 'warn')"),
    ("lend()", "G = G + 0.5"),
    ("(time.perf_counter() > 0)", "pass"),
    ("(3.0 if isinstance(5, Checked) else 2.0)", "G = G + 0.5"),
    *[(slot.format("Slots"), "G = G + 0.5") for slot in SLOTS],
    *[(slot.format("Files"), "pathlib.Path('b.txt').write_text(f'{k}.5')") for slot in SLOTS[::4]],
]
ACTS = [
    "print('at', x.sum())",
    "LOG.warning('%s %d', x.sum(), 3)",
    "warnings.warn(f'sum {x.sum()}', RuntimeWarning)",
    "np.save('out.npy', x)",
    "pathlib.Path('out.txt').write_text(f'{x[0]}')",
]
FORMS = ["x = x + {0}", "x = x * {0}", "x = x + {0} if x.sum() > {1} else x - {1}", "if x[0] > {0}: x = x * {1}"]
FORMS += ["for i in range(3): x = x + i * {0}"]


@dataclasses.dataclass
class Case:
    """text: a module whose `f(x)` is run; changes: the statements before each call."""

    text: str
    changes: list

    def __str__(self):
        return self.text + "".join(f"# {change}\n" for change in self.changes)


def draw(rng):
    chosen = rng.sample(SOURCES, rng.randint(1, 4))
    reads = [expression for expression, _ in chosen]
    lines = []
    for _ in range(rng.randint(1, 4)):
        form = rng.choice(FORMS)
        lines.append(form.format(rng.choice(reads), rng.choice(reads)))
    if rng.random() < 0.4:
        act, test = rng.choice(ACTS), rng.choice(["", "if x.sum() > 4: ", "for _ in range(2): "])
        lines.insert(rng.randint(0, len(lines)) if rng.random() < 0.5 else len(lines), test + act)
    body = "".join(f"    {line}\n" for line in ["x = x * 1.0", *lines, "return x"])
    text = f"{HEAD}def lend():\n    with lent() as v:\n        return v\ndef f(x):\n{body}"
    return Case(text, [rng.choice([change for _, change in chosen] + ["pass"]) for _ in range(rng.randint(2, 5))])


@contextlib.contextmanager
def world():
    """A folder of files, and everything put back."""
    before, argv, env, error = os.getcwd(), list(sys.argv), dict(os.environ), np.geterr()
    sin, tanh = __import__("math").sin, np.tanh
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            np.save("a.npy", np.ones(3))
            os.mkdir("sub")
            for name, text in (("a.txt", "1 2 3"), ("b.txt", "1.5"), ("c.json", "[1, 2]")):
                with open(name, "w") as file:
                    file.write(text)
            yield
        finally:
            os.chdir(before)
            sys.argv[:] = argv
            os.environ.clear()
            os.environ.update(env)
            np.seterr(**error)
            __import__("math").sin, np.tanh = sin, tanh


class Said(logging.Handler):
    def __init__(self):
        super().__init__()
        self.told = []

    def emit(self, record):
        self.told.append((record.getMessage(), record.lineno))


last = []


def attempt(f, x):
    """-> (what f gives or raises, what it says and leaves)"""
    for name in ("out.npy", "out.txt"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)
    heard, said = Said(), io.StringIO()
    logging.getLogger("outside").addHandler(heard)
    try:
        with contextlib.redirect_stdout(said), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                result = f(x.copy())
            except WengertError:
                raise
            except Exception as error:
                result = type(error)
                last.append(error)
    finally:
        logging.getLogger("outside").removeHandler(heard)
    left = [np.load("out.npy").tolist() if os.path.exists("out.npy") else None, open("out.txt").read() if os.path.exists("out.txt") else None]
    told = [(str(w.message), w.lineno) for w in found if w.category is RuntimeWarning and str(w.message).startswith("sum")]
    return result, [said.getvalue(), heard.told, told, left]


def differences(case):
    with world(), np.errstate(all="ignore"):
        file = f"<outside {hash(case.text)}>"
        linecache.cache[file] = (len(case.text), None, case.text.splitlines(True), file)
        space = {"__name__": "outside"}
        exec(compile(case.text, file, "exec"), space)
        f = space["f"]
        compiled, rng = jit(f), np.random.default_rng(0)
        for k, change in enumerate(["pass", *case.changes]):
            space["k"] = k
            exec(change, space)
            x = rng.normal(size=3) + 1
            for _ in range(2):
                want = attempt(f, x)
                try:
                    got = attempt(compiled, x)
                except WengertError as error:
                    return f"refused: {str(error).splitlines()[0]}"
                try:
                    agree(got[0], want[0], 1e-9)
                except AssertionError as error:
                    return f"differs at call {k} after {change!r}: {str(error)[:300]}"
                raised = isinstance(want[0], type)  # what is said before an error that is known while tracing is lost
                if got[1] != want[1] and not raised and not close(got[1], want[1]):
                    return f"at call {k} after {change!r} it says or leaves {got[1]} for {want[1]}"
    return None


def close(a, b):
    """Whether texts differ in the last digits of numbers alone."""
    numbers = [[float(w) for w in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", str(x))] for x in (a, b)]
    return len(numbers[0]) == len(numbers[1]) and np.allclose(*numbers, rtol=1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--refused", action="store_true", help="say why programs are refused")
    asked = parser.parse_args()
    tally, why = collections.Counter(), collections.Counter()
    with contextlib.nullcontext() if asked.xla else mock.patch.object(dispatch, "program", program):
        for seed in range(asked.first, asked.last):
            case = draw(random.Random(seed))
            said = differences(case) or "agree"
            kind = said.partition(":")[0] if said.startswith("refused") else "agree" if said == "agree" else "different"
            why[said] += kind == "refused"
            tally[kind] += 1
            if kind == "different":
                print(seed, said, "\n", str(case).partition("def f")[2], flush=True)
    print(asked.first, asked.last, dict(tally))
    if asked.refused:
        print(*why.most_common(20), sep="\n")


if __name__ == "__main__":
    main()
