"""Gradients of every NPBench kernel with real float inputs: right or wrong, and how long and how much memory they take.

    git clone https://github.com/spcl/npbench
    python benchmarks/npbench_gradients.py npbench                   # preset S
    python benchmarks/npbench_gradients.py npbench --check-only      # tiny sizes, nothing timed

The loss is the sum of all that a kernel returns and of the float arguments that it writes to, real parts, times a
cotangent: ones, then random numbers (the plain sum of a softmax is constant). Its gradient with respect to every real
float argument, arrays and numbers, is compared with NumPy's own central differences along random directions (three with
--check-only, else one), with the step whose two neighbours agree with it best. "chaotic" is where no three neighbouring
steps do, to a tenth.

`jax.grad` of the port, jitted, has a loss of the same kind over what the port returns; the gradient is compared with
differences of that. HIPS autograd, if it is installed, differentiates the NumPy kernel with its own `np`. ms are
medians of turns in one process, NumPy arrays in and out, but for the port, and ours in "device ms", which take and give
jax arrays; a kernel that writes to its arguments is handed copies of them there, made inside the loss, and numbers,
which are static to the port, have no derivative there, as they have none in the port. port/ours compares those two. MB
are the temporary buffers of the compiled programs.
"""

import copy
import importlib
import importlib.util
import math

import jax
import numpy as np

from wengert import grad, jit
from wengert.backends.xla.lower import lower
from wengert.benchmarks.npbench import asked, gone_through, interleaved, mean, on_device, prepared
from wengert.benchmarks.timing import settle, table

STEPS = 10.0 ** np.arange(-2, -14, -1)
CLOSE = 1e-5  # of the derivative along a direction, where differences agree so well


# -- the loss --------------------------------------------------------------------------------------


def real(a):
    """Whether a leaf has a derivative that is asked for."""
    return isinstance(a, np.ndarray) and a.dtype.kind == "f" or isinstance(a, float | np.floating)


def outputs(args, result, written):
    """The float leaves of what a call returns, and of the arguments `written`, as it leaves them."""
    leaves = [*jax.tree_util.tree_leaves(result), *(args[i] for i in written)]
    return [
        x
        for x in leaves
        if getattr(x, "dtype", np.dtype(type(x) if isinstance(x, float | int) else object)).kind in "fc"
    ]


def weighted(kernel, cotangents, written, copies=False):
    """The loss of a kernel, as a user would write it; with `copies` it writes to copies, as it must where arguments are
    jax arrays."""

    def loss(*args):
        args = [np.copy(a) if copies and i in written else a for i, a in enumerate(args)]
        result = kernel(*args)
        total = 0.0
        for x, c in zip(outputs(args, result, written), cotangents):
            part = x * c
            total = total + (part if part.dtype.kind == "f" else part.real).sum()
        return total

    return loss


def drawn(shapes, ones):
    rng = np.random.default_rng(7)
    return [np.ones(s) if ones else rng.normal(size=s) for s in shapes]


def observed(kernel, args):
    """(which arguments a kernel writes to, the shapes of what its loss is made of)"""
    mine = copy.deepcopy(args)
    result = kernel(*mine)
    same = lambda a, b: np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    written = [i for i, (a, b) in enumerate(zip(args, mine)) if isinstance(a, np.ndarray) and not same(a, b)]
    return written, [np.shape(x) for x in outputs(mine, result, written)]


# -- right or wrong --------------------------------------------------------------------------------


def moved(args, direction, h):
    """`args`, those that have a direction moved by h of it."""
    step = lambda a, d: (a + h * d).astype(a.dtype) if isinstance(a, np.ndarray) else type(a)(a + h * d)
    return [a if d is None else step(a, d) for a, d in zip(copy.deepcopy(args), direction)]


def single(args):
    """Whether some of the arguments are of float32, so that small steps round away."""
    return any(getattr(a, "dtype", None) == np.float32 for a in args)


def slope(loss, args, direction):
    """(directional derivative, its doubt), by central differences at the step whose two neighbours agree with it best.

    The doubt is by how much they do not: where a function jumps, two may by chance, but not three.
    """
    found = []
    for h in STEPS[:4] if single(args) else STEPS:
        with np.errstate(all="ignore"):
            try:
                found.append(
                    (float(loss(*moved(args, direction, h))) - float(loss(*moved(args, direction, -h)))) / (2 * h)
                )
            except np.linalg.LinAlgError:  # so large a step leaves where the function is defined
                found.append(math.nan)
    near = [abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in zip(found, found[1:])]
    doubts = [max(a, b) for a, b in zip(near, near[1:])]
    best = int(np.nanargmin(doubts)) if not np.isnan(doubts).all() else 0
    return found[best + 1], doubts[best] * abs(found[best + 1])


def directions(args, where, count):
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield [
            rng.normal(size=np.shape(a)) * (np.abs(a) + 1e-3 * np.mean(np.abs(a))) if i in where else None
            for i, a in enumerate(args)
        ]


def compared(loss, args, where, gradient, count=1):
    """(yes, chaotic or NO; the worst relative error) of a gradient against differences of a loss."""
    if not all(np.isfinite(np.asarray(g)).all() for g in gradient):
        return "NaN", math.nan
    worst, said = 0.0, "yes"
    for direction in directions(args, where, count):
        want, doubt = slope(loss, args, direction)
        coarse = single(args)
        got = sum(float(np.sum(np.asarray(g, dtype=float) * direction[i])) for i, g in zip(where, gradient))
        terms = sum(float(np.sum(np.abs(np.asarray(g) * direction[i]))) for i, g in zip(where, gradient))
        scale = max(abs(want), abs(got), (1e-6 if coarse else 1e-12) * terms, 1e-300)
        error = abs(got - want) / scale
        worst = max(worst, error)
        if doubt > 0.1 * abs(want) and said != "NO":  # no step is small enough
            said = "chaotic"
        elif error > (3e-2 if coarse else CLOSE) and error > 10 * doubt / scale:
            said = "NO"
        elif error > (3e-2 if coarse else 1e-3) and said == "yes":
            said = "chaotic"
    return said, worst


# -- one kernel ------------------------------------------------------------------------------------


def measure(kernel, size, check_only, seconds):
    function = kernel.function("_numpy")
    args, _ = prepared(kernel, size, check_only)
    where = tuple(i for i, a in enumerate(args) if real(a))
    if not where:
        return {"correct": "no float input", "notes": ""}
    found, errors = [], []
    written, sizes = observed(function, args)
    for ones in (True, False):
        cotangents = drawn(sizes, ones)
        derivative = jit(grad(weighted(function, cotangents, written), argnums=where))
        gradient = derivative(*copy.deepcopy(args))
        said, error = compared(weighted(function, cotangents, written), args, where, gradient, 3 if check_only else 1)
        found.append(said)
        errors.append(error)
    row = {"correct": found[0], "random": found[1], "error": max(errors), "notes": ""}
    if check_only:
        return row
    forward = jit(weighted(function, cotangents, written))
    host = lambda: copy.deepcopy(args)
    everyone = {"forward": (forward, host), "ours": (derivative, host)}
    for run in (forward, derivative):
        run(*host())
        settle(run, lambda run=run: run(*host()))
    device = lambda: on_device(args)
    arrays = tuple(i for i in where if isinstance(args[i], np.ndarray)) or where
    there = jit(grad(weighted(function, cotangents, written, copies=True), argnums=arrays))
    jax.block_until_ready(there(*device()))
    everyone["ours too"] = (lambda *xs: jax.block_until_ready(there(*xs))), device
    row["MB"] = temporary(derivative.ir(*copy.deepcopy(args)))
    row |= port(kernel, args, everyone)
    row |= taped(kernel, args, where, cotangents, written, everyone)
    row["times"] = interleaved(everyone, seconds)
    return row


def temporary(func):
    """MB of temporary buffers of an IR function's compiled program."""
    with jax.enable_x64(True):
        operands = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in func.param_types]
        compiled = jax.jit(lambda *xs: tuple(lower(func, xs))).lower(*operands).compile()
    return compiled.memory_analysis().temp_size_in_bytes / 1e6


def taped(kernel, args, where, cotangents, written, everyone):
    """What becomes of the NumPy kernel under HIPS autograd, its `np` exchanged."""
    if not importlib.util.find_spec("autograd"):
        return {"autograd": "not installed"}
    autograd, module = importlib.import_module("autograd"), kernel.load("_numpy")
    for name, value in list(vars(module).items()):
        if value is np:
            setattr(module, name, importlib.import_module("autograd.numpy"))
    loss = weighted(getattr(module, kernel.info["func_name"]), cotangents, written)
    host = lambda: copy.deepcopy(args)
    run = autograd.grad(loss, where)
    try:
        gradient = run(*host())
        said, _ = compared(weighted(kernel.function("_numpy"), cotangents, written), args, where, gradient)
    except Exception as error:  # whatever it raises is its result
        return {"autograd": type(error).__name__}
    everyone["autograd"] = run, host
    return {"autograd": said}


def port(kernel, args, everyone):
    """What becomes of `jax.grad` of the hand-written port."""
    if not (kernel.folder / (kernel.info["module_name"] + "_jax.py")).exists():
        return {"port": "none"}
    function = kernel.function("_jax")
    static = tuple(i for i, a in enumerate(args) if not isinstance(a, np.ndarray))
    where = tuple(i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    try:
        given = on_device(args)
        leaves = lambda out: [
            x for x in jax.tree_util.tree_leaves(out) if getattr(x, "dtype", np.dtype(object)).kind in "fc"
        ]
        cotangents = drawn([np.shape(x) for x in leaves(function(*given))], False)

        def loss(*args):
            return sum((x * c).real.sum() for x, c in zip(leaves(function(*args)), cotangents))

        run = jax.jit(jax.grad(loss, argnums=where), static_argnums=static)
        fresh = lambda: on_device(args)
        gradient = jax.block_until_ready(run(*fresh()))
        plain = jax.jit(loss, static_argnums=static)
        said, _ = compared(plain, args, where, gradient)
        everyone["port"] = run, fresh
        memory = run.lower(*fresh()).compile().memory_analysis().temp_size_in_bytes / 1e6
        return {"port": said, "port MB": memory}
    except Exception as error:  # whatever the port raises is its result
        return {"port": type(error).__name__}


HEAD = ["kernel", "ones", "random", "error", "forward ms", "ours ms", "device ms", "port ms", "autograd ms"]
HEAD += ["grad/forward", "port/ours", "autograd/ours", "MB", "port MB", "port", "autograd", "notes"]


def cells(name, row):
    times = row.get("times", {})
    forward, ours, device, theirs, tape = (times.get(k, math.nan) for k in (
        "forward", "ours", "ours too", "port", "autograd",
    ))
    by_port = theirs / device if row.get("port") == "yes" else math.nan
    by_tape = tape / ours if row.get("autograd") == "yes" else math.nan
    numbers = [*(1e3 * t for t in (forward, ours, device, theirs, tape)), ours / forward, by_port, by_tape]
    said = row["correct"], row.get("random", ""), row.get("error", math.nan)
    memory = row.get("MB", math.nan), row.get("port MB", math.nan)
    return [name, *said, *numbers, *memory, row.get("port", ""), row.get("autograd", ""), row["notes"]]


def main():
    rows = gone_through(__file__, measure, asked(__doc__, 240.0))
    if rows is None:
        return
    body = [cells(name, row) for name, row in rows.items()]
    table(body, HEAD)
    asked_for = [row for row in rows.values() if row["correct"] != "no float input"]
    right = sum(row["correct"] in ("yes", "chaotic") and row.get("random") in ("yes", "chaotic") for row in asked_for)
    means = ", ".join(
        f"{title} {mean(r[HEAD.index(title)] for r in body):.2f}"
        for title in ("grad/forward", "port/ours", "autograd/ours")
    )
    print(f"\n{right} of {len(asked_for)} right; geometric means: {means}")


if __name__ == "__main__":
    main()
