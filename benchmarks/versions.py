"""The README's two commands, to the letter, on every Python that is here, with the oldest and the newest packages that
pyproject.toml allows.

    python benchmarks/versions.py [ROW ...] [--quick | --tests NAME,...] [--seconds N] [--workers N] [--home DIRECTORY]
    [--python PATH ...]

A ROW is such as 3.12, 3.12-oldest or newest; without one, all run. For each, what git knows of this checkout is copied
into a folder whose name is no name of Python's, `python3` is made the interpreter of the row, and the commands run
there as a newcomer would run them: pip makes the environment, so what it finds is what a newcomer gets. `oldest` holds
NumPy, jax, jaxlib, SciPy and llvmlite down to the first versions that have wheels for that Python and are within the
bounds (by PIP_CONSTRAINT; the commands stay as they are).

Interpreters are python3.N on the PATH, those of pyenv, and --python. --quick runs the test files that ask most of
versions; --seconds is the most that one command may take; with --home, environments stay there and are used again.
Tests that fail are named below the table, by row.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree

from timing import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
BOUND = re.compile(r"^([A-Za-z_.-]+)\s*>=\s*([\d.]+)")
HELD = "numpy", "jax", "jaxlib", "scipy", "llvmlite"
QUICK = """
    background cache from_jax golden jit main native nests no_source numpy_found numpy_table outside raising scipy
    source stdlib
""".split()
PROBE = """
import importlib.metadata, json, platform
from wengert.backends.native import direct, ffi
found = {"python": platform.python_version(), "off": direct.refusal(), "ffi": ".".join(map(str, ffi.version()))}
for name in %r:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = "-"
print(json.dumps(found))
"""
COUNTS = ["passed", "failed", "errors", "skipped"]
HEADER = ["row", "python", *HELD, "ffi", "native", "main job", *COUNTS, "seconds"]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def bounds():
    """{package: the lowest version that pyproject.toml allows} of those that `oldest` holds down."""
    told = project()
    wanted = [*told["dependencies"], *(text for extra in told["optional-dependencies"].values() for text in extra)]
    found = {m[1]: m[2] for m in map(BOUND.match, wanted) if m and m[1] in HELD}
    return found | {"jaxlib": found["jax"]}


def interpreters(given):
    """{minor version: path} of the Pythons here that the project allows."""
    least = int(re.search(r">=\s*3\.(\d+)", project()["requires-python"])[1])
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    paths = [
        *given,
        *(shutil.which(f"python3.{n}") for n in range(least, 30)),
        *pyenv.glob("3.*/bin/python3"),
        sys.executable,
    ]
    found = {}
    for path in filter(None, map(str, filter(None, paths))):
        text = "import sys; print(sys.version_info[1], sys.version_info.releaselevel, sys.implementation.name)"
        told = subprocess.run([path, "-c", text], capture_output=True, text=True).stdout.split()
        if len(told) == 3 and told[1:] == ["final", "cpython"] and int(told[0]) >= least:
            found.setdefault(int(told[0]), path)
    return dict(sorted(found.items()))


def number(version):
    return tuple(map(int, version.split(".")))


def first(pip, package, bound):
    """The first version within a bound that pip would install."""
    told = subprocess.run([
        pip, "index", "versions", "--only-binary=:all:", package,
    ], capture_output=True, text=True).stdout
    versions = re.findall(
        r"[\d.]+", next((line for line in told.splitlines() if line.startswith("Available versions:")), "")
    )
    return min(
        (v for v in versions if re.fullmatch(r"\d+(\.\d+)*", v) and number(v) >= number(bound)),
        key=number,
        default=bound,
    )


class Row:
    """One environment, and what came of the commands in it."""

    def __init__(self, minor, path, which, home, given):
        self.name, self.path, self.which, self.given = f"3.{minor}-{which}", path, which, given
        self.home = home / self.name
        self.checkout = self.home / "my-checkout"
        self.environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
        self.environment |= {
            "PATH": f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        self.probed, self.notes = {}, []

    def prepare(self):
        """The checkout, as git knows it, and an interpreter called python3."""
        names = subprocess.run([
            "git", "ls-files", "-co", "--exclude-standard", "-z",
        ], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for old in self.checkout.iterdir() if self.checkout.is_dir() else ():  # of another run: what has moved since
            if old.name != ".venv":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.checkout / name)
        (self.home / "bin").mkdir(exist_ok=True)
        shim = self.home / "bin" / "python3"
        # no link: an interpreter looks for its library beside itself
        shim.write_text(f'#!/bin/sh\nexec "{self.path}" "$@"\n')
        shim.chmod(0o755)
        if self.which == "oldest":
            self.command("python3 -m venv .venv")
            pip = str(self.checkout / ".venv/bin/pip")
            held = self.home / "held.txt"
            held.write_text("".join(f"{name}=={first(pip, name, bound)}\n" for name, bound in bounds().items()))
            self.environment["PIP_CONSTRAINT"] = str(held)

    def command(self, text, **environment):
        """-> (exit status, seconds, what it printed); the status is None where it took too long."""
        begun = time.time()
        try:
            done = subprocess.run(
                text, shell=True, cwd=self.checkout, env=self.environment | environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=self.given.seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            return None, time.time() - begun, (error.stdout or b"").decode(errors="replace")
        return done.returncode, time.time() - begun, done.stdout

    def run(self):
        """-> the cells of the row"""
        self.prepare()
        job, tests = re.findall(r"^    (python3 -m venv .*)$", (ROOT / "README.md").read_text(), re.M)
        status, _, printed = self.command(job)
        main = "ok" if status == 0 else "too long" if status is None else f"exit {status}"
        self.note("main job", printed if status else "")
        if self.given.workers:
            tests = re.sub(r"-n \d+", f"-n {self.given.workers}", tests)
        found = self.home / "tests.xml"
        found.unlink(missing_ok=True)
        names = QUICK if self.given.quick else self.given.tests.split(",") if self.given.tests else []
        only = " ".join(str(next(ROOT.glob(f"tests/**/test_{name}.py"))) for name in names)
        status, seconds, printed = self.command(tests, PYTEST_ADDOPTS=f"--junit-xml={found} {only}")
        self.probe()
        return [*self.versions(), main, *self.counts(found, status, printed), f"{seconds:.0f}"]

    def probe(self):
        script = self.home / "probe.py"
        script.write_text(PROBE % (HELD,))
        status, _, printed = self.command(f".venv/bin/python -W error {script}")
        if status == 0:
            self.probed = json.loads(printed.splitlines()[-1])
        self.note("probe", printed if status else "")

    def versions(self):
        native = "?" if not self.probed else "on" if self.probed["off"] is None else "off"
        self.note("native is off", self.probed.get("off") or "")
        return [self.name, *(self.probed.get(name, "?") for name in ("python", *HELD, "ffi")), native]

    def counts(self, found, status, printed):
        if not found.exists():
            self.note("tests", printed)
            return ["too long" if status is None else "?", "?", "?", "?"]
        suite = ElementTree.parse(found).getroot().find("testsuite")
        tests, *bad = (int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped"))
        broken = [
            case
            for case in suite.iter("testcase")
            if case.find("failure") is not None or case.find("error") is not None
        ]
        self.notes += [f"{self.name}: {case.get('classname')}::{case.get('name')}" for case in broken]
        return [str(tests - sum(bad)), *map(str, bad)]

    def note(self, what, text):
        if text:
            self.notes.append(f"{self.name}: {what}: {text.strip()[-1500:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tests", help="test files to run, such as main,jit, if not all")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--workers", help="how many processes run tests, if not as many as the README says")
    parser.add_argument("--home", type=pathlib.Path)
    parser.add_argument("--python", action="append", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = (given.home or pathlib.Path(temporary)).resolve()
        rows = [
            Row(minor, path, which, home, given)
            for minor, path in interpreters(given.python).items()
            for which in ("newest", "oldest")
        ]
        rows = [
            row for row in rows if not given.rows or any(row.name == r or r in row.name.split("-") for r in given.rows)
        ]
        if not rows:
            parser.error("no such row; pythons here: " + ", ".join(f"3.{n}" for n in interpreters(given.python)))
        cells = []
        for row in rows:
            print(f"{row.name} ...", file=sys.stderr, flush=True)
            cells.append(row.run())
        table(cells, HEADER)
        for row in rows:
            print(*row.notes, sep="\n", end="\n" if row.notes else "")
        wanted = {"main job": "ok", "failed": "0", "errors": "0"}
        sys.exit(any(dict(zip(HEADER, row))[name] != value for row in cells for name, value in wanted.items()))


if __name__ == "__main__":
    main()
