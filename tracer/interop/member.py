"""A script as one of several processes, which ends at once where it fails: what `python -m wengert launch` runs.

At its end Python would wait for the other processes, as `jax.distributed.shutdown` does, and they wait for this one
within the program: what has failed leaves without that, so that whoever has started it can end the others.
"""

import os
import runpy
import sys
import traceback

FAILED, INTERRUPTED = 1, 130  # fact: Python's exit status after an exception, the shells' after Ctrl-C


def run_member(arguments):
    """Run a script, or a module behind "-m", with its arguments, as `__main__`."""
    module = arguments[0] == "-m"
    sys.argv = arguments[module:]
    try:
        if not sys.flags.safe_path:
            sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.realpath(sys.argv[0]))
        if module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or end.code == 0:
            raise
        if not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        leave_at_once(end.code if isinstance(end.code, int) else FAILED)
    except BaseException as error:
        traceback.print_exception(type(error), error, of_script(error.__traceback__))
        leave_at_once(INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED)


def of_script(found):
    """A traceback without the frames around the script."""
    whole = found
    while found is not None and found.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        found = found.tb_next
    return found or whole


def leave_at_once(status):
    """End the process, with what was printed written, and nothing that waits for others."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    run_member(sys.argv[1:])
