"""What passes do to programs, as text: an input, then `--- pass ---` and the program after it, again and again.

`pytest --accept` rewrites them as they print now; the difference is reviewed like code.
"""

import re

import pytest
from places import ROOT

from wengert.ir.passes import cse, dce, fold, inline, loops, masks, memory, products, shifts, simplify, widen
from wengert.ir.pipeline import run
from wengert.ir.rules import EXACT
from wengert.ir.text import parse, show
from wengert.ir.verify import verify

FILES = sorted((ROOT / "tests" / "golden" / "passes").glob("*.ir"))
STEPS = {
    "inline": inline,
    "fold": fold,
    "shifts": shifts,
    "simplify": simplify,
    "simplify exact": lambda func: simplify(func, EXACT),
    "masks": masks,
    "products": products,
    "memory": memory,
    "loops": loops,
    "cse": cse,
    "dce": dce,
    "widen": widen,
    "pipeline": run,
    "pipeline exact": lambda func: run(func, exact=True),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_passes(path, golden):
    source, *rest = re.split(r"^--- (.*) ---$", path.read_text(), flags=re.MULTILINE)
    func = parse(source)
    text = show(func)
    for step in rest[::2]:
        func = verify(STEPS[step](func))
        text += f"\n--- {step} ---\n{show(func)}"
    golden(f"passes/{path.name}", text)
