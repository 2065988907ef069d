"""Programs of thousands of stores: what each looks at does not grow with them."""

from wengert.ir.core import Builder, Lit
from wengert.ir.ops.control import COUNTER
from wengert.ir.ops.elementwise import add
from wengert.ir.ops.shape import dynamic_slice, dynamic_update_slice
from wengert.ir.passes import known_window
from wengert.ir.passes.memory import EARLIER, memory
from wengert.ir.types import parse_type


def written_out(n):
    """Each element of a row of n made of the one before, one store after the other."""
    build = Builder("f")
    with build:
        x = build.param(parse_type(f"f64[{n}]"))
        for k in range(1, n):
            before = dynamic_slice(x, Lit(k - 1, COUNTER), sizes=(1,))
            x = dynamic_update_slice(x, add(before, before), Lit(k, COUNTER))
        ahead = dynamic_slice(x, Lit(0, COUNTER), sizes=(1,))
    return build.finish((x, ahead))


def comparisons(n, monkeypatch):
    asked = []
    offsets = known_window.KnownWindow.offsets
    with monkeypatch.context() as patch:
        patch.setattr(known_window.KnownWindow, "offsets", lambda *args: asked.append(None) or offsets(*args))
        memory(written_out(n))
    return len(asked)


def test_comparisons_grow_as_the_program(monkeypatch):
    few, many = (comparisons(n, monkeypatch) for n in (4 * EARLIER, 8 * EARLIER))
    assert many < 2.5 * few


def test_what_was_stored_just_before_is_not_read_back():
    func = memory(written_out(40))
    assert [eqn.op.name for eqn in func.eqns].count("slice") == 2  # the first element, and at the end
