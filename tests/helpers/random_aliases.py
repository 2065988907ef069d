"""Random stores into one array at places that may be the same: of numbers, rows and slices, in loops or not, against
plain Python, and derivatives against differences.

    python tests/helpers/random_aliases.py [--programs 200] [--seed 0]
"""

import random

import numpy as np
from random_indices import loaded, main

from wengert import grad, jit

ROWS, COLUMNS, TRIPS = 4, 3, 3
PARTS = {"number": "{m}[{n}, {c}]", "row": "{m}[{n}]", "slice": "{m}[{n}, 1:3]", "rows": "{m}[{n}:{n} + 1]"}


def statement(draw, names):
    """One that stores a part of an array, of parts of the same kind."""
    kind = draw.choice(["number", "row", "row", "slice", "rows"])

    def part():
        return PARTS[kind].format(m=draw.choice("MMMN"), n=draw.choice(names), c=draw.choice("012"))

    target = part()
    return draw.choice([
        f"{target} = {part()} * {draw.choice(['0.5', '2.0'])}", f"{target} += {part()}", f"{target} *= 0.5",
        f"{target} -= 1.0", f"{target} = {part()} - 0.25 * {part()}", f"{target} = 2.5", f"s += np.sum({part()} * {part()})",
        f"{target} *= {part()}",
    ])  # fmt: skip


def program(seed):
    """The source of a function `f(M, N, a, b, j, k)`."""
    draw = random.Random(seed)
    loop = draw.random() < 0.5
    names = ["j", "k", "0", "1", *(["a[i]", "b[i]", "i"] if loop else [])]
    body = [statement(draw, names) for _ in range(draw.randint(2, 6))]
    body = [f"for i in range({TRIPS}):", *("    " + line for line in body)] if loop else body
    lines = ["M, N = M.copy(), N.copy()", "s = 0.0", *body, "return M, N, s"]
    return "\n".join(["import numpy as np", "def f(M, N, a, b, j, k):", *("    " + line for line in lines)]) + "\n"


def given_to(rng, number):
    j, k = number(rng.integers(0, 2)), number(rng.integers(0, 2))
    return rng.random((ROWS, COLUMNS)), rng.random((ROWS, COLUMNS)), rng.integers(0, 2, TRIPS), rng.integers(0, 3, TRIPS), j, k


def outcome(f, given):
    try:
        return tuple(map(np.array, f(*given)))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


def same(got, want):
    if isinstance(want[0], str) or isinstance(got[0], str):
        return got == want
    return all(p.shape == q.shape and np.allclose(p, q, rtol=1e-10) for p, q in zip(got, want, strict=True))


def weighted(f, weights):
    return lambda *given: sum(np.sum(w * x) for w, x in zip(weights, f(*given)))


def derivative_differs(f, given, rng, **options):
    """None, or how a derivative along a random direction is another than a difference says."""
    weights = [rng.random((ROWS, COLUMNS)), rng.random((ROWS, COLUMNS)), rng.random()]
    loss, (M, N, *others) = weighted(f, weights), given
    dM, dN = rng.random(M.shape), rng.random(N.shape)
    got = jit(grad(loss, argnums=(0, 1)), **options)(M, N, *others)
    got = np.sum(got[0] * dM) + np.sum(got[1] * dN)
    step = 1e-6
    ends = [loss(M + h * dM, N + h * dN, *others) for h in (step, -step)]
    want = (ends[0] - ends[1]) / (2 * step)
    return None if np.isclose(got, want, rtol=1e-5, atol=1e-7) else f"derivative {got}, difference {want}"


def differs(seed, folder, calls=6, **options):
    """None, or the text of what a random program does otherwise than Python; how many of its calls raised."""
    source, rng, raised = program(seed), np.random.default_rng(seed), 0
    number = np.int64 if seed % 3 else int
    f = loaded(source, folder, f"aliases_{seed}")
    g = jit(f, **options)
    for n in range(calls):
        given = given_to(rng, number)
        want, got = outcome(f, given), outcome(g, given)
        text = None if same(got, want) else f"got  {got}\nwant {want}"
        if n == 0 and text is None and not isinstance(want[0], str):
            text = derivative_differs(f, given, rng, **options)
        raised += isinstance(want[0], str)
        if text is not None:
            return f"seed {seed}, call {n}:\n{source}\n{given}\n{text}", raised
    return None, raised


if __name__ == "__main__":
    main(__doc__, differs)
