"""`python -m wengert profile`: the script runs as Python runs it, and the report comes however it ends."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from places import ROOT

from wengert.__main__ import main

SCRIPT = """
    import os
    import sys
    import numpy as np
    from wengert import grad, jit

    @jit
    def waits(x):
        return x * x

    @jit(dynamic=False)
    def pull(x):
        for _ in range(4):
            x = x + 0.1 * np.sin(x)
        return x

    @jit
    def named(x):
        exec("import math")
        return np.cos(x)

    def loss(x):
        return (x ** 2).sum()

    if __name__ == "__main__":
        print(sys.argv[1:], __file__ == os.path.abspath(sys.argv[0]), sys.modules["__main__"].pull is pull)
        for _ in range(3):
            x = pull(np.ones(4))
        named(x)
        pull(np.ones(5))
        waits(np.ones(4)), waits(np.ones(5))
        grad(loss)(x)
        ENDING
"""


@pytest.fixture
def run(tmp_path):
    """run(ending, *options) -> what became of a script that ends so, in a process of its own."""
    (tmp_path / "wengert").symlink_to(ROOT, target_is_directory=True)

    def run(ending, *options, script="simulation.py", python=("-m", "wengert", "profile")):
        (tmp_path / script).write_text(textwrap.dedent(SCRIPT).replace("ENDING", ending))
        env = {k: v for k, v in os.environ.items() if not k.startswith("WENGERT")} | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-W", "ignore", *python, *options]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return run


def test_a_script_and_its_report(run, tmp_path):
    done = run("pass", "-o", "trace.json", "--json", "tables.json", "simulation.py", "--steps", "3", "-o", "x")
    assert (done.returncode, done.stdout) == (0, "['--steps', '3', '-o', 'x'] True True\n"), done.stderr
    tables = json.loads((tmp_path / "tables.json").read_text())
    counts = {(r["name"], r["signature"]): r["calls"] for r in tables["calls"]}
    assert counts == {
        ("pull", "x: f64[4]"): 3,
        ("pull", "x: f64[5]"): 1,
        ("waits", "x: f64[4]"): 1,
        ("waits", "x: f64[5]"): 1,
        ("named", "x: f64[4]"): 1,
        ("grad_loss", "x: f64[4]"): 1,
    }
    assert {r["text"] for r in tables["lines"]} >= {'exec("import math")', "return (x ** 2).sum()"}
    assert any(r["text"] in ("for _ in range(4):", "x = x + 0.1 * np.sin(x)") for r in tables["lines"])
    assert {r["name"] for r in tables["fallbacks"]} == {"named", "waits"}
    report = done.stderr
    for head in ("profile of simulation.py", "calls by function", "time by line", "making programs, by phase", "traces, and why"):
        assert head in report
    assert "new x: f64[5] (was f64[4])" in report and "calls left to plain Python" in report
    assert "there is no program for its shapes as yet" in report
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) > 6


@pytest.mark.parametrize(
    "ending, status, said",
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('it ends here')", 1, "it ends here\n"),
        ("raise ValueError('as asked')", 1, "ValueError: as asked\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
    ],
)
def test_however_it_ends(run, ending, status, said):
    done = run(ending, "simulation.py")
    assert done.returncode == status and said in done.stderr
    assert "profile of simulation.py" in done.stderr and "pull(x: f64[4])" in done.stderr
    if "Error" in said:  # the traceback is the script's alone
        trace = done.stderr.partition("Traceback")[2].partition("ValueError: as asked")[0]
        assert trace.count("  File ") == 1 and "simulation.py" in trace


def test_threads_that_outlive_the_script_are_waited_for(run):
    late = "import threading; threading.Timer(0.3, pull, [np.ones(6)]).start()"
    done = run(late, "simulation.py")
    assert done.returncode == 0 and "pull(x: f64[6])" in done.stderr, done.stderr


def test_a_script_knows_its_place(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = run("os.chdir('elsewhere'); print(open(__file__).readline())", "simulation.py")
    assert done.returncode == 0, done.stderr


def test_a_module_and_no_report(run):
    done = run("pass", "--quiet", "-m", "simulation", "7")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['7'] True True\n", "")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["missing.py"], "wengert: cannot read missing.py: No such file or directory\n"),
        (["-m", "no_such_module_here"], "wengert: no module no_such_module_here that can be run\n"),
    ],
)
def test_what_is_not_there(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    assert main(["profile", *arguments]) == 2
    assert capsys.readouterr().err == text
    assert (sys.argv, sys.path[:], sys.modules["__main__"]) == before


def test_a_script_that_python_cannot_read(run, tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n")
    done = run("pass", "broken.py")
    assert done.returncode == 1 and "SyntaxError" in done.stderr and f'File "{tmp_path / "broken.py"}", line 1' in done.stderr


def test_a_trace_that_cannot_be_written(run):
    done = run("pass", "-o", "no/such/folder.json", "simulation.py")
    assert done.returncode == 2 and done.stderr.endswith("wengert: cannot write no/such/folder.json: No such file or directory\n")


def test_help(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["profile", "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0 and "SCRIPT" in out and "ui.perfetto.dev" in out


def test_no_script(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["profile", "--quiet"])
    assert ended.value.code == 2 and "name a script: python -m wengert profile simulate.py" in capsys.readouterr().err
