"""Programs without a file: `python -c`, and a file on standard input."""

import subprocess
import sys

PROGRAM = """
import numpy as np
from wengert import jit

@jit(whole=True)
def f(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i]
    return total

print(f(np.arange(-50.0, 50.0)))
"""


def test_the_source_of_a_program_on_the_command_line_is_found():
    for flags in (["-c"], ["-Bc"], ["-W", "error", "-c"]):
        done = subprocess.run([sys.executable, *flags, PROGRAM, "-x"], capture_output=True, text=True, timeout=300)
        assert done.stdout == "1225.0\n", done.stderr


def test_the_source_of_a_program_on_standard_input_is_found(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    with path.open() as program:
        done = subprocess.run([sys.executable, "-"], stdin=program, capture_output=True, text=True, timeout=300)
    assert done.stdout == "1225.0\n", done.stderr
