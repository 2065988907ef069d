"""How long the viewer's page takes on programs of 10,000 equations: to make, to open, to fold, to go to another pass.

    python benchmarks/latency/viewer.py [--equations 10000] [--rounds 5]

"straight" is one function of equations without any likeness, "layers" a network of alike layers with its gradient.
Seconds of tracing with all passes ("optimised"), and of making the page ("made"). In headless Chromium, medians of the
rounds: "open" is until the page can be used and is drawn; ms until the next frame is drawn after folding or unfolding
one box or all, after going to the first pass, and after a search. "nodes": elements of the graph, at most over these.
"""

import argparse
import linecache
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np

from wengert import grad, jit
from wengert.benchmarks.timing import table
from wengert.tracer.plan.subject import for_arguments
from wengert.tracer.view.model import PageModel
from wengert.tracer.view.page import page_html

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "helpers"))
import chromium

FORMS = (
    "np.sin({a}) * {c}", "{a} + {b}", "np.exp(-{a}) * {b}", "np.tanh({a} - {c})", "{a} * {c} + {b}",
    "np.sqrt({a} * {a} + {c})",
)  # fmt: skip
TIMED = """
new Promise((done) => {
  const start = performance.now();
  (() => { %s })();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})
"""
BUTTON = "[...document.querySelectorAll('button')].find((b) => b.textContent === '%s').click();"
SEARCH = "const s = document.querySelector('.search'); s.value = 'tanh'; s.dispatchEvent(new Event('input'));"
STEPS = {
    "fold all": BUTTON % "fold all",
    "unfold one": "document.querySelector('.node.folds .handle').click();",
    "fold one": "document.querySelector('.frame-title .handle').click();",
    "unfold all": BUTTON % "unfold all",
    "first pass": "document.querySelector('.stop').click();",
    "search": SEARCH,
}


def straight(equations):
    """A function of statements that are drawn, each of what the last thirty have made."""
    draw, lines = random.Random(0), ["def straight(a, b):", "    x0, x1 = a * 2.0, b + a"]
    for n in range(2, int(equations * 0.78)):
        a, b = (f"x{draw.randrange(max(0, n - 30), n)}" for _ in range(2))
        lines.append(f"    x{n} = {draw.choice(FORMS).format(a=a, b=b, c=round(draw.random(), 3))}")
    text = "\n".join([*lines, f"    return x{n} + x{n - 1}"]) + "\n"
    linecache.cache["straight.py"] = len(text), None, text.splitlines(True), "straight.py"
    space = {"np": np}
    exec(compile(text, "straight.py", "exec"), space)
    return jit(space["straight"]), (np.ones(64), np.ones(64))


def layer(x, w, v):
    mean = x.mean(axis=-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    scores = scaled @ w @ scaled.T
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return x + np.tanh(e / e.sum(axis=-1, keepdims=True) @ scaled @ v)


def network(weights, x):
    for w, v in weights:
        x = layer(x, w, v)
    return (x * x).sum()


def layers(equations):
    draw = np.random.default_rng(0)
    count = max(4, equations // 78)
    square = lambda: draw.standard_normal((8, 8))
    return grad(network), ([(square(), square()) for _ in range(count)], np.ones((4, 8)))


def written(made, path):
    """(equations, seconds to optimise, seconds to make the page, MB) of a function that is not called: what compiling
    takes has nothing to do with the page."""
    function, args = made
    callee, model = function.callee, PageModel(function.compiled.name)
    start = time.perf_counter()
    (subject,) = callee(for_arguments, function.compiled, args, {})
    optimised = time.perf_counter()
    callee(model.note_code, function.compiled)
    callee(model.add_subject, subject, {"c": []}, 1, False, True)
    text = page_html(model.data())
    path.write_text(text)
    return subject.func.count(), optimised - start, time.perf_counter() - optimised, len(text) / 1e6


def rounds_in(browser, path, rounds):
    """{what: median} of opening a page and working with it, and the most elements there were."""
    times, most = {name: [] for name in ("open", *STEPS)}, 0
    for _ in range(rounds):
        start = time.perf_counter()
        browser.show(path)
        times["open"].append(time.perf_counter() - start)
        for name, code in STEPS.items():
            times[name].append(browser.ask(TIMED % code))
            most = max(most, browser.ask("document.querySelectorAll('.node').length"))
    assert browser.errors == []
    return {name: statistics.median(t) for name, t in times.items()}, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equations", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if chromium.installed() is None:
        sys.exit("no chromium; apt-get install chromium")
    browser, rows = chromium.Browser(chromium.installed()), []
    with tempfile.TemporaryDirectory() as folder:
        for form in (straight, layers):
            path = pathlib.Path(folder) / f"{form.__name__}.html"
            count, optimised, made, size = written(form(given.equations), path)
            found, most = rounds_in(browser, path, given.rounds)
            rows.append([form.__name__, str(count), optimised, made, size, *found.values(), str(most)])
    browser.close()
    table(rows, ["program", "equations", "optimised s", "made s", "MB", "open s", *(f"{n} ms" for n in STEPS), "nodes"])


if __name__ == "__main__":
    main()
