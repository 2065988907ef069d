"""A text of 40 tokens by a decoder whose context grows by one: total time from the first call, by NumPy's, which takes
turns with it; a row is a process of its own, the first of which compares NumPy with itself. "CPU": the same in seconds
of the processor during calls. "a second text": once more in that process."""

import json
import subprocess
import sys
import time

import jax
import numpy as np
from jax_ports import PORTS
from programs import DEEP, TOKENS, WIDE, decoder, layers_of
from sequences import CLOSE

from wengert import jit
from wengert.tracer.common import events

WAYS = {"NumPy": "", "`jit`": "jit", "`jax.jit`": "jax"}


def text(step, layers, start, tokens, budget=float("inf")):
    """-> (seconds, seconds of the processor) of each step, the same of NumPy's on the same contexts, taking turns; how
    far rows differ. Each context is the one before and what NumPy gives of it."""
    ours, plain, context, apart = [], [], start, 0.0
    while len(ours) < tokens and sum(s for s, _ in ours) < budget:
        rows = []
        for call, times in ((decoder, plain), (step, ours)):
            begun = time.perf_counter(), time.process_time()
            rows.append(np.asarray(call(context, layers)))
            times.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
        apart = max(apart, float(np.max(np.abs(rows[0] - rows[1])) / np.max(np.abs(rows[0]))))
        context = np.concatenate([context, rows[0][None]])
    return ours, plain, apart


def measured(way, budget):
    layers, rng = layers_of(WIDE, DEEP), np.random.default_rng(0)
    start, other = rng.standard_normal((1, WIDE)), rng.standard_normal((1, WIDE))
    decoder(start, layers)  # threads of the library begin
    counts, step = [], decoder
    if way == "jit":
        step = jit(decoder)
        events.LISTENERS.append(lambda event: counts.append(event.kind))
    elif way == "jax":
        jax.config.update("jax_enable_x64", True)
        step = jax.jit(PORTS["decoder"])
    ours, plain, apart = text(step, layers, start, TOKENS, budget)
    n, total = len(ours), lambda times, which: sum(t[which] for t in times)
    r = {"tokens": n, "NumPy": total(plain, 0), "total": total(ours, 0) / total(plain, 0), "second": None}
    r |= {"CPU": total(ours, 1) / total(plain, 1), "first": ours[0][0], "worst": max(t for t, _ in ours[1:])}
    if n == TOKENS:
        ours, plain, _ = text(step, layers, other, TOKENS, budget)
        r["second"] = total(ours, 0) / total(plain, 0)
    return r | {"traces": counts.count("traced"), "xla": counts.count("xla compile"), "wrong": apart > CLOSE}


HEAD = ["", "tokens", "NumPy", "by NumPy's", "CPU", "a second text", "first call", "worst behind it", "made", "values"]


def decoder_table(budget, environment):
    """Lines of Markdown: each way in a process of its own, by the time that NumPy takes there."""
    rows = [HEAD, ["---"] * len(HEAD)]
    for name, way in WAYS.items():
        line = [sys.executable, __file__, way, str(budget)]
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment)
        rows.append([name, *shown(json.loads(done.stdout.splitlines()[-1]))])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def shown(r):
    return [
        str(r["tokens"]),
        f"{r['NumPy']:.2f} s",
        f"{r['total']:.2f}",
        f"{r['CPU']:.2f}",
        f"{r['second']:.2f}" if r["second"] else "",
        f"{r['first'] * 1e3:.0f} ms",
        f"{r['worst'] * 1e3:.0f} ms",
        f"{r['traces']} traces, {r['xla']} XLA" if r["traces"] else "",
        "WRONG" if r["wrong"] else "right",
    ]


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], float(sys.argv[2]))))
