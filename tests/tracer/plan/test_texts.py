"""`f.text(kind)`: each stage of a program as text, and errors that say which kinds there are, or why there is none."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.ir.text import show
from wengert.tracer.plan.texts import KINDS, WRITERS


def straight(x):
    y = np.tanh(x) * 1.0 + 0.0
    return (y * y).sum()


def looped(x):
    for _ in range(300):
        x = x * 0.5 + 1.0
        x[0] = 0.0
    return x


def test_each_kind_has_a_writer():
    assert set(KINDS) == set(WRITERS)


@pytest.mark.parametrize("kind, found", [
    ("captured", "mul"), ("ir", "tanh"), ("jaxpr", "lambda"), ("stablehlo", "stablehlo.tanh"), ("hlo", "ENTRY"), ("passes", "--- captured:"),
])  # fmt: skip
def test_stages(kind, found):
    f = jit(straight)
    f(np.ones(3))
    assert found in f.text(kind, np.ones(3))
    assert f.text(kind) == f.text(kind, np.ones(3))  # of what ran last
    assert found in jit(straight).text(kind, np.ones(3))  # and before any call


def test_the_ir_is_that_of_ir():
    f = grad(straight)
    assert f.text("ir", np.ones(3)) == show(f.ir(np.ones(3)))
    assert f.text("captured", np.ones(3)) == show(f.ir(np.ones(3), passes=False))


def test_passes_say_what_they_changed():
    text = jit(straight).text("passes", np.ones(3))
    parts = text.split("--- ")[1:]
    heads = [part.split(" ---")[0] for part in parts]
    assert heads[0].startswith("captured: ") and heads[-1].startswith("no change by ")
    simplified = next(head for head in heads if head.startswith("simplify"))
    assert simplified == f"simplify: 5 -> 4 equations; without 1 mul; rules {simplified.partition('rules ')[2]}" and "r * 1 -> r" in simplified
    programs = [part.split(" ---\n", 1)[1] for part in parts[:-1]]
    assert len(set(programs)) == len(programs)  # each is another
    assert programs[-1].strip() == show(jit(straight).ir(np.ones(3)))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_machine_code(engine):
    f = jit(looped, engine=engine)
    f(np.ones(50))
    for text in (f.text("llvm"), f.text("llvm", np.ones(50))):
        assert "define void @nest(" in text and "test_texts.py:" in text
    assembly = f.text("assembly")
    assert "nest:" in assembly and "ret" in assembly


def test_generated_numpy():
    f = jit(straight, engine="numpy")
    f(np.ones(3))
    assert f.text("numpy").startswith("def call(a0") and "np.tanh(a0)" in f.text("numpy", np.ones(3))


def test_unknown_kinds_are_listed():
    with pytest.raises(ValueError, match="there is no text of kind 'asm'") as caught:
        jit(straight).text("asm", np.ones(3))
    assert all(kind in str(caught.value) for kind in KINDS)
    with pytest.raises(ValueError, match=r"there is no text of kind array\("):
        jit(straight).text(np.ones(3))


def test_why_there_is_none(falling_back):
    f = jit(straight, engine="xla")
    with pytest.raises(ValueError, match=r"has not been called yet.*\n.*f\.text\('hlo', x\)"):
        f.text("hlo")
    with pytest.raises(ValueError, match="was not called with such arguments"):
        f.text("numpy", np.ones(3))
    f(np.ones(3))
    with pytest.raises(ValueError, match="does not run as generated NumPy: .*asked for"):
        f.text("numpy")
    with pytest.raises(ValueError, match="no machine code of ours: it has no loops"):
        f.text("llvm")
    with pytest.raises(ValueError, match="native=False"):
        jit(looped, native=False).text("assembly", np.ones(50))
    sines = jit(lambda x: looped(np.sin(x)) if x.sum() > 0 else x)
    assert "define void @nest(" in sines.text("llvm", np.ones(50))

    @jit
    def acts(x):
        import threading

        threading.Thread(target=list).start()
        return x

    for kind in ("ir", "passes"):
        with pytest.raises(ValueError, match="plain Python answers such calls, uncompiled: .*Thread"):
            acts.text(kind, np.ones(3))
