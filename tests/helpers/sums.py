"""Random straight lines and short loops on vectors and matrices, of what inexact rules look for: sums, products, quotients, exponentials."""

import random

import numpy as np

ROWS, COLUMNS = 24, 37  # sizes at which vectors have a rest, and products are worth rewriting


class Sums:
    """Writes a function of vectors x, y of 37 elements, matrices a, b and a number p; `r` decides."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        lines = [line for _ in range(self.r.randint(3, 8)) for line in self.statement()]
        kept = self.r.sample(["x", "y", "a", "b", "p"], self.r.randint(2, 4))
        self.text = "\n    ".join(["import numpy as np\ndef f(a, b, x, y, p):", *lines, f"return {', '.join(kept)},\n"])

    def vector(self):
        return self.r.choice(["x", "y", "x", "y", "a[3]", "b[1]", "a.mean(axis=0)"])

    def factor(self):
        return self.r.choice(["0.3", "1.7", "-0.1", "3.0", "p", "2.0", "7.0"])

    def statement(self):
        v, u, w, k, l = self.vector(), self.vector(), self.vector(), self.factor(), self.factor()
        z, m, n = self.r.choice("xy"), *self.r.sample("ab", 2)
        return self.r.choice([
            [f"{z} = {k} * ({l} * {v})"],
            [f"{z} = {v} / {k} / {l}"],
            [f"{z} = ({v} * {k}) / {l} + {u}"],
            [f"{z} = {v} * {u} + {w}"],
            [f"{z} = {v} * {u} - {w} * {v}"],
            [f"{z} = {k} * {v} + {k} * {u}"],
            [f"{z} = {k} * {v} - {k} * {u}"],
            [f"{z} = {v} * (1.0 / (1.5 + {u} * {u}))"],
            [f"{z} = {v} / (1.0 / (1.5 + {u} * {u}))"],
            [f"{z} = np.log(1.0 + np.exp({v}))"],
            [f"{z} = 1.0 / (1.0 + np.exp(-{v}))"],
            [f"{z} = np.log(np.exp({v}) / np.exp({v}).sum())"],
            [f"{z} = np.abs({v}) ** {self.r.choice(['0.5', '1.5', '2.0', '3.0', '-1.0', '2.5'])} * {k}"],
            [f"{z} = {v} ** {self.r.choice(['2', '3', '-2', '5'])} + {u}"],
            [f"{z} = 1.0 / np.sqrt(1.0 + {v} * {v})"],
            [f"{z} = np.where({v} > 0, {u}, 0.0) + {w}"],
            [f"{z} = -({v} - {u}) * {k}"],
            [f"{z} = np.cumsum({v}) * {k}"],
            [f"{z} = np.tanh({v} * {k}) * {u} + {w}"],
            [f"p = (-{v}).sum() * 0.01"],
            [f"p = ({k} * {v}).sum() * 0.01"],
            [f"p = np.dot({v}, {u}) * 0.01"],
            [f"p = ({m} * {n}).sum(axis=1).sum() * 0.01"],
            [f"p = {m}.T.sum() * {k} * 0.01"],
            [f"p = np.broadcast_to({v}[:, None], (37, 5)).sum(axis=1).mean()"],
            [f"{z} = ({m} @ {v}) @ {n} * 0.1"],
            [f"{z} = {m}.T @ ({n} @ {v}) * 0.1"],
            [f"{m} = ({m} @ {n}.T) @ {n} * 0.01"],
            [f"{m} = ({m} @ {n}.T).T @ {n} * 0.01 + {m} * {k}"],
            [f"{z} = {m}.T @ ({n} @ {v}) * 0.1 + {m}.T @ ({m} @ {u}) * 0.1"],
            [f"{m} = {m} * {k} + np.outer({n} @ {v}, {u}) * 0.1"],
            [f"{m}[2:9] += {n}[3:10] * {k}"],
            [f"{z}[4:20] = {v}[3:19] + {u}[5:21] * {k}"],
            ["for i in range(24):", f"    {m}[i] = ({n}[i] @ {m}.T) @ {n} * 0.01"],
            ["for i in range(24):", f"    {m}[i] = {n}[i] @ np.outer(x, y) * 0.01"],
            ["for i in range(1, 37):", f"    {z}[i] = {z}[i - 1] * {k} * 0.1 + {v}[i]"],
            ["for i in range(24):", f"    p = p * 0.9 + {m}[i].sum() * 0.01"],
            ["for i in range(24):", f"    p += {m}[i, 3] * {n}[i, i] * 0.1"],
            ["for i in range(24):", f"    {z} = {z} * 0.9 + {m}[i] * {n}[i] * 0.1"],
            [f"if p > {k}:", f"    {z} = {v} / {l} + {u}"],
        ])  # fmt: skip


def sums_arguments(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(ROWS, COLUMNS)), r.normal(size=(ROWS, COLUMNS)), r.normal(size=COLUMNS), r.normal(size=COLUMNS), float(r.normal())
