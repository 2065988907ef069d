"""The eight programs as one writes them for torch by hand; loops are Python's, as torch has no other for these.

`PORTS`: name -> function of the same arguments, as tensors.
"""

import math

import torch
from programs import HEADS, HIDDEN


def normed(x):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(dim=-1, keepdim=True) + 1e-5)


def decoder(x, layers):
    n, width = x.shape
    d = width // HEADS
    hidden = torch.triu(torch.full((n, n), -math.inf, dtype=x.dtype), diagonal=1)
    for layer in layers:
        y = normed(x)
        q, k, v = ((y @ layer[name]).reshape(n, HEADS, d).transpose(0, 1) for name in "qkv")
        attended = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d) + hidden, dim=-1) @ v
        x = x + attended.transpose(0, 1).reshape(n, width) @ layer["o"]
        x = x + torch.relu(normed(x) @ layer["up"]) @ layer["down"]
    return x[-1]


def lstm(x, w, u, b):
    h, c = torch.zeros(HIDDEN, dtype=x.dtype), torch.zeros(HIDDEN, dtype=x.dtype)
    for t in range(x.shape[0]):
        i, f, g, o = torch.chunk(x[t] @ w + h @ u + b, 4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def kalman(z, q, r):
    a = torch.tensor([[1.0, 1.0], [0.0, 1.0]], dtype=z.dtype)
    eye = torch.eye(2, dtype=z.dtype)
    m, p, total = torch.zeros(2, dtype=z.dtype), eye * 10.0, 0.0
    for t in range(z.shape[0]):
        m, p = a @ m, a @ p @ a.T + q * eye
        s = p[0, 0] + r
        gain, error = p[:, 0] / s, z[t] - m[0]
        m, p = m + gain * error, p - torch.outer(gain, p[0])
        total = total + 0.5 * (torch.log(s) + error * error / s)
    return total


def gaussian_process(x, y, scale):
    n = x.shape[0]
    k = torch.exp(-0.5 * ((x[:, None] - x[None, :]) / scale) ** 2) + 0.1 * torch.eye(n, dtype=x.dtype)
    factor = torch.linalg.cholesky(k)
    solved = torch.linalg.solve(k, y)
    return -0.5 * y @ solved - torch.log(torch.diagonal(factor)).sum() - 0.5 * n * math.log(2.0 * math.pi)


def convolution(x, kernel):
    smooth = numpys_same(x, kernel)
    return (smooth**2).sum() + torch.abs(torch.diff(smooth)).sum()


def numpys_same(x, kernel):
    """`np.convolve(x, kernel, mode="same")`: of the longer one's length."""
    longer, shorter = (x, kernel) if x.shape[0] >= kernel.shape[0] else (kernel, x)
    short = shorter.shape[0]
    padded = torch.nn.functional.pad(longer, (short - 1 - (short - 1) // 2, (short - 1) // 2))
    if short % 2 == 0:
        padded = torch.nn.functional.pad(longer, (short // 2, short // 2 - 1))
    return torch.nn.functional.conv1d(padded[None, None], torch.flip(shorter, (0,))[None, None])[0, 0]


def ranked(x):
    n = x.shape[0]
    ordered = torch.sort(x).values
    shares = torch.cumsum(ordered, 0) / ordered.sum()
    even = torch.arange(1, n + 1, dtype=x.dtype) / n
    return 1.0 - 2.0 * shares.mean() + torch.max(even - shares)


def relaxed(u, tolerance):
    if u.shape[0] <= 2:
        return u.clone()
    change = 1.0
    while change > tolerance:
        inner = 0.5 * (u[:-2] + u[2:])
        change = torch.max(torch.abs(inner - u[1:-1])).item()
        u = torch.cat((u[:1], inner, u[-1:]))
    return u


def masked_log_sum_exp(x, mask):
    kept = torch.where(mask, x, -math.inf)
    top = kept.max()
    return top + torch.log(torch.sum(torch.where(mask, torch.exp(kept - top), 0.0)))


PORTS = {
    "decoder": decoder,
    "lstm": lstm,
    "kalman": kalman,
    "gaussian process": gaussian_process,
    "convolution": convolution,
    "sort, cumsum": ranked,
    "stencil": relaxed,
    "log-sum-exp": masked_log_sum_exp,
}
