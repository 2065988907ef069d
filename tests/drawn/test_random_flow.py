"""Random programs with control flow: Python and one compiled function agree on several sets of arguments, or the compiled one refuses."""

import pytest
from random_flow import outcome


@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
def test_a_sample(wide):
    found = [outcome(seed, wide).partition(":")[0] for seed in range(6)]
    assert {*found} <= {"agree", "refused"}
    assert found.count("refused") <= 3


@pytest.mark.slow
@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
def test_many(wide):
    found = {seed: outcome(seed, wide) for seed in range(10_000, 10_500)}
    assert {seed: text for seed, text in found.items() if text.partition(":")[0] not in ("agree", "refused")} == {}
