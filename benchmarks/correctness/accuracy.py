"""How far every op is from NumPy and from finite differences: the generated tests, with their errors printed instead of
judged.

    python benchmarks/correctness/accuracy.py

Per family: ops and test cases; the largest distance of XLA's result from NumPy's in units in the last place
of the array's largest magnitude (f64, f32, c128, ...); the ops with derivatives, and the largest relative
distance of jvp and vjp from sixth-order central differences, first and second order, float64 and complex128.
"""

import collections
import pathlib
import sys

import numpy as np

from wengert.autodiff import DERIVATIVE
from wengert.autodiff.forms import Zero
from wengert.benchmarks.timing import table
from wengert.ir.ops import OPS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "helpers"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "ir"))
import test_ops as generated


def main():
    worst = collections.defaultdict(lambda: collections.Counter())
    at = {"family": None, "order": 1}

    def record_ulps(a, b, ulps):
        if a.dtype.kind in "fc":
            finite = np.isfinite(b)
            scale = np.maximum(np.abs(b), np.max(np.abs(b[finite]), initial=0.0) * (b.ndim > 0))
            far = np.abs(np.where(finite, a - np.where(finite, b, 0), 0)) / (
                np.finfo(a.dtype).eps * np.maximum(scale, np.finfo(a.dtype).tiny)
            )
            keep(("ulps",), np.max(far, initial=0.0, where=finite))

    def record_slope(a, b, bound, text):
        if bound <= 1e-6 and "finite differences" in text:
            a, b = np.asarray(a), np.asarray(b)
            scale = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0), 1.0)
            keep((at["order"],), np.max(np.abs(a - b), initial=0.0) / scale)

    def keep(key, value):
        row = worst[at["family"]]
        row[key] = max(row[key], float(value))

    first_order, draw = generated.check_first_order, generated.draw

    def drawn(op, case):
        at["order"] = 1
        return draw(op, case)

    def counted(func, operands, rng):
        out = first_order(func, operands, rng)
        at["order"] = 2
        return out

    generated.draw, generated.check_first_order = drawn, counted
    generated.close, generated.agree = record_ulps, record_slope
    for op in OPS.values():
        at["family"] = op.body.__module__.rsplit(".", 1)[1]
        row = worst[at["family"]]
        row["ops"] += 1
        row["smooth"] += not isinstance(DERIVATIVE[op], Zero)
        row["cases"] += len(op.cases)
        with np.errstate(all="ignore"):
            generated.test_xla_is_numpy(op)
            generated.gradients(op)
    rows = [
        [family, str(r["ops"]), str(r["cases"]), f"{r['ulps',]:.1f}", str(r["smooth"]), f"{r[1,]:.1e}", f"{r[2,]:.1e}"]
        for family, r in worst.items()
    ]
    total = [str(sum(r[k] for r in worst.values())) for k in ("ops", "cases", "smooth")]
    rows.append(["all", total[0], total[1], "", total[2], "", ""])
    table(rows, ["family", "ops", "cases", "XLA ulps", "differentiable", "first order", "second order"])


if __name__ == "__main__":
    main()
