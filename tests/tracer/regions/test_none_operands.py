"""What Python says to None where a number is meant: on the side of a choice that raises it, in loops, or nowhere."""

import linecache

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.common.errors import WengertError

USES = (
    "math.sqrt({})", "math.atan2({}, 1.0)", "math.floor({})", "math.isnan({})", "max({})", "max({}, 1.0)", "min(1.0, {})", "any({})", "sum({})",
    "3 in {}", "f'{{{}:.2f}}'", "'%.2f' % {}", "operator.add({}, 1)", "x.sum(axis={})", "abs({})", "round({}, 2)", "int({})", "float({})", "len({})",
    "list({})", "sorted({})", "list(zip({}))", "{} + 1", "-{}", "{} ** 2", "{} < 1", "{}[0]", "{}.foo", "{}()", "np.sqrt({})", "divmod({}, 1)",
    "math.dist([{}], [1.0])", "sum([{}, 1.0])", "np.maximum({}, 1.0)", "np.clip({}, 0, 1)", "x.reshape({})", "min([{}, 1.0])", "math.log({}, 2)",
    "np.linalg.norm({})", "list(map(abs, {}))", "{} and 1.0", "{} == 1.0", "~{}",
)  # fmt: skip
FORMS = {
    "not taken": "    d = none_or_number(x[0])\n    if x[1] > 0:\n        return 5.0\n    return {}\n",
    "in a loop": "    out = []\n    for v in x:\n        d = none_or_number(v)\n        out.append({})\n    return out\n",
    "asked first": "    s = 0.0\n    for v in x:\n        d = none_or_number(v)\n        if d is not None:\n"
    "            r = {}\n            s = s + v\n    return s\n",
    "caught": "    d = none_or_number(x[0])\n    try:\n        return {}\n    except TypeError:\n        return -1.0\n",
}
HEAD = "import math, operator\nimport numpy as np\n\ndef none_or_number(v):\n    if v < 0.5:\n        return None\n    return v * 2\n\ndef f(x):\n"


def outcome(f, x):
    try:
        return f(x)
    except WengertError:
        return "refused"
    except Exception as error:
        return type(error)


def alike(got, want):
    if isinstance(want, list):
        return type(got) is list and len(got) == len(want) and all(map(alike, got, want))
    if isinstance(want, float | np.floating | np.ndarray):
        return type(got) is type(want) and np.allclose(got, want, 1e-12)
    return type(got) is type(want) and got == want


@pytest.mark.parametrize("form", FORMS)
def test_as_python_says_it(form):
    for use in USES:
        text = HEAD + FORMS[form].format(use.format("d"))
        linecache.cache[f"<{form} {use}>"] = len(text), None, text.splitlines(True), f"<{form} {use}>"
        space = {}
        exec(compile(text, f"<{form} {use}>", "exec"), space)
        compiled = jit(space["f"], whole=True)
        for x in (np.array([0.75, 1.5, 3.0]), np.array([0.25, -1.5, 3.0])):
            got, want = outcome(compiled, x.copy()), outcome(space["f"], x.copy())
            later = use == "{}[0]" and form == "in a loop"  # both sides raise, each its own
            assert type(got) is str and got == "refused" or later or alike(got, want), (use, got, want)
