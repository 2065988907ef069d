"""The model of collectives that docs/scaling.md extrapolates by, against what its formulas come to by hand, and the page's own table."""

import importlib

import numpy as np
import pytest
from places import ROOT

model = importlib.import_module("wengert.benchmarks.collectives")
scaling = importlib.import_module("wengert.benchmarks.scaling")
LINK = model.Link(latency=1e-6, bandwidth=1e9)
MESSAGE = 1e-6 + 1e-3  # of a million bytes


def test_collectives_of_few_devices_are_counted_by_hand():
    assert LINK.message(1e6) == pytest.approx(MESSAGE)
    assert model.ring_all_reduce(LINK, 2, 2e6) == pytest.approx(2 * MESSAGE)
    assert model.ring_all_reduce(LINK, 4, 4e6) == pytest.approx(6 * MESSAGE)
    assert model.all_gather(LINK, 4, 4e6) == pytest.approx(3 * MESSAGE)
    assert model.tree_all_reduce(LINK, 8, 1e6) == pytest.approx(6e-6 + 2e-3)
    assert model.halo_exchange(LINK, 8, 1e6) == model.halo_exchange(LINK, 2, 1e6) == pytest.approx(2 * MESSAGE)
    assert [f(LINK, 1, 8) for f in (model.ring_all_reduce, model.tree_all_reduce, model.all_gather, model.halo_exchange)] == [0.0] * 4


def test_trees_are_for_small_arrays_and_rings_for_large_ones():
    small, large = ([f(LINK, 64, n) for f in (model.ring_all_reduce, model.tree_all_reduce)] for n in (8, 1e9))
    assert small[0] > small[1] and large[0] < large[1]
    assert model.all_reduce(LINK, 64, 8) == small[1] and model.all_reduce(LINK, 64, 1e9) == large[0]


def test_nodes_send_their_share_between_them():
    machine = model.Machine("two by two", 2, model.Link(0.0, 4e9), LINK, 1e12, 1e12)
    within, between = 2 * 1e6 / 4e9, model.all_reduce(LINK, 2, 1e6)
    assert model.nested_all_reduce(machine, 4, 2e6) == pytest.approx(within + between)
    assert model.nested_all_reduce(machine, 2, 2e6) == pytest.approx(within)
    assert model.neighbours(machine, 2, 8) < model.neighbours(machine, 4, 8) == model.neighbours(machine, 64, 8)


def test_efficiencies_fall_from_one():
    for name, row in model.model_rows():
        shares = [share for *_, share in row]
        assert shares[0] == pytest.approx(1.0) and all(a >= b - 1e-12 for a, b in zip(shares, shares[1:])), name


def test_the_page_shows_what_the_model_prints(capsys):
    model.main()
    page = (ROOT / "docs" / "scaling.md").read_text()
    printed = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(printed) > 12 and [line for line in printed if line not in page] == []


def test_latency_and_bandwidth_are_found_again():
    times = {f"all-reduce {n}": (model.ring_all_reduce(LINK, 2, n), 0.0) for n in scaling.BYTES}
    found = scaling.fitted(times, "all-reduce")
    np.testing.assert_allclose([found.latency, found.bandwidth], [1e-6, 1e9], rtol=1e-6)


def test_the_programs_that_are_scaled_compute_what_they_say():
    rng = np.random.default_rng(0)
    u = scaling.stencil(np.pad(np.ones((1, 1)), 11))
    assert u.sum() == pytest.approx(1.0) and u[11, 11] < 0.2 and np.allclose(u, u.T) and (u[0] == 0).all()
    params = {"a": rng.normal(size=(3, 4)), "b": np.zeros(4), "c": rng.normal(size=(4, 1))}
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 1))
    assert scaling.loss(scaling.training(params, X, Y), X, Y) < scaling.loss(params, X, Y)
