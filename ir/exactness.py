"""Whether what is compiled now may differ by rounding from what is written."""

import contextlib
import contextvars

ONLY_EXACT = contextvars.ContextVar("exact", default=False)


@contextlib.contextmanager
def exactly(exact):
    """Within: whether nothing that is rewritten, derived or lowered may change a bit."""
    token = ONLY_EXACT.set(exact)
    try:
        yield
    finally:
        ONLY_EXACT.reset(token)
