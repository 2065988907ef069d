"""`f.view`, `python -m wengert view`, and what a notebook shows."""

import importlib.resources
import pathlib
import re

import numpy as np
import pytest

from wengert import __main__ as cli
from wengert import grad, jit
from wengert.tracer.api.viewing import file_name

MODULE = '''
import numpy as np

def norm(x, n=1):
    y = np.exp(x) * n
    return y.sum()

def scale(p):
    return p["a"] * np.exp(p["b"])
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.py"
    path.write_text(MODULE)
    return str(path)


def titles(path):
    return re.findall(r'"name":"(\w*norm\w*|scale)","states"', pathlib.Path(path).read_text())


def test_a_page_of_a_function_and_its_gradient(module, capsys, tmp_path):
    assert cli.main(["view", f"{module}:norm", "f64[3]", "1"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'norm.html'}\n"
    assert titles(tmp_path / "norm.html") == ["norm", "grad_norm"]


def test_options(module, capsys, tmp_path):
    assert cli.main(["view", f"{module}:norm", "f64[3]", "--no-grad", "-o", "a.html"]) == 0
    assert cli.main(["view", f"{module}:norm", "f64[3]", "--wrt", "x", "--output", "b.html"]) == 0
    assert cli.main(["view", f"{module}:scale", "{'a': f64[2], 'b': f64[2]}", "-o", "c.html"]) == 0
    assert [titles(f"{n}.html") for n in "abc"] == [["norm"], ["norm", "grad_norm"], ["scale"]]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["{module}:mean"], "{module} has no function 'mean'; it has norm, scale"),
        (["{module}:norm", "i64[2]", "--grad"], "{module}:norm has no gradient: no SPEC is floating"),
        (["{module}:norm"], "norm(x, n=1) was given 0 SPECs: missing a required argument: 'x'"),
        (["{module}:norm", "f64[3]", "-o", "no/such/page.html"], "cannot write no/such/page.html: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(module, capsys, arguments, text):
    assert cli.main(["view", *(a.format(module=module) for a in arguments)]) == 2
    assert capsys.readouterr() == ("", f"wengert: {text.format(module=module)}\n")


def test_view_of_a_call_and_of_calls_that_were_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @jit
    def product(x, *, by=2.0):
        return x * by

    page = product.view(np.ones(3), by=3.0)
    assert page.path == str(tmp_path / "product.html") and pathlib.Path(page.path).read_text() == page.text
    again = product.view(path=tmp_path / "other.html")
    assert again.path == str(tmp_path / "other.html") and '"name":"product"' in again.text
    assert repr(again) == f"Page({again.path!r})"


def test_open_shows_the_file(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda url: asked.append(url) or True)
    page = grad(lambda x: (x * x).sum()).view(np.ones(3), path=tmp_path / "page.html")
    assert page.open() and asked == [f"file://{page.path}"]


def test_names_of_files():
    assert file_name("loss") == "loss.html" and file_name("<lambda>") == "lambda.html"
    assert file_name("../../etc/x") == "etc_x.html" and file_name("\u202e") == "function.html" and len(file_name("a" * 999)) == 85


def test_files_of_the_page_are_short_and_make_no_markup():
    folder = importlib.resources.files("wengert.tracer.view") / "web"
    files = {p.name: p.read_text() for p in folder.iterdir()}
    assert {name.rpartition(".")[2] for name in files} == {"js", "css"}
    for name, text in files.items():
        assert text.count("\n") <= 400, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://|@import|url\(", text), name
        assert text.isascii(), name


def test_a_notebook_shows_cards_pages_and_functions(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import numpy as np\nfrom wengert import jit, grad\ndef f(x):\n    return np.tanh(x).sum()\ng = jit(f); g(np.ones(3)); g",
        "g.ir(np.ones(3))",
        "g.view(np.ones(3))",
        "g.explain()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    card, func, page, explained = (cell.outputs[-1]["data"] for cell in book.cells)
    assert "compiled function, 1 trace" in card["text/html"] and "f64[3]" in card["text/html"]
    assert "tanh" in func["text/html"] and "<span" in func["text/html"]
    assert page["text/html"].startswith("<iframe") and (tmp_path / "f.html").is_file()
    assert "f: 1 trace(s)" in explained["text/plain"]
