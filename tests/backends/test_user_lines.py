"""The user's file and line in what XLA, LLVM and Python's compiler make: metadata, debug lines, tracebacks, profiles."""

import contextlib
import cProfile
import glob
import gzip
import inspect
import json
import linecache
import os
import pstats
import re
import subprocess
import sys
import textwrap
import traceback
import warnings

import jax
import numpy as np
import pytest
from places import ROOT

from wengert import grad, jit, value_and_grad, vmap
from wengert.backends.native import build, builtin
from wengert.backends.native.debug_lines import nest_name, write_perf_entry
from wengert.backends.native.legal import forms, taken
from wengert.backends.xla.executables import collecting
from wengert.backends.xla.op_lines import op_lines
from wengert.backends.xla.places import OURS, Line
from wengert.ir.amounts import in_units
from wengert.tracer.common.frames import internal
from wengert.tracer.common.origin import is_user
from wengert.tracer.program import numpy_call
from wengert.tracer.program.clock import clocked, is_nest

FILE = __file__


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def line_of(text, file=FILE):
    """The number of the first line that has a comment `# here: text`."""
    with open(file) as source:
        return next(n for n, line in enumerate(source, 1) if line.rstrip().endswith(f"# here: {text}"))


def versions(f):
    return [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]


def compiled_text(f, *args):
    """The optimised program of a compiled function, as XLA writes it."""
    return jax.jit(f).lower(*args).compile().as_text()


# -- XLA -------------------------------------------------------------------------------------------


class Dense:
    """A layer."""

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(x @ self.w)  # here: layer


def helper(x):
    return np.exp(-x) / 3.0  # here: helper


@jit
def inner(x):
    return np.arctan(x) * 7.0  # here: inner


LAYER = Dense(np.linspace(0.0, 1.0, 16).reshape(4, 4))


def straight(x):
    return np.sqrt(LAYER(helper(x)) + 2.0)  # here: straight


def loop(x):
    for _ in range(1000):
        x = x + np.tanh(x) * 0.25  # here: loop
    while x.sum() > 3.0:  # here: test
        x = x * 0.5  # here: while
    return x


def branch(x):
    if x.sum() > 0.0:  # here: asked
        y = np.cos(x)  # here: then
    else:
        y = np.log1p(x * x)  # here: else
    return y


def nested(x):
    return inner(x) - 1.5  # here: nested


def mapped(x):
    return vmap(lambda row: np.floor(row * 3.0) / row.sum())(x)  # here: mapped


def slopes(x):
    return grad(lambda y: (np.sin(y) ** 2).sum())(x)  # here: slopes


def everything(x):
    def loss(x):
        return (branch(nested(straight(x))) + loop(x)).sum() + mapped(x)[0, 0]

    return value_and_grad(loss)(x)


X = np.linspace(0.1, 1.0, 12).reshape(3, 4)
PROGRAMS = {
    straight: ["layer", "helper", "straight"],
    loop: ["loop", "test"],
    branch: ["asked", "then", "else"],
    nested: ["inner", "nested"],
    mapped: ["mapped"],
    slopes: ["slopes"],
    everything: ["layer", "helper", "straight", "loop", "then", "else", "inner"],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_every_instruction_that_names_a_file_names_the_users(program):
    text = compiled_text(jit(program, engine="xla"), X)
    files = re.findall(r'^\d+ "(.*)"$', text.partition("FunctionNames")[0], re.M) + re.findall(r'source_file="([^"]*)"', text)
    assert files and not [file for file in files if file.startswith(OURS)]
    found = {(file, line) for file, line, _ in op_lines(text).values()}
    assert {file for file, _ in found} == {FILE}
    inside = {"then", "else"} if "StackFrames" not in text else set()  # to older versions, a branch is all at one line
    assert {line for _, line in found} >= {line_of(name) for name in PROGRAMS[program] if name not in inside}


def test_operations_have_the_line_that_computes_them():
    text = compiled_text(jit(straight, engine="xla"), X)
    lines = op_lines(text)
    for operation, name in (("exponential", "helper"), ("tanh", "layer"), ("sqrt", "straight")):
        here = re.findall(rf"%?([\w.\-]+) = \S+ {operation}\(", text)
        assert here and {lines[instruction][1] for instruction in here} == {line_of(name)}


def product(x):
    y = x @ x[0]
    for _ in range(3):
        y = y * 0.5 + x @ (x.T @ y)
    return np.tanh(y)


def test_products_of_vectors_have_their_line_though_xla_lays_them_out_anew():
    text = jit(product, engine="xla", native=False).text("hlo", X)
    lines, first = op_lines(text), product.__code__.co_firstlineno
    dots = re.findall(r"%?([\w.\-]+) = \S+ dot\(", text)
    assert len(dots) >= 2 and {lines[name][1] for name in dots} == {first + 1, first + 3}


def test_scopes_name_functions_and_derivatives():
    scopes = {scope for _, _, scope in op_lines(compiled_text(jit(everything, engine="xla", native=False), X)).values()}
    outer, file = "everything/everything.<locals>.loss", os.path.basename(FILE)
    assert {f"{outer}/straight/helper", f"{outer}/straight/Dense.__call__", f"{outer}/nested/inner", f"{outer}/loop/while/body"} <= scopes
    assert f"{outer}/straight/helper/vjp of {file}:{line_of('helper')}" in scopes
    assert any(re.fullmatch(rf"{outer}/loop/vjp of {file}:\d+/while/body/vjp of {file}:{line_of('while')}", scope) for scope in scopes)
    assert not any(scope.count(outer) > 1 for scope in scopes)


def test_what_stands_in_other_lines_is_the_same_executable():
    """Neither jax's cache nor ours compiles a program again because it has moved."""
    kept = []
    for shift in (0, 5):
        space, files = {}, {}
        exec(compile("\n" * shift + "import numpy as np\ndef moved(x):\n    return np.sinh(x) * 1.375\n", f"<moved {shift}>", "exec"), space)
        with collecting(files, True):
            jit(space["moved"], engine="xla")(X)
        kept.append(set(files))
    assert kept[0] == kept[1] and kept[0]


OLDER = """
HloModule jit_f
ENTRY %main.5 (x.1: f64[3]) -> f64[3] {
  %x.1 = f64[3]{0} parameter(0), metadata={op_name="x"}
  %sine.2 = f64[3]{0} sine(%x.1), metadata={op_name="jit(f)/jit(main)/helper/sin" source_file="/a \\"b\\"/c.py" source_line=7}
  ROOT %copy.3 = f64[3]{0} copy(%sine.2)
}
"""


def test_places_are_read_as_older_versions_write_them():
    assert op_lines(OLDER) == {"sine.2": ('/a "b"/c.py', 7, "helper")}


TABLES = """HloModule jit_f, is_scheduled=true

FileNames
1 "/a/b.py"
2 "/a/call.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=4 end_column=9}
2 {file_name_id=2 function_name_id=1 line=9 end_line=9 column=4 end_column=9}
3 {file_name_id=1 function_name_id=1 line=5 end_line=5 column=4 end_column=9}

StackFrames
1 {file_location_id=2 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=1}

%fused_computation (p: f64[3]) -> f64[3] {
  %p = f64[3]{0} parameter(0)
  %s.1 = f64[3]{0} sine(%p), metadata={op_name="jit(f)/f/sin" stack_frame_id=2}
  %v.1 = f64[3]{0} sine(%p), metadata={op_name="jit(f)/f/vjp of b.py:5/cos" stack_frame_id=3}
  ROOT %m.1 = f64[3]{0} add(%s.1, %v.1), metadata={op_name="jit(f)/f/sin;g/mul" stack_frame_id=1}
}

ENTRY %main.5 (x.1: f64[3]) -> f64[3] {
  %x.1 = f64[3]{0} parameter(0), metadata={op_name="x"}
  %m.2 = f64[3]{0} negate(%x.1), metadata={op_name="jit(f)/f/vjp of b.py:5/neg;g/mul" stack_frame_id=1}
  %m.3 = f64[3]{0} negate(%x.1), metadata={op_name="jit(f)/f/neg;g/mul" stack_frame_id=1}
  ROOT %wrapped = f64[3]{0} fusion(%m.2), kind=kLoop, calls=%fused_computation
}
"""


def test_an_instruction_made_of_two_has_the_place_of_the_first():
    derived = ("/a/b.py", 5, "f/vjp of b.py:5")
    assert op_lines(TABLES) == {
        "s.1": ("/a/b.py", 3, "f"), "v.1": derived, "m.1": ("/a/b.py", 3, "f"), "m.2": derived, "m.3": ("/a/call.py", 9, "f"),
        "wrapped": ("/a/b.py", 3, "f"),
    }  # fmt: skip


def test_a_profilers_trace_leads_to_lines(tmp_path):
    run = jax.jit(jit(loop, engine="xla")).lower(X).compile()
    run(X)
    with jax.profiler.trace(str(tmp_path), create_perfetto_trace=True):
        jax.block_until_ready(run(X))
    (file,) = glob.glob(str(tmp_path / "**" / "perfetto_trace.json.gz"), recursive=True)
    with gzip.open(file) as trace:
        ran = {event["args"]["hlo_op"] for event in json.load(trace)["traceEvents"] if "hlo_op" in event.get("args", ())}
    lines = op_lines(run.as_text())
    assert {lines[op][1] for op in ran if op in lines} >= {line_of("loop")}


def test_errors_of_lowering_name_the_line():
    def refuses(x):
        raise NotImplementedError("no such operation")

    with pytest.raises(NotImplementedError) as raised, Line((FILE, "helper", line_of("helper"), "")) as each:
        each(refuses, [1])
    assert raised.value.__notes__ == [f"While this was made ready for XLA: {FILE}:{line_of('helper')}, return np.exp(-x) / 3.0  # here: helper"]


def huge(x):
    a = np.arange(10**7) * x
    return np.sin(np.add.outer(a, a))  # here: huge


def test_too_little_memory_names_the_largest_values():
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED|Out of memory") as raised:
        jit(huge, engine="xla")(2.0)
    note = "\n".join(raised.value.__notes__)
    assert "The largest values that huge computes, by line:" in note and f"800 TB at {os.path.basename(FILE)}:{line_of('huge')}: " in note
    assert [in_units(n, "B") for n in (0, 999, 1000, 12_345_678, 10**21)] == ["0 B", "999 B", "1 kB", "12.3 MB", "1e+03 EB"]


# -- machine code ----------------------------------------------------------------------------------


def smooth(u, i, j):
    return 0.25 * (u[i - 1, j] + u[i + 1, j]  # here: first
                   + u[i, j - 1] + u[i, j + 1])  # here: second


def relax(u):
    for i in range(1, u.shape[0] - 1):  # here: nest
        for j in range(1, u.shape[1] - 1):
            u[i, j] = smooth(u, i, j)  # here: store
    return u


GRID = np.ones((20, 20))


def nest_of(f, *args):
    """The nest of the loop that a function is."""
    ((eqn, _), *_) = forms(jit(f).ir(*args), 0)
    found, why = taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs, 0)
    if found is None:
        pytest.skip(f"no machine code here: {why}")
    return found


def line_table(nest):
    """{(file, line)} of the instructions of a nest, read off the directives of its assembly."""
    llvm, target = build.machine()
    module = llvm.parse_assembly(nest.text(lines=True))
    module.verify()
    text = target.emit_assembly(module)
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', text, re.M))
    return {(files[n], int(line)) for n, line in re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", text, re.M)}


def test_machine_code_has_lines():
    nest = nest_of(relax, GRID)
    told = {int(line) for line in re.findall(r"!DILocation\(line: (\d+)", nest.text(lines=True))}
    assert told >= {line_of(name) for name in ("nest", "first", "second", "store")}
    found = line_table(nest)
    assert found >= {(os.path.basename(FILE), line_of(name)) for name in ("first", "store")}
    assert {file for file, _ in found} == {os.path.basename(FILE)}
    assert nest_name(nest.place) == f"nest relax {os.path.basename(FILE)}:{line_of('nest')}"


def test_derivatives_are_functions_of_their_own():
    nest_of(relax, GRID)
    slope = grad(lambda u: (relax(u.copy()) ** 2).sum())
    nests = [taken(e.op, [x.type for x in e.operands], e.attrs, 0)[0] for e, _ in forms(jit(slope).ir(GRID), 0)]
    names = {name for nest in nests for name in re.findall(r'!DISubprogram\(name: "([^"]*)"', nest.text(lines=True))}
    assert "smooth" in names and "smooth vjp" in names
    assert [nest_name(nest.place) for nest in nests][-1].endswith(" vjp")
    for nest in nests:
        line_table(nest)


def test_without_being_asked_lines_change_nothing(monkeypatch):
    monkeypatch.delenv("WENGERT_PERF", raising=False)
    texts = {}
    for shift in (0, 3):
        file, space = f"<moved nest {shift}>", {}
        source = "\n" * shift + textwrap.dedent(inspect.getsource(smooth)) + textwrap.dedent(inspect.getsource(relax))
        lines = source.splitlines(True)
        linecache.cache[file] = len(source), None, lines, file
        exec(compile(source, file, "exec"), space)
        nest = nest_of(space["relax"], GRID)
        texts[shift] = nest.text(), nest.text(lines=True)
    assert texts[0][0] == texts[3][0] and "!dbg" not in texts[0][0]
    assert texts[0][1] != texts[3][1] and build.object_name(texts[0][1]) != build.object_name(texts[0][0])


def test_the_setting_is_heard(monkeypatch):
    nest = nest_of(relax, GRID)
    monkeypatch.setenv("WENGERT_PERF", "1")
    assert nest.text() == nest.text(lines=True)
    monkeypatch.setenv("WENGERT_PERF", "0")
    assert nest.text() == nest.text(lines=False)


PERF = """
import os, sys
import numpy as np
sys.path.insert(0, {folder!r})
from test_user_lines import relax, GRID
from wengert import jit
assert np.array_equal(jit(relax)(GRID), GRID)
print(os.getpid())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux's")
def test_perf_is_given_a_map():
    nest_of(relax, GRID)
    program, environment = PERF.format(folder=os.path.dirname(FILE)), os.environ | {"WENGERT_PERF": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    path = f"/tmp/perf-{int(run.stdout)}.map"
    with open(path) as file:
        entries = [re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) (.*)", line.rstrip()).groups() for line in file]
    os.remove(path)
    name = f"nest relax {os.path.basename(FILE)}:{line_of('nest')}"
    assert {name, f"{name} from Python", f"{name} from XLA"} <= {entry[2] for entry in entries}
    ranges = sorted((int(start, 16), int(start, 16) + int(size, 16)) for start, size, _ in entries)
    assert all(end <= start for (_, end), (start, _) in zip(ranges, ranges[1:]))


# -- generated NumPy -------------------------------------------------------------------------------


def numpys(a, b):
    x = a @ b  # here: product
    y = (helper(x) * 2.0
         + np.log(x))  # here: logarithm
    return np.tanh(y)  # here: last


A, B = np.eye(3), np.ones(3)


@pytest.fixture
def call():
    """The function of generated NumPy that `numpys` is."""
    g = jit(numpys, engine="numpy")
    np.testing.assert_allclose(g(A, B), numpys(A, B), rtol=1e-12)
    (version,) = versions(g)
    return version.straight.call


def test_warnings_of_numpy_are_at_the_users_line(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(A, 0.0 * B)
    assert {(w.filename, w.lineno) for w in caught} == {(FILE, line_of("logarithm"))}


def test_tracebacks_show_the_line_and_the_expression(call):
    with np.errstate(over="raise"), pytest.raises(FloatingPointError) as raised:
        call(A, -1000.0 * B)
    told = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (told.filename, told.lineno, told.name) == (FILE, line_of("helper"), "numpys (compiled)")
    assert told.line[told.colno - 4 : told.end_colno - 4] == "np.exp(-x)"


def test_profilers_show_the_users_file(call):
    profile = cProfile.Profile()
    profile.runcall(call, A, B)
    assert any(file == FILE and name == "numpys (compiled)" for file, _, name in pstats.Stats(profile).stats)


def test_the_tracer_takes_generated_code_for_its_own(call, monkeypatch):
    assert call.__code__.co_filename == FILE and internal(call.__code__) and not internal(numpys.__code__)
    monkeypatch.setattr("wengert.tracer.common.origin._users", {})
    assert not is_user(call.__code__) and is_user(numpys.__code__)  # whichever of a file is asked for first


ELSEWHERE = "import numpy as np\n\n\ndef far(x):\n    return np.log(x)\n"


def test_what_comes_from_another_file_has_the_statement_before_it(tmp_path):
    (tmp_path / "elsewhere.py").write_text(ELSEWHERE)
    space = {}
    exec(compile(ELSEWHERE, str(tmp_path / "elsewhere.py"), "exec"), space)
    far = space["far"]

    def near(a, b):
        x = a @ b
        y = far(np.sin(x) * 2.0)  # here: near
        return y + np.cos(x)

    g = jit(near, engine="numpy")
    g(A, B)
    (version,) = versions(g)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        version.straight.call(A, 0.0 * B)
    assert {(w.filename, w.lineno) for w in caught} == {(FILE, line_of("near"))}


def test_machine_code_that_has_a_name_is_known_as_such():
    """What it takes is told apart from the rest of a call, and where little is left XLA is not asked."""
    g = jit(relax, engine="numpy")
    u = np.ones((60, 60))
    nest = nest_of(relax, u)
    g(u)
    (version,) = versions(g)
    assert is_nest(builtin(nest)) and builtin(nest).__name__ != "nest"
    total, inside, _ = clocked(numpy_call.raw(version, [np.ndarray]), [u])
    assert 0.0 < inside <= total


def test_an_entry_of_the_map_is_written_where_python_has_no_way_to(monkeypatch):
    monkeypatch.setattr("wengert.backends.native.debug_lines.ctypes.pythonapi", object())
    path = f"/tmp/perf-{os.getpid()}.map"
    before = os.path.getsize(path) if os.path.exists(path) else 0
    write_perf_entry(0x1000, 0x20, "nest f a.py:1")
    with open(path) as file:
        file.seek(before)
        assert file.read() == "1000 20 nest f a.py:1\n"
    if not before:
        with contextlib.suppress(OSError):
            os.remove(path)


def test_what_is_excluded_is_ours_alone():
    excluded = lambda path: str(path).startswith(OURS)
    package = inspect.getfile(jit).partition("tracer")[0]
    assert excluded(f"{package}backends/xla/lower.py") and excluded(f"{package}tracer/api/jit.py") and excluded("<wengert call>")
    assert not any(map(excluded, (f"{package}examples/digits.py", f"{package}tests/backends/x.py", FILE, "<string>", ROOT / "README.md")))


# -- places of other programs, and odd ones ----------------------------------------------------------


def function_in(file, text):
    """`f` of a text that stands in a file of that name."""
    space = {"np": np}
    exec(compile(text, file, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("text", ("np.cumprod(x)", "np.linalg.solve(np.outer(x, x) + 3 * np.eye(len(x)), x)"))
def test_no_instruction_has_the_line_of_another_program(text):
    """jax traces some functions of its own once for all who call them, and keeps the lines of the first."""
    x = np.linspace(0.5, 1.5, 11)
    for line, file in enumerate(("first to call.py", "second to call.py"), 2):
        blank = "\n" * (line - 2)
        run = jit(function_in(file, f"{blank}def f(x):\n    return {text}"), engine="xla")
        run(x)
        (trace,) = run.plan(x, measure=True).json()["traces"]
        places = {(p["file"], p["line"]) for s in trace["steps"] for p in s["lines"]}
        assert places == {(file, line)}
        assert {(p["file"], p["line"]) for p in trace["lines"]} == {(file, line)}


def test_a_view_that_is_returned_is_of_the_users_line():
    def viewed(x):
        y = np.fft.fft(x)
        return y.T.imag

    sources = [(e.op.name, e.source.line - viewed.__code__.co_firstlineno) for e in jit(viewed).ir(np.ones(4)).eqns]
    assert sources[-1] == ("imag", 2) and {line for _, line in sources} == {1, 2}


@pytest.mark.parametrize("engine", ("xla", "numpy"))
def test_names_of_files_that_are_no_utf8(engine, monkeypatch):
    monkeypatch.setenv("WENGERT_PERF", "1")
    text = "def f(x):\n    for _ in range(3):\n        x = np.sin(x) * x\n    return x.sum()"
    f, x = function_in(f"caf\udce9 {engine}.py", text), np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(jit(f, engine=engine)(x), f(x), rtol=1e-12)
    assert grad(f)(x).shape == (5,)
    assert str(jit(f, engine=engine).plan(x)).count(" program")
