"""Golden texts: `pytest --accept` rewrites them; the diff is then reviewed like code."""

import pathlib

import numpy as np
import pytest

GOLDEN = pathlib.Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--accept", action="store_true", help="rewrite golden texts with what the code prints now")


@pytest.fixture
def golden(request):
    """golden(name, text): text equals tests/golden/name, or becomes it under --accept."""

    def check(name, text):
        path = GOLDEN / name
        if request.config.getoption("--accept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        assert path.exists(), f"no golden text {name}; run pytest --accept and review it"
        assert text + "\n" == path.read_text()

    return check


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def through_xla(monkeypatch):
    """Programs run through XLA, whatever is faster: what is tested is to be the same on every machine."""
    monkeypatch.setattr("wengert.tracer.engine.CHOICE", "xla")
