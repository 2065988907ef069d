"""Random programs with a number that goes bad at a place that is drawn: blame names it, under each engine."""

import pytest
from random_births import FORMS, Drawn, outcome


@pytest.mark.parametrize("engine", ["xla", "native", "numpy"])
def test_a_sample_is_named(engine):
    seeds = {}
    for seed in range(400):  # one of each form
        seeds.setdefault(Drawn(seed).form, seed)
    assert len(seeds) == len(FORMS)
    assert {form: outcome(seed, engine) for form, seed in seeds.items()} == dict.fromkeys(seeds, "right")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["xla", "native", "numpy"])
def test_many_are_named(engine):
    found = {seed: outcome(seed, engine) for seed in range(5000, 5300)}
    assert {seed: text for seed, text in found.items() if text != "right"} == {}
