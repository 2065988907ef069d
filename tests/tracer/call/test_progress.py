"""The line that a terminal shows while a call waits for the compiler: there after a second, gone before the program runs, nowhere else."""

import io
import os
import pty
import subprocess
import sys
import threading

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.common import progress

PROGRAM = """
import hashlib
import sys, threading
import numpy as np
from wengert import jit
from wengert.tracer.common import progress
from wengert.tracer.call.entry import SignatureEntry

progress.AFTER = progress.EVERY = 0.01
launch, write = SignatureEntry.launch, progress.ProgressLine.write
traced, compiled = threading.Event(), threading.Event()

def noted(self, text):
    write(self, text)
    if self.phase in ("tracing", "compiling"):
        (traced if self.phase == "tracing" else compiled).set()

def held(self, here, everything):
    assert compiled.wait(20)
    return launch(self, here, everything)

progress.ProgressLine.write, SignatureEntry.launch = noted, held

@jit
def f(x):
    y = np.sin(x)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1_000_000)  # pure, and takes a while
    print("at", y.sum())
    return y

f(np.zeros(3))
f(np.zeros(3))
lines = [t for t in threading.enumerate() if "progress" in t.name]
for t in lines:
    t.join(20)  # told to end, it may be on its way
print([t.name for t in lines if t.is_alive()])
"""


def test_on_a_terminal(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "60", "PYTHONUNBUFFERED": "1"}
    env.pop("WENGERT_PROGRESS", None)
    ours, theirs = pty.openpty()
    child = subprocess.Popen([sys.executable, str(path)], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    found = b""
    try:
        while part := os.read(ours, 4096):
            found += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert child.wait(100) == 0, found.decode()
    line, _, after = found.decode().replace("\r\n", "\n").partition("at 0.0\n")
    shown = [part for part in line.split("\r\x1b[K") if part]
    assert shown[0].startswith("f: tracing, 1 equation, 0.") and shown[0].endswith(" s")
    assert any(part.startswith("f: compiling, ") for part in shown)
    assert all(len(part) < 60 for part in shown)
    assert line.endswith("\r\x1b[K")  # wiped before the program prints
    assert after == "at 0.0\n[]\n"


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize("terminal, environment, shown", [(True, {}, True), (False, {}, False), (True, {"WENGERT_PROGRESS": "0"}, False)])
def test_elsewhere(monkeypatch, terminal, environment, shown):
    """Where nothing is to be written, no thread is begun."""
    monkeypatch.setattr(sys, "stderr", Stream(terminal))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("WENGERT_PROGRESS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    begun, before = [], threading.enumerate()
    lines = lambda: [t for t in threading.enumerate() if t.name == "wengert progress" and t not in before]
    monkeypatch.setattr(progress, "tracing", lambda _: begun.append(bool(lines())))
    f = jit(lambda x: np.cos(x))
    f(np.zeros(3))
    f(np.zeros(3))
    assert begun == [shown] and (shown or sys.stderr.getvalue() == "")
