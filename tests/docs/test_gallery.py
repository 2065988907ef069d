"""Each example of the gallery gives what plain NumPy gives, with derivatives by differences; none falls back, and each can be drawn."""

import ast
import importlib
import runpy
import sys
import warnings

import numpy as np
import plain_world
import pytest
from places import ROOT

from wengert import Fallback

FOLDER = ROOT / "examples" / "gallery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))


def same(ours, plain, where=""):
    if isinstance(plain, dict | tuple):
        assert len(ours) == len(plain)
        for key in plain if isinstance(plain, dict) else range(len(plain)):
            same(ours[key], plain[key], f"{where}[{key!r}]")
        return
    assert np.shape(ours) == np.shape(plain) and np.asarray(ours).dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5, err_msg=where)


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", NAMES)
def test_example(name):
    example = importlib.import_module(f"wengert.examples.gallery.{name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        ours = example.main(**example.SMALL)
    same(ours, plain_world.main_of(FOLDER / f"{name}.py")(**example.SMALL))


def test_pictures_are_drawn_from_a_shell(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is of the extra `docs`")
    monkeypatch.setattr(sys, "argv", ["gallery", "lorenz", "-o", str(tmp_path / "pictures")])
    runpy.run_module("wengert.examples.gallery", run_name="__main__")
    assert (tmp_path / "pictures" / "lorenz.png").read_bytes().startswith(b"\x89PNG") and "lorenz.png" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["gallery", "nothing"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("wengert.examples.gallery", run_name="__main__")
    assert ended.value.code == 2 and "nothing" in capsys.readouterr().err


def test_there_are_enough_of_them_and_they_are_small():
    assert len(NAMES) >= 12
    for name in NAMES:
        text = (FOLDER / f"{name}.py").read_text()
        tree = ast.parse(text)
        imported = {n.module.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        imported |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert imported == {"numpy", "wengert"} and 25 <= text.count("\n") <= 95, name
        assert len(ast.get_docstring(tree).splitlines()) >= 4


def test_the_page_of_the_gallery_names_all():
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert [name for name in NAMES if page.count(f"(../examples/gallery/{name}.py)") != 1] == []


def test_differences_are_derivatives():
    """What the examples are compared with: on functions whose derivatives are known."""
    square = lambda x: np.sum(x**3)
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(plain_world.grad(square)(x), 3 * x**2, rtol=1e-8)
    np.testing.assert_allclose(plain_world.hessian(square)(x), np.diag(6 * x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(plain_world.jvp(np.sin, (x,), (x,))[1], np.cos(x) * x, rtol=1e-8)
    assert plain_world.value_and_grad(lambda p: p["a"] * 2.0)({"a": 3.0}) == (6.0, {"a": pytest.approx(2.0)})
