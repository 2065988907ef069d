"""Golden texts: `pytest --accept` rewrites them; the diff is then reviewed like code. The longest tests begin first.

Programs run through XLA, but those of tests marked `as_numpy` as generated NumPy: sweeps over dtypes ask the tracer the same of each, and what
XLA makes of an op is seen of some of them, and op by op in test_ops.py. `pytest --xla` runs those through XLA too.

`pytest --device gpu` runs what a device can answer differently there (helpers/devices.py).

`pytest --exact` compiles as `jit(exact=True)` whatever says nothing about it, and skips the tests marked `inexact`, which look for what
inexact rewrites make. Tests of the user's own rules, which are inexact unless stated otherwise, ask for `inexact_rules`.
"""

import collections
import gc
import pathlib

import devices
import jax
import numpy as np
import pytest
from cached import Process
from random_flow import program
from scripts import said, said_slowly  # noqa: F401

from wengert.tracer.api.compiled import Compiled
from wengert.tracer.api.jit import jit
from wengert.tracer.call import shared
from wengert.tracer.common import events

GOLDEN = pathlib.Path(__file__).parent / "golden"
LONGEST = ("test_stdlib.py", "test_random_flow.py")
gc.set_threshold(50_000, 20, 100)  # programs are many objects that stay, and looking through them over and over takes time


def pytest_addoption(parser):
    parser.addoption("--accept", action="store_true", help="rewrite golden texts with what the code prints now")
    parser.addoption("--exact", action="store_true", help="compile with exact=True where a test does not say")
    parser.addoption("--xla", action="store_true", help="run the tests marked as_numpy through XLA")
    devices.add_options(parser)


class Root:
    """The root is where the package lies, but no package that pytest should import: a checkout may have any name."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path, parent):
        return pytest.Dir.from_parent(parent, path=path) if path == parent.config.rootpath else None


def pytest_configure(config):
    config.pluginmanager.register(Root())
    devices.configure(config)
    jit.__kwdefaults__["whole"] = True  # what is refused is an error; tests of falling back ask for it
    for function in (jit, Compiled.__init__):  # each shape has its own program at once; tests of other ways ask for them
        function.__kwdefaults__["dynamic"] = False
    if config.getoption("--exact"):
        for function in (jit, Compiled.__init__):
            function.__kwdefaults__["exact"] = True


def pytest_runtest_setup(item):
    devices.in_time(item.config)
    if item.config.getoption("--exact") and item.get_closest_marker("inexact"):
        pytest.skip("looks for what inexact rewrites make")


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: item.path.name not in LONGEST)
    devices.select(config, items)


def pytest_report_teststatus(report, config):
    devices.report_at_once(config, report)


def pytest_collection_finish():
    gc.freeze()


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
def inexact_rules(monkeypatch):
    """Compile as without --exact."""
    for function in (jit, Compiled.__init__):
        monkeypatch.setitem(function.__kwdefaults__, "exact", False)


@pytest.fixture
def falling_back(monkeypatch):
    """What is refused runs as plain Python, as users have it."""
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def through_xla(monkeypatch, request):
    """Programs run through XLA, whatever is faster, or in its place as generated NumPy: what is tested is to be the same on every machine."""
    shared.forget_shared()  # what functions of a module have, other settings have made
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", "xla")
    if request.node.get_closest_marker("as_numpy") and not request.config.getoption("--xla"):
        monkeypatch.setattr("wengert.backends.xla.dispatch.program", program)


@pytest.fixture
def learning(through_xla, monkeypatch):
    """Calls of changing sizes are answered as users have it, but that a search is not cut short by a clock."""
    monkeypatch.setattr("wengert.tracer.call.families.SHARE", float("inf"))
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)
    for function in (jit, Compiled.__init__):
        monkeypatch.setitem(function.__kwdefaults__, "dynamic", None)


@pytest.fixture
def happened():
    """kind of event -> how often."""
    counts = collections.Counter()
    heard = lambda event: counts.update([event.kind])
    events.LISTENERS.append(heard)
    yield counts
    events.LISTENERS.remove(heard)


@pytest.fixture(autouse=True)
def setting_of_jax():
    """Pages of the documentation turn jax's 64-bit types on, as their readers do; other tests find the setting as it was."""
    before = jax.config.jax_enable_x64
    yield
    if jax.config.jax_enable_x64 != before:
        jax.config.update("jax_enable_x64", before)


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Processes that share a cache."""
    monkeypatch.chdir(tmp_path)
    return Process(tmp_path, monkeypatch)
