"""Many random calls of NumPy's names in one program, which is called on several sets of numbers: the calls of `random_numpy.py` by the hundred.

Each call is a function of its own beside the one that is compiled. Calls for which NumPy raises are tried alone, in `random_numpy.py`. A call that
the program refuses is looked for by compiling each alone, and left out.
"""

import random
import re

import numpy as np
from calls import draw, names
from draws import Found, attempt, reason, space_of
from grammar import Draw
from random_numpy import copy_of, relaid, verdict

from wengert import jit
from wengert.tracer.common.errors import WengertError

SIZE, SETS = 30, 10
KEPT = r"linalg|poly|roots|unwrap|choose|interp|percentile|quantile|bincount|histogram|digitize|searchsorted|at$|pad|repeat|shift|trim|packbits"


class Call:
    """One call: what is drawn, and its operands, which may be others each time."""

    def __init__(self, d, k):
        self.d, self.k, self.operands = d, k, list(d.operands.values())
        self.source = f"def call{k}({', '.join(d.operands)}):\n    return {d.text}\n"

    def fresh(self, seed):
        """Other operands of the same types and layouts, if NumPy takes them."""
        if re.search(KEPT, self.d.name):
            return
        d = Draw(self.d.name, f"fresh {seed}")
        d.wild &= isinstance(getattr(np, self.d.name.partition(".")[0], None), np.ufunc)  # NumPy counts down from an index to be wrapped
        operands = []
        for x in self.operands:
            if isinstance(x, np.ndarray):
                y = relaid(x)
                if not overlapping(y):
                    y[...] = d.numbers(x.shape, x.dtype)
                operands.append(y)
            else:
                operands.append(d.numbers((1,), x.dtype)[0] if isinstance(x, np.generic) else x)
        if attempt(self.function, copy_of(operands)).error is None:
            self.operands = operands


def overlapping(x):
    return any(s == 0 for s in x.strides) and x.size > 1


def batch(seed):
    """The calls of a batch and their functions' space, compiled entry `f` included."""
    r, calls = random.Random(seed), []
    known = [name for name in names() if name != "empty_like"]  # which gives what was there, where a batch runs as plain Python
    while len(calls) < SIZE:
        call = Call(draw(r.choice(known), r.randrange(10**9)), len(calls))
        call.function = space_of("import numpy as np\n" + call.source, f"call {seed}")[f"call{call.k}"]
        if attempt(call.function, copy_of(call.operands)).error is None:
            calls.append(call)
    return calls


def text_of(calls):
    parts = [(c, [f"{n}{c.k}" for n in c.d.operands]) for c in calls]
    inner = "".join(f"        call{c.k}({', '.join(given)}),\n" for c, given in parts)
    arguments = ", ".join(n for _, given in parts for n in given)
    return "import numpy as np\n" + "".join(c.source for c in calls) + f"def f({arguments}):\n    return [\n{inner}    ]\n"


def run(seed, engine="numpy"):
    calls, told, done = batch(seed), [], 0
    whole = text_of(calls)
    f, counted = jit(space_of(whole, f"batch {seed}")["f"]), 0
    for k in range(SETS):
        if k:
            for c in calls:
                c.fresh(f"{seed} {k} {c.k}")
        mine = [copy_of(c.operands) for c in calls]
        got, counted = attempt(f, [x for xs in mine for x in xs]), counted + 1
        if got.error is not None:
            alone = [(c, single(c, engine)) for c in calls]
            told += [(c, said) for c, said in alone if said[0] != "agree"]
            calls = [c for c, said in alone if said[0] == "agree"]
            done += len(alone)
            if len(calls) == len(alone):
                return Found("different", f"raises {got.error!r:.200} in a batch, none of them alone", whole, counted, done)
            f = jit(space_of(text_of(calls), f"batch {seed} {k}")["f"])
            continue
        for c, result, operands in zip(calls, got.result, mine):
            want = attempt(c.function, copy_of(c.operands))
            said = judged(c, want, result, operands, None, engine)
            told += [(c, said)] if said[0] != "agree" else []
        done += len(calls)
    worst = max((said for _, said in told), key=lambda s: ("explained", "refused", "different").index(s[0]), default=("agree", "", ""))
    shown = "\n".join(f"{said[0]}: {said[1]}\n    {said[2]}\n    {[x.tolist() if isinstance(x, np.ndarray) else x for x in c.operands]!r:.400}"
        for c, said in told if said[0] == "different")  # fmt: skip
    return Found(worst[0], worst[1], shown, counted, done)


def single(c, engine):
    """(verdict, why, call) of one call, alone."""
    mine = copy_of(c.operands)
    got, want = attempt(jit(c.function), mine), attempt(c.function, copy_of(c.operands))
    return judged(c, want, got.result, mine, got.error, engine)


def judged(c, want, result, operands, raised, engine):
    if isinstance(raised, WengertError):
        return "refused", f"{c.d.name}: {reason(raised)}", c.d.text
    given, c.d.operands = c.d.operands, dict(zip(c.d.operands, c.operands))
    try:
        return verdict(c.d, (want.result, want.arguments, want.error), (result, operands, raised), engine not in ("numpy",))
    finally:
        c.d.operands = given
