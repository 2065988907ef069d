"""Random programs called at random sizes: what they ask of sizes, loops over them, two sizes and their relations, stores in place, several results.

    python tests/helpers/random_lengths.py 0 1000

One compiled function is called with one sequence of sizes, 0, 1 and 2 among them, some again and again; now and then with another dtype or a jax
array. Each call is compared with plain Python's: results, arguments, exceptions, what shares memory.
"""

import random

import jax
import numpy as np
from compare import agree
from draws import Found, apart, attempt, function, print_seeds, shaky

from wengert import grad, jit

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 25, 31, 32, 40)
OTHER = ("n", "n", "n", "n + 1", "n - 1", "2*n", "m", "m", "3", "n//2")  # how long b is
ROWS = ("n, 3", "n, n", "2, n", "n, m", "3, 3", "n, 1")  # and of what shape c is
TO_VECTOR = (  # {x} an array of one axis, {y} another, {q} of two
    "np.tanh({x})", "{x} * s", "{x} + {y}", "{x} - {x}.mean()", "{x}[::-1]", "np.cumsum({x})", "np.sort({x})", "{x}[1:]", "{x}[:-1]", "{x}[::2]",
    "np.diff({x})", "np.concatenate([{x}, {y}])", "{x}[:len({x}) // 2]", "{x}[len({y}):]", "np.where({x} > 0, {x}, s)", "{x} / (len({x}) + 1)",
    "np.convolve({x}, np.array([0.25, 0.5, 0.25]), mode='same')", "np.convolve({x}, {y})", "np.repeat({x}, 2)", "np.roll({x}, 1)",
    "np.pad({x}, 1)", "np.pad({x}, (0, 2), mode='edge')", "np.arange(len({x})) * 0.5", "np.zeros(len({x}))", "np.linspace(0, 1, {x}.size)",
    "np.ones({x}.shape) * s", "np.full_like({x}, s)", "{x}.copy()", "{q} @ {x}", "{x} @ {q}", "{q}.sum(axis=0)", "{q}.mean(axis=1)",
    "{q}.ravel()", "{q}[:, 0]", "{q}[0]", "{q}[-1] + {x}", "np.diag({q})", "{x}[np.argsort(-{x})]", "np.maximum({x}, {y})", "{x} * {y}",
    "{x} - {y}[:{x}.size]", "np.stack([{x}, {x}]).sum(axis=0)", "np.concatenate([{x}[:1], {x}])", "np.interp({x}, np.arange(4.0), np.ones(4))",
    "{x}.reshape(2, -1)[0]", "{x}.reshape(-1)", "np.array([v * 2 for v in {x}])", "np.array([{x}[i] for i in range(len({x}))])",
    "np.cumprod({x} * 0.5)", "{x}[{x} > 0]", "np.append({x}, s)", "np.linalg.solve({x}[:, None] * {x} + np.eye(len({x})) * 9, {x})",
    "np.flip({x}) * np.arange({x}.shape[0])", "{x}[-len({x}) // 2:]", "np.insert({x}, 0, s)",
    "np.lib.stride_tricks.sliding_window_view({x}, 3).sum(axis=1)", "np.abs(np.fft.rfft({x}))", "{x}[np.arange(len({x})) % 2 == 0]",
    "{x}[min(len({x}), 3):]", "np.hstack([{x}, np.zeros(max(0, 5 - len({x})))])", "np.tile({x}, 2)", "np.minimum.accumulate({x})",
    "np.array_split({x}, 2)[1]", "np.zeros(len({x}) + len({y}))", "np.gradient({x})", "np.hanning(len({x})) * {x}",
    "np.fft.fftfreq(len({x}) + 1)", "np.abs(np.fft.fft({x}))", "np.kron({x}, np.array([1.0, 2.0]))", "np.linspace(s, 1, len({x}) + 2)",
    "np.array_split({x}, 3)[0]", "np.split({x}, 2)[1]", "{x}.reshape(-1, 2)[:, 1]", "np.take({x}, [0, -1])", "np.resize({x}, 7)", "{x}[::3]",
    "{x}[1::2]", "{x}[::-2]", "{x}[len({x}) // 3 : 2 * len({x}) // 3]", "np.convolve({x}, np.ones(3), mode='valid')",
    "np.partition({x}, len({x}) // 2)", "np.searchsorted(np.sort({x}), {y})", "np.arange(len({x}), 0, -1) / 3", "np.average({q}, axis=0)",
    "{q}.var(axis=0)", "np.linalg.eigvalsh({q} @ {q}.T)", "np.einsum('ij,ij->i', {q}, {q})", "np.quantile({x}, [0.25, 0.5])",
    "np.vander({x}, 3)[:, 0]", "{x}[-3:]", "{x}[3:-3]", "np.where(np.arange(len({x})) < len({x}) // 2, {x}, s)", "np.unique(np.round({x}))",
    "np.delete({x}, 0)", "np.ediff1d({x})", "{x}.clip(-1, len({x}))",
    "{x} * np.prod({x}.shape)", "{x} - np.prod({q}.shape)", "{x} * len({x})", "{x} / np.int64(len({x}) + 1)",
)  # fmt: skip
TO_ROWS = (
    "np.outer({x}, {y})", "{q}.T", "{q} * s", "{q} @ {q}.T", "{q} + {x}", "{x}[:, None] - {y}", "np.eye(len({x}))", "np.tril({q})", "{q}[1:]",
    "{q}[:, ::-1]", "np.vstack([{q}, {q}])", "{x}.reshape(-1, 1)", "{q} / {q}.shape[0]", "np.zeros((len({x}), 2))",
    "np.exp(-({x}[:, None] - {x}) ** 2)", "{q}.reshape({q}.shape[1], {q}.shape[0])", "np.column_stack([{x}, {x}])",
    "{q} - {q}.max(axis=-1, keepdims=True)", "{q}.copy()", "{x}[None] * {x}[:, None]", "np.broadcast_to({x}, (2, len({x}))) * 1.0",
    "np.tri(len({x}))", "np.rot90({q})", "np.linalg.inv({q} @ {q}.T + 9 * np.eye({q}.shape[0]))", "np.triu({q}, 1)",
    "{x}.reshape(len({x}) // 2, -1)", "{q}[::2, 1:]", "np.pad({q}, ((1, 0), (0, 2)))", "np.cumsum({q}, axis=1)", "np.diff({q}, axis=0)",
    "np.block([[{q}, {q}], [{q}, {q}]])", "np.linalg.cholesky({q} @ {q}.T + 9 * np.eye({q}.shape[0]))", "np.sort({q}, axis=0)",
    "np.meshgrid({x}, {y})[0]", "np.indices(({x}.size, 2))[0] * s", "np.swapaxes({q}[None], 0, 2)[..., 0]", "{q}[:2] * 2",
)  # fmt: skip
TO_NUMBER = (
    "{x}.sum()", "{x}.mean()", "{x}.max()", "{x} @ {x}", "{x}[0]", "{x}[-1]", "np.linalg.norm({x})", "{x}.std()", "{q}.sum()", "np.prod({x})",
    "{x}.argmax()", "(float({x}.sum()) if len({x}) else 0.25)", "{x}[len({x}) // 2]", "{x} @ {y}", "np.median({x})", "{q}.trace()",
    "np.count_nonzero({x} > 0)", "np.max({x}, initial=0.0)", "np.quantile({x}, 0.3)", "np.percentile({x}, 90)", "{x}.var(ddof=1)",
    "np.trapezoid({x})", "np.ptp({x})", "np.linalg.det({q} @ {q}.T + np.eye({q}.shape[0]))", "np.average({x}, weights=np.arange(len({x})) + 1.0)",
    "np.cumsum({x})[-1] / len({x})", "np.trace({q} @ {q}.T)", "{x}[np.argmax({x})]", "np.corrcoef({x}, {x})[0, 1]",
    "np.linalg.slogdet({q} @ {q}.T + np.eye({q}.shape[0]))[1]", "np.nanmean({x})", "{x}.min(initial=len({x}))",
    "np.triu_indices(len({x}))[0].sum()", "np.any({x} > 1)", "np.dot({x}, np.arange(len({x})))",
)  # fmt: skip
OF_SIZES = (
    "len({x})", "{x}.size", "{x}.shape[0]", "{q}.shape[1]", "len({x}) // 2", "len({x}) % 3", "len({x}) * 2 + 1", "1 / np.sqrt(len({x}) + 1)",
    "len({x}) * 0.5", "len({x}) - len({y})", "min(len({x}), 6)", "max(len({x}), len({y}))", "{x}.nbytes", "len({x}) ** 2", "float(len({x}))",
    "np.log(len({x}) + 1.0)", "abs(len({x}) - 5)", "divmod(len({x}), 4)[1]", "int(np.sqrt(len({x})))", "len({x}).bit_length()",
    "{q}.size // max({q}.shape[0], 1)", "-len({x})", "(len({x}) + 3) // 4 * 4", "len({x}[1:])", "int({x}.shape == {y}.shape)",
    "len(f'{{len({x})}}')", "{{3: 1.5, 7: 2.5}}.get(len({x}), 0.5)", "1.0 / (len({x}) or 1)", "sum(range(len({x})))", "np.float32(len({x}))",
    "len({x}) & 1", "np.sin(len({x}))", "len({x}) * (len({x}) - 1) // 2", "math.sqrt(len({x}))", "1 / (len({x}) + 0.5)",
    "len({x}) / (len({y}) + 1)", "2.0 ** -len({x})", "np.exp(-len({x}) / 7)", "(len({x}) - 1) // 5", "len({x}) % 7 * 0.1",
    "np.float64(len({x})) ** 0.5", "len({x}) * len({y})", "-(-len({x}) // 3)", "math.comb(len({x}), 2)", "complex(len({x})).real",
    "np.sqrt(np.arange(len({x})).sum())", "hash(len({x})) % 5", "len({x}) // (len({y}) + 1)", "np.int64(len({x})) * 3", "math.log2(len({x}) + 1)",
    "int(len({x}) * 0.3)", "int(np.ceil(len({x}) / 4))", "len(range(0, len({x}), 3))", "[1.0, 2.0, 3.0][len({x}) % 3]",
    "np.spacing(float(len({x})))", "len({x}) << 1", "bool(len({x}))", "len([0] * len({x}))", "round(len({x}) / 3)",
    "np.prod({x}.shape)", "np.prod({q}.shape) // 2", "np.prod({x}.shape) - 5", "np.size({x}, 0)", "np.max({q}.shape)",
)  # fmt: skip
TESTS = (
    "len({x}) > 4", "len({x}) % 2 == 0", "len({x}) == len({y})", "{x}.size", "not len({x})", "{x}.shape == {y}.shape", "len({x}) in (3, 5, 8)",
    "len({x}) < 10 and s > 0", "len({x}) >= {q}.shape[1]", "s > 0", "{x}.sum() > 0", "len({x}) + len({y}) > 12", "{q}.shape[0] == {q}.shape[1]",
    "2 <= len({x}) <= 16", "len({x}) != 7", "{x}.ndim == 1", "(len({x}) - 1) % 3 == 0", "len({x}) // 4 == 2", "len({x}) > 30 or len({y}) < 3",
    "len({x}) * len({y}) > 50", "len({x}) ** 2 > 90", "len({x}) % 5 in (1, 2)", "len({x}) / 2 > 6.5", "len({x}) * 0.1 < 1.3",
    "min(len({x}), len({y})) > 3", "{x}.nbytes > 100", "len({x}) & 2", "divmod(len({x}), 6) > (1, 2)", "any(len({x}) == k for k in (4, 9, 16))",
    "len({x}) - len({y}) == 1", "2 * len({x}) == len({y})", "abs(len({x}) - len({y})) < 2", "float(len({x})) > 8.5",
)  # fmt: skip
STORES = (
    "{x} += 1", "{x} *= s", "{x}[0] = s", "{x}[-1] = t", "{x}[1:-1] = {x}[2:]", "{x}[1:] = {x}[:-1]", "{x}[::2] *= 0.5", "{x}[{x} > 0] = s",
    "{x}[...] = {x}[::-1].copy()", "{q}[0] += 1", "{q}[:, -1] = t", "{x}[: len({x}) // 2] -= s", "w = {x}[1:]\nw *= 0.5",
    "np.add({x}, s, out={x})", "{x}[len({x}) // 2] += 1", "{x} -= {y}", "{x}[:3] = 0", "{x}[1:-1] = ({x}[:-2] + {x}[2:]) * 0.5", "{q} *= 2",
    "{q}[:, 0] = {x}", "np.add.at({x}, np.array([0, 0]), s)", "{x}.sort()", "{x}.fill(s)",
)  # fmt: skip
LOOPS = (
    "for i in range(len({x})):\n    t = t * 0.5 + {x}[i]",
    "for v in {x}:\n    t = np.tanh(t + v)",
    "for i in range(1, len({x})):\n    {x}[i] = {x}[i - 1] * 0.5 + {x}[i]",
    "for i in range(len({x})):\n    if {x}[i] > 0:\n        t += {x}[i]\n    elif i > 4:\n        break",
    "for v, u in zip({x}, {y}):\n    t += v * u",
    "for i, v in enumerate({x}):\n    t += i * v",
    "for i in range(0, len({x}), 2):\n    t = t + {x}[i]",
    "for i in range(len({x}) - 1, -1, -1):\n    t = t * 0.25 + {x}[i]",
    "for i in range({q}.shape[0]):\n    t = t * 0.5 + {q}[i].sum()",
    "for i in range({q}.shape[0]):\n    for j in range({q}.shape[1]):\n        t = t * 0.5 + {q}[i, j]",
    "for i in range(3):\n    t = t * 0.5 + {x}.sum()",
    "k = 1\nwhile k < len({x}):\n    k *= 2\n    t += k",
    "change = 1.0\nwhile change > 0.1:\n    change = change * 0.5\n    t += change * {x}.sum()",
    "z = np.zeros(len({x}))\nfor i in range(len({x})):\n    z[i] = {x}[i] * i\nt += z.sum()",
    "z = []\nfor v in {x}:\n    z.append(v * 2)\nt += sum(z)",
    "for i in range(len({x}) // 2):\n    {x}[i], {x}[-1 - i] = {x}[-1 - i], {x}[i]",
)
REFUSALS = (
    "if len({x}) < 2:\n    raise ValueError(f'too few: {{len({x})}}')", "assert len({x}) != 5", "if len({x}) == 8:\n    return t",
    "assert len({x}) == len({y})",
)  # fmt: skip
RESULTS = (
    "{x}", "{x}", "{q}", "t", "t", "{x}[1:]", "{x}.shape", "len({x})", "{{'x': {x}, 'n': len({x})}}", "[{x}, t]", "{x} * 2", "{q}.shape",
    "({x}, {y})",
)  # fmt: skip


class Program:
    """One function `f(a, b, c, s)`; how long b is and of what shape c, in n and m; the sizes of its calls; kinds of dtype."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.names, self.other, self.shape = {"x": ["a"], "q": []}, r.choice(OTHER), r.choice(ROWS)
        self.names["x"] += ["b"] * (r.random() < 0.6)
        self.names["q"] += ["c"] * (r.random() < 0.5)
        self.dtypes = r.choice([("f8",)] * 6 + [("f4",), ("i8",), ("f8", "f4"), ("f8", "i8")])
        self.lines, self.made, self.writes = ["t = s * 0.5"], 0, False
        if not self.names["q"]:
            self.new("q", r.choice([text for text in TO_ROWS if "{q}" not in text]))
        for _ in range(r.randint(1, 6)):
            self.lines += self.statement()
        results = ", ".join(self.filled(r.choice(RESULTS if r.random() < 0.85 else OF_SIZES)) for _ in range(r.randint(1, 3)))
        self.lines.append(f"return {results}")
        body = "".join(f"    {part}\n" for line in self.lines for part in line.split("\n"))
        self.text = f"import math\nimport numpy as np\n\ndef f(a, b, c, s):\n{body}"
        self.calls = self.drawn_calls()

    def filled(self, text):
        x, y, q = self.r.choice(self.names["x"]), self.r.choice(self.names["x"]), self.r.choice(self.names["q"])
        return text.format(x=x, y=y, q=q)

    def new(self, kind, text):
        name = f"{'v' if kind == 'x' else 'r'}{self.made}"
        self.made += 1
        self.lines.append(f"{name} = {self.filled(text) if self.names['q'] else text.format(x='a', y=self.r.choice(self.names['x']), q='a')}")
        self.names[kind].append(name)

    def statement(self, depth=0):
        r, n = self.r, self.r.random()
        if n < 0.34 and not depth:
            self.new("x", r.choice(TO_VECTOR))
            return []
        if n < 0.42 and not depth:
            self.new("q", r.choice(TO_ROWS))
            return []
        if n < 0.55:
            return [f"t = t * 0.5 + {self.filled(r.choice(TO_NUMBER))}"]
        if n < 0.68:
            return [f"t = t + ({self.filled(r.choice(OF_SIZES))})"]
        if n < 0.76:
            self.writes = True
            return [self.filled(r.choice(STORES))]
        if n < 0.86:
            text = r.choice(LOOPS)
            self.writes |= "{x}[i" in text
            return [self.filled(text)]
        if n < 0.89:
            return [self.filled(r.choice(REFUSALS))]
        if depth > 1:
            return ["t = t + 1"]
        inner = [f"    {line}" for text in self.statement(depth + 1) for line in text.split("\n")]
        other = [f"    {line}" for text in self.statement(depth + 1) for line in text.split("\n")]
        test = self.filled(r.choice(TESTS))
        return ["\n".join([f"if {test}:", *inner, *(["else:", *other] if r.random() < 0.6 else [])])]

    def drawn_calls(self):
        """[(n, m, dtype, whether the arrays are jax's)]: some sizes again, the others new."""
        r, found = self.r, []
        apart_, growing = r.random() < 0.3, r.random() < 0.3
        first = r.choice([3, 6, 9, 14])
        for k in range(r.choice([8, 14, 20])):
            n = first + k if growing and r.random() < 0.8 else r.choice(SIZES)
            m = r.choice(SIZES) if apart_ or k == 0 else (found[-1][1] if r.random() < 0.6 else n)
            if found and r.random() < 0.25:
                n, m = r.choice(found)[:2]
            dtype = self.dtypes[0] if r.random() < 0.8 else r.choice(self.dtypes)
            found.append((n, m, dtype, dtype == "f4" and not self.writes and r.random() < 0.15))
        return found

    def arguments(self, seed, k):
        n, m, dtype, jaxs = self.calls[k]
        rng, length = np.random.default_rng((seed, k)), lambda text: max(0, eval(text, {"n": n, "m": m}))
        shapes = [(n,), (length(self.other),), tuple(length(part) for part in self.shape.split(","))]
        arrays = [(rng.normal(size=shape) * 3).astype(dtype) for shape in shapes]
        return (*(jax.numpy.asarray(x) if jaxs else x for x in arrays), float(rng.normal()))


def on_ndarrays(given):
    return tuple(np.array(x) if isinstance(x, jax.Array) else x for x in given)


def differ(got, want, given, rtol):
    """As `apart`; of jax arrays, whose results are jax arrays, values alone."""
    if not any(isinstance(x, jax.Array) for x in given):
        return apart(got, want, given, rtol)
    if got.error is not None or want.error is not None:
        return apart(got, want, given, rtol) if (got.error is None) != (want.error is None) else ""
    values = lambda tree: jax.tree_util.tree_map(np.asarray, tree)
    try:
        agree(values(got.result), values(want.result), rtol)
    except AssertionError as difference:
        return "" if "dtype" in str(difference) or "type" in str(difference) else f"differs: {difference}"
    return ""


def run(seed, engine=None, compiled=jit):
    """What comes of a program's calls."""
    program, verdict, why = Program(seed), "agree", ""
    plain = function(program.text, f"sizes {seed}")
    mine = compiled(function(program.text, f"sizes {seed} compiled"))
    said = f"{program.text}# b: {program.other}, c: {program.shape}; calls: {program.calls}"
    for k, (_, _, dtype, _) in enumerate(program.calls):
        rtol = 1e-9 if dtype != "f4" and "f4" not in program.dtypes else 2e-4
        want = attempt(plain, on_ndarrays(program.arguments(seed, k)))
        got = attempt(mine, program.arguments(seed, k))
        found = differ(got, want, program.arguments(seed, k), rtol)
        if found.startswith(("refused", "explained")):
            verdict, _, why = found.partition(": ")
        elif found:
            call = lambda given: attempt(plain, on_ndarrays(given))
            roundings = shaky(call, program.arguments(seed, k), found, got, rtol)
            return Found("explained" if roundings else "different", f"call {k}, {program.calls[k]}: {found}", said, k + 1)
    return Found(verdict, why, said, len(program.calls))


def run_gradients(seed, engine=None, compiled=grad, exact=lambda f: grad(jit(f, dynamic=False))):
    """The same of the gradient by a of a loss of all results, against that of a program for each shape."""
    program, verdict, why = Program(seed), "agree", ""
    f = {name: function(program.text, f"slopes {seed} {name}") for name in ("plain", "ours", "exact")}
    mine, theirs = compiled(loss_of(f["ours"])), exact(loss_of(f["exact"]))
    said = f"{program.text}# b: {program.other}, c: {program.shape}; calls: {program.calls}"
    for k, (_, _, dtype, jaxs) in enumerate(program.calls):
        if dtype == "i8" or jaxs or attempt(f["plain"], program.arguments(seed, k)).error is not None:
            continue
        want, got = attempt(theirs, program.arguments(seed, k)), attempt(mine, program.arguments(seed, k))
        found = apart(got, want, program.arguments(seed, k), 1e-8 if dtype == "f8" else 1e-3, memory=False)
        if want.error is not None:
            verdict, why = "refused", type(want.error).__name__
            if got.error is not None and type(got.error) is type(want.error):
                continue
        if found.startswith("refused"):
            verdict, _, why = found.partition(": ")
        elif found:
            roundings = shaky(lambda given: attempt(theirs, given), program.arguments(seed, k), found, got, 1e-8)
            return Found("explained" if roundings else "different", f"call {k}, {program.calls[k]}: {found}", said, k + 1)
    return Found(verdict, why, said, len(program.calls))


def loss_of(f):
    """The sum of all floats among the results of a program."""

    def loss(a, b, c, s):
        total = 0.0 * s
        for x in numbers_in(f(a, b, c, s)):
            if isinstance(x, np.ndarray | np.floating) and x.dtype.kind == "f":
                total = total + np.sum(np.sin(x))
        return total

    return loss


def numbers_in(x):
    """What lies in containers of results."""
    if isinstance(x, tuple | list):
        return [y for part in x for y in numbers_in(part)]
    return numbers_in(list(x.values())) if isinstance(x, dict) else [x]


if __name__ == "__main__":
    print_seeds(run)
