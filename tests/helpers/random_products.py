"""Random loops with products of vectors and matrices that lie anywhere: parts, columns, every second row, turned, backwards, rows
of a stack that the trip chooses, computed ones, and what the loop itself stores into.

    python tests/helpers/random_products.py 0 500

Every product that may be is left to BLAS (`native/blas.py`), however small. Each program is compared with NumPy on the same
arguments, twice; run as a script, it prints the programs that differ, and how many products were left to it.
"""

import argparse
import random
import warnings
from unittest import mock

import numpy as np
from draws import function

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import blas, region

SIZE, STACK, TRIPS = 6, 3, 4
DTYPES = "f8", "f8", "f8", "f4", "f4", "i8", "c16"


class ProductProgram:
    """text: of a function f(a, b, s, x, y) of two matrices, a stack of matrices and two vectors."""

    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.kinds = [r.choice(DTYPES)] * 5
        if r.random() < 0.2:
            self.kinds[r.randrange(5)] = r.choice(DTYPES)
        lines = [line for _ in range(r.randint(1, 3)) for line in self.statement()]
        head = "import numpy as np\n\n\ndef f(a, b, s, x, y):\n    a, b, s, x, y = a.copy(), b.copy(), s.copy(), x.copy(), y.copy()\n"
        body = "".join(f"        {line}\n" for line in lines)
        self.text = f"{head}    for k in range({TRIPS}):\n{body}    return a, b, s, x, y\n"

    def arguments(self, seed):
        g = np.random.default_rng(seed)
        n, t = SIZE, STACK
        draw = lambda d, *shape: (g.integers(-3, 4, shape) if d == "i8" else g.normal(size=shape)).astype(d)
        return [draw(d, *shape) for d, shape in zip(self.kinds, ((n, n), (n, n), (t, n, n), (n,), (n,)), strict=True)]

    def statement(self):
        r = self.r
        p, q, m = (r.randint(1, SIZE) for _ in range(3))
        kind = r.choice(["matrix vector", "vector matrix", "matrices"])
        if kind == "matrices":
            value, target = f"{self.matrix(p, q)} @ {self.matrix(q, m)}", self.window(p, m)
        else:
            value = f"{self.matrix(p, q)} @ {self.vector(q)}" if kind == "matrix vector" else f"{self.vector(q)} @ {self.matrix(q, p)}"
            target = self.place(p)
        whole = {"i8", "c16"} & set(self.kinds)
        value = f"({value}) % 7" if "i8" in whole and "c16" not in whole else f"({value}) / 9" if whole else f"np.tanh({value})"
        line = f"{target} = {value}" if not whole else f"{target} = ({value}).real.astype({target}.dtype)"
        return [f"if x[{r.randrange(SIZE)}].real > 0:", f"    {line}"] if r.random() < 0.2 else [line]

    def part(self, size):
        """A slice of an axis."""
        at = self.r.randint(0, SIZE - size)
        if size > 1 and 2 * size - 1 <= SIZE and self.r.random() < 0.2:
            at = self.r.randint(0, SIZE - 2 * size + 1)
            return f"{at}:{at + 2 * size - 1}:2"
        if self.r.random() < 0.1:
            return f"{at + size - 1}:{at - 1 if at else ''}:-1"
        return f"{at}:{at + size}"

    def square(self):
        return self.r.choice(["a", "b", "a.T", "s[k % 3]", "s[1]", "s.swapaxes(1, 2)[(2 * k + 1) % 3]"])

    def window(self, p, q):
        """Text of a part of a matrix that is stored into."""
        return f"{self.square()}[{self.part(p)}, {self.part(q)}]"

    def matrix(self, p, q):
        turned = self.r.random() < 0.3
        text = f"{self.window(q, p)}.T" if turned else self.window(p, q)
        if self.r.random() < 0.15:
            return f"({text} * 0.5 + {self.r.choice(['b', 'a.T'])}[{self.part(p)}, {self.part(q)}])"
        return text

    def place(self, p):
        """Text of a vector that is stored into."""
        at = self.r.randrange(SIZE)
        return self.r.choice(
            [
                f"{self.r.choice('xy')}[{self.part(p)}]",
                f"{self.r.choice('xy')}[{self.part(p)}]",
                f"{self.square()}[{at}, {self.part(p)}]",
                f"{self.square()}[{self.part(p)}, {at}]",
            ]
        )

    def vector(self, p):
        text = self.place(p)
        return f"({text} - 0.25)" if self.r.random() < 0.2 else text


def all_left_to_blas():
    """Within: no product is too small."""
    native.legal.made.cache_clear()
    native.legal.emitted.cache_clear()
    return mock.patch.object(region, "PRODUCT", 0)


def differs(seed, engine="numpy"):
    """What is wrong of a program, None if nothing is."""
    program = ProductProgram(seed)
    f = function(program.text, f"products {seed}")
    g = jit(f, engine=engine, whole=True)
    for k in range(2):
        given = program.arguments(seed + k)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            want, got = f(*given), g(*given)
        for name, x, y in zip("absxy", got, want, strict=True):
            near = 1e-3 if "f4" in program.kinds else 1e-9
            if x.dtype != y.dtype or not np.allclose(x, y, rtol=near, atol=near, equal_nan=True):
                return f"{name}: {x} for {y}\n{program.text}{program.kinds}"
    return None


def gradient_differs(seed):
    """The same of a gradient, by central differences along a random direction."""
    program = ProductProgram(seed)
    if set(program.kinds) != {"f8"}:
        return None
    f, given, g = function(program.text, f"products {seed}"), program.arguments(seed), np.random.default_rng(seed)
    loss = lambda s, x: sum((part * (n + 1)).sum() for n, part in enumerate(f(given[0], given[1], s, x, given[4])))
    ds, dx, h = g.normal(size=given[2].shape), g.normal(size=SIZE), 1e-6
    got = grad(loss, argnums=(0, 1))(given[2], given[3])
    want = (loss(given[2] + h * ds, given[3] + h * dx) - loss(given[2] - h * ds, given[3] - h * dx)) / (2 * h)
    found = (got[0] * ds).sum() + got[1] @ dx
    return None if abs(found - want) <= 1e-4 * (1 + abs(want)) else f"{found} for {want}\n{program.text}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    options = parser.parse_args()
    found, made = 0, mock.Mock(wraps=blas.call_blas)
    with all_left_to_blas(), mock.patch.object(blas, "call_blas", made):
        for seed in range(options.first, options.last):
            for problem in (differs(seed), differs(seed, "xla") if seed % 5 == 0 else None, gradient_differs(seed)):
                if problem:
                    found += 1
                    print(f"-- {seed}: {problem}")
    print(f"{options.last - options.first} programs, {found} problems, {made.call_count} products left to BLAS")
