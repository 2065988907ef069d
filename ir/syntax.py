"""Syntax trees of Python source, made and compiled with no other thread in between.

CPython (3.11 to 3.13) counts the depth of a tree that it converts in one place for all threads, and raises SystemError
where two threads have converted at once. A conversion is left in the middle only for the garbage collector, where that
calls Python code, as jax has it do.
"""

import ast
import contextlib
import threading

from .collector import waiting
from .forks import hold_while_forking

_converting = threading.Lock()
hold_while_forking(_converting)


def parse(text, mode="exec"):
    """As ast.parse."""
    with undisturbed():
        return ast.parse(text, mode=mode)


def compiled(tree, *args, **kwargs):
    """As compile, of a tree."""
    with undisturbed():
        return compile(tree, *args, **kwargs)


@contextlib.contextmanager
def undisturbed():
    """Within, no garbage is collected, and one thread at a time is there."""
    with _converting, waiting():
        yield
