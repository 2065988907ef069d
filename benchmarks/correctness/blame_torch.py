"""The twins in torch of the programs of blame.py, under detect_anomaly: prints, as JSON, what it says of each.

    PYTHON_WITH_TORCH benchmarks/correctness/blame_torch.py
"""

import json
import linecache
import re
import warnings

import torch


def straight(x):
    y = torch.exp(x)
    z = torch.log(x - 2.0) * y  # born
    return z.sum()


def quotient(x):
    e = torch.exp(10.0 * x)
    p = e / (1.0 + e)  # born
    return p.sum()


def norm(x):
    return torch.sqrt((x * x).sum())  # born


def product(x):
    y = torch.sqrt(x)
    z = x * y
    return z.sum()


def length(x):
    s = x * x  # born
    y = torch.sqrt(s)
    return y.sum()


def chosen(x):
    return torch.where(x > 0, torch.sqrt(x), 0.0).sum()


def falling(x, n=1000):
    s = 0.0
    for i in range(n):
        y = torch.log(x - 0.001 * i)  # born
        s = s + y
    return s


def distances(x, n=1000):
    s = 0.0
    for i in range(n):
        d = torch.sqrt(torch.abs(x - i))  # born
        s = s + d
    return s


def descent(x):
    k = 0
    while x > 1e-3:
        x = x - 0.01
        v = torch.sqrt(x - 0.495)  # born
        x = x + 0.0 * v
        k += 1
    return x


def rooted(x):
    y = torch.sqrt(x)  # born
    return (y * 2.0).sum()


def one_lane(x):
    y = torch.log(x)  # born
    return y.sum()


def lanes(x):
    return torch.vmap(one_lane)(x).sum()


def pairs(a):
    out = []
    for i in range(a.shape[0]):
        acc = 0.0
        for j in range(a.shape[1]):
            acc = acc + torch.sqrt(a[i, j])  # born
        out.append(acc)
    return torch.stack(out).sum()


def sides(x):
    y = torch.log(x) if x[0] > 0 else x * 2.0  # born
    return y.sum()


def tensor(*shape):
    return torch.ones(*shape, dtype=torch.float64)


X = torch.tensor([3.0, 4.0, 1.0, 5.0], dtype=torch.float64)
A = tensor(60, 50)
A[17, 23] = -1.0
LANES = tensor(6, 4)
LANES[4, 2] = -1.0
PROGRAMS = {
    "primal, straight line": (straight, X),
    "overflow in exp, then inf / inf": (quotient, X * 30),
    "adjoint: norm at zero": (norm, torch.zeros(3, dtype=torch.float64)),
    "adjoint: x * sqrt(x) at zero": (product, torch.tensor([4.0, 0.0], dtype=torch.float64)),
    "adjoint: sqrt(x * x) at zero": (length, torch.tensor([4.0, 0.0], dtype=torch.float64)),
    "adjoint: the side not chosen": (chosen, torch.tensor([4.0, 0.0], dtype=torch.float64)),
    "loop, iteration 731": (falling, torch.tensor(0.7305, dtype=torch.float64)),
    "adjoint of a loop, iteration 731": (distances, torch.tensor(731.0, dtype=torch.float64)),
    "while loop": (descent, torch.tensor(1.0, dtype=torch.float64)),
    "jax arrays": (rooted, -X),
    "lane of a vmap": (lanes, LANES),
    "nested loops": (pairs, A),
    "side of a branch": (sides, torch.tensor([1.0, -3.0], dtype=torch.float64)),
}


def says(f, x):
    """["line", "other" or "-", what detect_anomaly says of the program and its backward pass]."""
    x = x.clone().requires_grad_()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            with torch.autograd.detect_anomaly():
                f(x).backward()
        except RuntimeError as error:
            text = "\n".join(str(w.message) for w in told)
            lines = [int(n) for n in re.findall(rf'File "{re.escape(__file__)}", line (\d+), in', text)]
            at = linecache.getline(__file__, lines[-1]).strip() if lines else ""
            return ["line" if at.endswith("# born") else "other" if at else "-", f"{str(error).splitlines()[0]} ({at})"]
    return ["-", f"no error; the gradient is {x.grad.tolist()}"[:200]]


if __name__ == "__main__":
    print(json.dumps({name: says(f, x) for name, (f, x) in PROGRAMS.items()}))
