"""Statements as people write them every day, each a program of a line or two, on arrays of one length.

A line is `name | arguments | statements`. Arguments by their names: a, b: vectors of n normal numbers; k: n bools of
which three in ten hold; i: n indices; A: a square matrix of about n numbers.
"""

import linecache

import numpy as np

STATEMENTS = """
mask set          | a k   | a = a.copy(); a[k] = 0; return a
mask add          | a k   | a = a.copy(); a[k] += 1; return a
mask copy         | a b k | a = a.copy(); a[k] = b[k]; return a
mask take         | a k   | return a[k]
mask mean         | a k   | return a[k].mean()
mask self         | a     | return a[a > 0.5]
mask std          | a     | c = a[a > 0]; return c.mean(), c.std()
mask both         | a     | k = a > 0; return (a[k] ** 2).sum() / k.sum(), a[~k].max()
mask index        | a i k | a = a.copy(); a[i[k]] = 3.0; return a
mask rows         | A     | return A[(A > 2.5).any(axis=1)]
not nan           | a     | return a[~np.isnan(a)].sum()
nonzero           | a     | return np.nonzero(a > 1)[0]
argwhere          | A     | return np.argwhere(A > 2)
clip below        | a     | a = a.copy(); a[a < 0] = 0; return a
scatter           | a i   | a = a.copy(); a[i] = 3.0; return a
gather            | a i   | return a[i]
add at            | a i   | a = a.copy(); np.add.at(a, i, 1.5); return a
bincount          | i     | return np.bincount(i)
histogram         | a     | return np.histogram(a, 50)[0]
histogram range   | a     | return np.histogram(a, 50, (-3, 3))[0]
sort              | a     | return np.sort(a)
argsort           | a     | return np.argsort(a)
ranks             | a     | o = np.argsort(a); r = np.empty_like(o); r[o] = np.arange(len(a)); return r
unique            | a     | return np.unique(np.round(a, 1))
median            | a     | return np.median(a)
percentiles       | a     | return np.percentile(a, [5, 50, 95])
cumsum            | a     | return np.cumsum(a)
cumsum of product | a     | return np.cumsum(a * a) - a
count so far      | a     | return np.cumsum(a > 0)
drawdown          | a     | c = np.cumsum(a); return (np.maximum.accumulate(c) - c).max()
columns so far    | A     | return A.cumsum(0)
integral image    | A     | return A.cumsum(0).cumsum(1)
running maximum   | a     | return np.maximum.accumulate(a)
partition by sign | a     | return a[np.argsort(a > 0, kind="stable")]
diff twice        | a     | return np.diff(a, 2)
moving average    | a     | return np.convolve(a, np.ones(9) / 9, "valid")
z score           | a     | return (a - a.mean()) / a.std()
softmax           | a     | e = np.exp(a - a.max()); return e / e.sum()
log sum exp       | a     | c = a.max(); return c + np.log(np.exp(a - c).sum())
row norms         | A     | return A / np.linalg.norm(A, axis=1, keepdims=True)
centred columns   | A     | return A - A.mean(axis=0)
column variances  | A     | return A.var(axis=0)
argmax of rows    | A     | return A.argmax(axis=1)
top five          | A     | return np.argsort(A, axis=1)[:, -5:]
extremes of axes  | A     | return A.min(1), A.max(0)
plus transposed   | A     | return A + A.T
laplacian         | A     | return A[1:-1, 1:-1] * -4 + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]
rolls             | A     | return np.roll(A, 1, 0) + np.roll(A, -1, 0) + np.roll(A, 1, 1) + np.roll(A, -1, 1) - 4 * A
gram              | A     | return A.T @ A
pad               | A     | return np.pad(A, 2, mode="edge")
flipped below     | A     | return np.concatenate([A, A[::-1]], axis=0)
stack             | A     | return np.stack([A, A * 2, A * 3], axis=-1)
tile              | A     | return np.tile(A, (2, 2))
triangle          | A     | return np.triu(A, 1).sum()
distances         | A     | d = A[:, 0]; return np.abs(d[:, None] - d[None, :]).sum(1)
without a row     | A     | return np.delete(A, 3, axis=0)
solve             | A     | B = A[:30, :30] + np.eye(30) * 30; return np.linalg.solve(B, B[:, 0])
gaussian          | A     | y, x = np.mgrid[: len(A), : len(A)]; return A * np.exp(-((y - 9) ** 2 + (x - 9) ** 2) / 50)
einsum of rows    | A     | return np.einsum("ij,ij->i", A, A)
einsum outer      | a     | c = a[:100]; return np.einsum("i,j->ij", c, c)
correlation       | a b   | return np.corrcoef(a, b)
dot               | a b   | return a @ b
where             | a b   | return np.where(a > b, a, b * 2)
trapezoids        | a     | return np.sum((a[1:] + a[:-1]) / 2)
interp            | a     | return np.interp(a, np.linspace(-3, 3, 20), np.arange(20.0))
searchsorted      | a     | return np.searchsorted(np.linspace(-3, 3, 100), a)
digitize          | a     | return np.digitize(a, np.linspace(-3, 3, 20))
polyval           | a     | return np.polyval([1.0, 2, 3, 4], a)
spectrum          | a     | return np.abs(np.fft.rfft(a))
sin cos           | a     | return np.sin(a) * np.cos(a)
density           | a     | return np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi)
power             | a     | return np.abs(a) ** 1.5
cube              | a     | return a**3 + a**2 + a
log of product    | a     | return np.log(np.abs(a) + 1).sum()
remainders        | i     | return (i * 7 + 3) % 11
whole quotients   | i     | return i // 3
is in             | i     | return np.isin(i, [1, 5, 7, 9])
any and all       | a     | return (a > 5).any(), (a < 9).all()
least place       | a     | return a.argmin(), a.min(), a.max()
sums of fours     | a     | n = len(a) // 4 * 4; return a[:n].reshape(-1, 4).sum(1)
repeat            | a     | return np.repeat(a, 3)
complex square    | a b   | z = a + 1j * b; return (z * z.conj()).real
complex modulus   | a b   | return np.abs(a + 1j * b)
float32           | a     | c = a.astype(np.float32); return c * 2 + np.float32(1)
"""


def statements():
    """{name: (names of the arguments, text of the statements)}"""
    found = {}
    for line in STATEMENTS.strip().splitlines():
        name, given, text = (part.strip() for part in line.split("|", 2))
        found[name] = given.split(), text
    return found


def function_of(name, given, text, numpy=np):
    """The function of these statements, with a module for `np`."""
    file = f"<statement {name}, {numpy.__name__}>"
    source = f"def f({', '.join(given)}):\n    {text}\n"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"np": numpy}
    exec(compile(source, file, "exec"), space)
    return space["f"]


def arguments(given, n, seed=0):
    rng = np.random.default_rng(seed)
    side = int(n**0.5)
    made = {
        "a": lambda: rng.standard_normal(n),
        "b": lambda: rng.standard_normal(n),
        "k": lambda: rng.random(n) < 0.3,
        "i": lambda: rng.integers(0, n, n),
        "A": lambda: rng.standard_normal((side, side)),
    }
    return [made[x]() for x in given]
