"""Random loops that index by their data, against plain Python: values, what is raised, and what arguments are left as.

    python tests/helpers/random_indices.py [--programs 200] [--seed 0]
"""

import argparse
import importlib.util
import pathlib
import random
import re
import tempfile

import numpy as np

from wengert import jit

SIZE, TRIPS = 9, 7
NAMES = ("j", "k", "m")


def index(draw):
    name = draw.choice(NAMES)
    return draw.choice([
        name, f"{name} + {draw.randint(1, 3)}", f"{name} - {draw.randint(1, 3)}", f"a[{name}]", f"i + {name}",
        f"2 * {name}", f"a[i] - {draw.randint(0, 3)}", "i", f"({name} + i) // 2", f"{SIZE - 1} - {name}",
    ])  # fmt: skip


def simple(draw):
    name = draw.choice(NAMES)
    return draw.choice([
        f"s += x[{index(draw)}]", f"x[{index(draw)}] = s * 0.5", f"x[{index(draw)}] += 1.0",
        f"{name} = a[{index(draw)}]", f"{name} += {draw.choice([-2, -1, 1, 2])}", f"{name} = {index(draw)}",
        f"a[{index(draw)}] = {name}", f"{name} = int(x[{index(draw)}] * {draw.randint(1, 12)})",
        f"s += x[{index(draw)}] * x[{index(draw)}]",
    ])  # fmt: skip


def condition(draw):
    name = draw.choice(NAMES)
    return draw.choice([
        f"{name} > {draw.randint(-1, SIZE)}", f"x[{index(draw)}] > 0.4", f"{name} < m", f"a[{index(draw)}] >= {name}",
    ])  # fmt: skip


def goes_on(draw, counter):
    name, way = draw.choice(NAMES), draw.choice([1, -1, 2])
    limit = f"{name} < {draw.randint(1, SIZE + 1)}" if way > 0 else f"{name} >= {draw.randint(-1, 2)}"
    data = draw.choice(["", f" and x[{name}] < 0.9", f" and a[{name}] != 3"])
    return [f"while {limit}{data} and {counter} < 20:"], [f"{name} += {way}", f"{counter} += 1"]


def block(draw, depth):
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if depth and kind < 0.2:
            inner = block(draw, depth - 1)
            lines += [f"if {condition(draw)}:", *("    " + line for line in inner)]
            if draw.random() < 0.5:
                lines += ["else:", *("    " + line for line in block(draw, depth - 1))]
        elif depth and kind < 0.4:
            counter = f"n{depth}"
            head, step = goes_on(draw, counter)
            body = [*block(draw, depth - 1), *step]
            lines += [f"{counter} = 0", *head, *("    " + line for line in body)]
        else:
            lines.append(simple(draw))
    return lines


def program(seed):
    """The source of a function `f(x, a, j, k)`."""
    draw = random.Random(seed)
    lines = ["s, m, n1, n2 = 0.0, 1, 0, 0", f"for i in range({TRIPS}):", *("    " + line for line in block(draw, 2))]
    return "\n".join([
        "def f(x, a, j, k):", *("    " + line for line in lines), "    return s, j + 0, k + 0, m + 0",
    ]) + "\n"  # fmt: skip


def loaded(source, folder, name):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def outcome(f, given):
    x, a, j, k = given
    x, a = x.copy(), a.copy()
    try:
        with np.errstate(all="ignore"):
            out = f(x, a, j, k)
    except Exception as error:
        text = re.sub(r"-?[0-9]{14,}( or beyond)?", "far away", str(error).splitlines()[0])
        return type(error).__name__, text
    return tuple(float(v) for v in out), x, a


def same(got, want):
    if isinstance(want[0], str) or isinstance(got[0], str):
        return got == want
    return all(np.allclose(p, q, rtol=1e-10, equal_nan=True) for p, q in zip(got, want, strict=True))


def differs(seed, folder, calls=12, **options):
    """None, or the text of what a random program does otherwise than Python; how many of its calls raised."""
    source, rng, raised = program(seed), np.random.default_rng(seed), 0
    number = int if seed % 2 else np.int64  # ints are known to traces, and what they get wrong is raised while tracing
    f = loaded(source, folder, f"indices_{seed}")
    g = jit(f, **options)
    for n in range(calls):
        low, high = ((0, SIZE // 2), (-SIZE, SIZE), (-2 * SIZE, 2 * SIZE))[n % 3]
        j, k = number(rng.integers(low, high)), number(rng.integers(0, 3))
        given = rng.random(SIZE), rng.integers(low, high, SIZE), j, k
        want, got = outcome(f, given), outcome(g, given)
        raised += isinstance(want[0], str)
        if not same(got, want):
            return f"seed {seed}, call {n}:\n{source}\n{given}\ngot  {got}\nwant {want}", raised
    return None, raised


def main(about, differs):
    """The command line of a tester. differs: (seed, a folder) -> (None or the text of a difference, calls that raised)."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failed = raised = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.programs):
            try:
                text, count = differs(seed, folder)
            except Exception as error:
                refused += 1
                print(f"seed {seed}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
                continue
            raised += count
            if text is not None:
                failed += 1
                print(text, flush=True)
    print(f"{args.programs} programs, {raised} calls that raise, {refused} refused, {failed} otherwise than Python")


if __name__ == "__main__":
    main(__doc__, lambda seed, folder: differs(seed, folder, whole=seed % 2 == 0))
