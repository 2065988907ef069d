"""docs/numpy.md: a table of every name of NumPy with what becomes of a call, made by running the examples."""

import collections
import csv
import importlib.resources

from . import run

STANDING = importlib.resources.files(__package__) / "standing.csv"
ORDER = ("captured", "bounded", "static", "host", "refused", "fallback")
TITLES = {
    "ufuncs": "Ufuncs", "reductions": "Reductions, sums and statistics", "shapes": "Shapes", "creation": "Creation",
    "choosing": "Choosing, sorting and sets", "mathematics": "Mathematics", "types":
        "Types and questions about them", "walking": "Walking",
    "host": "Text, files, dates and settings", "methods": "ndarray: methods and attributes",
    "ufunc": "ufunc: methods and attributes",
    "linalg": "np.linalg", "fft": "np.fft", "lib": "np.emath and np.lib",
    "random": "np.random: functions, and methods of a Generator",
    "elsewhere": "Other modules, by examples",
}  # fmt: skip
HEAD = """# NumPy's names on traced values

Written by `python -m wengert numpy > docs/numpy.md`, which calls every example below in a compiled function, twice,
on other numbers of the same types, and looks what happened; `tests/tracer/numpy_api/test_numpy_table.py` compares
each with NumPy in value, dtype, shape, type and changed arguments, and this page with what the examples give.

- **captured**: a part of the program; where a choice on data decides a type or a length, by value.
- **bounded**: captured, with a length that data decides; returned, it is NumPy's array.
- **static**: takes no numbers, or answers from types and shapes alone: it runs while tracing, at no cost later.
- **host**: drawn by NumPy's own generator on the host, before or while the program runs, in order; it has no
  derivative.
- **refused**: not captured, with the line, the reason, and what to write instead: plain Python runs that statement, and
  `jit(f, whole=True)` and `grad` raise.

The operands are `x` f64[3,4], `p` f64[3,4] above one, `h` f64[3,4] within one, `a` f64[3,3] positive definite, `t`
f64[2,2,2], `y` f64[4], `v` f64[6], `z` c128[4], `i` i64[3], `n` i64[6], `u` u8[2], `b` bool[4], `s` f64[], `k` i64[],
`d` dates, `rng` a Generator: all of them arguments of the compiled function, so known only when it runs.
"""
STANDS = """
JAX and torch are given the same expressions, by `benchmarks/correctness/numpy_surface.py`: {versions}. For JAX, `np` is
`jax.numpy` under `jax.jit`, with 64 bits on, and methods are those of its arrays; for torch, the function of NumPy
arrays is compiled as it stands by `torch.compile(fullgraph=True)`.
**yes**: the same values, shapes and dtypes; **dtype**: the same values of another dtype; **other**: other values,
shapes or effects (such as an argument that should have changed and did not); **no**: it raises, or there is no such
name; **plain**: torch captured nothing of it.
"""

TESTS = """
## NumPy's own tests

`python benchmarks/correctness/numpy_tests.py` runs the test files of the installed NumPy with every computation in them
compiled.
Of the tests that compute on arrays of numbers and pass plainly, how many pass with everything captured (**whole**),
how many with something refused by an error of ours or run as plain Python with a warning (**aloud**), and how many do
not pass, or compute something else (**wrong**); then those that pass once one documented difference is mended
(warnings, order in memory, words of exceptions). NumPy 2.4.6, generated NumPy; XLA where it says so.

| file | whole | aloud | wrong | documented |
|---|---|---|---|---|
| test_function_base | 1179 | 85 | 0 | 1 |
| test_umath | 3609 | 312 | 0 | 177 |
| test_linalg | 420 | 34 | 0 | 1 |
| test_numeric | 248 | 40 | 0 | 14 |
| test_indexing | 60 | 28 | 0 | 7 |
| test_einsum | 56 | 16 | 0 | 1 |
| test_indexing, XLA | 60 | 28 | 0 | 7 |
| test_numeric, XLA | 247 | 38 | 5 | 10 |

test_umath has four tests more, test_einsum three, test_numeric under XLA two, and test_linalg and test_indexing one,
that took longer than they were given. Wrong under XLA are four that look at the order in memory of what np.ones_like
and its like make, which is row-major, and one with a scalar of np.ulonglong; such scalars are refused with words by
now.
Aloud are dtypes beyond numbers (object, structured, text, dates, long double, long long, other byte orders),
subclasses of ndarray, `np.vectorize`, arrays of more axes than are captured, views as a dtype of another width, and
writes between overlapping arguments.
"""


def page_text(seen=None):
    """The text of the page, of [(Example, Seen)]."""
    seen = seen or [(e, run.seen(e)) for e in run.examples()]
    versions, standing = stands()
    lines = [
        HEAD,
        STANDS.format(versions=versions).lstrip("\n") if standing else "",
        *counted(seen, standing),
        TESTS.rstrip("\n"),
    ]
    for section in dict.fromkeys(e.section for e, _ in seen):
        lines += [
            f"\n## {TITLES[section]}\n",
            "| name | status | example | JAX | torch | |",
            "|---|---|---|---|---|---|",
        ]
        lines += [row(e, s, standing.get(e.text, ("", ""))) for e, s in seen if e.section == section]
    lines += ["\n## Refused, and why\n", *refusals(seen)]
    return "\n".join(lines) + "\n"


def row(example, seen, standing):
    note = example.differs or ("" if seen.status != "refused" else "see below")
    return f"| `{example.name}` | {seen.status} | {escaped(example.text)} | {' | '.join(standing)} | {note} |"


def escaped(text):
    return "`" + text.replace("|", r"\|") + "`"


def counted(seen, standing):
    """How many of the names, each by the best of its examples, and of the examples."""
    best = {}
    for e, s in seen:
        best[e.name] = min(best.get(e.name, len(ORDER)), ORDER.index(s.status))
    groups = collections.defaultdict(collections.Counter)
    for name, status in best.items():
        groups[group(name)][ORDER[status]] += 1
    shown = [s for s in ORDER if any(g[s] for g in groups.values())]
    lines = ["| names | total | " + " | ".join(shown) + " |", "|---|---|" + "---|" * len(shown)]
    every = collections.Counter()
    for name, counts in groups.items():
        every += counts
        lines.append(f"| {name} | {counts.total()} | " + " | ".join(str(counts[s]) for s in shown) + " |")
    lines.append(f"| all | {every.total()} | " + " | ".join(str(every[s]) for s in shown) + " |")
    if standing:
        lines += ["", "| examples, but for static ones and np.random | Wengert | JAX | torch |", "|---|---|---|---|"]
        real = [(e, s) for e, s in seen if s.status != "static" and e.section != "random" and e.text in standing]
        right = sum(s.status not in ("refused", "fallback") and not e.differs for e, s in real)
        jax, torch = (sum(standing[e.text][k] == "yes" for e, _ in real) for k in (0, 1))
        lines.append(f"| as NumPy, of {len(real)} | {right} | {jax} | {torch} |")
    return lines


def group(name):
    """`np`, or the module or class a name is of."""
    home, _, _ = name.rpartition(".")
    return home if home in (
        "np", "np.linalg", "np.fft", "np.emath", "np.random", "ndarray", "ufunc", "Generator",
    ) else "others"


def refusals(seen):
    """- name: reason; what to write instead."""
    found = collections.defaultdict(list)
    for e, s in seen:
        if s.status == "refused":
            lines = [line.strip() for line in s.reason.splitlines()]
            found[lines[0], " ".join(lines[3:])].append(e)
    for (reason, instead), examples in found.items():
        yield f"- {', '.join(escaped(e.text) for e in examples)}: {reason}.{f' {instead}' if instead else ''}"


def stands():
    """What the standing of others was made with, and {example: (JAX's, torch's)}."""
    if not STANDING.exists():
        return "", {}
    with STANDING.open(newline="") as file:
        (versions, *_), *lines = csv.reader(file)
    return versions, {text: (jax, torch) for text, jax, torch in lines}
