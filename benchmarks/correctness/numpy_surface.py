"""JAX's and torch's standing on the examples of docs/numpy.md: the same expressions, compiled by each, against NumPy.

    python benchmarks/correctness/numpy_surface.py jax      # rewrites the column of JAX in
    tracer/catalogue/standing.csv python benchmarks/correctness/numpy_surface.py torch    # that of torch, which must be
    installed (2 GB)

JAX: `np` is jax.numpy, operands are jax arrays, under jax.jit with 64 bits. torch: the function of NumPy arrays as it
stands, under torch.compile(fullgraph=True, backend="eager"): what Dynamo captures, run op by op.
"""

import collections
import csv
import sys
import warnings

import numpy as np

from wengert.tracer.catalogue import page, run

RTOL = 1e-6


def verdict(got, want, changed=(), expected=()):
    """yes, dtype or other."""
    if isinstance(want, Exception):
        return "yes" if isinstance(got, type(want)) else "other"
    got, want = flat((got, list(changed))), flat((want, list(expected)))
    if len(got) != len(want):
        return "other"
    try:
        for g, w in zip(got, want):
            g, w = np.asarray(g), np.asarray(w)
            if g.shape != w.shape:
                return "other"
            if w.dtype.kind in "biufc" and g.dtype.kind in "biufc":
                np.testing.assert_allclose(g, w, rtol=RTOL, atol=RTOL)
            elif not np.array_equal(g, w):
                return "other"
    except (AssertionError, TypeError, ValueError):
        return "other"
    return "yes" if all(np.asarray(g).dtype == np.asarray(w).dtype for g, w in zip(got, want)) else "dtype"


def flat(x):
    if isinstance(x, list | tuple):
        return [leaf for item in x for leaf in flat(item)]
    return [x]


def function(example, space):
    text = f"def example({', '.join(example.operands)}):\n    return {example.text}\n"
    exec(compile(text, f"<{example.text}>", "exec"), space)
    return space["example"]


def arrays(args):
    return [x for x in args if isinstance(x, np.ndarray)]


def in_jax(jax, example):
    (want, expected), *_ = run.plain(example)
    args = run.prepared(example)[0]
    static = [i for i, x in enumerate(args) if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind == "M"]
    given = [x if i in static else jax.numpy.asarray(x) for i, x in enumerate(args)]
    try:
        f = function(example, {"np": jax.numpy})
        got = jax.jit(f, static_argnums=static)(*given)
    except Exception as error:
        return "yes" if isinstance(want, Exception) and isinstance(error, type(want)) else "no"
    return verdict(
        got,
        want,
        arrays([np.asarray(x) if isinstance(x, jax.Array) and x.ndim else x for x in given]),
        arrays(expected),
    )


def in_torch(torch, example):
    (want, expected), *_ = run.plain(example)
    args = run.prepared(example)[0]
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    try:
        got = torch.compile(function(example, {"np": np}), fullgraph=True, backend=backend)(*args)
    except Exception as error:
        return "yes" if isinstance(want, Exception) and isinstance(error, type(want)) else "no"
    found = verdict(got, want, arrays(args), arrays(expected))
    return found if graphs or found != "yes" else "plain"


def main(name):
    versions, standing = page.stands()
    versions = dict(v.rsplit(" ", 1) for v in versions.split(", ")) if versions else {}
    if name == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        one, version = (lambda e: in_jax(jax, e)), jax.__version__
    else:
        import torch
        import torch._dynamo

        one, version = (lambda e: in_torch(torch, e)), torch.__version__
    rows, place = [], ("jax", "torch").index(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in run.examples():
            both = list(standing.get(example.text, ("", "")))
            both[place] = one(example)
            rows.append((example.text, *both))
    versions[name] = version
    with page.STANDING.open("w", newline="") as file:
        csv.writer(file).writerows([(", ".join(f"{k} {v}" for k, v in versions.items()), "jax", "torch"), *rows])
    print(name, version, dict(collections.Counter(row[1 + place] for row in rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
