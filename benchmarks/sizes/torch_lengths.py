"""`torch.compile(dynamic=True)` on one sequence of calls, in an environment with torch: `lengths.py --torch` runs it.

    python benchmarks/sizes/torch_lengths.py PROGRAM forward 48 60

The numbers: the largest length, and the seconds after which no call is begun. Prints one line of JSON.
"""

import json
import sys
import warnings

import numpy as np
import torch
from sequences import Sequence, lengths
from torch_ports import PORTS


def as_tensors(x):
    if isinstance(x, list | tuple):
        return type(x)(map(as_tensors, x))
    if isinstance(x, dict):
        return {k: as_tensors(v) for k, v in x.items()}
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def as_arrays(x):
    return x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def gradient_of(f, wrt):
    def gradient(*args):
        args = list(args)
        point = args[wrt] = torch.as_tensor(args[wrt], dtype=torch.float64).detach().requires_grad_()
        return torch.autograd.grad((f(*args) ** 2).sum(), point)[0]

    return gradient


def main():
    name, what, most, budget = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
    warnings.simplefilter("ignore")
    calls = Sequence(name, what, lengths(most, 0))
    compiled = torch.compile(PORTS[name], dynamic=True)
    call = compiled if what == "forward" else gradient_of(compiled, calls.wrt)
    seconds, results = calls.timed(call, as_tensors, budget)
    plain, values = calls.timed(calls.function)
    made = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    wrong = calls.wrong(values, [*map(as_arrays, results)])
    print(json.dumps({"seconds": seconds, "plain": plain, "compiles": made, "wrong": wrong}))


if __name__ == "__main__":
    main()
