"""`python -m wengert`: train a network written in plain NumPy, and show what the compiler made of it.

    python -m wengert [--epochs N] [--seed N] [--quiet]
    python -m wengert ir MODULE:FUNCTION SPEC...
    python -m wengert view MODULE:FUNCTION SPEC... [-o PAGE]
    python -m wengert numpy
    python -m wengert cache [DIRECTORY] [--clear]
    python -m wengert profile [-o TRACE.json] SCRIPT.py [ARGUMENT...]
    python -m wengert launch [-n N] SCRIPT.py [ARGUMENT...]
    python -m wengert describe FILE...
    python -m wengert --version

Each has --help. Exit status: 0, done; 1, the job trained a network that is worse than it must be, or the program ended
in an exception, or nobody read on; 2, what was asked for is not there or cannot be, and one message on stderr says why.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from . import DerivativeError, WengertError, __version__, grad, jit, load, source
from .examples import training
from .ir import syntax
from .ir.parameters import declared
from .ir.types import DTYPES, IRTypeError, parse_type
from .tracer.api.viewing import view_page
from .tracer.cache import keep, store
from .tracer.catalogue import page
from .tracer.common import pytree
from .tracer.interop import launch
from .tracer.profile import command

AFTER = """See also, each with --help: python -m wengert ir, view, numpy, cache, profile, launch, describe. Exit status:
0, done; 1, the network is worse than it must be; 2, what was asked for is not there or cannot be."""
# f32[], which Python cannot read, outside strings
EMPTY = re.compile(rf"""'[^']*'|"[^"]*"|\b({"|".join(DTYPES)})\[\s*\]""")


class Mistake(Exception):
    """What was asked for on the command line is not there; the text is one line."""


def show(target: str, specs: Sequence[str], gradient: bool | None, wrt: str | None, passes: bool, numpy: bool) -> None:
    """Print the program of a function for arguments like `specs`, and of its gradient where it has one."""

    def text(f: Any) -> Any:
        return source(f, *args) if numpy else f.ir(*args, passes=passes)

    function, args = resolve(target), [argument(s) for s in specs]
    check_arguments(function, args)
    print(text(jit(function)))
    smooth = [i for i, x in enumerate(args) if floating(x)]
    if gradient and not smooth:
        raise Mistake(f"{target} has no gradient: no SPEC is floating")
    if gradient is not False and smooth:
        try:
            print(f"\n{text(grad(function, argnums=smooth[0] if wrt is None else wrt))}")
        except DerivativeError:
            if gradient or wrt:
                raise


def write_page(target: str, specs: Sequence[str], gradient: bool | None, wrt: str | None, path: str | None) -> str:
    """Write the page of a function for arguments like `specs`, with its gradient where it has one; its path."""
    function, args = resolve(target), [argument(s) for s in specs]
    check_arguments(function, args)
    shown: list[Any] = [jit(function)]
    smooth = [i for i, x in enumerate(args) if floating(x)]
    if gradient and not smooth:
        raise Mistake(f"{target} has no gradient: no SPEC is floating")
    if gradient is not False and smooth:
        slope: Any = grad(function, argnums=smooth[0] if wrt is None else wrt)
        try:
            slope.ir(*args)
            shown.append(slope)
        except DerivativeError:
            if gradient or wrt:
                raise
    return view_page([f.callee for f in shown], [(tuple(args), {})] * len(shown), path).path


def floating(tree: Any) -> bool:
    """Whether there are arrays in `tree`, all of them floating or complex."""
    kinds = {np.asarray(x).dtype.kind for x in pytree.leaves(tree)}
    return bool(kinds) and kinds <= {"f", "c"}


def check_arguments(function: Callable[..., Any], args: Sequence[Any]) -> None:
    try:
        signature = declared(function)
    except ValueError:  # written in C, and silent about its parameters
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise Mistake(f"{function.__name__}{signature} was given {len(args)} SPECs: {error}") from None


def resolve(target: str) -> Callable[..., Any]:
    """The function behind `MODULE:FUNCTION`; MODULE is a dotted name or the path of a .py file."""
    module, _, name = target.rpartition(":")
    if not module or not name:
        raise Mistake(f"{target!r} names no function; write MODULE:FUNCTION, such as wengert.examples.logistic:loss")
    found: Any = from_file(module) if module.endswith(".py") else from_name(module)
    for part in name.split("."):
        if not hasattr(found, part):
            functions = [n for n, f in inspect.getmembers(found, inspect.isfunction) if f.__module__ == found.__name__]
            raise Mistake(
                f"{module} has no function {name!r}" + (f"; it has {', '.join(functions)}" if functions else "")
            )
        found = getattr(found, part)
    if not callable(found):
        raise Mistake(f"{target} is no function but {type(found).__name__} {found!r:.40}")
    return found


def from_name(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise Mistake(f"no module named {error.name!r}; a file is given by its path, ending in .py") from None


def from_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise Mistake(f"no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))  # as if it were run as a script
    spec: Any = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    found = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def argument(spec: str) -> Any:
    """A SPEC: a type such as `f64[3,4]` is an array of it, anything else a Python literal; containers may hold both."""
    try:
        text = EMPTY.sub(lambda m: f"{m[1]}[()]" if m[1] else m[0], spec)
        return _parsed_argument(syntax.parse(text, mode="eval").body)
    except IRTypeError as error:
        raise Mistake(str(error)) from None
    except (ValueError, SyntaxError, MemoryError):
        raise Mistake(
            f"cannot read the SPEC {spec!r}; write a type, such as f64[3,4] or f32[], or a Python value, such as 3 or "
            "True"
        ) from None


def _parsed_argument(node: Any) -> Any:
    match node:
        case ast.Subscript(value=ast.Name(id=dtype), slice=sizes):
            type = parse_type(f"{dtype}[{ast.unparse(sizes).strip('()')}]")
            return np.zeros(type.shape, type.dtype) if type.shape else type.dtype.type(0)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_parsed_argument(k): _parsed_argument(v) for k, v in zip(keys, values)}
        case ast.Tuple(elts=elements):
            return tuple(map(_parsed_argument, elements))
        case ast.List(elts=elements):
            return list(map(_parsed_argument, elements))
    return ast.literal_eval(node)


# -- the command line ------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """-> exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        status = COMMANDS[argv[0]](argv[1:]) if argv and argv[0] in COMMANDS else main_job(argv)
        sys.stdout.flush()
    except (Mistake, WengertError, IRTypeError) as error:
        print(f"wengert: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # such as `| head`; what is left in the buffer goes nowhere when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def main_numpy(argv: Sequence[str]) -> int:
    argparse.ArgumentParser(
        "python -m wengert numpy", description="Print what there is of NumPy: docs/numpy.md."
    ).parse_args(argv)
    print(page.page_text(), end="")
    return 0


def main_cache(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "python -m wengert cache", description="List the programs kept on disk, the one used last first."
    )
    parser.add_argument(
        "directory", metavar="DIRECTORY", nargs="?", help=f"default: what {keep.VARIABLE} names, or {keep.default()}"
    )
    parser.add_argument("--clear", action="store_true", help="remove them")
    given = parser.parse_args(argv)
    if given.directory and not os.path.isdir(given.directory):
        raise Mistake(f"no directory {given.directory}")
    files = store.Store(given.directory or keep.environment_directory() or keep.default())
    if given.clear:
        print(f"{files.directory}: {files.clear()} program(s) removed")
        return 0
    found = files.all()
    print(f"{files.directory}: {len(found)} program(s), {sum(s.st_size for _, s in found) / 1e6:.1f} MB")
    sizes = dict(found)
    for path in store.newest(found):
        data = store.unpacked(store.read(path) or b"")
        what = (
            data[1][keep.TEXT].decode().partition("\n")[0].removeprefix("func ").removesuffix(" {")
            if data
            else "cannot be read"
        )
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(sizes[path].st_mtime))
        print(f"  {used}  {sizes[path].st_size / 1e3:8.1f} kB  {what:.100}")
    return 0


def main_profile(argv: Sequence[str]) -> int:
    try:
        return command.run_command(argv)
    except command.NoScript as error:
        raise Mistake(str(error)) from None


def main_launch(argv: Sequence[str]) -> int:
    try:
        return launch.launch_command(argv)
    except launch.NotStarted as error:
        raise Mistake(str(error)) from None


def main_describe(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "python -m wengert describe", description="Print what files hold that f.export(..., path=FILE) wrote."
    )
    parser.add_argument("files", metavar="FILE", nargs="+")
    for i, path in enumerate(parser.parse_args(argv).files):
        print("\n" * bool(i) + load(path).describe(), flush=True)
    return 0


def program_parser(command: str, what: str, does: str) -> argparse.ArgumentParser:
    """What the commands take that show the program of a function."""
    parser = argparse.ArgumentParser(f"python -m wengert {command}", description=what)
    parser.add_argument("target", metavar="MODULE:FUNCTION", help="MODULE is a dotted name, or the path of a .py file")
    parser.add_argument(
        "specs",
        metavar="SPEC",
        nargs="*",
        help="an argument: f64[3,4], f32[], {'w': f64[3]}, or a Python value: 3, True",
    )
    parser.add_argument(
        "--grad",
        action=argparse.BooleanOptionalAction,
        help=f"{does} the gradient, or not; default: if the result is a real scalar",
    )
    parser.add_argument("--wrt", metavar="NAME", help="the parameter of the gradient; default: the first floating one")
    return parser


def main_ir(argv: Sequence[str]) -> int:
    parser = program_parser("ir", "Print the IR of a function, and of its gradient if it has one.", "print")
    parser.add_argument(
        "--passes",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="optimise, or print as captured; default: optimise",
    )
    parser.add_argument("--numpy", action="store_true", help="print standalone functions in NumPy, not IR")
    given = parser.parse_intermixed_args(argv)
    show(given.target, given.specs, given.grad, given.wrt, given.passes, given.numpy)
    return 0


def main_view(argv: Sequence[str]) -> int:
    what = "Write a page on which the program of a function is seen, and that of its gradient if it has one."
    parser = program_parser("view", what, "show")
    parser.add_argument("-o", "--output", metavar="PAGE", help="the file; default: FUNCTION.html")
    given = parser.parse_intermixed_args(argv)
    try:
        print(write_page(given.target, given.specs, given.grad, given.wrt, given.output))
    except OSError as error:
        if error.filename is None:
            raise
        raise Mistake(f"cannot write {error.filename}: {error.strerror}") from None
    return 0


COMMANDS = {
    "ir": main_ir, "view": main_view, "numpy": main_numpy, "cache": main_cache, "profile": main_profile,
    "launch": main_launch, "describe": main_describe,
}  # fmt: skip


def main_job(argv: Sequence[str]) -> int:
    what = "Train a network written in plain NumPy, and show what the compiler made of it."
    parser = argparse.ArgumentParser("python -m wengert", description=what, epilog=AFTER)
    parser.add_argument("--version", action="version", version=f"wengert {__version__}")
    parser.add_argument("--epochs", type=int, default=20, help="times through the training set; default %(default)s")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first parameters and the order of the images; default %(default)s"
    )
    parser.add_argument("--quiet", action="store_true", help="print the test accuracy alone")
    if argv and not argv[0].startswith("-"):
        parser.error(f"no command {argv[0]!r}; there are {', '.join(COMMANDS)}, and none for the job")
    given = parser.parse_args(argv)
    if given.epochs < 1:
        parser.error("--epochs must be at least 1")
    return training.job(given.epochs, given.seed, given.quiet)


if __name__ == "__main__":
    sys.exit(main())
