"""`python -m wengert`: the job it runs, the programs it prints, and what it says when asked for what is not there."""

import ast
import inspect
import pathlib
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import wengert
from wengert import __main__ as cli
from wengert import value_and_grad
from wengert.examples import by_hand, digits, training

READ = "write a type, such as f64[3,4] or f32[], or a Python value, such as 3 or True"
MODULE = '''
import numpy as np

LIMIT = 3


def norm(x, n=1):
    """A scalar, so there is a gradient."""
    y = np.exp(x) * n
    return y.sum()


def scale(p):
    return p["a"] * np.exp(p["b"])
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "small.py"
    path.write_text(MODULE)
    return str(path)


# -- python -m wengert ir --------------------------------------------------------------------------


def test_ir_prints_the_program_and_its_gradient(module, capsys):
    assert cli.main(["ir", f"{module}:norm", "f64[3]", "1"]) == 0
    assert capsys.readouterr().out == (
        "func norm(%x: f64[3]) -> f64[] {\n"
        "  %0 = exp %x                 : f64[3]  # small.py:9\n"
        "  %1 = reduce_sum %0 axes=[0] : f64[]   # small.py:10\n"
        "  return %1\n"
        "}\n"
        "\n"
        "func grad_norm(%x: f64[3]) -> f64[3] {\n"
        "  %0 = exp %x : f64[3]  # small.py:9\n"
        "  return %0\n"
        "}\n"
    )


def test_ir_of_containers_and_literals(module, capsys):
    assert cli.main(["ir", f"{module}:scale", "{'a': f32[2, 3], 'b': 2.0}"]) == 0
    out = capsys.readouterr().out
    assert "f32[2,3]" in out and "grad" not in out


def test_ir_options(module, capsys):
    target = [f"{module}:norm", "f32[4]"]
    assert cli.main(["ir", *target, "--no-grad"]) == 0
    assert capsys.readouterr().out.count("func ") == 1
    assert cli.main(["ir", "--no-passes", *target, "--no-grad"]) == 0
    assert " mul " in capsys.readouterr().out
    assert cli.main(["ir", *target, "--wrt", "x"]) == 0
    assert "func grad_norm(%x: f32[4]) -> f32[4]" in capsys.readouterr().out
    assert cli.main(["ir", *target, "--numpy"]) == 0
    out = capsys.readouterr().out
    assert "def norm(x):" in out and "def grad_norm(x):" in out and "func " not in out


@pytest.mark.parametrize(
    "target, specs, text",
    [
        ("small.py", [], "'small.py' names no function; write MODULE:FUNCTION, such as wengert.examples.logistic:loss"),
        ("absent.py:f", [], "no file absent.py"),
        ("no_such_module:f", [], "no module named 'no_such_module'; a file is given by its path, ending in .py"),
        ("wengert.absent:f", [], "no module named 'wengert.absent'; a file is given by its path, ending in .py"),
        ("{module}:mean", [], "{module} has no function 'mean'; it has norm, scale"),
        ("{module}:LIMIT", [], "{module}:LIMIT is no function but int 3"),
        ("{module}:norm", [], "norm(x, n=1) was given 0 SPECs: missing a required argument: 'x'"),
        ("{module}:norm", ["f64[3", "2"], f"cannot read the SPEC 'f64[3'; {READ}"),
        ("{module}:norm", ["f64[-3]"], f"cannot read the SPEC 'f64[-3]'; {READ}"),
        ("{module}:norm", ["f64[a]"], "'f64[a]' is no type: sizes are whole numbers, such as f64[3,4]"),
    ],
)
def test_mistakes_are_one_line(module, capsys, target, specs, text):
    assert cli.main(["ir", target.format(module=module), *specs]) == 2
    assert capsys.readouterr() == ("", f"wengert: {text.format(module=module)}\n")


def test_a_gradient_that_does_not_exist(module, capsys):
    assert cli.main(["ir", f"{module}:scale", "{'a': f32[2], 'b': f32[]}", "--grad"]) == 2
    assert capsys.readouterr().err.startswith("wengert: grad needs a scalar loss; scale returned f32[2]\n")
    assert cli.main(["ir", f"{module}:norm", "i64[2]", "--grad"]) == 2
    assert capsys.readouterr().err == f"wengert: {module}:norm has no gradient: no SPEC is floating\n"


def test_specs():
    assert cli.argument("3") == 3 and cli.argument("-2.5") == -2.5 and cli.argument("True") is True and cli.argument("'f32[]'") == "f32[]"
    scalar, matrix = cli.argument("f32[]"), cli.argument("c128[3, 4]")
    assert type(scalar) is np.float32 and matrix.shape == (3, 4) and matrix.dtype == np.complex128
    nested = cli.argument("{'w': [f64[2], f64[]], 'n': (1, None)}")
    assert nested["w"][0].shape == (2,) and nested["n"] == (1, None)


def test_the_import_says_nothing():
    """Whatever warns is an error here: of what Python, NumPy and jax are about to take away, nothing is used. Without asserts it works as well."""
    program = "import numpy as np, wengert; print(wengert.jit(lambda x: (x * 2).sum(), engine='numpy')(np.ones(3)))"
    run = subprocess.run([sys.executable, "-O", "-W", "error", "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "6.0\n", "")


# -- the job ---------------------------------------------------------------------------------------


def test_the_job_prints_an_accuracy(tmp_path):
    """As a user runs it, elsewhere; three epochs reach 90 %, and the status says whether that is 95 %."""
    run = subprocess.run([sys.executable, "-m", "wengert", "--epochs", "3"], cwd=tmp_path, capture_output=True, text=True)
    line = next(line for line in run.stdout.splitlines() if line.startswith("Test accuracy"))
    accuracy = float(line.split()[2].rstrip("%,"))
    assert accuracy > 90 and run.returncode == (accuracy < 95)
    assert run.stderr.startswith("  [#######.......................]  epoch 1 of 3")
    for heading in ("Where the time went", "One training step", "func loss(", "func grad_loss(", "Passes: "):
        assert heading in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 100
    for program in run.stdout.split("\nfunc ")[1:]:
        assert len(program.partition("\n}")[0].splitlines()) < 20


@pytest.fixture
def tiny():
    (images, labels), _ = digits.load()
    return digits.init(np.random.default_rng(1), first=2, second=3), images[:4], labels[:4]


def test_gradients_by_hand_compiled_and_by_differences_agree(tiny, rng):
    params, images, labels = tiny
    value, slopes = value_and_grad(digits.loss)(params, images, labels)
    by_value, by_slopes = by_hand.value_and_gradient(params, images, labels)
    assert value == pytest.approx(by_value, rel=1e-13) and value == pytest.approx(digits.loss(params, images, labels), rel=1e-13)
    for name, x in params.items():
        np.testing.assert_allclose(slopes[name], by_slopes[name], rtol=0, atol=1e-12)
        d, h = rng.normal(size=x.shape), 1e-5
        difference = digits.loss({**params, name: x + h * d}, images, labels) - digits.loss({**params, name: x - h * d}, images, labels)
        assert np.sum(slopes[name] * d) == pytest.approx(difference / (2 * h), abs=1e-8)


def test_one_compiled_step_is_the_plain_step(tiny):
    params, images, labels = tiny
    velocity = {name: np.ones_like(x) for name, x in params.items()}
    ours = training.update(params, velocity, images, labels, 0.1)
    plain = training.plain_update(params, velocity, images, labels, 0.1)
    assert ours[2] == pytest.approx(plain[2], rel=1e-13)
    for name in params:
        np.testing.assert_allclose(ours[0][name], plain[0][name], rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours[1][name], plain[1][name], rtol=0, atol=1e-12)


def test_the_data_are_whole():
    train, test = digits.load()
    assert train[0].shape == (1437, 8, 8) and test[0].shape == (360, 8, 8) and train[0].max() == 1
    assert np.bincount(np.concatenate([train[1], test[1]])).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_example_is_plain_numpy():
    tree = ast.parse(inspect.getsource(digits))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} == {"numpy"}


def test_the_version_is_the_packages(capsys):
    declared = tomllib.loads((pathlib.Path(cli.__file__).parent / "pyproject.toml").read_text())["project"]["version"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"wengert {declared}\n" and wengert.__version__ == declared


@pytest.mark.parametrize("command", [[], ["ir"], ["numpy"], ["cache"]])
def test_every_command_says_what_it_is(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--help"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith(f"usage: {' '.join(['python -m wengert', *command])}")


@pytest.mark.parametrize("command, said", [("cache nowhere", "wengert: no directory nowhere"), ("foo", "no command 'foo'; there are ir")])
def test_what_is_not_there_is_exit_status_2(command, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(command.split())
    except SystemExit as ended:  # as argparse leaves
        status = ended.code
    out, err = capsys.readouterr()
    assert status == 2 and not out and said in err and not list(tmp_path.iterdir())


def test_a_reader_that_stops_reading_sees_no_traceback():
    run = subprocess.Popen([sys.executable, "-m", "wengert", "cache"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdout.close()
    assert (run.stderr.read(), run.wait()) == ("", 1)
