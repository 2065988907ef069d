"""Where a NaN was born: programs that bear one in different places, and what Wengert, jax_debug_nans and torch's
detect_anomaly say of each.

    python benchmarks/correctness/blame.py [--torch PYTHON] [-v] [--cost]

The line that bears the NaN ends in `# born`, in the program and in its twins. Wengert's answer is right where it names
that line, the variable, the index in it, every loop's iteration and the lane, and says rightly whether the number is
part of a derivative. What the others name is a line at most: "line" is the line, "its loop" the call that makes the
loop or branch around it, "other" another one, "-" nothing.
--torch: a Python that has torch, for the twins in blame_torch.py; -v: what each says in full; --cost: how much slower
calls are with debug="nan".
"""

import argparse
import contextlib
import inspect
import io
import json
import linecache
import pathlib
import re
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field

import blame_helper
import jax
import jax.numpy as jnp
import numpy as np

from wengert import NumericalError, grad, jit, vmap

HERE = pathlib.Path(__file__)


def watched(f):
    return jit(f, debug="nan")


# -- the programs ----------------------------------------------------------------------------------


def straight(x):
    y = np.exp(x)
    z = np.log(x - 2.0) * y  # born
    return z.sum()


def quotient(x):
    e = np.exp(10.0 * x)
    p = e / (1.0 + e)  # born
    return p.sum()


def norm(x):
    return np.sqrt((x * x).sum())  # born


def product(x):
    y = np.sqrt(x)
    z = x * y
    return z.sum()


def length(x):
    s = x * x  # born
    y = np.sqrt(s)
    return y.sum()


def chosen(x):
    return np.where(x > 0, np.sqrt(x), 0.0).sum()


def falling(x, n):
    s = 0.0
    for i in range(n):
        y = np.log(x - 0.001 * i)  # born
        s = s + y
    return s


def sweeps(a):
    u = a.copy()
    n, m = u.shape
    for i in range(1, n):
        for j in range(m):
            u[i, j] = 0.5 * u[i - 1, j] + np.sqrt(a[i, j])  # born
    return u


def descent(x):
    k = 0
    while x > 1e-3:
        x = x - 0.01
        v = np.sqrt(x - 0.495)  # born
        x = x + 0.0 * v
        k += 1
    return x, k


def rooted(x):
    y = np.sqrt(x)  # born
    return (y * 2.0).sum()


def one_lane(x):
    y = np.log(x)  # born
    return y.sum()


def pairs(a):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        acc = 0.0
        for j in range(a.shape[1]):
            acc = acc + np.sqrt(a[i, j])  # born
        out[i] = acc
    return out


def elsewhere(x):
    return blame_helper.scaled(x).sum()


def sides(x):
    if x[0] > 0:
        y = np.log(x)  # born
    else:
        y = x * 2.0
    return y.sum()


def stored(u, v):
    for k in range(1, u.shape[0]):
        u[k] = u[k - 1] + np.log(v[k])  # born


def distances(x, n):
    s = 0.0
    for i in range(n):
        d = np.sqrt(np.abs(x - i))  # born
        s = s + d
    return s


class Filter:
    def __init__(self):
        self.w = np.array([1.0, -1.0, 4.0])

    @jit(debug="nan")
    def step(self, x):
        h = np.sqrt(self.w * x)  # born
        self.w = self.w + h
        return h.sum()


def filtered(x):
    return Filter().step(x)


# -- their twins in JAX ------------------------------------------------------------------------------


def jax_straight(x):
    y = jnp.exp(x)
    z = jnp.log(x - 2.0) * y  # born
    return z.sum()


def jax_quotient(x):
    e = jnp.exp(10.0 * x)
    p = e / (1.0 + e)  # born
    return p.sum()


def jax_norm(x):
    return jnp.sqrt((x * x).sum())  # born


def jax_product(x):
    y = jnp.sqrt(x)
    z = x * y
    return z.sum()


def jax_length(x):
    s = x * x  # born
    y = jnp.sqrt(s)
    return y.sum()


def jax_chosen(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()


def jax_falling(x, n):
    def body(i, s):
        y = jnp.log(x - 0.001 * i)  # born
        return s + y

    return jax.lax.fori_loop(0, n, body, 0.0)


def jax_sweeps(a):
    def body(before, row):
        now = 0.5 * before + jnp.sqrt(row)  # born
        return now, now

    return jax.lax.scan(body, a[0], a[1:])[1]


def jax_descent(x):
    def body(state):
        x, k = state
        x = x - 0.01
        v = jnp.sqrt(x - 0.495)  # born
        return x + 0.0 * v, k + 1

    return jax.lax.while_loop(lambda state: state[0] > 1e-3, body, (x, 0))


def jax_rooted(x):
    y = jnp.sqrt(x)  # born
    return (y * 2.0).sum()


def jax_one_lane(x):
    y = jnp.log(x)  # born
    return y.sum()


def jax_pairs(a):
    def inner(row):
        def body(j, acc):
            return acc + jnp.sqrt(row[j])  # born

        return jax.lax.fori_loop(0, row.shape[0], body, 0.0)

    return jax.lax.map(inner, a)


def jax_sides(x):
    def positive(x):
        return jnp.log(x)  # born

    return jax.lax.cond(x[0] > 0, positive, lambda x: x * 2.0, x).sum()


def jax_stored(u, v):
    def body(k, u):
        return u.at[k].set(u[k - 1] + jnp.log(v[k]))  # born

    return jax.lax.fori_loop(1, u.shape[0], body, u)


def jax_distances(x, n):
    def body(s, i):
        d = jnp.sqrt(jnp.abs(x - i))  # born
        return s + d, None

    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]


# -- the table ---------------------------------------------------------------------------------------


@dataclass
class Program:
    """name: what is seen; source: the function in whose source the line is; call(): Wengert's; twin(): JAX's. What is
    true of the birth: variable, index, trips, lane, adjoint; is_born: whether there is one."""

    name: str
    source: object
    call: object
    twin: object = None
    variable: str | None = None
    index: tuple = ()
    trips: tuple = ()
    lane: object = None
    adjoint: bool = False
    is_born: bool = True
    found: dict = field(default_factory=dict)

    @property
    def twin_name(self):
        return f"jax_{self.source.__name__}"

    def line(self):
        """(file, line) of the birth."""
        lines, first = inspect.getsourcelines(self.source)
        at = next(k for k, text in enumerate(lines) if text.rstrip().endswith("# born"))
        return inspect.getsourcefile(self.source), first + at

    def truth(self):
        if not self.is_born:
            return "no NaN"
        said = [f"line {self.line()[1]}", f"{self.variable or '(no name)'}{list(self.index) if self.index else ''}"]
        said += [f"iteration {', '.join(map(str, self.trips))}"] if self.trips else []
        said += [f"lane {self.lane}"] if self.lane is not None else []
        return ", ".join([*said, "adjoint"] if self.adjoint else said)


X = np.array([3.0, 4.0, 1.0, 5.0])
A = np.ones((60, 50))
A[17, 23] = -1.0
WIDE = np.ones((800, 400))
WIDE[431, 77] = -2.0
LANES = np.ones((6, 4))
LANES[4, 2] = -1.0
V = np.ones(40)
V[17] = -1.0


def programs():
    zero, n = np.array([4.0, 0.0]), 1000
    counted = lambda f: jax.jit(f, static_argnums=1)
    ones, v = jnp.zeros(40), jnp.asarray(V)
    mixed = np.array([1.0, -3.0])
    table = [  # (what is seen, program, Wengert's call, JAX's, what is true)
        ("primal, straight line", straight, lambda: watched(straight)(X), lambda: jax.jit(jax_straight)(X),
         {"variable": "z", "index": (2,)}),
        ("overflow in exp, then inf / inf", quotient, lambda: watched(quotient)(X * 30),
         lambda: jax.jit(jax_quotient)(X * 30), {"variable": "p", "index": (0,)}),
        ("adjoint: norm at zero", norm, lambda: grad(watched(norm))(np.zeros(3)),
         lambda: jax.jit(jax.grad(jax_norm))(np.zeros(3)), {"variable": "d_x", "index": (0,), "adjoint": True}),
        ("adjoint: sqrt(x * x) at zero", length, lambda: grad(watched(length))(zero),
         lambda: jax.jit(jax.grad(jax_length))(zero), {"variable": "d_x", "index": (1,), "adjoint": True}),
        ("adjoint: x * sqrt(x) at zero", product, lambda: grad(watched(product))(zero),
         lambda: jax.jit(jax.grad(jax_product))(zero), {"is_born": False}),
        ("adjoint: the side not chosen", chosen, lambda: grad(watched(chosen))(zero),
         lambda: jax.jit(jax.grad(jax_chosen))(zero), {"is_born": False}),
        ("loop, iteration 731", falling, lambda: watched(falling)(0.7305, n),
         lambda: counted(jax_falling)(0.7305, n), {"variable": "y", "trips": (731,)}),
        ("adjoint of a loop, iteration 731", distances, lambda: grad(watched(distances))(731.0, n),
         lambda: counted(jax.grad(jax_distances))(731.0, n), {"variable": "d_x", "trips": (731,), "adjoint": True}),
        ("native nest", sweeps, lambda: watched(sweeps)(WIDE), lambda: jax.jit(jax_sweeps)(WIDE),
         {"variable": "u", "index": (431, 77), "trips": (430, 77)}),
        ("while loop", descent, lambda: watched(descent)(1.0), lambda: jax.jit(jax_descent)(1.0),
         {"variable": "v", "trips": (50,)}),
        ("jax arrays", rooted, lambda: watched(rooted)(jnp.asarray(-X)), lambda: jax.jit(jax_rooted)(jnp.asarray(-X)),
         {"variable": "y", "index": (0,)}),
        ("lane of a vmap", one_lane, lambda: vmap(watched(one_lane))(LANES),
         lambda: jax.jit(jax.vmap(jax_one_lane))(LANES), {"variable": "y", "index": (2,), "lane": 4}),
        ("nested loops", pairs, lambda: watched(pairs)(A), lambda: jax.jit(jax_pairs)(A),
         {"variable": "acc", "trips": (17, 23)}),
        ("helper in another file", blame_helper.scaled, lambda: watched(elsewhere)(X), None, {"index": (2,)}),
        ("side of a branch", sides, lambda: watched(sides)(mixed), lambda: jax.jit(jax_sides)(mixed),
         {"variable": "y", "index": (1,)}),
        ("store in place", stored, lambda: watched(stored)(np.zeros(40), V), lambda: jax.jit(jax_stored)(ones, v),
         {"variable": "u", "index": (17,), "trips": (16,)}),
        ("method that changes its object", Filter.step.__wrapped__, lambda: filtered(2.0), None,
         {"variable": "h", "index": (1,)}),
    ]  # fmt: skip
    return [Program(name, source, call, twin, **true) for name, source, call, twin, true in table]


def wengert_says(program):
    """-> (right or wrong, what it says)."""
    try:
        result = program.call()
    except NumericalError as error:
        trips = tuple(n for _, n in error.trips)
        said = (error.file, error.line), error.variable, error.index, trips, error.lane, error.adjoint
        true = program.line() if program.is_born else None, program.variable, program.index, program.trips
        true = (*true, program.lane, program.adjoint)
        wrong = [f"{a!r} for {b!r}" for a, b in zip(said, true) if a != b]
        return ("right" if not wrong else "wrong: " + ", ".join(wrong)), str(error)
    clean = all(np.isfinite(np.asarray(x)).all() for x in (result if isinstance(result, tuple) else (result,)))
    return ("right" if clean and not program.is_born else "wrong"), f"gives {result}"


def jax_says(program):
    """-> ("line", "other" or "-", what it says)."""
    if program.twin is None:
        return "no twin", ""
    jax.config.update("jax_debug_nans", True)
    try:
        with jax.enable_x64(True), contextlib.redirect_stdout(io.StringIO()):  # it prints that it runs op by op
            out = jax.block_until_ready(program.twin())
    except FloatingPointError as error:
        within = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(HERE)]
        frames = [f for f in within if f.name in (program.twin_name, "body", "inner", "positive")]
        text = linecache.getline(frames[-1].filename, frames[-1].lineno).strip() if frames else ""
        other = "its loop" if "jax.lax." in text else "other" if text else "-"
        return ("line" if text.endswith("# born") else other), f"{str(error).splitlines()[0]} ({text})"
    finally:
        jax.config.update("jax_debug_nans", False)
    return "-", f"gives {out}"


def torch_says(python):
    """{name: [verdict, what it says]} of torch's twins."""
    if python is None:
        return {}
    done = subprocess.run([python, str(HERE.with_name("blame_torch.py"))], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return {}
    return json.loads(done.stdout)


def cost():
    """Times of calls with debug="nan" against those without, on arguments that bear none."""
    rng = np.random.default_rng(0)
    wide = rng.random((400, 400)) + 1.0
    cases = {
        "straight line, 4 numbers": (straight, (X + 3.0,)),
        "straight line, 1e6 numbers": (straight, (rng.random(1_000_000) + 3.0,)),
        "loop of 1000 trips": (falling, (5.0, 1000)),
        "native nest, 800 x 400": (sweeps, (np.ones((800, 400)),)),
        "gradient of a loop": (distances, (0.5, 1000)),
        "matrix product, 400 x 400": (lambda a: np.tanh(a @ a).sum(), (wide,)),
    }
    print(f"\n{'call':32} {'without':>12} {'debug=nan':>12} {'ratio':>7} {'overflow':>12} {'ratio':>7}")
    for name, (f, args) in cases.items():
        of = grad if f is distances else (lambda g: g)
        forms = [of(jit(f)), of(jit(f, debug="nan")), of(jit(f, debug=("invalid", "divide", "overflow")))]
        best = [float("inf")] * 3
        for g in forms:
            for _ in range(4):
                g(*args)
        for _ in range(60):
            for k, g in enumerate(forms):
                start = time.perf_counter()
                jax.block_until_ready(g(*args))
                best[k] = min(best[k], time.perf_counter() - start)
        plain, nan, born = (1e6 * t for t in best)
        print(f"{name:32} {plain:9.1f} us {nan:9.1f} us {nan / plain:7.2f} {born:9.1f} us {born / plain:7.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    torch, right, total = torch_says(options.torch), 0, 0
    absent = "no twin" if torch else "not installed"
    print(f"{'program':34} {'true place':44} {'Wengert':9} {'seconds':>7}  {'jax_debug_nans':14} torch")
    for program in programs():
        start = time.perf_counter()
        verdict, said = wengert_says(program)
        seconds = time.perf_counter() - start
        jax_verdict, jax_said = jax_says(program)
        torch_verdict, torch_said = torch.get(program.name, (absent, ""))
        short = re.split(r"[:,]", verdict)[0]
        print(f"{program.name:34} {program.truth():44} {short:9} {seconds:7.2f}  {jax_verdict:14} {torch_verdict}")
        if options.v or short != "right":
            for who, text in (("Wengert", f"{verdict}\n{said}"), ("jax", jax_said), ("torch", torch_said)):
                print("\n".join(f"    {who}: {line}" for line in str(text).splitlines()))
        right, total = right + (short == "right"), total + 1
    print(f"\nWengert names {right} of {total} wholly.")
    if options.cost:
        cost()
    return right < total


if __name__ == "__main__":
    sys.exit(main())
