"""Tables of expressions: each evaluated plain and compiled, all of a table in one compiled function."""

import warnings

import numpy as np
from compare import agree

from wengert import jit


def check(table, rtol=1e-12, **operands):
    """Every line of `table` must give one value, dtype, shape, type, or exception class plain and compiled.

    A line is an expression over np, the operands, and a few short names. One that raises names the class behind `#`.
    """
    lines = [text.strip().partition("  # ")[::2] for text in table.strip().splitlines() if text.strip()]
    codes = [compile(text, "<case>", "eval") for text, _ in lines]
    names = {"np": np, "linalg": np.linalg, "fft": np.fft, "windows": np.lib.stride_tricks.sliding_window_view}
    errors = {}

    def every(*arrays):
        space = {**names, **dict(zip(operands, arrays))}
        results = []
        for (text, _), code in zip(lines, codes):
            try:
                results.append(eval(code, space))
            except Exception as error:
                results.append(type(error))
                errors[text] = error
        return results

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, found = every(*operands.values()), jit(every)(*operands.values())
    failures = []
    for (text, raised), want, got in zip(lines, expected, found, strict=True):
        try:
            assert (want.__name__ if isinstance(want, type) else "") == raised, f"NumPy gives {errors.get(text, want)}"
            if raised:
                assert isinstance(got, type) and issubclass(got, want), f"{got} {errors[text]} against {want}"
            else:
                assert not isinstance(got, type), f"raised {errors[text]!r}"
                agree(got, want, rtol)
        except AssertionError as error:
            failures.append(f"{text}\n    {str(error).strip()}")
    types = ", ".join(f"{k}: {np.asarray(v).dtype}{np.shape(v)}" for k, v in operands.items())
    assert not failures, "\n".join([f"with {types}", *failures])
