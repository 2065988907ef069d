"""What devices send each other: ten programs on eight devices, beside JAX's, sharded by hand.

    python benchmarks/devices.py [PROGRAM ...] [--devices N]

Each program is plain NumPy, run by `jit(f, shard=...)` with the same axes as the hand-written JAX, and by
`jit(f, shard="auto")`. Of each: collectives in one call and the bytes that a device sends in them, read from the
executables (loops as often as they run), what the model of `ir/spread.py` expects, memory on a device (arguments,
results and temporaries), and whether the result is NumPy's. The JAX programs say by hand where arrays lie, and the
stencil is one by `shard_map` with a `ppermute` for each halo. The CPU is taken for N devices; no time is taken.

What is sent beyond JAX's is the test of indices, whose outcome every device has to know: an index out of bounds is an
IndexError here, and another number there.
"""

import argparse
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from timing import table

from wengert import grad, jit
from wengert.backends.xla.collectives import collectives
from wengert.backends.xla.hlo_text import parse_module
from wengert.examples import digits

ROWS = PartitionSpec("rows")
RNG = np.random.default_rng(0)
HEADER = ["program", "collectives", "sent", "model", "auto", "JAX's", "JAX sends", "memory", "JAX's memory", "NumPy's"]


class Program:
    """f: plain NumPy; arguments: by name; shard: how they lie; by_hand: the same with JAX, whose arguments lie so."""

    def __init__(self, f, arguments, shard, by_hand):
        self.f, self.arguments, self.shard, self.by_hand = f, arguments, shard, by_hand


# -- 1: a step of gradient descent on the digits ----


def digits_step(params, images, labels):
    slopes = grad(digits.loss)(params, images, labels)
    return {name: params[name] - 0.1 * slopes[name] for name in params}


def jax_digits_loss(params, images, labels):
    def convolve(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "IHWO", "NHWC"))

    x = jnp.tanh(convolve(images[..., None], params["kernel1"]) + params["bias1"])
    x = jnp.tanh(convolve(x, params["kernel2"]) + params["bias2"])
    n, height, width, channels = x.shape
    x = x.reshape(n, height // 2, 2, width // 2, 2, channels).mean((2, 4)).reshape(n, -1)
    scores = jax.nn.log_softmax(x @ params["weight"] + params["bias"])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))


def jax_digits_step(params, images, labels):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(jax_digits_loss)(params, images, labels))


# -- 2: the gradient of a network, the data spread ----


def mlp_loss(w1, b1, w2, X, y):
    return np.mean((np.tanh(X @ w1 + b1) @ w2 - y) ** 2)


def mlp_gradient(w1, b1, w2, X, y):
    return grad(mlp_loss, argnums=(0, 1, 2))(w1, b1, w2, X, y)


def jax_mlp_loss(w1, b1, w2, X, y):
    return jnp.mean((jnp.tanh(X @ w1 + b1) @ w2 - y) ** 2)


# -- 3: a product whose inner axis is spread ----


def product(A, B):
    return A @ B


# -- 4: a step of k-means ----


def kmeans(X, centres):
    labels = ((X[:, None, :] - centres) ** 2).sum(-1).argmin(1)
    sums = np.zeros_like(centres)
    np.add.at(sums, labels, X)
    return sums / np.maximum(np.bincount(labels, minlength=len(centres)), 1)[:, None]


def jax_kmeans(X, centres):
    labels = ((X[:, None, :] - centres) ** 2).sum(-1).argmin(1)
    sums = jnp.zeros_like(centres).at[labels].add(X)
    return sums / jnp.maximum(jnp.zeros(len(centres)).at[labels].add(1.0), 1)[:, None]


# -- 5: PageRank, the edges spread ----


def pagerank(source, target, weight, rank):
    for _ in range(10):
        rank = 0.15 / len(rank) + 0.85 * np.bincount(target, weights=weight * rank[source], minlength=len(rank))
    return rank


def jax_pagerank(source, target, weight, rank):
    def step(_, rank):
        return 0.15 / len(rank) + 0.85 * jnp.zeros_like(rank).at[target].add(weight * rank[source])

    return lax.fori_loop(0, 10, step, rank)


# -- 6: a stencil, the rows spread ----


def stencil(u):
    for _ in range(20):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def jax_stencil(mesh):
    n = mesh.size

    def part(u):
        here, rows = lax.axis_index("rows"), u.shape[0]
        number = here * rows + jnp.arange(rows)
        inner = ((number > 0) & (number < n * rows - 1))[:, None]

        def step(_, u):
            above = lax.ppermute(u[-1:], "rows", [(k, k + 1) for k in range(n - 1)])
            below = lax.ppermute(u[:1], "rows", [(k + 1, k) for k in range(n - 1)])
            v = jnp.concatenate([above, u, below])
            new = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + u[:, :-2] + u[:, 2:])
            return u.at[:, 1:-1].set(jnp.where(inner, new, u[:, 1:-1]))

        return lax.fori_loop(0, 20, step, u)

    return jax.shard_map(part, mesh=mesh, in_specs=ROWS, out_specs=ROWS, check_vma=False)


# -- 7: attention, the heads spread ----


def attention(Q, K, V):
    scores = Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ V


def jax_attention(Q, K, V):
    return jax.nn.softmax(Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[-1])) @ V


# -- 8: the gradient of a likelihood ----


def likelihood(beta, X, y):
    z = X @ beta
    return np.sum(y * z - np.logaddexp(0, z))


def likelihood_gradient(beta, X, y):
    return grad(likelihood)(beta, X, y)


def jax_likelihood(beta, X, y):
    z = X @ beta
    return jnp.sum(y * z - jnp.logaddexp(0, z))


# -- 9, 10: a Gram matrix; the price of an Asian option ----


def gram(X):
    return X.T @ X


def monte_carlo(Z):
    paths = 100 * np.exp(np.cumsum(0.01 * Z - 0.00005, axis=1))
    payoff = np.maximum(paths.mean(1) - 100, 0)
    return payoff.mean(), payoff.std()


def jax_monte_carlo(Z):
    paths = 100 * jnp.exp(jnp.cumsum(0.01 * Z - 0.00005, axis=1))
    payoff = jnp.maximum(paths.mean(1) - 100, 0)
    return payoff.mean(), payoff.std()


def programs(mesh):
    """{name: Program}."""
    normal = lambda *shape: RNG.normal(size=shape)
    nodes, edges = 1024, 8192
    source, target = RNG.integers(0, nodes, edges), RNG.integers(0, nodes, edges)
    weight = 1.0 / np.bincount(source, minlength=nodes)[source]
    params, images, labels = digits.init(RNG), RNG.random((256, 8, 8)), RNG.integers(0, 10, 256)
    heads = lambda: normal(16, 64, 32)
    mlp = {"w1": normal(64, 32) / 8, "b1": normal(32), "w2": normal(32, 4) / 6}
    mlp |= {"X": normal(2048, 64), "y": normal(2048, 4)}
    data = {"X": "rows", "y": "rows"}
    return {
        "digits step": Program(
            digits_step, {"params": params, "images": images, "labels": labels},
            {"images": "rows", "labels": "rows"}, jax_digits_step),
        "MLP gradient": Program(mlp_gradient, mlp, data, jax.grad(jax_mlp_loss, (0, 1, 2))),
        "contraction": Program(
            product, {"A": normal(128, 4096), "B": normal(4096, 64)}, {"A": (None, "rows"), "B": "rows"}, product),
        "k-means step": Program(kmeans, {"X": normal(4096, 16), "centres": normal(32, 16)}, {"X": "rows"}, jax_kmeans),
        "PageRank": Program(
            pagerank, {"source": source, "target": target, "weight": weight, "rank": np.full(nodes, 1 / nodes)},
            {"source": "rows", "target": "rows", "weight": "rows"}, jax_pagerank),
        "stencil": Program(stencil, {"u": normal(512, 256)}, {"u": "rows"}, jax_stencil(mesh)),
        "attention": Program(
            attention, {"Q": heads(), "K": heads(), "V": heads()}, dict.fromkeys("QKV", "rows"), jax_attention),
        "likelihood": Program(
            likelihood_gradient, {"beta": normal(32) / 9, "X": normal(4096, 32), "y": RNG.random(4096)}, data,
            jax.grad(jax_likelihood)),
        "Gram matrix": Program(gram, {"X": normal(4096, 64)}, {"X": "rows"}, gram),
        "Monte Carlo": Program(monte_carlo, {"Z": normal(8192, 64)}, {"Z": "rows"}, jax_monte_carlo),
    }  # fmt: skip


def copied(arguments):
    return jax.tree.map(np.copy, list(arguments.values()))


def same(ours, numpys):
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(numpys), strict=True)
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-11) for a, b in pairs)


def traffic(steps):
    """(how many in a call, bytes that a device sends)."""
    return sum(c.times for c in steps), sum(c.sent for c in steps)


def of_ours(program, mesh, shard):
    """(collectives, bytes sent, those expected, bytes of memory on a device, whether the result is NumPy's)."""
    f = jit(program.f, mesh=mesh, shard=shard, whole=True)
    right = same(f(*copied(program.arguments)), program.f(*copied(program.arguments)))
    plan = f.plan(*copied(program.arguments)).json()["traces"][0]
    devices = plan["devices"]
    return (sum(c["runs"] for c in devices["collectives"]), devices["sent"], devices["expected"],
            plan["memory"]["xla"], right)  # fmt: skip


def of_jax(program, mesh):
    """(collectives, bytes sent, bytes of memory on a device) of the program by hand."""
    given = []
    for name, x in program.arguments.items():
        spec = program.shard.get(name, ())
        lies = NamedSharding(mesh, PartitionSpec(*((spec,) if isinstance(spec, str) else spec)))
        given.append(jax.tree.map(lambda x, lies=lies: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=lies), x))
    compiled = jax.jit(program.by_hand).lower(*given).compile()
    memory = compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return *traffic(collectives(parse_module(compiled.as_text()), mesh.size)), held - memory.alias_size_in_bytes


def row(name, program, mesh):
    count, sent, expected, memory, right = of_ours(program, mesh, program.shard)
    _, chosen, _, _, right_too = of_ours(program, mesh, "auto")
    by_hand, sent_by_hand, held = of_jax(program, mesh)
    amounts = [count, f"{sent:,.0f}", f"{expected:,.0f}", f"{chosen:,.0f}", by_hand, f"{sent_by_hand:,.0f}"]
    return [name, *amounts, f"{memory:,}", f"{held:,}", "yes" if right and right_too else "NO"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--devices", type=int, default=8)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    mesh = jax.make_mesh((options.devices,), ("rows",), axis_types=(AxisType.Auto,))
    found = programs(mesh)
    rows = [row(name, found[name], mesh) for name in options.programs or found]
    print(f"bytes that one of {options.devices} devices sends in a call")
    table(rows, HEADER)


if __name__ == "__main__":
    main()
