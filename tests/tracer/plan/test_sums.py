"""The numbers of a plan add up: steps, lines and totals; and what was measured is told once, of that which took it."""

import re
import threading

import numpy as np
import pytest

from wengert import Fallback, grad, jit
from wengert.tracer.program import backend_choice


def named(x, w):
    hidden = np.tanh(x @ w)
    again = np.tanh(hidden @ w)
    return np.tanh(again @ w)


def stepped(u, n):
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def sampled(n):
    s = np.zeros(100)
    for _ in range(n):
        s = np.exp(-s) + np.random.standard_normal(100)
    return s.sum()


def solved(a):
    return np.linalg.solve(a, np.ones(4)).sum()


SMALL = np.ones((40, 40)) / 40


def plan_of_one(f, *args):
    f(*args)
    plan = f.plan(*args, measure=True)
    return plan, plan.json()["traces"][0]


@pytest.mark.parametrize("f, args", [
    (jit(sampled, engine="xla"), (50,)),
    (jit(stepped, engine="xla", native=False), (np.ones(100), 30)),
    (jit(grad(solved), engine="xla"), (np.eye(4) + 0.1,)),
    (jit(named, engine="numpy"), (SMALL, SMALL)),
])  # fmt: skip
def test_lines_and_steps_come_to_the_total(f, args):
    trace = plan_of_one(f, *args)[1]
    for key in ("flops", "read", "written"):
        total = trace["totals"][key]
        assert sum(s[key] for s in trace["steps"]) == pytest.approx(total, rel=1e-12)
        assert sum(x[key] for x in trace["lines"]) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("f, args", [
    (jit(named, engine="numpy", native=False), (SMALL, SMALL)),
    (jit(stepped, engine="numpy"), (np.ones(100), 30)),
])  # fmt: skip
def test_each_step_has_its_own_time(f, args):
    plan, trace = plan_of_one(f, *args)
    took = [s["measured"] for s in trace["steps"]]
    assert all(t is not None and t > 0 for t in took)
    assert sum(x["measured"] or 0.0 for x in trace["lines"]) == pytest.approx(sum(took), rel=1e-12)
    heads = [re.split(r"\s+", line.strip()) for line in str(plan).splitlines() if line.split()[:1] in (["step"], ["line"])]
    assert ["expected", "measured"] == heads[0][-3:-1] and "measured" in heads[1]


def test_nothing_is_said_of_a_part_that_was_not_timed(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)

    @jit
    def settle(x, n):
        for i in range(1, n):
            for j in range(1, n):
                x[i, j] = 0.5 * (x[i - 1, j] + x[i, j - 1])

    settle(np.ones((20, 20)), 20)
    text = " ".join(settle.explain().split())
    assert "when it was timed" in text and "0 of that" not in text


def test_a_refused_call_is_told_with_its_arguments():
    @jit(whole=False)
    def acts(x, n):
        threading.Thread(target=list).start()
        return x * n

    for called in (False, True):
        if called:
            with pytest.warns(Fallback):
                acts(np.ones(3), 2)
        plan = acts.plan(np.ones(3), 2)
        assert plan.json()["traces"][0]["arguments"] == "x: f64[3]" and "(x: f64[3])" in str(plan)
        assert str(plan).count("lain Python") == 1


def test_why_a_program_that_draws_runs_through_xla(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    f = jit(sampled)
    f(50)
    why = f.plan(50).json()["traces"][0]["why"]
    assert "has not run yet" not in why
