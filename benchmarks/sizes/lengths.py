"""Sizes that change from call to call: eight programs (`programs.py`), forward and gradient, against NumPy, `jax.jit`
and `torch.compile(dynamic=True)`.

    python benchmarks/sizes/lengths.py [--only kalman,lstm] [--what forward,gradient] [--most 512] [--drawn 512]
                                       [--seconds 600] [--jax 48] [--torch PYTHON] [--exact] [--threads 1]
    python benchmarks/sizes/lengths.py --decoder          # a text of 40 tokens, from the first call

Each program is called with the lengths 1 to `--most` one by one, and then with `--drawn` of them at random. A row is a
process of its own, in which NumPy makes the calls first, and again last ("A/A"). A contestant that has taken
`--seconds` begins no more calls, NumPy too, and what it is compared with are the calls it has made. `jax.jit` compiles
for each length, so it has the lengths 1 to `--jax` alone, and torch too (`--jax 0`: neither). `--threads 1`: products
of matrices by one thread for all, for machines that do other work too.

Columns: `calls` made of those that were asked for; `NumPy` seconds in all; `one by one` and `at random`: our time by
NumPy's over the same calls (of a gradient: by NumPy's for the value alone); `made`: traces, programs of XLA's, loops by
LLVM; `worst`: the longest call; `steady`: a call of ours by one of a program for exactly this shape, calls of one shape
repeated, geometric mean over four lengths, and `drawn`: calls at random near those lengths by the same (`--exact` asks
for both); `jax`, `torch`: their seconds over the lengths 1 to `--jax`, how many compilations they made, and our seconds
over the same calls; `wrong`: calls whose values are not NumPy's, or whose gradients are not what differences say,
or those of the program for the shape.
"""

import argparse
import collections
import inspect
import json
import math
import os
import pathlib
import subprocess
import sys
import warnings

import jax
import numpy as np
from decoding import decoder_table
from jax_ports import PORTS
from programs import PROGRAMS
from sequences import Sequence, is_close, lengths, squares

from wengert import grad, jit
from wengert.benchmarks.timing import interleave
from wengert.tracer.common import events

HERE = pathlib.Path(__file__).parent
HEAD = ["program", "what", "calls", "NumPy", "one by one", "at random", "A/A", "made", "worst", "steady", "drawn",
    "jax", "torch", "ours", "wrong"]  # fmt: skip
NEAR = 1 / 16  # lengths that differ by no more of it are compared
STEADY = (0.03, 0.2, 0.6, 1.0)  # of the largest length


def of_a_shape(function):
    """What is compiled for each shape by itself."""
    known = inspect.signature(jit).parameters
    return jit(function, **({"dynamic": False} if "dynamic" in known else {}))


def entered(function, what, wrt):
    """The function that is compiled: the program, or the gradient of its sum of squares."""
    return function if what == "forward" else grad(lambda *args: squares(function(*args)), argnums=wrt)


class Made(collections.Counter):
    """What has been made for our calls, by kind of event."""

    KINDS = {"traced": "traces", "xla compile": "XLA", "nest": "nests", "generalised": "symbolic"}

    def __enter__(self):
        events.LISTENERS.append(self.hear)
        return self

    def __exit__(self, *raised):
        events.LISTENERS.remove(self.hear)

    def hear(self, event):
        self[event.kind] += 1

    def __str__(self):
        return ", ".join(f"{self[kind]} {name}" for kind, name in self.KINDS.items() if self[kind]) or "nothing"


def measure(name, what, given):
    """The row of one program, in this process."""
    warnings.simplefilter("ignore")
    sizes = lengths(given.most, given.drawn)
    calls = Sequence(name, what, sizes)
    ours = jit(entered(calls.function, what, calls.wrt))
    plain, values = calls.timed(calls.function, budget=given.seconds)
    calls.sizes = sizes[: len(plain)]
    with Made() as made:
        seconds, results = calls.timed(ours, budget=given.seconds)
    calls.sizes = sizes[: len(seconds)]
    again = sum(calls.timed(calls.function)[0]) / sum(plain[: len(seconds)])
    row = {"calls": f"{len(seconds)} of {len(sizes)}", "NumPy": f"{sum(plain[: len(seconds)]):.3g} s"}
    row |= {"one by one": over(seconds, plain, 0, given.most), "at random": over(seconds, plain, given.most, None)}
    row |= {"A/A": f"{again:.2f}", "made": str(made), "worst": f"{max(seconds) * 1e3:.0f} ms"}
    wrong = calls.wrong(values, results)
    if given.exact:
        row |= compared_with_exact(calls, ours, seconds, given.most)
        wrong += row.pop("differ")
    row["wrong"] = str(wrong)
    few = min(given.jax, given.most, len(seconds))
    if few:
        row["ours"] = f"{sum(seconds[:few]):.3g} s"
        row["jax"] = by_jax(calls, plain[:few], values)
        row["torch"] = by_torch(name, what, few, given) if given.torch else ""
    return row


def over(ours, plain, first, last):
    """Our seconds by NumPy's, in some of the calls."""
    part = slice(first, min(len(ours), last or len(ours)))
    return f"{sum(ours[part]) / sum(plain[part]):.2f}" if ours[part] else ""


def compared_with_exact(calls, ours, seconds, most):
    """What calls take beside a program for the shape alone, and how often their gradients differ from its."""
    same, drawn, differ = [], [], 0
    for share in STEADY:
        n = max(1, round(most * share))
        exact = of_a_shape(entered(calls.function, calls.what, calls.wrt))
        args = calls.make(n, np.random.default_rng(n))
        differ += not is_close(ours(*args), exact(*args))
        times = interleave({"ours": lambda: ours(*args), "exact": lambda: exact(*args)}, 0.5, 20, 10)  # noqa: B023
        same.append(times["ours"] / times["exact"])
        behind = zip(calls.sizes[most:], seconds[most:], strict=False)
        near = sorted(t for m, t in behind if abs(m - n) <= max(1, n * NEAR))
        drawn += [near[len(near) // 2] / times["exact"]] if near else []
    return {"steady": mean(same), "drawn": mean(drawn), "differ": differ}


def mean(ratios):
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else ""


# -- others ----------------------------------------------------------------------------------------


def by_jax(calls, plain, values):
    """`jax.jit` on the first calls, of which `plain` says how long NumPy took."""
    jax.config.update("jax_enable_x64", True)
    port, compiles = PORTS[calls.name], []
    jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiles.append(event))
    forward = calls.what == "forward"
    compiled = jax.jit(port if forward else jax.grad(lambda *args: (port(*args) ** 2).sum(), calls.wrt))
    try:
        seconds, results = Sequence(calls.name, calls.what, calls.sizes[: len(plain)]).timed(
            lambda *args: jax.block_until_ready(compiled(*args)),
            lambda args: jax.tree_util.tree_map(jax.numpy.asarray, args),
        )
    except ValueError:  # there is none of lax.while_loop
        return "no derivative"
    made = sum(event.endswith("backend_compile_duration") for event in compiles)
    return others(seconds, plain, made, calls.wrong(values, [*map(np.asarray, results)]))


def by_torch(name, what, few, given):
    line = [given.torch, str(HERE / "torch_lengths.py"), name, what, str(few), str(int(given.seconds))]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        return f"fails: {done.stderr.splitlines()[-1][:60]}"
    r = json.loads(done.stdout.splitlines()[-1])
    return others(r["seconds"], r["plain"], r["compiles"], r["wrong"])


def others(seconds, plain, made, wrong):
    reached = f", {len(seconds)} calls" if len(seconds) < len(plain) else ""
    return f"{sum(seconds):.3g} s ({made}{reached}{f', {wrong} wrong' if wrong else ''})"


# -- the table -------------------------------------------------------------------------------------


def markdown(rows, head):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def environment(threads):
    """Of a process in which products of matrices take this many threads; None: as many as there are."""
    if threads is None:
        return dict(os.environ)
    xla = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen={str(threads > 1).lower()}".strip()
    return os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "XLA_FLAGS": xla}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--what", default="forward,gradient")
    parser.add_argument("--most", type=int, default=512)
    parser.add_argument("--drawn", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--jax", type=int, default=48)
    parser.add_argument("--torch", default="")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--decoder", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.decoder:
        print(decoder_table(given.seconds, environment(given.threads)))
        return
    if given.one:
        print(json.dumps(measure(*given.one, given)))
        return
    rows = []
    for name in PROGRAMS:
        for what in given.what.split(","):
            if not any(word and name.startswith(word) for word in given.only.split(",")):
                continue
            line = [sys.executable, __file__, *sys.argv[1:], "--one", name, what]
            done = subprocess.run(line, capture_output=True, text=True, env=environment(given.threads))
            r = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {"wrong": done.stderr[-300:]}
            rows.append([name, what, *(r.get(key, "").replace("\n", " ") for key in HEAD[2:])])
            print(f"{name} {what}: {r}", file=sys.stderr, flush=True)
    print(markdown(rows, HEAD))


if __name__ == "__main__":
    main()
