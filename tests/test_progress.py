"""The line that a terminal shows while a call waits for the compiler: there after a second, gone before the program runs, nowhere else."""

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
import numpy as np
from wengert import jit
from wengert.tracer import progress
from wengert.tracer.entry import Entry

progress.AFTER = progress.EVERY = 0.01
launch, write = Entry.launch, progress.Line.write
traced, compiled = threading.Event(), threading.Event()

def noted(self, text):
    write(self, text)
    if self.phase in ("tracing", "compiling"):
        (traced if self.phase == "tracing" else compiled).set()

def held(self, here, everything):
    if waits:
        assert compiled.wait(20)
    return launch(self, here, everything)

progress.Line.write, Entry.launch = noted, held
waits = "shown" in sys.argv

@jit
def f(x):
    y = np.sin(x)
    if waits:
        traced.wait(20)
    print("at", y.sum())
    return y

f(np.zeros(3))
f(np.zeros(3))
print([t.name for t in threading.enumerate() if "progress" in t.name])
"""


def run(tmp_path, *given, terminal, **environment):
    """What a process writes, stdout and stderr in the order in which they come: to a terminal, or to a pipe."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    env = {**os.environ, "PYTHONPATH": root, "TERM": "xterm", "COLUMNS": "60", "PYTHONUNBUFFERED": "1", **environment}
    line = [sys.executable, str(path), *given]
    if not terminal:
        return subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, env=env).stdout
    ours, theirs = pty.openpty()
    child = subprocess.Popen(line, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    found = b""
    try:
        while part := os.read(ours, 4096):
            found += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert child.wait(100) == 0, found.decode()
    return found.decode().replace("\r\n", "\n")


def test_on_a_terminal(tmp_path):
    text = run(tmp_path, "shown", terminal=True)
    line, _, after = text.partition("at 0.0\n")
    shown = [part for part in line.split("\r\x1b[K") if part]
    assert shown[0].startswith("f: tracing, 1 equation, 0.") and shown[0].endswith(" s")
    assert any(part.startswith("f: compiling, ") for part in shown)
    assert all(len(part) < 60 for part in shown)
    assert line.endswith("\r\x1b[K")  # wiped before the program prints
    assert after == "at 0.0\n[]\n"


@pytest.mark.parametrize("terminal, environment", [(False, {}), (True, {"WENGERT_PROGRESS": "0"})])
def test_elsewhere(tmp_path, terminal, environment):
    assert run(tmp_path, terminal=terminal, **environment) == "at 0.0\nat 0.0\n[]\n"
