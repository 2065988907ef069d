"""Where nothing is built: what runs there is no part of the programs that its thread is building."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .core import Builder


@contextlib.contextmanager
def nothing_built() -> Iterator[None]:
    """Within, this thread builds nothing, whatever it was building."""
    stack = Builder._stack
    before, stack.top = stack.top, None
    builders, stack.builders = stack.builders, []
    try:
        yield
    finally:
        stack.top, stack.builders = before, builders
