"""`python -m wengert launch -n 2 SCRIPT.py`: several processes on this machine, joined by `jax.distributed`.

The script calls `jax.distributed.initialize()` without arguments, as it does under `srun` and `mpirun`: the coordinator
is named in jax's own variable, number and count of the process in Slurm's, which jax reads.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

from ..common.script_argument import add_script
from . import member

USAGE = "python -m wengert launch [-h] [-n N] [--devices K] [--port P] [--grace SECONDS] [-m] SCRIPT.py [ARGUMENT...]"
WHAT = """Run a script in several processes on this machine, joined by jax.distributed. The script calls
jax.distributed.initialize() without arguments before anything else of jax."""
AFTER = """Lines that the processes write are printed with the number of the process in front. Where one of them fails
the others are told to end (SIGTERM), and killed after the time of grace; SIGINT, SIGTERM and SIGHUP are passed on to
all. Exit status: 0, all have ended with 0; else that of the first that failed, 128 and the signal's number where a
signal ended it; 2, nothing was started. On several machines the same script runs under srun or mpirun."""
LOCAL = "127.0.0.1"
FORWARDED = [s for s in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")) if s is not None]
TICK = 0.05  # bound: seconds between two looks at the processes


class NotStarted(Exception):
    """The processes cannot be started; the text is one line."""


def launch_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m wengert launch", usage=USAGE, description=WHAT, epilog=AFTER)
    made.add_argument("-n", "--processes", metavar="N", type=int, default=2, help="how many; default %(default)s")
    made.add_argument("--devices", metavar="K", type=int, help="CPU devices of each process; default: one")
    made.add_argument("--port", metavar="P", type=int, help="of the coordinator; default: one that is free")
    made.add_argument(
        "--grace", metavar="SECONDS", type=float, default=5.0, help="until what does not end is killed; default 5"
    )
    add_script(made)
    return made


def launch_command(argv: Sequence[str]) -> int:
    """-> the exit status of the processes."""
    known = launch_parser()
    given = known.parse_args(argv)
    if not given.script:
        known.error("name a script: python -m wengert launch -n 2 train.py")
    if given.processes < 1:
        known.error("-n must be at least 1")
    if given.devices is not None and given.devices < 1:
        known.error("--devices must be at least 1")
    if not given.module and not os.path.isfile(given.script[0]):
        raise NotStarted(f"no file {given.script[0]}")
    runner = [member.__file__] if os.path.isfile(member.__file__) else ["-m", member.__name__]
    command = [sys.executable, *runner, *(["-m"] if given.module else []), *given.script]
    port = free_port(given.port)
    environments = [member_environment(n, given.processes, port, given.devices) for n in range(given.processes)]
    return Group(command, environments, given.grace).run()


def free_port(asked: int | None) -> int:
    """A port of this machine that nobody listens to: the one asked for, if one is."""
    if asked is not None and not 0 < asked < 1 << 16:
        raise NotStarted(f"{asked} is no port: ports are from 1 to 65535")
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((LOCAL, asked or 0))
        except OSError as error:
            raise NotStarted(f"port {asked} cannot be used: {error.strerror}") from None
        port: int = found.getsockname()[1]
        return port


def member_environment(number: int, count: int, port: int, devices: int | None) -> dict[str, str]:
    """The environment of a process: what `jax.distributed.initialize()` reads, and output at once."""
    made = {
        **os.environ,
        "JAX_COORDINATOR_ADDRESS": f"{LOCAL}:{port}",
        "JAX_COORDINATOR_BIND_ADDRESS": f"{LOCAL}:{port}",
        "SLURM_JOB_ID": "0",
        "SLURM_STEP_NODELIST": LOCAL,
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_NTASKS": str(count),
        "SLURM_PROCID": str(number),
        "SLURM_LOCALID": str(number),
        "PYTHONUNBUFFERED": "1",
    }
    made.setdefault("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo")
    if devices is not None:
        made["JAX_NUM_CPU_DEVICES"] = str(devices)
    return made


class Group:
    """The processes, and what came of them.

    first: (number, exit status) of the first that failed; told: the signal that was passed on to all; deadline: when
    those that are left are killed.
    """

    def __init__(self, command: Sequence[str], environments: Sequence[dict[str, str]], grace: float) -> None:
        self.command, self.environments, self.grace = command, environments, grace
        self.running: list[subprocess.Popen[bytes]] = []
        self.first: tuple[int, int] | None = None
        self.told: int | None = None
        self.deadline: float | None = None
        self.writing = threading.Lock()

    def run(self) -> int:
        """Start them and wait for all -> the exit status."""
        readers: list[threading.Thread] = []
        with self.signals():
            try:
                for number, made in enumerate(self.environments):
                    readers += self.start(number, made)
                while any(p.poll() is None for p in self.running):
                    self.look()
                    time.sleep(TICK)
                self.look()
            finally:
                self.kill()
            for reader in readers:
                reader.join(self.grace)
        if self.told is not None:
            return 128 + self.told
        return 0 if self.first is None else self.first[1]

    def start(self, number: int, environment: dict[str, str]) -> list[threading.Thread]:
        """Start a process, in a session of its own: what the terminal sends comes to it through us alone."""
        try:
            process = subprocess.Popen(
                self.command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(f"cannot start {self.command[0]}: {error.strerror}") from None
        self.running.append(process)
        pairs = (process.stdout, sys.stdout), (process.stderr, sys.stderr)
        made = [threading.Thread(target=self.copy, args=(number, *pair), daemon=True) for pair in pairs]
        for reader in made:
            reader.start()
        return made

    def copy(self, number: int, source: Any, target: IO[str]) -> None:
        """Print what a process writes, line by line, each with its number in front."""
        for line in source:
            text = line.decode(errors="replace").rstrip("\n")
            with self.writing, contextlib.suppress(BrokenPipeError):
                print(f"[{number}] {text}", file=target, flush=True)

    def look(self) -> None:
        """Note which have ended; where one has failed, end the others."""
        failed = [(n, p.returncode) for n, p in enumerate(self.running) if p.poll() not in (None, 0)]
        if failed and self.first is None and self.told is None:
            number, code = failed[0]
            self.first = number, code if code > 0 else 128 - code
            what = f"ended with exit status {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
            others = any(p.poll() is None for p in self.running)
            end = "; the others are told to end" if others else ""
            with self.writing:
                print(f"wengert launch: process {number} {what}{end}", file=sys.stderr, flush=True)
            self.send(signal.SIGTERM)
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.kill()

    def send(self, number: int) -> None:
        """Pass a signal on to all that run; those that still do after the time of grace are killed."""
        for process in self.running:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
        self.deadline = time.monotonic() + self.grace

    def kill(self) -> None:
        for process in self.running:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Around the run: signals are passed on; the second time the processes are killed."""

        def heard(number: int, frame: Any) -> None:
            if self.told is not None:
                self.deadline = 0.0
                return
            self.told = number
            self.send(number)

        before = [(s, signal.signal(s, heard)) for s in FORWARDED]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
