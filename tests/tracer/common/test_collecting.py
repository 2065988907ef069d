"""Whether the garbage collector is known to run, to the end of the process."""

import gc

import pytest

from wengert.tracer.common import collecting


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_collections_are_noted_when_modules_have_lost_their_names(monkeypatch):
    """As they have when Python ends: it writes of an exception in the collector's callback on stderr."""
    seen = []

    class Cyclic:
        def __init__(self):
            self.own = self

        def __del__(self):
            seen.append(is_collecting())

    is_collecting = collecting.is_collecting
    collecting.await_collector()
    Cyclic()
    gc.collect()
    assert seen == [True] and not is_collecting()
    with monkeypatch.context() as bare:
        bare.setattr(collecting, "_thread", None)
        gc.collect()
    assert not is_collecting()
