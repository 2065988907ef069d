"""A text of 40 tokens by a decoder whose context grows by one: total time from the first call, in fresh processes."""

import json
import subprocess
import sys
import time

import numpy as np
from programs import DEEP, TOKENS, WIDE, decoder, layers_of

from wengert import jit
from wengert.tracer.common import events

WAYS = {"NumPy": "", "`jit`": "jit", "`jax.jit`": "jax"}


def text(step, layers, start, tokens, budget=float("inf")):
    """Seconds of each step; each context is the one before and what the decoder gave of it."""
    seconds, context = [], start
    while len(seconds) < tokens and sum(seconds) < budget:
        begun = time.perf_counter()
        row = np.asarray(step(context, layers))
        seconds.append(time.perf_counter() - begun)
        context = np.concatenate([context, row[None]])
    return seconds, context


def measured(way, budget):
    layers, rng = layers_of(WIDE, DEEP), np.random.default_rng(0)
    start, other = rng.standard_normal((1, WIDE)), rng.standard_normal((1, WIDE))
    np.ones((64, 64)) @ np.ones((64, 64))  # threads of the library begin
    plain, right = text(decoder, layers, start, TOKENS)
    counts = []
    step = decoder
    if way == "jit":
        step = jit(decoder)
        events.LISTENERS.append(lambda event: counts.append(event.kind))
    elif way == "jax":
        import jax
        import jax_ports

        jax.config.update("jax_enable_x64", True)
        step = jax.jit(jax_ports.decoder)
    seconds, found = text(step, layers, start, TOKENS, budget)
    n = len(seconds)
    wrong = not np.allclose(found, right[: n + 1], rtol=1e-7, atol=1e-9)
    second, _ = text(step, layers, other, TOKENS, budget) if n == TOKENS else ([], None)
    again, _ = text(decoder, layers, start, TOKENS)
    base = sum(plain[:n])
    return {
        "tokens": n, "NumPy": base, "total": sum(seconds) / base, "first": seconds[0], "worst": max(seconds),
        "second": sum(second) / sum(plain) if second else None, "control": sum(again) / sum(plain),
        "traces": counts.count("traced"), "xla": counts.count("xla compile"), "wrong": bool(wrong),
    }  # fmt: skip


HEAD = ["", "tokens", "NumPy", "by NumPy's", "a second text", "A/A", "first call", "worst call", "made", "values"]


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
        f"{r['second']:.2f}" if r["second"] else "",
        f"{r['control']:.2f}",
        f"{r['first'] * 1e3:.0f} ms",
        f"{r['worst'] * 1e3:.0f} ms",
        f"{r['traces']} traces, {r['xla']} XLA" if r["traces"] else "",
        "WRONG" if r["wrong"] else "right",
    ]


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], float(sys.argv[2]))))
