"""The page in a real browser: it opens, folds, searches, the slider moves, what is chosen lights up, light and dark, and nothing of the user's
is taken for markup. Screenshots are kept in build/screens.
"""

import re

import chromium
import numpy as np
import pytest
from places import ROOT

from wengert import grad, jit
from wengert.ir.core import Builder
from wengert.ir.ops import OPS
from wengert.ir.text import show
from wengert.ir.types import parse_type
from wengert.tracer.api.viewing import view_page
from wengert.tracer.view import layers
from wengert.tracer.view.boxes import Boxes
from wengert.tracer.view.page import page_html
from wengert.tracer.view.tables import Tables

pytestmark = pytest.mark.skipif(chromium.installed() is None, reason="no chromium: the viewer was not opened in a browser (apt-get install chromium)")
SCREENS = ROOT / "build" / "screens"
LAYERS = 5


def heat(u, alpha):
    for _ in range(500):
        u[1:-1] = u[1:-1] + alpha * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def misfit(u, target, alpha):
    difference = heat(u.copy(), alpha) - target
    return 0.5 * (difference**2).sum()


def layer(x, w):
    mean = x.mean(axis=-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    e = np.exp(scaled @ w)
    return x + e / e.sum(axis=-1, keepdims=True)


def network(ws, x):
    for w in ws:
        x = layer(x, w)
    return (x * x).sum()


@pytest.fixture(scope="module")
def browser():
    found = chromium.Browser(chromium.installed())
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """name -> path of a page, each made once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def path_of(name):
        if name not in made:
            made[name] = PAGES[name](str(folder / f"{name}.html"))
        return made[name]

    return path_of


def stencil_page(path):
    args = np.linspace(0, 1, 64), np.zeros(64), 0.1
    return view_page([jit(misfit).callee, grad(misfit).callee], [(args, {})] * 2, path).path


def network_page(path):
    rng = np.random.default_rng(0)
    args = [rng.standard_normal((8, 8)) for _ in range(LAYERS)], rng.standard_normal((4, 8))
    return grad(network, argnums=0).view(*args, path=path).path


def swing(x):
    for _ in range(20):
        x = np.sin(x) * x
    return (x * x).sum()


def kept_page(path):
    return grad(swing).view(np.ones(3), path=path).path


def large_page(path):
    """3000 equations without any likeness, made as such."""
    build, rng = Builder("large"), np.random.default_rng(0)
    ops = [OPS[name] for name in ("sin", "exp", "tanh", "neg")]
    with build:
        values = [build.param(parse_type("f64[8]"), "x")]
        for _ in range(3000):
            a, b = (values[rng.integers(max(0, len(values) - 30), len(values))] for _ in range(2))
            values.append(a * b + float(rng.random()) if rng.random() < 0.5 else ops[rng.integers(4)](a))
    func = build.finish(values[-3:])
    tables = Tables(lambda f: Boxes(f).tree())
    state = {"pass": "captured", "count": func.count(), "changed": True, "func": tables.func(func)}
    program = {"name": "large", "states": [state], "kept": []}
    data = {"title": "large", "files": [], "programs": [program], "traces": [], "timeline": [], **tables.rows()}
    with open(path, "w") as file:
        file.write(page_html(data))
    return path


PAGES = {"stencil": stencil_page, "network": network_page, "kept": kept_page, "large": large_page}


def texts(browser, selector):
    return browser.ask(f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")


def count(browser, selector):
    return browser.ask(f"document.querySelectorAll({selector!r}).length")


def button(browser, text):
    browser.ask(f"[...document.querySelectorAll('button')].find((b) => b.textContent === {text!r}).click()")
    browser.settle()


@pytest.mark.parametrize(
    "name, scheme, width", [("stencil", "light", 1440), ("stencil", "dark", 900), ("network", "dark", 1440), ("network", "light", 900)]
)
def test_it_opens(browser, pages, name, scheme, width):
    browser.show(pages(name), width=width, scheme=scheme)
    browser.click(".node.is-equation", 1)
    browser.screenshot(SCREENS / f"{name}_{scheme}_{width}.png")
    assert browser.errors == []
    assert browser.ask("document.documentElement.dataset.ready") == "true"
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert all(url.startswith("file://") for url in browser.requests) and len(browser.requests) == 1


def test_colours_follow_the_system_until_they_are_turned(browser, pages):
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.show(pages("stencil"), scheme="dark")
    dark = browser.ask(ground)
    browser.press("t")
    turned = browser.ask(ground)
    browser.show(pages("stencil"), scheme="light")
    light = browser.ask(ground)
    assert turned == light != dark
    browser.press("t")
    assert browser.ask(ground) == dark


def test_the_graph_is_painted_again_when_the_system_turns_dark(browser, pages):
    painted = "document.querySelector('canvas.edges').toDataURL()"
    browser.show(pages("stencil"), scheme="light")
    light = browser.ask(painted)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.settle()
    browser.settle()
    assert browser.ask(painted) != light


def test_equations_read_as_the_compiler_prints_them(browser, pages):
    browser.show(pages("stencil"), width=3000, height=3000)
    button(browser, "unfold all")
    shown = browser.ask("[...document.querySelectorAll('.node.is-equation')].map((e) => e.title)")
    printed = show(grad(misfit).ir(np.zeros(64), np.zeros(64), 0.1), sources=False)
    lines = [re.sub(r"\s+", " ", line).strip() for line in printed.splitlines() if " = " in line and " loop " not in line]
    assert sorted(shown) == sorted(lines) and len(lines) > 20


def test_boxes_fold_and_unfold(browser, pages):
    browser.show(pages("stencil"))
    button(browser, "unfold all")
    before = count(browser, ".node.is-equation")
    frames = texts(browser, ".frame-title .word")
    assert "forward" in frames and "adjoint" in frames and sum(f.startswith("loop") for f in frames) == 2
    loop = next(k for k, f in enumerate(frames) if f.startswith("loop"))
    browser.click(".frame-title .handle", loop)
    assert count(browser, ".node.is-equation") < before and count(browser, ".node.is-equation.folds") == 1
    browser.click(".node.is-equation.folds .handle")
    assert count(browser, ".node.is-equation") == before
    button(browser, "fold all")
    assert count(browser, ".node.is-equation") == 0 and count(browser, ".node.folds") == 2


def test_forward_and_adjoint_stand_side_by_side(browser, pages):
    browser.show(pages("stencil"))
    ends = "((r) => [r.left, r.right])(e.getBoundingClientRect())"
    place = f"Object.fromEntries([...document.querySelectorAll('.frame-title')].map((e) => [e.textContent, {ends}]))"
    frames = {name[1:]: at for name, at in browser.ask(place).items()}
    assert frames["forward"][1] <= frames["adjoint"][0]


def test_layers_that_say_the_same_are_drawn_once(browser, pages):
    browser.show(pages("network"))
    button(browser, "fold all")
    browser.click(".node.folds .handle")
    found = [t for t in texts(browser, ".node.kind-alike .word") if "layer" in t]
    assert found and all(int(t.split()[0]) in (LAYERS, LAYERS - 1, LAYERS - 2) for t in found)
    browser.click(".node.kind-alike .handle")
    assert texts(browser, ".stepper span")[0].startswith("1 of ")
    names = lambda: browser.ask("[...document.querySelectorAll('.node.is-equation')].map((e) => e.title)")
    first = names()
    browser.click(".stepper button", 1)
    assert texts(browser, ".stepper span")[0].startswith("2 of ") and names() != first
    assert browser.errors == []


def test_an_equation_lights_up_its_line_and_its_adjoint(browser, pages):
    browser.show(pages("stencil"))
    button(browser, "unfold all")
    titles = browser.ask("[...document.querySelectorAll('.node.is-equation.kind-forward')].map((e) => e.title)")
    browser.click(".node.is-equation.kind-forward", next(k for k, t in enumerate(titles) if " mul %6" in t or " mul 2.0" in t))
    (line,) = texts(browser, ".line.chosen code")
    assert "u[1:-1] = u[1:-1] + alpha" in line
    assert count(browser, ".node.chosen") == 1 and count(browser, ".node.kind-adjoint.adjoint") > 3
    assert count(browser, ".node.operand") >= 1 and count(browser, ".node.reader") >= 1
    told = texts(browser, ".drawer-body")[0]
    assert "runs500 times" in told and "Its adjoint" in told and "Read by" in told
    browser.press("Escape")
    assert count(browser, ".node.chosen") == count(browser, ".line.chosen") == 0


def test_of_a_line_that_ran_several_times_each_run_has_its_own_adjoint(browser, pages):
    browser.show(pages("network"))
    browser.press("/")
    browser.write_text("= exp f64")
    rows = count(browser, ".results .result")
    found = set()
    for _ in range(LAYERS):
        browser.press("Enter")
        heads = texts(browser, ".detail h3")
        assert "Its adjoint" in heads
        listed = "const at = [...document.querySelectorAll('.detail > *')]; const n = at.findIndex((e) => e.textContent === 'Its adjoint')"
        found.add(tuple(browser.ask(f"(() => {{ {listed}; return at.slice(n + 1).map((e) => e.title); }})()")))
    assert rows == LAYERS == len(found)
    assert not set.intersection(*map(set, found))


def test_what_is_kept_is_told(browser, pages):
    browser.show(pages("network"))
    kept = texts(browser, ".choice button")
    assert "Kept" in kept and "Time" in kept
    button(browser, "Kept")
    amounts = dict(zip(texts(browser, ".line code"), texts(browser, ".line .amount")))
    assert any("np.exp(scaled @ w)" in code and amount.endswith("B") for code, amount in amounts.items())


def test_what_a_loop_keeps_is_marked_where_it_is_made(browser, pages):
    browser.show(pages("kept"))
    button(browser, "unfold all")
    made = browser.ask("[...document.querySelectorAll('.node.kept')].map((e) => e.title)")
    assert sorted(title.split()[2] for title in made) == ["cos", "mul", "sin"] and count(browser, ".frame-title.kept") == 1
    browser.click(".node.kept", next(k for k, title in enumerate(made) if " sin " in title))
    assert "480 B for the way back" in texts(browser, ".drawer-body")[0]


def test_a_line_lights_up_its_equations(browser, pages):
    browser.show(pages("stencil"))
    lines = texts(browser, ".line code")
    browser.click(".line", next(k for k, t in enumerate(lines) if "difference = heat" in t))
    assert count(browser, ".node.chosen") == 1
    assert "difference" in browser.ask("document.querySelector('.node.chosen').title")
    assert "stencil" not in (told := texts(browser, ".drawer-body")[0]) and "traffic" in told


def test_the_slider_moves_through_the_passes(browser, pages):
    browser.show(pages("stencil"))
    names = texts(browser, ".stop-name")
    assert names[0] == "captured" and "simplify" in names
    last = texts(browser, ".pass-told b")[0]
    browser.press("ArrowLeft")
    assert texts(browser, ".pass-told b")[0] == names[-2] != last
    browser.click(".stop", names.index("simplify"))
    told = texts(browser, ".pass-told")[0]
    assert "removed" in told and count(browser, ".node.added, .node.altered, .node.holds-added, .node.holds-altered") > 0
    button(browser, "Changes")
    assert count(browser, ".row.gone") == int(re.search(r"\u2212(\d+) removed", told)[1])
    browser.ask("(() => { const s = document.querySelector('input[type=range]'); s.value = 0; s.dispatchEvent(new Event('input')); })()")
    browser.settle()
    assert texts(browser, ".pass-told b")[0] == "captured" and browser.errors == []


def test_search(browser, pages):
    browser.show(pages("stencil"))
    browser.press("/")
    browser.write_text("reduce")
    assert count(browser, ".results .result") == 0 and "Nothing found" in texts(browser, ".results")[0]
    browser.ask("document.querySelector('.search').value = ''")
    browser.write_text("dynamic_update vjp")
    browser.ask("document.querySelector('.search').value = ''")
    browser.write_text("pad low=[2]")
    assert count(browser, ".results .result") == 1
    browser.press("Enter")
    assert "pad" in browser.ask("document.querySelector('.node.chosen').title")


def test_traces_and_times(browser, pages):
    browser.show(pages("stencil"))
    button(browser, "Traces")
    told = texts(browser, ".tree")[0]
    for part in ("misfit", "because", "first call", "relied on", "heat", "engine", "cost"):
        assert part in told
    button(browser, "Times")
    told = texts(browser, ".timeline")[0]
    assert "until it ran" in told and "trace" in told and "a call" in told and "steps of" in told
    browser.click(".timeline .row", 0)
    assert count(browser, ".line.chosen") == 1


def test_the_keyboard(browser, pages):
    browser.show(pages("stencil"))
    browser.press("j")
    first = browser.ask("document.querySelector('.node.chosen, .frame-title.chosen').title")
    browser.press("j")
    assert browser.ask("document.querySelector('.node.chosen, .frame-title.chosen').title") != first
    browser.press("k")
    assert browser.ask("document.querySelector('.node.chosen, .frame-title.chosen').title") == first
    browser.press("?")
    assert browser.ask("document.querySelector('dialog').open")
    browser.press("Escape")
    assert not browser.ask("document.querySelector('dialog').open")
    browser.press("c")
    assert count(browser, ".node.is-equation") == 0


def test_text_can_be_selected(browser, pages):
    browser.show(pages("stencil"))
    node = "document.querySelector('.node.is-equation')"
    browser.ask(f"(() => {{ const r = document.createRange(); r.selectNodeContents({node}); getSelection().addRange(r); }})()")
    assert browser.ask("getComputedStyle(document.querySelector('.node')).userSelect") == "text"
    assert "f64" in browser.ask("String(getSelection())")


@pytest.mark.parametrize("installed", [True, False])
def test_thousands_of_equations_are_drawn_as_far_as_they_are_seen(browser, tmp_path, monkeypatch, installed):
    if not installed:
        monkeypatch.setattr(layers, "library", lambda: None)
    elif layers.library() is None:
        pytest.skip("fast-sugiyama is not installed")
    browser.show(large_page(str(tmp_path / "large.html")))
    assert browser.errors == [] and 5 < count(browser, ".node") < 120
    button(browser, "unfold all")
    browser.ask("document.querySelector('.graph-scroll').scrollTo(0, 3000)")
    browser.settle()
    assert browser.errors == [] and count(browser, ".node") < 600
    button(browser, "fold all")
    assert 0 < count(browser, ".node") < 40 and browser.errors == []
