"""Random programs that go through a list while loops and branches within, which data decide, change how long it is.

    python tests/helpers/random_gone_through.py 0 500

Each is called with several arrays and compared with plain Python, twice each.
"""

import random

import numpy as np
from draws import Found, apart, attempt, function, print_seeds

from wengert import jit

HEADS = (
    "for u in q:", "for u in q:", "for k, u in enumerate(q):", "for u, w in zip(q, range(9)):", "for u in iter(q):",
    "for u in (v * 1 for v in q):",
    "for u in reversed(q):",
    "for u in p:", "for u in h.q:", "for u in [*q]:",
)  # fmt: skip
TESTS = ("x[k] > u", "x[k] > n", "x[k] > 0.5", "x[(n + k) % 4] > s", "s < x[k]", "k < n")
CHANGES = (
    "q.append(k)", "q.append(x[k])", "q += [k, n]", "q.extend([x[k]])", "put(q, k)", "q.pop()", "q.insert(0, k)", "h.q.append(k)", "p.append(n)",
)  # fmt: skip
BLOCKS = (
    "for k in range(4):\n    if {t}: {c}", "for k in range(4):\n    if {t}: {c}", "k = n % 4\nif {t}: {c}",
    "k = 0\nwhile k < 3 and {t}:\n    {c}\n    k += 1", "q.extend(x[x > n])",
    "for k in np.flatnonzero(x > n): q.append(k)", "q += [v for v in x if v > n]", "k = n % 4\n{c}",
    "for k in range(4):\n    if {t}: {c}\n    else: s = s + x[k]",
)  # fmt: skip
RESULTS = ("n, len(q), s", "n, s, sum(q)", "n, q", "n, len(p), np.array(q).sum()")


HEAD = """\
import numpy as np


class Held:
    def __init__(self, q):
        self.q = q


def put(q, x):
    q.append(x)


"""


def text_of(seed):
    r = random.Random(seed)
    start = r.choice(("[0]", "[0, 1]", "[0.5]", "[x[0]]", "[1, 2, 3]", "list(range(18))"))
    lines = [f"q = {start}", "p = q", "h = Held(q)", "n, s = 0, 0.25"]
    inner = ["n += 1", "s = s * 0.5 + u", f"if len(q) > {r.choice((6, 20, 22))} or n > 25 or not q: break"]
    for _ in range(r.randint(1, 2)):
        inner += r.choice(BLOCKS).format(t=r.choice(TESTS), c=r.choice(CHANGES)).split("\n")
    lines += [r.choice(HEADS), *("    " + line for line in inner)]
    if r.random() < 0.3:
        lines += [r.choice(HEADS[:3]), "    s = s + u * 0.1"]
    return HEAD + "def f(x):\n" + "".join(f"    {line}\n" for line in [*lines, f"return {r.choice(RESULTS)}"])


def run(seed, engine=None):
    """What comes of a program's calls."""
    text, verdict, why = text_of(seed), "agree", ""
    plain, mine = function(text, f"through {seed}"), jit(function(text, f"through {seed} compiled"), whole=False)
    rng = np.random.default_rng(seed)
    for x in [*rng.normal(size=(5, 4)) * 2.0, np.arange(4.0), *rng.normal(size=(2, 4)) * 2.0]:
        for _ in range(2):
            found = apart(attempt(mine, (x.copy(),)), attempt(plain, (x.copy(),)), (x,))
            if found.startswith("refused"):
                verdict, _, why = found.partition(": ")
            elif found:
                return Found("different", f"at {x}: {found}", text)
    return Found(verdict, why, text)


if __name__ == "__main__":
    print_seeds(run, HEAD)
