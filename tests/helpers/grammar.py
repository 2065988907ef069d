"""Random operands of NumPy calls: numbers, dtypes, shapes, layouts of memory, and arguments about them."""

import random
import re

import numpy as np

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
OFTEN = [*DTYPES, "i8", "f8", "f8", "f4", "i4", "c16", "?", "u1", "f2"]
FLOATS = ["f4", "f8", "f8", "c8", "c16", "i8", "f2"]
REALS = [d for d in OFTEN if d[0] != "c"]
INTS = ["i8", "i8", "i8", "i4", "u1", "i1", "u8", "?"]
SHAPES = [(), (1,), (3,), (3,), (4,), (2, 3), (3, 3), (3, 2), (2, 1, 3), (2, 2, 2), (1, 4), (0,), (0, 3), (2, 0), (1, 1)]
SQUARES = [(2, 2), (3, 3), (2, 3, 3), (1, 1), (3, 3), (0, 0), (2, 3), (3,), (0, 2, 2)]
NUMBERS = ["0", "1", "2", "-1", "3", "300", "-200", "10**12", "10**20", "0.5", "2.0", "-1.5", "1e300", "np.inf", "np.nan", "1j", "2-1j", "True",
    "False"]
GENERICS = ["np.float64(2.5)", "np.float32(0.5)", "np.float16(1.5)", "np.int8(3)", "np.uint8(200)", "np.int64(-2)", "np.uint64(7)", "np.bool(True)",
    "np.complex64(1j)"]
DTYPE_TEXTS = ["float", "int", "bool", "complex", "np.float32", "np.int8", "'u1'", "'f2'", "'c8'", "np.uint64", "'i4'", "np.float64", "'c16'"]
WILD = {"f": [np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, 1.5, 2.5, -0.5], "c": [complex(np.nan, 1), complex(1, np.inf), complex(-0.0, 0.0), 1j,
    -1 + 0j]}


class Draw:
    """One call: its text, and the operands by name. `ref` is the array that axes and shapes are about."""

    def __init__(self, name, seed):
        self.r, self.operands, self.ref, self.name, self.text = random.Random(f"{name} {seed}"), {}, None, name, ""
        self.wild, self.right = self.chance(0.4) and not re.search(r"linalg|poly|choose|unwrap", name), self.chance(0.75)

    # -- operands --

    def chance(self, p):
        return self.r.random() < p

    def mistake(self, p):
        """Whether to get an argument wrong: at most one in a call, or which error comes first would be the question."""
        if self.right or not self.chance(2 * p):
            return False
        self.right = True
        return True

    def pick(self, *options):
        return self.r.choice(options)

    def add(self, value):
        name = "abcdefghijklmnopqrstuvwxyz"[len(self.operands)]
        self.operands[name] = value
        return name

    def numbers(self, shape, dtype):
        rng, size, dtype = np.random.default_rng(self.r.randrange(2**32)), int(np.prod(shape)), np.dtype(dtype)
        if dtype.kind in "iu":
            x = rng.integers(0 if dtype.kind == "u" else -4, 6, size).astype(dtype)
            if self.wild:
                info = np.iinfo(dtype)
                x[rng.random(size) < 0.3] = rng.choice(np.array([info.min, info.max, info.max - 1, 1, 0], dtype))
        elif dtype.kind == "b":
            x = rng.random(size) < 0.5
        else:
            x = rng.integers(-8, 9, size) / (2 if self.chance(0.5) else 3)
            x = x + 1j * rng.integers(-3, 4, size) if dtype.kind == "c" else x
            if self.wild and size:
                at = rng.random(size) < 0.35
                x[at] = rng.choice(np.array(WILD[dtype.kind]), at.sum())
            x = x.astype(dtype)
        return x.reshape(shape)

    def laid(self, x):
        """The same numbers in another layout of memory."""
        kind = self.r.random()
        if x.ndim == 0 or kind < 0.55:
            return x
        if kind < 0.65:
            return np.asfortranarray(x)
        if kind < 0.8:
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        if kind < 0.9:
            wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
            wide[..., 1::2] = x
            return wide[..., 1::2]
        return np.ascontiguousarray(x.T).T

    def array(self, dtypes=OFTEN, shapes=SHAPES, scalars=True, ref=False):
        kind = self.r.random()
        shape, dtype = self.r.choice(shapes), self.r.choice(dtypes)
        x = self.numbers(shape, dtype)
        if self.ref is None or ref:
            self.ref = x
        if scalars and kind < 0.05:
            self.ref = np.asarray(0.5) if self.ref is x else self.ref
            return self.add(x.ravel()[0] if x.size else np.dtype(dtype).type(1))
        if scalars and kind < 0.08:
            self.ref = np.asarray(0.5) if self.ref is x else self.ref
            return self.add(self.pick(1.5, 2.0, -0.5, 1j))
        if scalars and kind < 0.1 and x.ndim == 1 and 0 < x.size < 5:
            name = self.add(x)
            return "[" + ", ".join(f"{name}[{k}]" for k in range(x.size)) + "]"
        return self.add(self.laid(x))

    def partner(self, dtypes=None, wrong=0.08, shape=None):
        """An operand that broadcasts with `ref`, mostly; its dtype is often the same."""
        shape = list(self.ref.shape if shape is None else shape)
        for k in range(len(shape)):
            if self.chance(0.2):
                shape[k] = 1
        shape = shape[self.pick(0, 0, 0, 1, 2) :]
        if self.mistake(wrong):
            shape = list(self.r.choice(SHAPES))
        dtypes = dtypes or ([self.ref.dtype.str[1:]] if self.chance(0.4) else OFTEN)
        kind = self.r.random()
        if kind < 0.1:
            return self.number()
        return self.add(self.laid(self.numbers(tuple(shape), self.r.choice(dtypes))))

    def number(self):
        if self.name.startswith(("power", "left_shift", "float_power")):
            return self.pick("2", "0", "-1", "3", "0.5", "1j", "True", "2.0")  # Python's own integers would fill the memory
        return self.r.choice(NUMBERS) if self.chance(0.7) else self.r.choice(GENERICS)

    def small(self, *more):
        return self.pick("0", "1", "2", "-1", *more)

    def axis(self, several=True, none=True):
        n = self.ref.ndim
        kind = self.r.random()
        if kind < 0.1 and none:
            return "None"
        if self.mistake(0.1):
            return self.pick(str(n), str(-n - 1), "5")
        if several and kind < 0.45:
            axes = self.r.sample(range(n), min(n, self.pick(0, 1, 2, 2)))
            axes = [k - self.pick(0, 0, n) for k in axes]
            return str((*axes, *axes[:1]) if self.mistake(0.1) else tuple(axes))
        if self.mistake(0.05):
            return self.pick("1.0", "'x'")
        if self.chance(0.03):
            return "np.int64(0)" if n else "None"
        return str(self.r.randrange(-n, n)) if n else self.pick("0", "-1", "None")

    def flag(self):
        return self.pick("True", "False", "True")

    def mask(self):
        shape = tuple(1 if self.chance(0.2) else n for n in self.ref.shape)[self.pick(0, 0, 1) :]
        return self.add(self.numbers((5,) if self.mistake(0.07) else shape, "i8" if self.mistake(0.1) else "?"))

    def dtype(self):
        return self.r.choice(DTYPE_TEXTS)

    def vector(self, dtypes=None, n=None):
        n = n if n is not None else self.pick(0, 1, 2, 3, 4)
        return self.array(dtypes or REALS, [(n,)], scalars=False)

    def indices(self, n=3, shape=None):
        if self.chance(0.3):
            return str(self.r.randrange(-n, n) if n else 0)
        x = np.random.default_rng(self.r.randrange(2**32)).integers(-n, max(n, 1), shape or self.pick((), (1,), (3,), (2, 2), (0,)))
        if x.size and self.mistake(0.2):
            x.flat[0] = n + 2
        return self.add(x.astype(self.r.choice(["f8"] if self.mistake(0.1) else ["i8", "i8", "i4"])))

    def length(self, axis=0):
        return self.ref.shape[axis] if self.ref.ndim > axis else 1

    def shape(self):
        n = self.ref.size if self.ref is not None else 4
        return self.pick("-1", f"({n},)", "(-1, 1)", "(1, -1)", "(2, -1)", str(n), "()", "(3, 2)", f"(1, {n}, 1)", "(-1, -1)", "(0,)", "(2, 3)")

    def arrays(self, count=None, same=True):
        first = self.array(ref=True, scalars=not same)
        more = [self.alike() if same else self.array() for _ in range(self.pick(0, 1, 1, 2))]
        return [first, *more]

    def alike(self):
        """An array of nearly the shape of `ref`: one length may differ."""
        shape = list(self.ref.shape)
        if shape and self.chance(0.3):
            k = self.r.randrange(len(shape))
            shape[k] = self.pick(0, 1, 2)
        if self.mistake(0.1):
            shape = shape[1:]
        return self.add(self.laid(self.numbers(tuple(shape), self.r.choice(OFTEN) if self.chance(0.5) else self.ref.dtype)))

    def sequence(self, same=True):
        return "[" + ", ".join(self.arrays(same=same)) + "]"

    @property
    def source(self):
        return f"def f({', '.join(self.operands)}):\n    return {self.text}\n"
