"""Random programs with lists of many items: comprehensions, generators, appends in loops, folds, items by index, and what is done to them later.

Each program is called three times, on arrays of one shape and other numbers; above 16 items its comprehensions and appends are captured as loops,
below they are written out. Elements are numbers of NumPy's and Python's, arrays, pairs and rows; lists are shared, changed and returned.
"""

import random

import numpy as np
from draws import Found, apart, attempt, function, shaky

from wengert import jit

SIZES = (3, 17, 18, 24)
HEAD = """import functools, itertools
import numpy as np

class Box:
    def __init__(self, x):
        self.x, self.kept = x, []
    def put(self, v):
        self.kept.append(v)
        self.x = self.x * 0.5 + v
        return self.x

def twice(v):
    return v * 2

def seldom(v):
    if v > 50:
        return None
    return np.array([v, 0.5])

def often(v):
    return None if v > 0.4 else np.array([v, 0.5])

"""
NUMBERS = (
    "{v} * 2", "{v} + 1.5", "abs({v})", "np.sin({v})", "({v} if {v} > 0 else 0.5)", "float({v})", "int({v} * 3)", "{v} > 0.2", "{v} * {s}",
    "max({v}, {s})", "twice({v})", "{v} // 0.7", "round(float({v}), 1)", "a[int(abs({v}) * 3) % len(a)]", "np.float32({v})", "b.put({v})",
    "{s} / {v}",
)  # fmt: skip
ITEMS = (
    ("v", "a"), ("v", "a[::-1]"), ("v", "a[1:]"), ("v", "reversed(a)"), ("v", "a.flat"), ("v", "itertools.chain(a, a[:2])"), ("v", "map(twice, a)"),
    ("v", "list(a)"), ("v", "a.tolist()"),
)  # fmt: skip
PAIRS = (("i, v", "enumerate(a)"), ("w, v", "zip(a, a[::-1])"), ("w, v", "itertools.pairwise(a)"), ("w, v", "itertools.product(a, a[:2])"))
TESTS = ("i % 2 == 0", "i > 1", "i != n - 1")
FOLDS = ("sum", "max", "min", "any", "all", "list", "tuple", "sorted")


class Program:
    """One function `f(a)`, and the size of its array."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.size = self.r.choice(SIZES)
        self.lists, self.rows, self.scalars, self.made, self.lines = [], [], ["s"], 0, []
        for _ in range(self.r.randint(2, 8)):
            self.lines += self.statement()
        kept = ", ".join([*self.lists, *self.rows, *self.scalars, "b.kept", "b.x"])
        body = ["n, s, b = len(a), 0.75, Box(a[0])", *self.lines, f"return {kept}, a"]
        self.text = HEAD + "def f(a):\n" + "\n".join("    " + line for line in body) + "\n"

    def name(self, what):
        self.made += 1
        return f"{what}{self.made}"

    def number(self, v="v"):
        return self.r.choice(NUMBERS).format(v=v, s=self.r.choice(self.scalars))

    def items(self):
        """(target, iterable) that bind v to a number."""
        r = self.r
        if self.lists and r.random() < 0.35:
            xs = r.choice(self.lists)
            return r.choice([
                ("v", xs), ("i, v", f"enumerate({xs})"), ("w, v", f"zip(a, {xs})"), ("v", f"{xs}[1:]"), ("v", f"reversed({xs})"),
            ])  # fmt: skip
        return r.choice(PAIRS if r.random() < 0.4 else ITEMS)

    def comprehension(self, elt):
        target, items = self.items()
        test = f" if {self.r.choice(TESTS)}" if target.startswith("i") and self.r.random() < 0.3 else ""
        return f"{elt} for {target} in {items}{test}"

    def row(self):
        return self.r.choice([
            "np.array([v, 1.0])", "[v, {e}]", "(v, {e})", "a * v", "[u * v for u in a]", "a[:2]", "np.zeros(2)", "[0.0, 1.0]", "(i0, v)",
            "seldom(v)", "often(v)",
        ]).format(e=self.number()).replace("i0", "len(a)")  # fmt: skip

    def statement(self):
        r, kind = self.r, self.r.randint(0, 24)
        if kind <= 2 or not self.lists:
            xs = self.name("xs")
            line = f"{xs} = [{self.comprehension(self.number())}]"
            self.lists.append(xs)
            return [line]
        if kind == 3:
            rows = self.name("rows")
            line = f"{rows} = [{self.comprehension(self.row())}]"
            self.rows.append(rows)
            return [line]
        if kind == 4:
            s, fold = self.name("s"), r.choice(FOLDS)
            line = f"{s} = {fold}({self.comprehension(self.number())})"
            (self.lists if fold in ("list", "sorted") else self.scalars if fold != "tuple" else self.rows).append(s)
            return [line]
        if kind == 5:
            xs, t = self.name("xs"), self.name("t")
            target, items = self.items()
            body = [f"    {t} = {self.number()} + {t} * 0.5", r.choice(["    {xs}.append({e})", "    {xs} += [{e}, s]"])]
            body[1] = body[1].format(xs=xs, e=r.choice([t, self.number(), f"{xs}[-1] * 0.5 + v"]))
            r.shuffle(body)
            start = r.choice(["[]", "[1.0]", "[s]"]) if not any("[-1]" in line for line in body) else "[1.0]"
            self.lists.append(xs)
            self.scalars.append(t)
            return [f"{xs}, {t} = {start}, 0.25", f"for {target} in {items}:", *body]
        if kind == 6:
            rows, x = self.name("rows"), self.name("x")
            target, items = self.items()
            step = r.choice([f"{x} = {x} * 0.5 + v", f"{x} += v", f"{x} = np.array([v, 2.0])"])
            body = [f"    {step}", f"    {rows}.append({r.choice([x, f'{x}.copy()', f'{x} * 2', f'({x}, v)', f'{x}[:1]'])})"]
            r.shuffle(body)
            self.rows += [rows, x]
            return [f"{rows}, {x} = [], np.ones(2)", f"for {target} in {items}:", *body]
        if kind == 7:
            s, xs = self.name("s"), r.choice(self.lists)
            found = r.choice([
                "{xs}[int(abs({s}) * 5) % len({xs})]", "{xs}[-1]", "len({xs})", "sum({xs})", "max({xs}, key=lambda t: -t)", "min({xs}, key=abs)",
                "np.sum({xs})", "functools.reduce(lambda p, q: p * 0.5 + q, {xs})",
                "np.array({xs}).sum()", "max({xs})", "{xs}.count({xs}[0])",
            ])  # fmt: skip
            line = f"{s} = {found.format(xs=xs, s=r.choice(self.scalars))}"
            self.scalars.append(s)
            return [line]
        if kind == 8:
            s, xs = self.name("s"), r.choice(self.lists)
            target, items = r.choice([("v", xs), ("i, v", f"enumerate({xs})"), ("v", f"map(abs, {xs})")])
            self.scalars.append(s)
            return [f"{s} = 0.0", f"for {target} in {items}:", f"    {s} = {s} * 0.5 + {self.number()}"]
        if kind == 9:
            xs = r.choice(self.lists)
            return [r.choice([f"{xs}[0] = {self.number('s')}", f"{xs}.append({self.number('s')})", f"{xs}.reverse()", f"{xs}.pop()", f"{xs} += [s]"])]
        if kind == 10 and self.rows:
            rows = r.choice(self.rows)
            return [f"if isinstance({rows}[0], (list, np.ndarray)):", f"    {rows}[0][0] = s", f"    {rows}[-1][-1] = a[0]"]
        if kind == 11:
            a = self.name("xs")
            self.lists.append(a)
            xs = self.r.choice(self.lists[:-1])
            found = r.choice(['{xs}', 'list({xs})', '{xs}[:]', '{xs} + [s]', 'list(itertools.accumulate({xs}))', 'sorted({xs})'])
            return [f"{a} = {found.format(xs=xs)}"]
        if kind == 12:
            return [r.choice(["a[0] = s", "a[1:] *= 0.5", "a += 0.25"])]
        if kind == 14:
            xs, i, n = r.choice(self.lists), r.choice(["i", "-i", "i - 1", "int(abs({s}) * 3) % n"]), f"len({r.choice(self.lists)})"
            value = r.choice(["{xs}[i] * 0.5", "{xs}[i - 1] + {xs}[i]", "{s}", "{number}"])
            value = value.format(xs=xs, s=r.choice(self.scalars), number=self.number(f"{xs}[i]"))
            i = i.format(s=r.choice(self.scalars))
            return [f"for i in range({r.choice([f'len({xs})', f'min(len({xs}), {n})', '2'])}):", f"    {xs}[{i}] = {value}"]
        if kind == 15:
            h = self.name("h")
            self.lists.append(h)
            target, items = self.items()
            store = f"{h}[int(abs(v) * 2) % {r.choice('556')}] {r.choice(['+= 1', '= v', '+= 0.5'])}"
            return [f"{h} = [{r.choice(['0', '0.0', 'False'])}] * 5", f"for {target} in {items}:", f"    {store}"]
        if kind == 16:
            g = self.name("rows")
            self.rows.append(g)
            body = r.choice([
                "{g}[i][j] = float(a[i] * a[j])", "{g}[i][j] = min({g}[i - 1][j], a[j])", "{g}[j][i] += 1.0", "{g}[i] = [float(a[j])] * 3",
            ])  # fmt: skip
            rows = f"{g} = [[{r.choice(['0.0', '1.5', 's'])}] * 3 for _ in range(3)]"
            return [rows, "for i in range(3):", "    for j in range(3):", f"        {body.format(g=g)}"]
        if kind >= 22:
            return self.nested()
        if kind >= 17:
            return self.growth(kind)
        target, items = self.items()
        s = self.name("s")
        self.scalars.append(s)
        z = r.choice(["zip(a, a)", "enumerate(a)", "map(twice, a)"])
        return [f"z, {s} = {z}, 0.0", "for v in z:", f"    {s} = {s} + np.sum(v)", f"{s} = {s} + len(list(z))"]


    def nested(self):
        """Loops within a loop, and `extend`, that append to one list."""
        r, xs, k = self.r, self.name("xs"), self.name("k")
        target, items = r.choice(ITEMS[:5])
        known = [f"{ys}[:3]" for ys in self.lists[:2]]
        inner = r.choice(["a", "a[:3]", "a[:3] * v", "np.arange(0, abs(v), 0.5)", "[v, s]", f"range({k} % 4)", "[u for u in a if u > v]", *known])
        add = r.choice([f"{xs}.append(w * v)", f"{xs}.append({self.number('w')})", f"{xs} += [w, v]", f"{xs}.extend((w, s))"])
        loop = [f"for w in {inner}:", *r.choice([[f"    {add}"], [f"    if {r.choice(['w > v', 'w * w < 0.4'])}:", f"        {add}"]])]
        whole = r.choice([f"{xs}.extend({inner})", f"{xs} += list({inner})", f"{xs}.extend(u * 2 for u in {inner})"])
        body = r.choice([loop, [*loop, *loop], [f"{xs}.append(v)", *loop], [*loop, f"{xs}.append(-v)"], [whole], [*loop, whole]])
        if r.random() < 0.2:
            body = [r.choice(["if v > 0.3:", f"if {k} % 2:"]), *("    " + line for line in body)]
        self.lists.append(xs)
        head = [f"{xs}, {k} = {r.choice(['[]', '[0.5]', '[s]'])}, 0", f"for {target} in {items}:"]
        return [*head, *("    " + line for line in body), f"    {k} += 1", f"{xs}.append(0.25)"]

    def growth(self, kind):
        """What grows where data, or the number of the trip, decide, or by being joined."""
        r, n = self.r, self.name("n")
        target, items = self.items()
        if kind <= 18:
            xs = self.name("xs")
            test = r.choice(["v > 0.3", "v > 9.0", "v * v < s", "len(XS) < 5", "i % 3 == 0", "i > 2"])
            target = target if "i" not in test or target.startswith("i") else f"i, {target.replace(', ', '_')}"
            items = items if "i" not in test or items.startswith("enumerate") else f"enumerate({items})"
            target = target if "_" not in target else "i, (w, v)"
            add = r.choice(["XS.append({e})", "XS.append(v)", "XS += [v]", "XS.append((i0, v))", "XS.append(np.array([v, 1.0]))", "XS.append(PLAIN)"])
            plain = r.choice(["None", "()", "'more'", "(None, v)", "(None, 'a')", "True"])
            structured = any(t in add for t in ("i0", "np.array", "PLAIN"))
            add = add.replace("PLAIN", plain)
            add = add.format(e=self.number())
            end = r.choice(["break", "continue", "pass", "pass", "pass" if structured or "(" in add[10:] else "XS.pop()"])
            some = "len(XS) > 0" if "pop" in end else "True"
            body = [f"    if {test}:", f"        {add}", *r.choice([[], [f"    elif v < -1.0 and {some}:", f"        {end}"]])]
            start = r.choice(["[]", "[]", "[0.5]", "[a[0]]"]) if not structured else "[]"
            (self.rows if structured else self.lists).append(xs)
            lines = [f"{n}, {xs} = 0, {start}", f"for {target} in {items}:", *body, f"{n} = len({xs})"]
            self.scalars.append(n)
            more = [f"{n} += {xs}[-1] if {xs} else 0.25", f"{n} += sum({xs})", f"{n} += max({xs}, default=1.0)", f"{n} = np.array({xs}).sum()"]
            lines += [r.choice(more)] if xs in self.lists and r.random() < 0.5 else []
            return [line.replace("XS", xs).replace("i0", n) for line in lines]
        if kind == 19:
            xs = self.name("xs")
            self.lists.append(xs)
            test = r.choice(["v > 0.3", "v > 9.0", "abs(v) < s"])
            return [f"{xs} = [{self.number()} for {target} in {items} if {test}]"]
        if kind == 20:
            x = self.name("x")
            self.rows.append(x)
            e = self.number()
            step = r.choice(["np.append(X, {e})", "np.concatenate([X, [v, {e}]])", "np.hstack((X, v))", "np.concatenate((X, X[-1:] * 0.5))"])
            return [f"{x} = np.zeros({r.choice('12')})", f"for {target} in {items}:", f"    {x} = {step.format(e=f'float({e})').replace('X', x)}"]
        xs, t = self.name("xs"), self.name("t")
        self.lists.append(xs)
        self.scalars.append(t)
        test = r.choice([f"{t} < 4.0", f"len({xs}) < 7 and {t} < 9.0", f"{xs} and {t} < 3.0"])
        add = r.choice([f"{xs}.append({t})", f"{xs}.append({t} * a[0])", f"{xs}.append({xs}[-1] * 0.5)" if "and" not in test else f"{xs}.pop()"])
        return [f"{t}, {xs} = 0.25, [1.5]", f"while {test}:", f"    {t} = {t} + 0.4 + abs(float(a[0]))", f"    {add}"]


def given(seed, size, k):
    a = np.random.default_rng([seed, k]).normal(size=size)
    return (np.where(np.abs(a) < 0.05, 0.5, a),)


def run(seed, engine="numpy"):
    return run_calls(Program(seed), f"lists {seed}", seed, 3, apart, jit)


def run_calls(program, name, seed, calls, differ, compiled):
    """What comes of some calls of a program. differ: (what a call leaves, what it leaves in Python, its arguments) -> as `apart`; compiled: jit."""
    plain = function(program.text, name)
    mine = compiled(function(program.text, f"{name} compiled"))
    verdict, why, text = "agree", "", f"{program.text}# {program.size} items"
    for k in range(calls):
        want = attempt(plain, given(seed, program.size, k))
        got = attempt(mine, given(seed, program.size, k))
        found = differ(got, want, given(seed, program.size, k))
        if found.startswith(("refused", "explained")):
            verdict, _, why = found.partition(": ")
        elif found:
            roundings = shaky(lambda arguments: attempt(plain, arguments), given(seed, program.size, k), found, got)
            return Found("explained" if roundings else "different", f"call {k}: {found}", text, k + 1)
    return Found(verdict, why, text, calls)
