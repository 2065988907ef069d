"""Programs that go through a list while it gets longer or shorter as data decide, drawn at random."""

import pytest
from random_gone_through import run

pytestmark = pytest.mark.usefixtures("falling_back")


@pytest.mark.parametrize("first", [0, 10, 20])
def test_lists_that_are_gone_through_grow_as_in_python(first):
    found = [run(seed) for seed in range(first, first + 10)]
    assert [f"{f.why}\n{f.text}" for f in found if f.verdict != "agree"] == []
