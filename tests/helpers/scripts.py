"""Scripts in processes of their own, that are interrupted and forked: a fixture that gives what one writes as JSON."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import json, multiprocessing, os, signal, sys, time, warnings
import numpy as np
from wengert import jit

def interrupted(call, after=0.5):
    "How long a call went on after a signal, and what came of it."
    sent = []
    def handler(*_):
        sent.append(time.perf_counter())
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        return "finished", call()
    except BaseException as error:
        return type(error).__name__, bool(sent) and time.perf_counter() - sent[0] < 1.0
"""


@pytest.fixture
def said(tmp_path):
    return lambda code: run(tmp_path / "script.py", code)


@pytest.fixture
def said_slowly(tmp_path):
    return lambda code: run(tmp_path / "script.py", code, timeout=3600)


def run(path, code, timeout=120):
    """What a script writes as JSON."""
    path.write_text(HEAD + textwrap.dedent(code))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=timeout, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
