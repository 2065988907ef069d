"""Random programs in which one number goes bad at a place that is drawn: blame names it. Run as a script it tries many.

    python tests/helpers/random_births.py 0 500 [--engine xla|numpy|native] [-v]

A program is statements that keep numbers positive, and one, in a loop, branch, function, lane or derivative, of which one
element is given a negative argument (or a derivative an infinite slope). Before it may stand a NaN that a mask swallows.
`outcome(seed, engine)` is "right", "refused: why", or what is wrong.
"""

import argparse
import collections
import linecache
import random
import sys
import warnings

import numpy as np

from wengert import NumericalError, grad, jit, vmap
from wengert.backends import native
from wengert.tracer.common.errors import WengertError

BAD = (  # NaN for a negative number, and none for a positive one
    "np.log({})", "np.sqrt({})", "np.log1p({} - 1.0)", "np.arccosh(1.0 + {})", "np.log2({})", "np.log10({})", "{} ** 0.5",
    "np.power({}, 0.75)",
)  # fmt: skip
SAFE = (  # of a vector: another one, of numbers between 0.1 and 10
    "0.5 * {0} + 0.25", "np.tanh({0}) + 0.5", "{0} * {1} + 0.1", "np.roll({0}, 1)", "{0}[::-1]", "np.exp(-{0}) + 0.2",
    "np.sort({0})", "np.maximum({0}, {1})", "1.0 / (1.0 + {0})", "np.where({0} > {1}, {0}, {1})",
    "np.sqrt({0} * {1}) + 0.1", "np.cumsum({0}) / {0}.size + 0.1", "({0} + {1}).mean() + 0.1 * {0}",
)  # fmt: skip
AFTER = ("{0}.sum()", "{0}.mean()", "({0} * {1}).sum()", "{0} @ {1}", "np.concatenate([{0}, {1}])", "{0} - {1}")
FORMS = (
    "straight", "loop", "rows", "nested", "store", "while", "branch", "helper", "lane", "adjoint", "adjoint loop", "wander",
    "gather", "matrix", "side in loop", "adjoint while", "adjoint nested", "lane loop", "list",
)  # fmt: skip


class Drawn:
    """A program as text, its arguments, and what is true of the birth."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.form = self.pick.choice(FORMS)
        self.size, self.trips, self.inner = self.pick.randint(3, 7), self.pick.randint(2, 40), self.pick.randint(2, 5)
        self.at, self.trip, self.column = (self.pick.randrange(n) for n in (self.size, self.trips, self.inner))
        self.lines, self.head, self.names = [], [], ["x", "w"]
        rng = np.random.default_rng(seed)
        self.x, self.w = rng.random(self.size) + 0.5, rng.random(self.size) + 0.5
        self.bad = None  # the argument in which one number is negative
        self.variable, self.index, self.told, self.lane, self.adjoint = "y", (), (), None, False
        self.wrap = lambda f: f
        self.write()

    def vector(self):
        return self.pick.choice(self.names)

    def safe(self, indent="    "):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{indent}{name} = {self.pick.choice(SAFE).format(self.vector(), self.vector())}")
        self.names.append(name)

    def decoy(self):
        """A NaN that nothing depends on."""
        self.lines.append(f"    masked = np.where({self.vector()} > 0.0, x, np.log(-{self.vector()}))")
        self.names.append("masked")

    def op(self, argument):
        return self.pick.choice(BAD).format(argument)

    def array(self, *shape):
        self.bad = np.random.default_rng(self.size).random(shape) + 0.5
        return self.bad

    def born(self, text):
        self.lines.append(f"{text}  # born")

    def write(self):
        for _ in range(self.pick.randint(0, 3)):
            self.safe()
        if self.pick.random() < 0.5:
            self.decoy()
        result = getattr(self, f"of_{self.form.replace(' ', '_')}")()
        for _ in range(self.pick.randint(0, 2)):
            self.safe()
        self.lines.append(f"    return {result}")

    # -- the forms: each gives the text of the result ------------------------------------------------
    def after(self):
        return self.pick.choice(AFTER).format("y", self.vector())

    def of_straight(self):
        self.array(self.size)[self.at] = -0.5
        turn = self.pick.choice(["b", "b[::-1]", "np.roll(b, 1)"])
        self.index = ({"b": self.at, "b[::-1]": self.size - 1 - self.at}.get(turn, (self.at + 1) % self.size),)
        self.lines.append(f"    t = {turn}")
        self.born(f"    y = {self.op('t')} + {self.vector()}")
        return self.after()

    def of_loop(self):
        self.array(self.trips)[self.trip] = -0.5
        first = self.pick.randint(0, 3)
        self.lines += ["    s = 0.5", f"    for i in range({first}, b.shape[0] + {first}):"]
        self.born(f"        y = {self.op(f'b[i - {first}]')}")
        self.lines.append("        s = 0.5 * s + y")
        self.told = (self.trip,)
        return f"s + {self.vector()}.sum()"

    def of_rows(self):
        """Vectors in a loop."""
        self.array(self.trips, self.size)[self.trip, self.at] = -0.5
        self.lines += ["    u = x", "    for i in range(b.shape[0]):"]
        self.born(f"        y = {self.op('b[i]')}")
        self.lines.append(f"        u = 0.5 * np.roll(u, 1) + y * {self.vector()}")
        self.told, self.index = (self.trip,), (self.at,)
        return "u"

    def of_nested(self):
        self.array(self.trips, self.inner)[self.trip, self.column] = -0.5
        self.lines += ["    s = 0.5", "    for i in range(b.shape[0]):", "        t = 0.1 * s"]
        self.lines.append("        for j in range(b.shape[1]):")
        self.born(f"            y = t + {self.op('b[i, j]')}")
        self.lines += ["            t = 0.5 * y", "        s = s + t"]
        self.told = (self.trip, self.column)
        return "s"

    def of_store(self):
        self.array(self.trips)[self.trip] = -0.5
        self.lines += ["    u = np.zeros(b.shape[0])", "    for i in range(b.shape[0]):"]
        self.born(f"        u[i] = {self.op('b[i]')} + 0.5")
        self.told, self.index, self.variable = (self.trip,), (self.trip,), "u"
        return self.pick.choice(["u", "u.sum()", "u[::-1] * 0.5"])

    def of_while(self):
        self.array(self.trips)[self.trip] = -0.5
        self.lines += ["    k, s = 0, 0.5", "    while k < b.shape[0] and s > -1.0e9:"]
        self.born(f"        y = {self.op('b[k]')}")
        self.lines += ["        s = 0.25 * s + 0.5", "        total = y + s", "        k = k + 1"]
        self.trip = self.trips - 1  # of the others nothing arrives
        self.bad[:] = 1.0
        self.bad[-1] = -0.5
        self.told = (self.trip,)
        return "total"

    def of_branch(self):
        self.array(self.size)[self.at] = -0.5
        self.lines.append(f"    if {self.vector()}[0] > -5.0:")
        self.born(f"        y = {self.op('b')}")
        self.lines += ["    else:", "        y = x * 2.0"]
        self.index = (self.at,)
        return self.after()

    def of_helper(self):
        self.array(self.size)[self.at] = -0.5
        self.head = ["def helper(t):", f"    r = {self.op('t')}  # born", "    return 2.0 * r"]
        self.lines.append("    y = helper(b)")
        self.variable, self.index = "r", (self.at,)
        return self.after()

    def of_lane(self):
        self.array(self.inner, self.size)[self.column, self.at] = -0.5
        self.born(f"    y = {self.op('b')} * {self.vector()}")
        self.index, self.lane = (self.at,), self.column
        self.wrap = lambda f: vmap(f, in_axes=(0, None, None))
        return self.after()

    def of_adjoint(self):
        self.array(self.size)[self.at] = 0.0
        self.born(f"    y = b * b * {self.pick.choice(['1.0', '2.0'])}")
        self.lines.append("    y = np.sqrt(y)")
        self.variable, self.index, self.adjoint, self.wrap = "d_b", (self.at,), True, grad
        return f"y.sum() + {self.vector()}.sum()"

    def of_adjoint_loop(self):
        self.array(self.trips)[self.trip] = 0.0
        self.lines += ["    s = 0.5", "    for i in range(b.shape[0]):", "        t = b[i]"]
        self.born("        y = t * t")
        self.lines += ["        r = np.sqrt(y)", "        s = s + r"]
        self.told, self.variable, self.adjoint, self.wrap = (self.trip,), None, True, grad
        return "s"

    def of_wander(self):
        """A number that goes from place to place while the loop goes on."""
        self.array(self.trips)[self.trip] = -0.5
        self.lines += ["    u = x", "    for i in range(b.shape[0]):", "        z = np.where(x > 9.0, np.log(x - 20.0), x)"]
        self.born(f"        y = {self.op('b[i]')}")
        self.lines.append(f"        u = 0.5 * np.roll(u, 1) + 0.1 * z + np.where(np.arange(x.size) == {self.at}, y, 0.1)")
        self.told = (self.trip,)
        return self.pick.choice(["u", "u.sum()"])

    def of_gather(self):
        order = list(range(self.size))
        self.pick.shuffle(order)
        self.array(self.size)[order[self.at]] = -0.5
        self.lines.append(f"    order = np.array({order})")
        self.born(f"    y = {self.op('b[order]')}")
        self.index = (self.at,)
        return self.pick.choice(["np.sort(y)", "y[::-1][order]", "np.stack([y, y]).T.ravel()", "np.pad(y, 2)"])

    def of_matrix(self):
        self.array(self.trips, self.size)[self.trip, self.at] = -0.5
        self.born(f"    y = {self.op('b')} + {self.vector()}")
        self.index = (self.trip, self.at)
        return self.pick.choice(["y @ x", "y.T @ y", "y.sum(axis=0)", "np.einsum('ij,j->i', y, w)", "y.reshape(-1)[::-1]"])

    def of_side_in_loop(self):
        self.array(self.trips)[self.trip] = -0.5
        self.lines += ["    s = 0.5", "    for i in range(b.shape[0]):", "        if b[i] < 0.0:"]
        self.born(f"            s = s + {self.op('b[i]')}")
        self.lines += ["        else:", "            s = 0.5 * s + b[i]"]
        self.told, self.variable = (self.trip,), "s"
        return "s"

    def of_adjoint_while(self):
        self.array(self.trips)[self.trip] = 0.0
        self.lines += ["    s, k = 0.5, 0", "    while k < b.shape[0]:", "        t = b[k]"]
        self.born("        y = t * t")
        self.lines += ["        s = s + np.sqrt(y)", "        k = k + 1"]
        self.told, self.variable, self.adjoint, self.wrap = (self.trip,), None, True, grad
        return "s"

    def of_adjoint_nested(self):
        self.array(self.trips, self.inner)[self.trip, self.column] = 0.0
        self.lines += ["    s = 0.5", "    for i in range(b.shape[0]):", "        r = 0.1"]
        self.lines += ["        for j in range(b.shape[1]):", "            t = b[i, j]"]
        self.born("            y = t * t")
        self.lines += ["            r = r + np.sqrt(y)", "        s = s + r * r"]
        self.told, self.variable, self.adjoint, self.wrap = (self.trip, self.column), None, True, grad
        return "s"

    def of_lane_loop(self):
        self.array(self.inner, self.trips)[self.column, self.trip] = -0.5
        self.lines += ["    s = 0.5", "    for i in range(b.shape[0]):"]
        self.born(f"        y = {self.op('b[i]')}")
        self.lines.append("        s = 0.5 * s + y")
        self.told, self.lane = (self.trip,), self.column
        self.wrap = lambda f: vmap(f, in_axes=(0, None, None))
        return "s * x"

    def of_list(self):
        self.array(self.trips)[self.trip] = -0.5
        self.lines += ["    h = []", "    for i in range(b.shape[0]):"]
        self.born(f"        y = {self.op('b[i]')}")
        self.lines.append("        h.append(0.5 * y)")
        self.told = (self.trip,)
        return self.pick.choice(["np.array(h)", "sum(h)", "h"])

    def function(self):
        text = "\n".join(["import numpy as np", *self.head, "def f(b, x, w):", *self.lines]) + "\n"
        file = f"<births {hash(text):x}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space = {}
        exec(compile(text, file, "exec"), space)
        line = next(k for k, t in enumerate(text.splitlines(), 1) if t.endswith("# born"))
        return space["f"], text, line


def outcome(seed, engine="xla", shown=False):
    drawn = Drawn(seed)
    f, text, line = drawn.function()
    options = {"engine": None if engine == "native" else engine, "native": engine == "native", "debug": "nan"}
    if shown:
        print(text)
    with warnings.catch_warnings(), native.asked(0 if engine == "native" else native.LEAST):
        warnings.simplefilter("ignore")
        try:
            out = drawn.wrap(jit(f, **options))(drawn.bad, drawn.x, drawn.w)
        except NumericalError as error:
            if shown:
                print(error)
            found = error.line, error.index, tuple(n for _, n in error.trips), error.lane, error.adjoint
            true = line, drawn.index, drawn.told, drawn.lane, drawn.adjoint
            wrong = [f"{a!r} for {b!r}" for a, b in zip(found, true) if a != b]
            if drawn.variable is not None and error.variable != drawn.variable:
                wrong.append(f"{error.variable!r} for {drawn.variable!r}")
            return "right" if not wrong else f"wrong {drawn.form}: {', '.join(wrong)}"
        except WengertError as error:
            return f"refused: {drawn.form}: {str(error).splitlines()[0]}"
    return f"wrong {drawn.form}: no NaN, {out}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--engine", default="xla")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    found = collections.Counter()
    for seed in range(options.first, options.last):
        said = outcome(seed, options.engine, options.v)
        found[said.partition(":")[0]] += 1
        if said != "right":
            print(seed, said)
    print(dict(found))
    return int(any(text.startswith("wrong") for text in found))


if __name__ == "__main__":
    sys.exit(main())
