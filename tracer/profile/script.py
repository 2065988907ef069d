"""`python -m wengert profile script.py`: a script run as Python runs it, and its profile."""

import builtins
import importlib.util
import io
import os
import sys
import threading
import types

from ..common.frames import without_internals
from .profile import Profile

INTERRUPTED = 130  # fact: the exit status that shells give of a program ended by Ctrl-C


class NoScript(Exception):
    """There is no such script or module; the text says so in one line."""


def run_script(path, arguments):
    """Run a file as `python path arguments...` does -> (its Profile, its exit status)."""
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        raise NoScript(f"cannot read {path}: {error.strerror}") from None
    place = os.path.join(os.getcwd(), path)
    folder = os.path.dirname(os.path.realpath(path))
    return run_main(compiled_script(text, place), place, [path, *arguments], None, folder)


def run_module(name, arguments):
    """Run a module as `python -m name arguments...` does -> (its Profile, its exit status)."""
    before = sys.path[:]
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        raise NoScript(f"no module {name}: {error}") from None
    finally:
        sys.path[:] = before
    code = spec and spec.loader and getattr(spec.loader, "get_code", lambda _: None)(spec.name)
    if code is None:
        raise NoScript(f"no module {name} that can be run")
    return run_main(code, spec.origin, [spec.origin, *arguments], spec, os.getcwd())


def compiled_script(text, path):
    """Code of a script, or a function that raises what Python raises of it."""
    try:
        return compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return error


def run_main(code, path, arguments, spec, folder):
    """Run code as the module `__main__`; arguments: its `sys.argv`."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins, __spec__=spec)
    if spec is not None:
        module.__package__ = spec.parent
    before = sys.modules["__main__"], sys.argv, sys.path[:]
    sys.argv = list(arguments)
    sys.path[0] = folder
    sys.modules["__main__"] = module
    made = Profile(os.path.basename(path))
    try:
        with made:
            status = exit_status(code, module.__dict__)
            wait_for_threads()
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before
    return made, status


def wait_for_threads():
    """Until the threads have ended that a program waits for at its end."""
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread() and thread is not threading.main_thread():
            thread.join()


def exit_status(code, space):
    """Run code to its end, however it ends -> the exit status that Python would give it, which says what it says."""
    try:
        if isinstance(code, SyntaxError):
            raise code
        exec(code, space)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        error = without_internals(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0
