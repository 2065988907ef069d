"""Programs on disk under stress, by real processes: what is tried, how often, and what came of it.

    python benchmarks/correctness/cache_stress.py [seconds]

Each process imports the compiler, calls four functions (through XLA, a gradient, a loop as machine code, as NumPy), and
says what it got, how it came by each program, and whether anything was unpickled meanwhile (CPython's audit event
`pickle.find_class`, and a pickle that would leave a file behind). The functions hold a number of their own, so a
program taken for another gives another result. Rows: 8 writers at a time; writers killed with SIGKILL at random
moments; files cut short, with bits flipped, exchanged, of other kinds; a pickle in the place of a file, and pickles as
the executables of a file that is well-formed; a disk that is full, and one that is read-only (mounted, where the system
lets us). `wrong` counts results that differ from NumPy's, `failed` processes that did not end well, `damaged` files
left that cannot be read, `lost` programs kept before that were not found after.
"""

import itertools
import json
import os
import pathlib
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from wengert.benchmarks.timing import table
from wengert.tracer.cache import store
from wengert.tracer.cache.store import Store

PROGRAMS = """
import numpy as np
from wengert import grad, jit

K = {number}

@jit(engine="xla")
def through(x):
    return np.tanh(x) @ np.cos(x) * K

@grad
def slope(x):
    return (np.sin(x) * x).sum() * K

@jit
def stepped(x):
    for i in range(1, len(x)):
        x[i] = x[i] + np.sin(x[i - 1]) * K
    return x.sum()

@jit(engine="numpy")
def plain(x):
    return np.exp(-x).sum() + K
"""

WORKER = """
import json, sys
seen = []
sys.addaudithook(lambda event, args: seen.append(repr(args)) if event == "pickle.find_class" else None)
import warnings
warnings.simplefilter("ignore")
import numpy as np
import stressed as s
seen.clear()
print("begun", flush=True)
made = {}
for name in ("through", "slope", "stepped", "plain"):
    f = getattr(s, name)
    value = float(np.sum(f(np.linspace(0.1, 1.0, 50))))
    how = [line.split()[1] for line in f.explain().splitlines() if line.startswith("    cache ")]
    made[name] = value, *how
print(json.dumps([made, seen]))
"""


class Foreign:
    """A pickle that leaves a file behind when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def expected(number):
    x = np.linspace(0.1, 1.0, 50)
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += np.sin(y[i - 1]) * number
    return {
        "through": np.tanh(x) @ np.cos(x) * number, "slope": ((np.cos(x) * x + np.sin(x)) * number).sum(),
        "stepped": y.sum(), "plain": np.exp(-x).sum() + number,
    }  # fmt: skip


class Stress:
    """A folder of programs, a cache, and the counts of the row that is being filled."""

    def __init__(self, home):
        self.home, self.cache, self.trap = home, home / "cache", home / "unpickled"
        for number in range(5):
            (home / str(number)).mkdir()
            (home / str(number) / "stressed.py").write_text(PROGRAMS.format(number=number + 1))

    def begin(self, number, cache=None):
        root = pathlib.Path(__file__).resolve().parents[3]
        path = os.pathsep.join([str(self.home / str(number)), str(root)])
        env = {
            **os.environ,
            "WENGERT_CACHE": str(cache or self.cache),
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return number, subprocess.Popen(
            [sys.executable, "-c", WORKER], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self, begun, counts):
        """Wait for a process and count what it says; -> how it came by its programs."""
        number, process = begun
        out, told = process.communicate(timeout=300)
        counts["processes"] += 1
        if process.returncode:
            counts["failed"] += 1
            print(told, file=sys.stderr)
            return []
        made, seen = json.loads(out.splitlines()[-1])
        want = expected(number + 1)
        counts["unpickled"] += len(seen) + self.trap.exists()
        counts["wrong"] += sum(abs(value - want[name]) > 1e-9 * abs(want[name]) for name, (value, *_) in made.items())
        how = [h for _, h in made.values()]
        for h in how:
            counts[h] = counts.get(h, 0) + 1
        return how

    def run(self, number, counts, cache=None):
        return self.end(self.begin(number, cache), counts)

    def files(self):
        return [path for path, _ in Store(self.cache).all()]

    def forget(self):
        """Remove all but the files of program 0."""
        for path in set(self.files()) - self.first:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def row(self, what, counts):
        """A row of the table; last, program 0, kept at the very beginning, is to be found."""
        counts["damaged"] = sum(store.unpacked(store.read(p) or b"") is None for p in self.files())
        counts["lost"] = self.run(0, counts).count("kept")
        print(f"{what}: {counts}", file=sys.stderr, flush=True)
        return [what, *(str(counts.get(c, 0)) for c in COLUMNS)]


COLUMNS = ("processes", "read", "kept", "not", "killed", "wrong", "failed", "unpickled", "damaged", "lost")


def fresh():
    return dict.fromkeys(COLUMNS, 0)


def together(stress, end):
    counts = fresh()
    while True:
        for begun in [stress.begin(n % 4) for n in range(8)]:
            stress.end(begun, counts)
        if time.time() > end:
            return stress.row("8 writers at a time", counts)
        stress.forget()


def killed(stress, end):
    counts = fresh()
    for number in itertools.cycle((1, 2, 3, 4)):
        if time.time() > end:
            break
        begun = [stress.begin(number), stress.begin(number)]
        for _, process in begun:
            process.stdout.readline()
        time.sleep(random.random() * 1.5)
        for _, process in begun:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            counts["killed"] += process.returncode == -signal.SIGKILL
        counts["damaged"] += sum(store.unpacked(store.read(p) or b"") is None for p in stress.files())
    for number in (1, 2, 3, 4):
        stress.run(number, counts)
    return stress.row("killed while they write", counts)


def damage(stress, what, change):
    """Every file but those of program 0 changed, then a process that meets them, and one more."""
    counts = fresh()
    stress.forget()
    stress.run(1, fresh())
    for path in set(stress.files()) - stress.first:
        change(path)
    for number in (1, 1):
        stress.run(number, counts)
    return stress.row(what, counts)


def cut_short(path):
    path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)])


def flip(path):
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)


def exchange(stress):
    """Each file becomes one of program 0's."""
    others = sorted(stress.first)
    return lambda path: path.write_bytes(random.choice(others).read_bytes())


def another_kind(path):
    path.unlink()
    random.choice(
        (
            path.mkdir,
            lambda: os.mkfifo(path),
            lambda: path.symlink_to("/dev/zero"),
            lambda: path.write_bytes(os.urandom(5000)),
        )
    )()


def foreign(stress):
    return lambda path: path.write_bytes(pickle.dumps(Foreign(str(stress.trap))))


def within(stress):
    """A well-formed file of which all but the program's text is a pickle."""

    def change(path):
        told, parts = store.unpacked(path.read_bytes())
        trap = pickle.dumps(Foreign(str(stress.trap)))
        path.write_bytes(store.packed(told, {n: data if n == "program" else trap for n, data in parts.items()}))

    return change


def mounted(stress, what, size, last):
    """A disk of its own. last: what is done to it before the programs run."""
    place = stress.home / "disk"
    place.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True).returncode:
        return [what, *["not tried"] * len(COLUMNS)]
    counts = fresh()
    try:
        last(place)
        for begun in [stress.begin(n, place / "cache") for n in (1, 1, 2)]:
            stress.end(begun, counts)
        counts["damaged"] = sum(store.unpacked(store.read(p) or b"") is None for p, _ in Store(place / "cache").all())
        counts["damaged"] += len(list(place.rglob("*.part")))
    finally:
        subprocess.run(["umount", place], check=True)
    damaged = counts["damaged"]
    row = stress.row(what, counts)
    row[1 + COLUMNS.index("damaged")] = str(damaged)  # of that disk
    return row


def read_only(stress):
    def last(place):
        shutil.copytree(stress.cache, place / "cache")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)

    return last


def main(seconds):
    home = pathlib.Path(tempfile.mkdtemp(prefix="wengert-stress-"))
    try:
        stress = Stress(home)
        stress.run(0, fresh())
        stress.first = set(stress.files())
        rows = [together(stress, time.time() + seconds / 4), killed(stress, time.time() + seconds / 4)]
        rows += [
            damage(stress, *x)
            for x in (("files cut short", cut_short), ("bits flipped", flip), ("files exchanged", exchange(stress)))
        ]
        rows += [
            damage(stress, "other kinds of files", another_kind),
            damage(stress, "a pickle as a file", foreign(stress)),
        ]
        rows += [damage(stress, "pickles as executables", within(stress))]
        rows += [
            mounted(stress, "a full disk", "20k", lambda place: None),
            mounted(stress, "a read-only disk", "64m", read_only(stress)),
        ]
        table(rows, ["tried", *COLUMNS])
        never = [1 + COLUMNS.index(c) for c in ("wrong", "failed", "unpickled", "damaged", "lost")]
        bad = [row[0] for row in rows if any(row[k] not in ("0", "not tried") for k in never)]
        sys.exit(f"not as it should be: {', '.join(bad)}" if bad else 0)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
