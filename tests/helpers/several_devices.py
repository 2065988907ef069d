"""What runs in a process with eight devices: the CPU taken for eight. Imported by scripts alone, before jax."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from op_cases import LOOSER, ULPS, draw, func_of
from op_cases import close as close_in_ulps

from wengert import jit
from wengert.backends.xla import lower
from wengert.backends.xla.collectives import collectives
from wengert.backends.xla.hlo_text import parse_module
from wengert.backends.xla.sharding import over_devices
from wengert.ir.ops import OPS

jax.config.update("jax_enable_x64", True)
P = PartitionSpec
KINDS = {"auto": AxisType.Auto, "explicit": AxisType.Explicit}


def mesh_of(sizes=None, kind="auto"):
    sizes = sizes or {"rows": 8}
    count = int(np.prod(list(sizes.values())))
    return jax.make_mesh(
        tuple(sizes.values()), tuple(sizes), axis_types=(KINDS[kind],) * len(sizes), devices=jax.devices()[:count]
    )


def spread(x, spec, mesh):
    return jax.device_put(x, NamedSharding(mesh, spec))


def spec(x):
    """How a jax array lies, without the axes at the end that lie along nothing."""
    found = list(x.sharding.spec)
    while found and found[-1] is None:
        found.pop()
    return found


def close(got, want):
    return np.shape(got) == np.shape(want) and np.allclose(np.asarray(got), want, rtol=1e-9, atol=1e-11, equal_nan=True)


def sent(f, *args):
    """[(kind, bytes on a device)] of the collectives of a compiled function."""
    f = jit(f)
    f(*args)
    text = jax.jit(lambda *args: f(*args)).lower(*args).compile().as_text()
    return [(c.kind, c.size) for c in collectives(parse_module(text), 8)]


def ways(operands):
    """(operand, axis, devices) of each axis of each operand that can lie over several devices."""
    for k, x in enumerate(map(np.asarray, operands)):
        for axis, n in enumerate(x.shape):
            count = next((d for d in range(8, 1, -1) if n and n % d == 0), None)
            if count is not None:
                yield k, axis, count


def sweep(names, kind="auto"):
    """Cases of ops whose results differ where one operand lies over devices along one axis: [text], and how many were looked at."""
    bad, count = [], 0
    for name in names:
        op = OPS[name]
        by_count = {}
        for c in op.cases:
            operands, attrs, _ = draw(op, c)
            func = func_of(op, operands, attrs)
            for k, axis, n in ways(operands):
                by_count.setdefault(n, []).append((c, func, operands, attrs, k, axis))
        for n, jobs in by_count.items():
            mesh = mesh_of({"rows": n}, kind)
            given = [
                [spread(x, P(*[None] * axis, "rows") if i == k else P(), mesh) for i, x in enumerate(operands)]
                for _, _, operands, _, k, axis in jobs
            ]
            runs = [(lambda leaves, func=func: lower(func, leaves), func) for _, func, *_ in jobs]
            program = jax.jit(lambda given, runs=runs: [over_devices(r, f, x, range(len(x))) for (r, f), x in zip(runs, given)])
            for (c, _, operands, attrs, k, axis), got in zip(jobs, program(given)):
                count += 1
                want = op.body(*operands, **attrs)
                try:
                    compare(op, operands, attrs, [np.asarray(r) for r in got], want if op.multiple else (want,))
                except AssertionError as error:
                    bad.append(f"{name} {c!r}, operand {k} along {axis}: {error}"[:300])
    return bad, count


def wanted_spread(func, k, sharding):
    """What runs a function on arrays over devices, and has its result k lie so."""

    def run(leaves):
        out = list(over_devices(lambda x: lower(func, x), func, leaves, range(len(leaves))))
        out[k] = jax.lax.with_sharding_constraint(out[k], sharding)
        return out

    return run


def sweep_wanted(names):
    """As `sweep`, where operands are whole and a result is wanted spread along one axis."""
    bad, count = [], 0
    for name in names:
        op = OPS[name]
        for c in op.cases:
            operands, attrs, _ = draw(op, c)
            func, want = func_of(op, operands, attrs), op.body(*operands, **attrs)
            want = want if op.multiple else (want,)
            for k, axis, n in ways(want):
                count += 1
                mesh = mesh_of({"rows": n})
                run = wanted_spread(func, k, NamedSharding(mesh, P(*[None] * axis, "rows")))
                try:
                    got = jax.jit(run)([spread(x, P(), mesh) for x in operands])
                    compare(op, operands, attrs, [np.asarray(r) for r in got], want)
                except (AssertionError, RuntimeError) as error:
                    bad.append(f"{name} {c!r}, result {k} along {axis}: {error}"[:300])
    return bad, count


def compare(op, operands, attrs, got, want):
    if callable(op.check):
        op.check(operands, got, **attrs)
        return
    for a, b in zip(got, want, strict=True):
        close_in_ulps(a, np.asarray(b), max(64, LOOSER.get(op.name, ULPS)))
