"""Files that are cut, altered, foreign or malicious are refused in clear words; whole ones run in processes of their own."""

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
from jax import export
from places import ROOT

from wengert import ExportError, Fallback, UnsupportedError, grad, jit, load
from wengert.__main__ import main
from wengert.backends.xla import exporting
from wengert.tracer.export import container


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file: its path."""
    path = tmp_path_factory.mktemp("export") / "program.wgt"

    def f(x, p):
        if x[0] < 0:
            raise ValueError("negative")
        x[1] = p["y"]
        return x.sum(), (x[1:], p["y"] * 2)

    jit(f).export(np.ones(3), {"y": 2.0}, path=path, platforms=("cpu",))
    return path


@pytest.fixture
def refused(tmp_path):
    """Loads bytes, which must be refused: the message."""

    def loading(data):
        path = tmp_path / "other.wgt"
        path.write_bytes(data)
        with pytest.raises(ExportError) as caught:
            load(path)
        return str(caught.value)

    return loading


def parts(data):
    """(header, sections)"""
    return container.opened(data, "the file")


def changed(data, change):
    """The file with another header, and a digest that is right."""
    head, sections = parts(data)
    change(head)
    head.pop("sections")
    return container.packed_file(head, sections)


def test_a_cut_file_is_refused_wherever_it_is_cut(whole, refused):
    data = whole.read_bytes()
    head, _ = parts(data)
    ends = [len(data)]
    for _, size in reversed(head["sections"]):
        ends.append(ends[-1] - size)
    places = {1, 7, 8, 11, 12, 43, 44, 51, 52, *(e + d for e in ends for d in (-1, 0, 1)), *range(100, len(data), 997)}
    for n in sorted(p for p in places if p < len(data)):
        assert "cut off" in refused(data[:n]) or n < 8
    assert "is empty" in refused(b"") and "cut off" in refused(data + b"\0") and "cut off" in refused(data[:1])


def test_a_file_with_any_byte_flipped_is_refused(whole, refused):
    data = whole.read_bytes()
    places = {*range(60), *range(60, len(data), 211), len(data) - 1}
    for n in sorted(places):
        words = refused(data[:n] + bytes([data[n] ^ 0x10]) + data[n + 1 :])
        assert ("no file that f.export wrote" if n < 8 else "of version" if n < 12 else "damaged") in words


def test_other_files_are_refused(whole, refused, tmp_path):
    assert "it begins with b'PK" in refused(b"PK\x03\x04" + bytes(100))
    assert "of version 2 of the format, and this Wengert reads version 1" in refused(whole.read_bytes().replace(b"\x1a\n\x01", b"\x1a\n\x02", 1))
    for path, words in ((tmp_path, "cannot be read|regular file"), (tmp_path / "none", "No such file"), (os.devnull, "regular file")):
        with pytest.raises(ExportError, match=words):
            load(path)


def signed(rest):
    return container.COMMON.pack(container.MAGIC, container.VERSION) + hashlib.sha256(rest).digest() + rest


@pytest.mark.parametrize("header", [
    b"", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"sections": [["stablehlo", 18446744073709551615]]}',
    b'{"sections": [["stablehlo", -1]]}', b'{"sections": 3}', b'{"sections": []}', b'{"sections": [["ir", 0], ["stablehlo", 0]]}',
])  # fmt: skip
def test_headers_that_tell_nothing_are_refused(refused, header):
    assert "malformed" in refused(signed(len(header).to_bytes(8, "little") + header))


def test_a_huge_length_takes_no_memory(refused):
    assert "malformed: a header of 9223372036854775807 bytes in a file of" in refused(signed((2**63 - 1).to_bytes(8, "little") + b"{}"))


@pytest.mark.parametrize("name, value", [
    ("arguments", ["leaf"]), ("arguments", ["tuple", [["leaf", 0]]]), ("leaves", [["x", "array", "float64", [4]]]), ("leaves", 3),
    ("results", ["exec", "import os"]), ("results", ["dict", 0, "Popen", []]), ("results", ["named", "P", ["a b"], [["leaf", 0]]]),
    ("results", ["fixed", ["scalar", "frombuffer", "00"]]), ("outs", [["value", "array", 0, [["__class__"]]]]), ("shown", [99]),
    ("checks", [["SystemExit", "x", False, None]]), ("checks", [["Popen", "x", False, None]]), ("given", []), ("name", 3),
    ("writes", [7]), ("parameters", [["x", 99, False]]), ("platforms", None),
])  # fmt: skip
def test_headers_that_tell_something_else_are_refused(whole, refused, name, value):
    words = refused(changed(whole.read_bytes(), lambda head: head.update({name: value})))
    assert re.search("is malformed|does not call it", words)


def test_a_program_that_calls_what_is_not_of_jax_is_refused(whole, refused):
    head, sections = parts(whole.read_bytes())
    head.pop("sections")
    others = [np.ones(3, np.float32)], [np.ones(4)], [np.ones(3), 1.0, 2.0], []
    modules = [parts(jit(lambda *x: x).export(*args, platforms=("cpu",)).data)[1]["stablehlo"] for args in others]
    for bad in (b"", b"\0" * 100, sections["stablehlo"][:-100], b"module {}", *modules):
        words = refused(container.packed_file(head, {**sections, "stablehlo": bad}))
        assert re.search("jax .* does not (read|call) it", words)
    text = 'stablehlo.custom_call @wengert_nest_1(%0) "stablehlo.custom_call"(%0) <{call_target_name = "xla_ffi_python_cpu_callback"}>'
    assert exporting.call_targets(text) == ["wengert_nest_1", "xla_ffi_python_cpu_callback"]
    assert exporting.call_targets('"stablehlo.custom_call"(%0) <{target = 3}>') == ["?"]
    for name in ("wengert_nest_1", "xla_ffi_python_cpu_callback", "xla_python_cpu_callback", "?", "__gpu$xla.gpu.triton", "mosaic_gpu_v2"):
        assert not exporting.LIBRARY.match(name)
    for name in ("lapack_dgetrf_ffi", "cusolver_getrf_ffi", "cu_lu_pivots_to_permutation", "mhlo.topk", "Sharding"):
        assert exporting.LIBRARY.match(name)


@pytest.mark.parametrize("name", ["xla_ffi_python_cpu_callback", "wengert_nest_0123", 'odd "name"'])
def test_a_foreign_function_in_a_program_is_found(whole, refused, name):
    """One that jax.export was told to take: in a loop, where it is in a function of its own."""
    kind = jax.ShapeDtypeStruct((3,), np.float64)
    body = lambda i, x: jax.ffi.ffi_call(name, kind)(x)
    unsafe = [export.DisabledSafetyCheck.custom_call(name)]
    with jax.enable_x64(True):
        found = export.export(jax.jit(lambda x: jax.lax.fori_loop(0, 3, body, x)), platforms=("cpu",), disabled_checks=unsafe)(kind)
    head, sections = parts(whole.read_bytes())
    head.pop("sections")
    words = refused(container.packed_file(head, {**sections, "stablehlo": found.mlir_module_serialized}))
    assert "it calls " in words and "which is no operation of JAX's" in words


def test_files_are_written_whole_or_not_at_all(tmp_path):
    made = jit(lambda x: x + 1).export(np.ones(2), platforms=("cpu",))
    with pytest.raises(FileNotFoundError):
        made.save(tmp_path / "none" / "f.wgt")
    with pytest.raises(IsADirectoryError):
        made.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
    made.save(tmp_path / "f.wgt")
    assert (tmp_path / "f.wgt").read_bytes() == made.data and made.path == str(tmp_path / "f.wgt")


# -- in other processes ----------------------------------------------------------------------------


def run(code, cwd, **more):
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **more}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300, env=env, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


HOME = os.pathsep.join(p for p in sys.path if p)


def test_a_process_without_the_module_of_the_function(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.py").write_text(
        "import numpy as np\nfrom wengert import grad, jit\nW = np.array([1.0, 2.0])\n"
        "class Model:\n    def __init__(self, bias):\n        self.bias = bias\n"
        "    def loss(self, x):\n        return np.tanh(x @ W + self.bias).sum()\n"
    )
    made = run(
        """
        import numpy as np, model
        m = model.Model(0.5)
        f = model.grad(lambda x: m.loss(x))
        print(f.export(np.ones((3, 2)), path="slope.wgt"))
        print(f(np.ones((3, 2))).tolist())
        """,
        tmp_path,
        PYTHONPATH=os.pathsep.join([str(tmp_path / "mine"), HOME]),
    ).splitlines()
    assert any("W = float64[2]" in line for line in made) and any("bias = 0.5" in line for line in made)
    loaded = run(
        """
        import sys, numpy as np, wengert
        print(wengert.load("slope.wgt")(np.ones((3, 2))).tolist())
        assert "model" not in sys.modules
        """,
        tmp_path,
        PYTHONPATH=HOME,
    )
    # machine code of ours and XLA have a tanh each
    assert np.allclose(json.loads(made[-1]), json.loads(loaded), rtol=1e-12, atol=0)


def test_jax_alone_runs_it_as_the_page_shows(tmp_path):
    page = (ROOT / "docs" / "export.md").read_text()
    written = "\n".join(line[4:] for line in re.search(r"```python\n(>>>.*?)\n```", page, re.S)[1].splitlines() if re.match(r"(>>>|\.\.\.) ", line))
    alone = re.search(r"<!-- alone -->\n```python\n(.*?)```", page, re.S)[1]
    assert 10 <= sum(bool(line.strip()) for line in alone.splitlines()) <= 24
    exported = re.split(r"\nf = wengert.load", written)[0]
    (tmp_path / "made.py").write_text(exported + "\nprint(predict(w, X)['p'])\n")
    wanted = run("import runpy; runpy.run_path('made.py')", tmp_path, PYTHONPATH=HOME).splitlines()[-1]
    blocked = "import sys\nsys.modules['wengert'] = None\n"
    said = run(blocked + alone, tmp_path, PYTHONPATH="").splitlines()
    assert said == ["['w', 'X']", wanted]


def test_the_command_describes_files(whole, capsys, tmp_path):
    assert main(["describe", str(whole), str(whole)]) == 0
    said = capsys.readouterr().out
    assert said == f"{load(whole).describe()}\n\n{load(whole).describe()}\n" and "  changes      x" in said
    assert main(["describe", str(tmp_path / "none")]) == 2 and "No such file" in capsys.readouterr().err


def test_a_loaded_function_in_a_compiled_one_is_left_to_python(tmp_path):
    x = np.arange(3.0)
    jit(np.sin).export(x, path=tmp_path / "f.wgt")
    f = load(tmp_path / "f.wgt")
    with pytest.warns(Fallback, match="was loaded from a file"):
        np.testing.assert_array_equal(jit(lambda x: f(x) + 1, whole=False)(x), np.sin(x) + 1)
    with pytest.raises(UnsupportedError, match="was loaded from a file.*\n(.*\n)*.*export grad"):
        grad(lambda x: f(x).sum())(x)


def test_a_folder_that_is_not_there_is_told_by_the_name_given(tmp_path):
    path = tmp_path / "none" / "f.wgt"
    with pytest.raises(FileNotFoundError) as caught:
        jit(np.sin).export(np.ones(2), path=path)
    assert caught.value.filename == str(path)
