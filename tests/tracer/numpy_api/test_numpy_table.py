"""docs/numpy.md is true: every public name of NumPy has an example, each gives what NumPy gives, and the page is what they make."""

import re

import numpy as np
import pytest
from compare import agree, check_same
from places import ROOT

from wengert.tracer.catalogue import page, run

EXAMPLES = list(run.examples())
PAGE = ROOT / "docs" / "numpy.md"
rows = lambda text: [line for line in text.splitlines() if line.startswith("| `")]
COMPUTED = set(re.findall(r"\| (?:captured|bounded) \| `(.*?)` \|", PAGE.read_text()))
PARTS = 20


def test_every_name_has_an_example():
    assert run.names() - {e.name for e in EXAMPLES} == set()


def same(got, want, differs):
    """What a call left, against what NumPy leaves."""
    (got, given), (want, changed) = got, want
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{got!r}, where NumPy raises {want!r}"
        return
    assert not isinstance(got, Exception), f"raised {got!r}"
    if not differs:
        agree(got, want, 1e-9)
    arrays = [i for i, x in enumerate(changed) if isinstance(x, np.ndarray)]
    agree([given[i] for i in arrays], [changed[i] for i in arrays], 1e-9)


@pytest.mark.as_numpy
def test_every_example_and_the_page():
    seen, failures = [(e, run.seen(e)) for e in EXAMPLES], []
    for example, found in seen:
        plain = run.plain(example)
        try:
            assert isinstance(plain[0][0], Exception) == bool(example.raised), f"NumPy gives {plain[0][0]!r}"
            if found.status == "refused":
                assert {type(left) for left, _ in found.left} == {type(found.left[0][0])}
            else:
                for got, want in zip(found.left, plain, strict=True):
                    same(got, want, example.differs)
        except AssertionError as error:
            failures.append(f"{example.text}\n    {str(error).strip()}")
    assert not failures, "\n".join(failures)
    text, made = PAGE.read_text(), page.page_text(seen)
    kept = [line for line in rows(text) if run.here(line.split("`")[1])]
    found = rows(made) == kept and (kept != rows(text) or made == text)
    assert found, "docs/numpy.md is not what the examples give: python -m wengert numpy > docs/numpy.md"


@pytest.mark.parametrize("part", range(PARTS))
def test_values_by_xla(part):
    """What is computed, many examples as one program: most of what one costs is the start of a compilation."""
    chosen = [e for e in EXAMPLES if e.text in COMPUTED and not e.raised and not e.differs][part::PARTS]
    names = sorted({name for e in chosen for name in e.operands})
    calls = [(run.function_of(e), [names.index(name) for name in e.operands]) for e in chosen]
    check_same(lambda *given: [f(*[given[i] for i in places]) for f, places in calls], *map(run.operands().get, names), rtol=1e-9)
