"""Families of drawn programs, and what they have in common: `benchmarks/trust.py` runs all of them.

A family says what comes of one seed, on one of ENGINES:

    run(seed, engine) -> Found

It is called within `on(engine, exact)`, so that whatever it compiles runs there. A module of a family offers that function, or the pair

    draw(rng) -> case           rng: a random.Random; its `text`, or str(case), is what a reader needs
    differences(case) -> text   None: agrees; "refused: why" and "explained: why"; anything else is how plain Python and the program differ

of which `run_of(module)` makes one; a WengertError that `differences` lets through is a refusal, other exceptions are differences.
A case may have `calls`, how many calls of compiled functions it stands for.
"""

import argparse
import collections
import contextlib
import copy
import dataclasses
import linecache
import random
import re
import traceback
import warnings
from unittest import mock

import jax
import numpy as np
import random_flow
from compare import agree

from wengert import Fallback
from wengert.backends import native
from wengert.backends.native import index_split
from wengert.backends.numpy import fused
from wengert.backends.xla import dispatch
from wengert.ir.sticky import CHECKED
from wengert.tracer.api.compiled import Compiled
from wengert.tracer.api.jit import jit
from wengert.tracer.call import beside_xla, deferred, shared
from wengert.tracer.common.errors import WengertError
from wengert.tracer.program import backend_choice as engines
from wengert.tracer.program import trap

PROGRAM = dispatch.program

ENGINES = {  # what a `with` statement enters
    "numpy": lambda: [  # equations one by one, no XLA: fast
        mock.patch.object(dispatch, "program", random_flow.program),
        mock.patch.object(trap, "settle", lambda *_: None),  # of programs of jax arrays, which XLA would let fail
        choice("xla"),
    ],
    "straight": lambda: [choice("numpy")],  # as engine="numpy"
    "nests": lambda: [choice("nests")],
    "quick": lambda: [choice("nests"), native.compiled_quickly(), splitting()],  # in machine code that is not optimised
    "native": lambda: [native.asked(0), choice("xla"), splitting()],  # every loop as machine code, however short
    "xla": lambda: [native.asked(None), choice("xla"), mock.patch.object(dispatch, "program", PROGRAM)],
    "nested": lambda: [  # straight lines as nests of XLA's program, as of jax arrays that are called often
        native.asked(0), choice("xla"), splitting(), mock.patch.object(dispatch, "program", nested_program),
    ],
    "default": lambda: [choice(None)],
    "deferred": lambda: [  # what has run as NumPy is compiled through XLA by the second call, on its thread
        choice(None),
        mock.patch.object(engines, "LAUNCH", 0.0),
        mock.patch.object(deferred, "EQUATION", 1e6),
        mock.patch.object(deferred, "WAY", 1e12),
        mock.patch.object(deferred.WORKER, "ask", lambda job: [job.run()] and True),
    ],
}


def nested_program(find, *args, **kwargs):
    """`dispatch.program` of a program whose straight lines are nests."""

    def found(types):
        func, places = find(types)
        made = fused(func, beside_xla.PRODUCT)
        if made is not None and func in CHECKED:
            CHECKED.add(made)
        return func if made is None else made, places

    return PROGRAM(found, *args, **kwargs)


def choice(name):
    return mock.patch.object(engines, "CHOICE", name)


def splitting(least=1):
    """Rows are split that have so many elements."""
    return mock.patch.object(index_split, "LEAST", least)


@contextlib.contextmanager
def on(engine, exact=False):
    """Programs run on one of ENGINES, as jit(exact=) if that is said nowhere."""
    with contextlib.ExitStack() as stack:
        for manager in ENGINES[engine]():
            stack.enter_context(manager)
        for function in (jit, Compiled.__init__):
            stack.enter_context(mock.patch.dict(function.__kwdefaults__, exact=exact))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        shared.forget_shared()
        yield
    shared.forget_shared()


@dataclasses.dataclass
class Found:
    """What came of a program: verdict is agree, refused, explained (docs/semantics.md says so) or different, and `why` in words."""

    verdict: str
    why: str = ""
    text: str = ""
    calls: int = 1  # of compiled functions
    names: int = 0  # calls of NumPy's names, one by one

    @classmethod
    def of(cls, said, text="", calls=1, names=0):
        """Of what `differences` says."""
        head, _, rest = (said or "agree").partition(":")
        known = head in ("agree", "refused", "explained")
        return cls(head if known else "different", rest.strip() if known else said, text, calls, names)


def run_of(module):
    """`run` of a module that has `draw` and `differences`."""

    def run(seed, engine):
        case = module.draw(random.Random(seed))
        try:
            said = module.differences(case)
        except WengertError as error:
            said = f"refused: {reason(error)}"
        except Exception as error:
            said = f"raises {type(error).__name__}: {error}"
        if said and said.startswith("refused:"):
            said = f"refused: {reason(said[8:].strip())}"
        return Found.of(said, str(getattr(case, "text", case)), getattr(case, "calls", 1))

    return run


def print_seeds(run, head=""):
    """What comes of the seeds of the command line: the programs that differ, how many do what, why most were refused.

    head: what all programs begin with, which is not printed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore", Fallback)
    counts, reasons = collections.Counter(), collections.Counter()
    for seed in range(given.first, given.last):
        found = run(seed, None)
        counts[found.verdict] += 1
        reasons[found.why[:110]] += found.verdict == "refused"
        if found.verdict == "different":
            print(f"# seed {seed}: {found.why}\n{found.text.removeprefix(head)}", flush=True)
    print(dict(counts))
    for why, n in reasons.most_common(12):
        print(n, why)


def reason(error):
    """The first line of an error, without what differs from program to program."""
    line = str(error).partition("\n")[0]
    line = re.sub(r"<[^<>]*>:\d+|\b[bcfiu]\d+\[[\d,]*\]|\b(bool|u?int|float|complex)\d*\b(\[[\d,]*\])?", "_", line)
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"'[^']*'|\"[^\"]*\"|%\w+", "'_'", line))[:110]


def function(text, name, entry="f"):
    """A function of a program's text, with a source of its own."""
    return space_of(text, name)[entry]


def space_of(text, name):
    """The globals of a program's text."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": name}
    exec(compile(text, file, "exec"), space)
    return space


@dataclasses.dataclass
class Left:
    """What a call leaves."""

    result: object
    arguments: tuple
    error: Exception | None


def attempt(f, given):
    """`f` on the objects `given` themselves."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Left(f(*given), given, None)
        except Exception as error:
            return Left(None, given, error)


def public(error):
    """The class a program can name: NumPy's private ones stand for their public base."""
    return next(c for c in type(error).__mro__ if not c.__name__.startswith(("_", "UFuncTypeError")))


def apart(got, want, before, rtol=1e-9, memory=True):
    """How what a compiled call left differs from what plain Python left: "" where it does not, "refused: why" where the program refuses.

    before: the arguments as both were given them. memory: which of results and arguments are one object, share memory, or are read-only.
    """
    if got.error is not None:
        if not isinstance(got.error, WengertError) and (want.error is None or not isinstance(got.error, public(want.error))):
            both = want.error is not None and (elsewhere(got.error, want.error) or statically(got.error, want.error))
            mistakes = "explained: of two mistakes, the one found while tracing | " * both
            return f"{mistakes}raises {type(got.error).__name__}: {got.error!s:.200}, where Python {told(want)}"
        try:
            agree(got.arguments, before, 0)
        except AssertionError:
            if want.error is None or not alike(got.arguments, want.arguments, rtol):  # a call that ran as plain Python leaves what Python leaves
                return f"half-written after {got.error!r:.200}"
        return "" if want.error is not None and isinstance(got.error, public(want.error)) else f"refused: {reason(got.error)}"
    if want.error is not None:
        return f"gives {got.result!r:.120}, where Python {told(want)}"
    try:
        agree(got.result, want.result, rtol)
        agree(got.arguments, want.arguments, rtol)
    except AssertionError as difference:
        return " ".join(f"differs: {difference}".split())
    if memory and (mine := pattern(got)) != (theirs := pattern(want)):
        return f"memory: {', '.join(sorted(mine ^ theirs))[:200]}; Python has {', '.join(sorted(theirs))[:200] or 'nothing shared'}"
    return ""


def elsewhere(got, want):
    """Whether the line that one exception names is not the one at which Python raises the other."""
    named = re.search(r"\n  at [^\n]*:(\d+)", "\n".join([str(got), *getattr(got, "__notes__", ())]))
    lines = [frame.lineno for frame in traceback.extract_tb(want.__traceback__) if frame.filename.startswith("<")]
    return bool(named and lines) and int(named[1]) != lines[-1]


def statically(got, want):
    """Whether a call is of dtypes or shapes that do not fit, which is found while tracing, and Python has come upon data before."""
    return isinstance(got, TypeError) and isinstance(want, ArithmeticError) and "ufunc" in str(got)


def same_numbers(got, want):
    """Whether two trees differ in the kinds of single numbers alone."""
    (got, tree), (want, other) = (jax.tree_util.tree_flatten(x) for x in (got, want))
    single = lambda x: isinstance(x, bool | int | float | complex | np.generic)
    return tree == other and all(
        single(g) and single(w) and (g == w or g != g and w != w) or not single(w) and type(g) is type(w) and alike(g, w) for g, w in zip(got, want)
    )


def alike(got, want, rtol=1e-12):
    try:
        agree(got, want, rtol)
    except AssertionError:
        return False
    return True


def told(left):
    return f"gives {left.result!r:.100}" if left.error is None else f"raises {type(left.error).__name__}: {left.error!s:.100}"


def pattern(left):
    """Which arrays among results and arguments are one object, share memory, are the base of another, or are read-only."""
    named = jax.tree_util.tree_leaves_with_path({"result": left.result, "argument": left.arguments})
    arrays = [(jax.tree_util.keystr(path), x) for path, x in named if isinstance(x, np.ndarray)]
    facts = {f"{name} is read-only" for name, x in arrays if not x.flags.writeable}
    for k, (name, x) in enumerate(arrays):
        facts |= {f"{other} is the base of {name}" for other, y in arrays if x.base is y}
        facts |= {f"{name} {'is' if x is y else 'shares'} {other}" for other, y in arrays[:k] if x is y or np.shares_memory(x, y)}
    return facts


def shaky(call, given, found, got, rtol=1e-9):
    """Whether roundings decide: plain Python leaves what the program left, on arguments moved in their last place. `call` gives a Left."""
    if found.startswith(("memory", "half-written")):
        return False
    for k in range(8):
        r = random.Random(k)
        left = call(jax.tree_util.tree_map(lambda x, r=r: nudged(x, r), copy.deepcopy(given)))
        if left.error is not None or got.error is not None:
            if got.error is not None and left.error is not None and isinstance(got.error, public(left.error)):
                return True
        elif alike(random_flow.numbers(got.result, left.result), left.result, rtol) and alike(got.arguments, left.arguments, rtol):
            return True
    return False


def nudged(x, r):
    if isinstance(x, np.ndarray | np.floating) and x.dtype.kind == "f":
        ways = np.array([r.choice([-np.inf, np.inf, 0]) for _ in range(np.size(x))]).reshape(np.shape(x))
        moved = np.where((ways == 0) | (x == 0), x, np.nextafter(x, ways.astype(x.dtype))).astype(x.dtype)
        return moved if isinstance(x, np.ndarray) else moved[()]
    return float(np.nextafter(x, r.choice([-np.inf, np.inf]))) if type(x) is float and x else x
