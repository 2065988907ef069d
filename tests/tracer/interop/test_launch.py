"""`python -m wengert launch`: what processes are started with, how their output and signals go, and how all end where one fails."""

import os
import signal
import socket
import time

import pytest

from wengert import __main__ as cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of groups of processes")

HEAD = """
import atexit, os, signal, sys, time

rank = int(os.environ['SLURM_PROCID'])

def ready(other):
    "Wait until the other process has come here too."
    open(f"{__file__}.{rank}", "w").close()
    while not os.path.exists(f"{__file__}.{other}"):
        time.sleep(0.01)

"""
WAITS = "\natexit.register(time.sleep, 60)\n"  # as jax.distributed does for the other processes


@pytest.fixture
def launched(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LEFT", "as it was")
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)

    def run(code, *arguments, options=("-n", "2", "--grace", "5")):
        """-> (exit status, lines of stdout, of stderr, seconds)."""
        path = tmp_path / "script.py"
        path.write_text(HEAD + code)
        start = time.monotonic()
        status = cli.main(["launch", *options, str(path), *arguments])
        out, err = capsys.readouterr()
        return status, sorted(out.splitlines()), err.splitlines(), time.monotonic() - start

    return run


def test_processes_are_started_as_jax_reads_it(launched):
    code = """
names = ("JAX_COORDINATOR_ADDRESS", "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "LEFT")
print([os.environ[name] for name in names], sys.argv[1:], __name__, os.path.basename(sys.path[0]))
"""
    status, out, err, _ = launched(code, "-x", "3", options=("-n", "3"))
    assert (status, err, len(out)) == (0, [], 3)
    address = out[0].split("'")[1]
    host, port = address.split(":")
    assert host == "127.0.0.1" and 0 < int(port) < 1 << 16
    folder = out[0].split()[-1]
    for rank, line in enumerate(out):
        values = [address, "0", "127.0.0.1", "3", str(rank), str(rank), "as it was"]
        assert line == f"[{rank}] {values} ['-x', '3'] __main__ {folder}"


def test_output_comes_at_once_and_to_its_stream(launched):
    code = """
print("one", flush=False)
print("a complaint", file=sys.stderr)
sys.stdout.write("no end")
"""
    status, out, err, _ = launched(code)
    assert status == 0 and out == ["[0] no end", "[0] one", "[1] no end", "[1] one"]
    assert sorted(err) == ["[0] a complaint", "[1] a complaint"]


@pytest.mark.parametrize(
    "failing, status, said",
    [
        ("sys.exit(7)", 7, "ended with exit status 7"),
        ("sys.exit('a reason')", 1, "ended with exit status 1"),
        ("raise ValueError('a reason')", 1, "ended with exit status 1"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL, "was ended by SIGKILL"),
        ("raise KeyboardInterrupt('a reason')", 130, "ended with exit status 130"),
    ],
)
def test_all_end_where_one_fails(launched, failing, status, said):
    found, _, err, seconds = launched(f"{WAITS}if rank == 1:\n    {failing}\ntime.sleep(60)")
    assert found == status and seconds < 40
    assert f"wengert launch: process 1 {said}; the others are told to end" in err
    assert ("a reason" in failing) == any("a reason" in line for line in err)


def test_a_traceback_begins_in_the_script(launched):
    _, _, err, _ = launched("def f():\n    raise ValueError('a reason')\nif rank == 1:\n    f()\ntime.sleep(60)")
    lines = [line.removeprefix("[1] ") for line in err if line.startswith("[1]")]
    assert lines[0].startswith("Traceback") and "script.py" in lines[1] and lines[-1] == "ValueError: a reason"
    assert not any("member.py" in line or "runpy" in line for line in lines)


def test_what_does_not_end_is_killed(launched):
    code = "signal.signal(signal.SIGTERM, lambda *_: print('heard'))\n"
    wait = "ready(1 - rank)\nif rank == 1:\n    sys.exit(4)\nwhile True:\n    time.sleep(0.05)\n"
    status, out, _, seconds = launched(code + wait, options=("--grace", "0.3"))
    assert status == 4 and seconds < 40 and "[0] heard" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_signals_are_passed_on_to_all(launched, number):
    code = f"""
def heard(number, frame):
    print("heard", number)
    sys.exit(0)

signal.signal({int(number)}, heard)
ready(1 - rank)
if rank == 0:
    os.kill(os.getppid(), {int(number)})
time.sleep(60)
"""
    before = signal.getsignal(number)
    status, out, err, seconds = launched(code)
    assert status == 128 + number and out == [f"[0] heard {int(number)}", f"[1] heard {int(number)}"] and not err and seconds < 40
    assert signal.getsignal(number) is before


def test_the_second_signal_kills(launched):
    code = """
signal.signal(signal.SIGINT, lambda *_: None)
ready(1 - rank)
if rank == 0:
    for _ in range(2):
        time.sleep(0.5)
        os.kill(os.getppid(), signal.SIGINT)
while True:
    time.sleep(0.1)
"""
    status, *_, seconds = launched(code, options=("--grace", "50"))
    assert status == 130 and seconds < 40


def test_a_process_that_ends_well_waits_for_the_others(launched):
    status, out, err, _ = launched("if rank == 1:\n    time.sleep(0.5)\n    print('later')")
    assert (status, out, err) == (0, ["[1] later"], [])


def test_a_port_in_use(launched):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, out, err, _ = launched("print('never')", options=("--port", port))
    assert (status, out) == (2, []) and err == [f"wengert: port {port} cannot be used: Address already in use"]


@pytest.mark.parametrize(
    "command, said",
    [
        (["absent.py"], "wengert: no file absent.py"),
        (["--port", "70000", __file__], "wengert: 70000 is no port: ports are from 1 to 65535"),
        ([], "name a script: python -m wengert launch -n 2 train.py"),
        (["-n", "0", "train.py"], "-n must be at least 1"),
    ],
)
def test_mistakes_are_one_line(command, said, capsys):
    try:
        status = cli.main(["launch", *command])
    except SystemExit as ended:
        status = ended.code
    assert status == 2 and capsys.readouterr().err.strip().splitlines()[-1].endswith(said)


def test_a_module_is_run_as_python_runs_it(launched, tmp_path, monkeypatch, capsys):
    (tmp_path / "named_module.py").write_text("import sys\nprint(__name__, sys.argv[1:])")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["launch", "-m", "named_module", "a"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == [f"[{k}] __main__ ['a']" for k in (0, 1)]
