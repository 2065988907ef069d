"""Random programs that raise, in loops, branches and comprehensions, with and without handlers, against plain Python: what they
give, print and raise.

    python tests/helpers/random_raising.py [--programs 200] [--seed 0]
"""

import contextlib
import io
import random
import re
import warnings

import numpy as np
from random_indices import loaded, main, same

from wengert import jit

SIZE = 4
CAUGHT = ("BaseException", "KeyError", "IndexError", "ValueError", "AttributeError", "LookupError", "(KeyError, ValueError)", "Exception")


def raising(draw):
    """A statement that raises, some only where data say so."""
    return draw.choice([
        "d['missing']", f"x[{SIZE} + 3]", "np.ones(3) @ np.ones(4)", "raise ValueError('told')", "b.missing", "s.missing",
        "s += x[j[i]]", "s += x[j[0] + i]", "if x[i] > 0.5: raise ValueError('large')", "assert x[i] > 0.2, 'small'",
        "if x[i] > 0.5: d['missing']", "if j[i] > 1: x[9]", f"if i == {draw.randint(0, 4)}: d['missing']", "found[i + 9]",
        "if s > 1.5: raise KeyError('sum')", "if x[i] > 0.7: raise SystemExit", "if x[i] > 0.5: raise Mine", "x.reshape(3, 3)",
        "raise LookupError", "1 // (i - 2)", "[1, 2].remove(i)",
    ])  # fmt: skip


def simple(draw):
    return draw.choice([
        "s += x[i]", "n += 1", "d['p'] += x[i]", "b.h += 0.5", "found.append(i)", "found.append(x[i])", "y[i] = x[i]",
        "y[i] += s", "print('at', i)", "print('sum', n)", "s *= 0.5", "d['q'] = i", "b.n = n", "n = n + i", "y = y + 1.0",
    ])  # fmt: skip


def indented(lines):
    return ["    " + line for line in lines]


def block(draw, depth):
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if kind < 0.35:
            lines.append(simple(draw))
        elif kind < 0.55 or not depth:
            lines.append(raising(draw))
        elif kind < 0.65:
            lines += [f"if {draw.choice(['x[i] > 0.4', 'j[i] > 1', 'i == 1', 's < 1.0'])}:", *indented(block(draw, depth - 1))]
        elif kind < 0.85:
            lines += ["try:", *indented(block(draw, depth - 1)), f"except {draw.choice(CAUGHT)}:", f"    {simple(draw)}"]
            lines += ["finally:", f"    {draw.choice([simple, simple, raising])(draw)}"] if draw.random() < 0.3 else []
        else:
            lines += loop(draw, depth - 1)
    return lines


def loop(draw, depth):
    inside = indented(block(draw, depth))
    kind = draw.randint(0, 3)
    if kind == 0:
        return ["i = 0", "while s < 3.0 and i < 3:", "    i += 1", *inside]
    if kind == 1:
        return [f"for i in range(int(x[0] * {SIZE - 1})):", *inside]
    if kind == 2:
        return [f"found += [x[i] + {draw.choice(['x[j[i]]', 'd[i]', 'x[9 + i]', 'x[i]'])} for i in range({SIZE})]"]
    return [f"for i in range({SIZE}):", *inside]


def program(seed):
    """The source of a function `f(x, j)`."""
    draw = random.Random(seed)
    body = loop(draw, 2)
    if draw.random() < 0.6:
        body = ["try:", *indented(body), f"except {draw.choice(CAUGHT)}:", f"    {simple(draw)}"]
    body += loop(draw, 1) if draw.random() < 0.3 else []
    return "\n".join([
        "import numpy as np", "class Box: pass", "class Mine(BaseException): pass", "def f(x, j, *_):", "    s, n, i, y = 0.0, 0, 0, np.zeros(4)",
        "    d, b, found = {'p': 0.0}, Box(), []", "    b.h = 1.0", *indented(body),
        "    return s, n, i, y, d, b.h, found",
    ]) + "\n"  # fmt: skip


def flat(x):
    if isinstance(x, dict):
        return [v for key in x for v in (hash(key) % 997, *flat(x[key]))]
    return [v for part in x for v in flat(part)] if isinstance(x, tuple | list) else np.ravel(x).tolist()


def outcome(f, x, j):
    """(all numbers that the function gives, the lines it prints), or (the name of an exception, its text and the lines)."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = f(x.copy(), j.copy())
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        name = "ValueError" if type(error).__name__ == "ShapeError" else type(error).__name__
        text = re.sub(r"object at .*|'(np|numpy)\..*?'|'float' object", "", str(error).splitlines()[0] if str(error) else "")
        return name, (text, said.getvalue())
    return np.asarray(flat(out), float), (said.getvalue(),)


def agrees(got, want):
    if isinstance(got[0], str) or isinstance(want[0], str):
        return type(got[0]) is type(want[0]) and got == want
    return got[1] == want[1] and got[0].shape == want[0].shape and same([got[0]], [want[0]])


def differs(seed, folder, calls=6, **options):
    """None, or the text of what a random program does otherwise than Python; how many of its calls raised."""
    source, rng, raised = program(seed), np.random.default_rng(seed), 0
    f = loaded(source, folder, f"raising_{seed}")
    g = jit(f, **options)
    for n in range(calls):
        given = rng.random(SIZE), rng.integers(-1, 2 + 2 * (n % 3), SIZE)
        want, got = outcome(f, *given), outcome(g, *given)
        raised += isinstance(want[0], str)
        if not agrees(got, want):
            return f"seed {seed}, call {n}:\n{source}\n{given}\ngot  {got}\nwant {want}", raised
    return None, raised


if __name__ == "__main__":
    main(__doc__, differs)
