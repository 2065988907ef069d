"""Random straight-line programs of arrays whose sizes are expressions of one length n, as source text.

A name has a kind: "v" is f64[n], "m" f64[n,4], "s" f64[n,n], "w" f64[n - 1], "d" f64[2*n], "x" a number. `draw(rng)` gives the source of
`f(v, m, s, x)`; `arguments(n, seed)` what it takes.
"""

import linecache
import zlib

import numpy as np

MADE = {  # kind -> expressions of that kind
    "v": ["np.tanh({v})", "{v} * {x}", "{v} + {v}", "np.cumsum({v})", "np.sort({v})", "{v}[::-1]", "{m}.sum(axis=1)", "{s} @ {v}",
          "np.where({v} > 0, {v}, -{x})", "np.concatenate([{w}, {v}[:1]])", "{d}[: len({v})]", "{d}[::2]", "{s}.max(axis=0)", "np.diag({s})",
          "{m}[:, 1]", "np.roll({v}, 3)", "np.maximum({v}, {v})", "np.exp(-np.abs({v}))", "np.convolve({v}, KERNEL, mode='same')",
          "{v}[np.argsort({v})]", "{v} / len({v})", "np.take({v}, [0, 2, 1])[:1] + {v}", "{m} @ np.arange(4.0)", "added({v}, {w})",
          "smoothed({v})", "np.sqrt(np.abs({v}) + 1)"],
    "m": ["{m} * {v}[:, None]", "{s} @ {m}", "np.tanh({m})", "{m}[::-1]", "np.outer({v}, np.ones(4))", "{m} - {m}.mean(axis=0)",
          "np.sort({m}, axis=0)", "{d}.reshape(-1, 2)[:, [0, 1, 0, 1]]", "np.where({m} > {x}, {m}, 0.0)", "np.cumsum({m}, axis=0)",
          "np.vstack([{m}[1:], {m}[:1]])", "np.maximum({m}, 0.0)", "{m}.T.reshape(4, -1).T"],
    "s": ["np.tril({s})", "np.outer({v}, {v})", "{m} @ {m}.T", "{s} + {s}.T", "np.triu({s}, 1)", "{s} * {v}", "{v}[:, None] - {v}[None, :]",
          "np.broadcast_to({v}, {s}.shape) * 1.0"],
    "w": ["np.diff({v})", "{v}[1:]", "{v}[:-1] * {v}[1:]", "{s}[0, 1:]", "np.sin({w})"],
    "d": ["np.concatenate([{v}, {v}])", "np.repeat({v}, 2)", "np.tile({v}, 2)", "np.pad({v}, (0, len({v})))", "{d} - {x}",
          "np.stack([{v}, {v}]).reshape(-1)"],
    "x": ["{v}.sum()", "{m}.max()", "{v} @ {v} / 100", "{w}.sum()", "{v}.mean()", "np.sum(np.abs({s})) / 1000", "{v}[0]", "{v}[-1]",
          "np.max(np.abs({d}))", "recurrence({v}, {x})", "{m}.std()", "np.log(np.sum(np.exp({v})))"],
}  # fmt: skip

TOOLS = """
import numpy as np

KERNEL = np.array([0.25, 0.5, 0.25])

def added(v, w):
    v = v.copy()
    v[1:] += w
    v[0] = 0.5
    return v

def smoothed(v):
    u = v.copy()
    for _ in range(3):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u

def recurrence(v, x):
    c = 0.0
    for a in v:
        c = 0.5 * c + a * x
    return c
"""


def draw(rng):
    """rng: a random.Random."""
    names, lines = {"v": ["v"], "m": ["m"], "s": ["s"], "w": ["v[1:]"], "d": ["m.reshape(-1)[::2]"], "x": ["x"]}, []
    for k in range(rng.randint(2, 7)):
        kind = rng.choice("vvvmmsswdxx")
        text = rng.choice(MADE[kind])
        while "{" in text:
            at = text.index("{")
            text = text[:at] + rng.choice(names[text[at + 1]]) + text[at + 3 :]
        lines.append(f"    t{k} = {text}")
        names[kind].append(f"t{k}")
    result = ", ".join(f"1.0 * t{k}" for k in range(len(lines)) if rng.random() < 0.4 or k == len(lines) - 1)
    return f"{TOOLS}\ndef f(v, m, s, x):\n" + "\n".join(lines) + f"\n    return ({result},)\n"


def function_of(source):
    file = f"<sized {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def arguments(n, seed=0):
    rng = np.random.default_rng([seed, n])
    return rng.normal(size=n), rng.normal(size=(n, 4)), rng.normal(size=(n, n)), float(rng.normal())


def loss_of(f):
    """The sum of what a program gives, for gradients."""
    return lambda *args: sum((x * x).sum() if np.ndim(x) else x for x in f(*args))
