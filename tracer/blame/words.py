"""What may be asked of a call: the words of `jit(f, debug=)`, what each calls bad, and NumPy's warnings for them."""

import numpy as np

REACHING = {"nan": np.isnan, "inf": np.isinf}  # a number that arrives in a result -> the test for it
BORN = "invalid", "divide", "overflow"  # what NumPy tells of where it happens, whether it arrives anywhere or not
MADE_BY = {"nan": ("invalid",), "inf": ("divide", "overflow")}  # what NumPy tells of where such a number is born
ACTION = "warn"
WORDS = (*REACHING, *BORN, ACTION)
SAID = {
    "invalid": "invalid value encountered in",
    "divide": "divide by zero encountered in",
    "overflow": "overflow encountered in",
}
CALLED = {"invalid value": "invalid", "divide by zero": "divide", "overflow": "overflow"}  # as `np.seterrcall` says it
UFUNCS = {
    "div": "divide", "mul": "multiply", "strong_mul": "multiply", "sub": "subtract", "pow": "power",
    "integer_pow": "power", "rsqrt": "divide", "rem": "fmod", "quotient": "floor_divide", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "dot_general": "matmul", "reduce_sum": "reduce", "reduce_prod": "reduce", "neg": "negative",
}  # fmt: skip
SCALARS = {"div", "mul", "sub", "add", "pow", "integer_pow"}  # which NumPy's numbers, as operators, tell by other words


def words_asked(debug):
    """The words of a `debug=`, in our order: a str or a tuple of them. Raises ValueError for one that is none."""
    given = (debug,) if isinstance(debug, str) else debug
    if not isinstance(given, tuple | list | set | frozenset) or not given or not all(x in WORDS for x in given):
        wrong = debug if isinstance(debug, str) or not hasattr(given, "__iter__") else tuple(given)
        raise ValueError(
            f"jit looks for {', '.join(map(repr, WORDS[:-1]))}, not for debug={wrong!r:.60}\n  Write debug='nan', or "
            "several, as in debug=('nan', 'overflow'); with 'warn' among them they are warned of, not raised."
        )
    found = tuple(w for w in WORDS if w in given)
    return (*BORN, ACTION) if found == (ACTION,) else found


def ufunc_name(eqn):
    """An op as NumPy's messages call it."""
    name = UFUNCS.get(eqn.op.name, eqn.op.name)
    scalar = eqn.op.name in SCALARS and not eqn.results[0].type.shape
    return f"scalar {name}" if scalar else name


def numpy_warning(word, eqn):
    """The text of NumPy's RuntimeWarning."""
    return f"{SAID[word]} {ufunc_name(eqn)}"
