"""`jit`: the compiled, guarded twin of a Python function, and its call path."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from ...ir.exactness import PRECISIONS
from ..blame.watch import Debug
from ..cache.keep import is_unkept
from ..call import shared
from ..call.callee import Callee
from ..call.check import cross_checked
from ..call.donation import asked_donation
from ..call.dynamic import asked_dynamic
from ..call.pickled import remembered
from ..capture.suspended import refuse_generator
from ..export.saving import Exporting
from ..sharding.placement import placement
from ..values.weak import PROMOTIONS
from ..view.card import function_card
from .compiled import Compiled, signature_of
from .typed import CompiledFunction, Jit, P, R
from .viewing import Viewing

# options by which functions made alike are told apart
SAID = ("exact", "engine", "memory", "native", "whole", "debug", "precision", "promote", "dynamic", "donate")
ENVIRONMENT = tuple(filter(None, os.environ.get("WENGERT_DEBUG", "").replace(",", " ").split()))


@overload
def jit(
    function: np.ufunc,
    *,
    device: Any = None,
    exact: bool = False,
    check: bool = False,
    engine: Literal["xla", "numpy"] | None = None,
    memory: float | str | None = None,
    native: bool = True,
    cache: bool | str | os.PathLike[str] | None = None,
    tier: Literal["background"] | None = None,
    whole: bool = False,
    debug: str | tuple[str, ...] | None = None,
    precision: Literal["highest", "high", "default"] | None = None,
    mesh: Any = None,
    shard: Any = None,
    promote: Literal["numpy", "weak"] | None = None,
    dynamic: bool | dict[str, Any] | None = None,
    donate: str | tuple[str, ...] = (),
) -> CompiledFunction[..., Any]: ...
@overload
def jit(
    function: Callable[P, R],
    *,
    device: Any = None,
    exact: bool = False,
    check: bool = False,
    engine: Literal["xla", "numpy"] | None = None,
    memory: float | str | None = None,
    native: bool = True,
    cache: bool | str | os.PathLike[str] | None = None,
    tier: Literal["background"] | None = None,
    whole: bool = False,
    debug: str | tuple[str, ...] | None = None,
    precision: Literal["highest", "high", "default"] | None = None,
    mesh: Any = None,
    shard: Any = None,
    promote: Literal["numpy", "weak"] | None = None,
    dynamic: bool | dict[str, Any] | None = None,
    donate: str | tuple[str, ...] = (),
) -> CompiledFunction[P, R]: ...
@overload
def jit(
    function: None = None,
    *,
    device: Any = None,
    exact: bool = False,
    check: bool = False,
    engine: Literal["xla", "numpy"] | None = None,
    memory: float | str | None = None,
    native: bool = True,
    cache: bool | str | os.PathLike[str] | None = None,
    tier: Literal["background"] | None = None,
    whole: bool = False,
    debug: str | tuple[str, ...] | None = None,
    precision: Literal["highest", "high", "default"] | None = None,
    mesh: Any = None,
    shard: Any = None,
    promote: Literal["numpy", "weak"] | None = None,
    dynamic: bool | dict[str, Any] | None = None,
    donate: str | tuple[str, ...] = (),
) -> Jit: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    device: Any = None,
    exact: bool = False,
    check: bool = False,
    engine: Literal["xla", "numpy"] | None = None,
    memory: float | str | None = None,
    native: bool = True,
    cache: bool | str | os.PathLike[str] | None = None,
    tier: Literal["background"] | None = None,
    whole: bool = False,
    debug: str | tuple[str, ...] | None = None,
    precision: Literal["highest", "high", "default"] | None = None,
    mesh: Any = None,
    shard: Any = None,
    promote: Literal["numpy", "weak"] | None = None,
    dynamic: bool | dict[str, Any] | None = None,
    donate: str | tuple[str, ...] = (),
) -> CompiledFunction[..., Any] | Jit:
    """Compile `function` for the shapes and dtypes it is called with; same values, dtypes and mutations as NumPy.

    Arrays and Python floats are traced; ints, bools, strings and other hashable objects are static:
    each new value compiles once more. An int that changes is traced too, from its second value on or, where it decides
    what runs, from its third, unless it is needed as a size. Functions made of one code with the same options share
    what is compiled, a lambda that is made anew in a loop too; each is a function of its own, its variables guarded.
    NumPy in, NumPy out; if any argument is a jax array the results are.

    device: a jax device, or "cpu", "gpu", "gpu:1"; arguments are moved there. None: where they are. One that
        jax.experimental.topologies describes has plans and texts, and runs nothing.
    exact:  compute step by step what is written: no rewrite that may change a result by rounding, those of
            `wengert.rule` among them that are not called exact, and every step rounded as NumPy rounds it.
    engine: "xla", or "numpy" for all that generated NumPy can run on ndarrays: not what prints, draws or is chosen by
            value. Loops are machine code where they can be. None: the faster of the two, timed at the first call, or
            for long programs when calls have paid for XLA; calls that take less time in plain Python are answered by
            that, as is measured on the first dozen calls.
    memory: what the derivatives inside may keep for the way back of each loop, and of all outside loops, in bytes or
            as "200MB". None: 64 MiB a loop, and no limit outside. A loop that would keep more keeps what it carries
            every so many trips, and runs once more from there; other code runs once more in stretches, of which only
            what enters is kept.
    native: whether loops may run as machine code made by llvmlite, if it is installed, on the CPU. False: XLA has
            them all.
    cache:  a directory in which programs are kept for later processes, which then neither trace nor compile them. True:
            the one that the environment variable WENGERT_CACHE names, or wengert in the user's cache directory. None:
            the former or none. False: none.
    tier:   "background": no call waits for the compiler. Plain Python answers while programs are traced and compiled on
            another thread.
    whole:  raise where something cannot be captured. False: plain Python answers such calls, uncompiled where nothing
            of the function can be compiled, and a `Fallback` warning says why, with the line.
    check:  run the plain function beside the compiled one at every call, and compare results, arguments, outside
            objects and errors. On a difference beyond rounding raise CheckError, which names the first line that
            differs and both values.
    debug:  what to look for in every call, of "nan", "inf" (numbers that arrive in a result, or in what the function
            writes), "invalid", "divide", "overflow" (NumPy's floating-point errors, wherever they happen), or a tuple
            of them. Where one is found nothing is written, and NumericalError names the line where it was born, the
            variable and index, the iteration of each loop, whether in a derivative, and the operands. With "warn" among
            them, which alone stands for NumPy's three, it is a RuntimeWarning at that line, and the call goes on.
            Derivatives of what is so compiled are watched too. None: the words that the environment variable
            WENGERT_DEBUG names, or none.
    precision: of products of matrices and convolutions that XLA computes, those of derivatives too. "highest": all
            digits of the dtype, as NumPy. On GPUs "high" and "default" let float32 products be taken in TF32, of ten
            binary digits, several times as fast; CPUs know no difference. None: that of the function which is given,
            where it is compiled by `jit` itself, else "highest".
    mesh:   run each call on several devices: a jax.sharding.Mesh, a number of devices, or {"rows": 4, "cols": 2}, names
            of axes and devices along them. None, with shard: all devices.
    shard:  how arrays lie over them, in names of arguments: {"X": "rows"} spreads the first axis of X, and {"params.w":
            (None, "rows")} the second one of an array within params; a name stands for all arrays that are in it. What
            is not named is whole on each device. "auto", or None with a mesh: the axes of the largest arguments that
            cost the least communication, as `.plan()` shows. ShardingError, a ValueError, where an array has no such
            axis or its length is no multiple of the devices. Results of NumPy's arguments are NumPy's.
    promote: "weak": arrays of float32 and narrower floats keep their dtype beside integers and beside numbers of
            np.float64, such as np.sqrt(2), which NumPy would make float64 of. It implies whole=True, for plain Python
            promotes otherwise. "numpy": NumPy's rules. None: as for precision.
    dynamic: what calls of new shapes do. None: plain Python answers at once, or generated NumPy where there is none;
            shapes that come again are compiled, and one program of symbolic sizes is looked for, when that pays
            (docs/guide/sizes.md); in what is made of a compiled function, as in that. True: such a program is looked
            for at the first call, with a name for each size; {"x": 0, "y": (0, 1)}: for these axes of arguments. False:
            each combination of shapes is traced and compiled when it first comes.
    donate: names of parameters whose jax arrays a call may overwrite with results of their shape and dtype, as `shard`
            names them: "params", ("params", "state.m"). An array that was overwritten is deleted: jax raises
            RuntimeError where it is used. Nothing is where a check may fail; `.explain()` says which are. ndarrays are
            never overwritten.

    The result has `.explain()`, the traces made and why, `.ir(*args, passes=True)`, the IR for given arguments,
    `.plan(*args)`, what a call does and costs, `.text(kind, *args)`, any stage of it as text, and
    `.export(*args, path=...)`, a file that runs without it (docs/export.md).

    >>> import numpy as np
    >>> from wengert import jit
    >>> @jit
    ... def f(x):
    ...     return np.tanh(x).sum()
    >>> f(np.zeros(3))
    np.float64(0.0)
    """
    if function is None:
        options: dict[str, Any] = {
            "device": device,
            "exact": exact,
            "check": check,
            "engine": engine,
            "memory": memory,
            "native": native,
            "whole": whole,
            "debug": debug,
            "precision": precision,
            "mesh": mesh,
            "shard": shard,
            "promote": promote,
            "dynamic": dynamic,
            "donate": donate,
        }
        rest: Any = functools.partial(jit, cache=cache, tier=tier, **options)
        return rest
    if not callable(function):
        raise TypeError(
            f"jit takes a function, got {type(function).__name__} {function!r:.60}\n  Write jit(f), then call the "
            "result: jit(f)(x)."
        )
    if engine not in (None, "xla", "numpy"):
        raise ValueError(
            f"jit runs programs through engine='xla' or 'numpy', not {engine!r}\n  Leave it out to take the faster."
        )
    if not isinstance(cache, bool | str | os.PathLike | None):
        raise TypeError(
            f"jit keeps programs in a directory, not in {cache!r:.60}\n  Write jit(f, cache=True), or "
            "cache='directory'."
        )
    if tier not in (None, "background"):
        text = f"jit has one tier beside its own, tier='background', not {tier!r}"
        raise ValueError(f"{text}\n  Leave it out to wait for the compiler at the first call.")
    if tier is not None and check:
        raise ValueError(
            "check=True compares each call with plain Python, which would answer it under tier='background'\n  Ask "
            "for one of the two."
        )
    asked = {"device": device, "mesh": mesh, "shard": shard}
    if mesh is not None or shard is not None:
        if (other := next((k for k, v in (("device", device), ("tier", tier)) if v is not None), None)) is not None:
            raise ValueError(f"mesh= and shard= say where a call runs, and {other}= does too\n  Ask for one of them.")
        if engine == "numpy":
            raise ValueError("mesh= and shard= are for XLA, and engine='numpy' runs on one device\n  Leave it out.")
        device = placement(mesh, shard)
    precision = asked_precision(function, precision, exact)
    promote = asked_promotion(function, promote, exact, check or tier is not None)
    dynamic = False if check or tier is not None else asked_dynamic(function, dynamic)
    whole = whole or promote == "weak"
    if whole:
        refuse_generator(function)
    words, debug = debug, debug_of(function, debug)
    if debug is not None and tier is not None:
        text = "debug= looks at each call of the program, and plain Python would answer it under tier='background'"
        raise ValueError(f"{text}\n  Ask for one of the two.")
    options = {"device": device, "exact": exact, "engine": engine, "memory": memory, "native": native, "tier": tier}
    options |= {"whole": whole, "debug": debug, "precision": precision, "promote": promote, "dynamic": dynamic}
    needing = {"check=True": check, "tier='background'": tier, "debug=": debug, "engine='numpy'": engine == "numpy"}
    options["donate"] = () if donate == () else asked_donation(donate, signature_of(function), needing)
    options["cache"] = False if check else cache
    if check:
        compiled = Compiled(function, plain=function, **options)
        front = wrapper(compiled.front.own, compiled.front.call, function, cross_checked(compiled, function))
    else:
        front = compiled_as(itself, function, ("jit",), dict, plain=function, **options)
    return remembered(front, "jit", **options | asked | {"debug": words, "cache": cache, "check": check})


def itself(function):
    """What `jit` traces of a function."""
    return function


def debug_of(function, asked=None):
    """What calls of a function made of `function` are watched for: what is asked, else what that is watched for, else
    what the environment names."""
    if asked is not None:
        return asked if isinstance(asked, Debug) else Debug(asked)
    inner = getattr(getattr(function, "compiled", None), "debug", None)
    if inner is not None or not ENVIRONMENT:
        return inner
    try:
        return Debug(ENVIRONMENT)
    except ValueError as error:
        error.add_note(f"It was asked for by WENGERT_DEBUG={os.environ.get('WENGERT_DEBUG')} in the environment.")
        raise


def asked_precision(function, asked=None, exact=False):
    """The precision of products in what is made of `function`: what is asked, else what that has."""
    if asked is not None and asked not in PRECISIONS:
        kinds = f"precision='{PRECISIONS[0]}', '{PRECISIONS[1]}' or '{PRECISIONS[2]}'"
        raise ValueError(f"jit takes products in {kinds}, not {asked!r}\n  Leave it out for all digits, as in NumPy.")
    if exact and asked not in (None, PRECISIONS[0]):
        raise ValueError(
            f"exact=True rounds each step as NumPy does, and precision={asked!r} lets products keep fewer digits\n"
            "  Ask for one of the two."
        )
    inner = getattr(getattr(function, "compiled", None), "precision", None)
    return asked or (None if exact else inner) or PRECISIONS[0]


def asked_promotion(function, asked=None, exact=False, beside=False):
    """How dtypes are promoted in what is made of `function`: as asked, else as in that. beside: whether plain Python is
    to answer calls too."""
    if asked not in (None, *PROMOTIONS):
        raise ValueError(
            f"jit promotes dtypes by promote='numpy' or 'weak', not {asked!r}\n  Leave it out for NumPy's rules."
        )
    if asked == "weak" and (exact or beside):
        other = "exact=True, which has NumPy's bits" if exact else "check=True and tier='background', which run NumPy"
        raise ValueError(f"promote='weak' gives other dtypes than NumPy, and cannot stand beside {other}")
    inner = getattr(getattr(function, "compiled", None), "promote", None)
    return asked or (None if exact or beside else inner) or PROMOTIONS[0]


def compiled_as(make, function, kind, details, **options):
    """The function a user calls: `make(function)`, compiled. Functions made alike share what is traced, where a key can
    say so: kind, and the options, are part of that. details(): what else a Compiled is made with."""
    options["debug"] = debug_of(function, options.get("debug"))
    options["precision"] = options.get("precision") or asked_precision(function)
    options["promote"] = options.get("promote") or asked_promotion(function)
    options["dynamic"] = options["dynamic"] if "dynamic" in options else asked_dynamic(function)
    found = shared.root_of(function) if options.get("device") is None and options.get("tier") is None else None
    if found is not None and is_unkept(options.get("cache")):
        like, root = found
        said = tuple([options.get(name) for name in SAID])
        key = like, kind, *said, *map(type, said), Compiled.__init__.__kwdefaults__["exact"]
        if is_hashable(key):
            made = lambda: Compiled(function, make=make, root=root, **details(), **options)
            callee = Callee(shared.shared_compiled(key, made), function, root)
            return wrapper(callee, callee.compiled.front.function(callee), function)
    compiled = Compiled(make(function), **details(), **options)
    return wrapper(compiled.front.own, compiled.front.call, function)


def is_hashable(key):
    """Whether a key can be looked up: axes given as a list or dict cannot."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def wrapper(callee, front, like, call=None):
    """The function a user calls in front of a Compiled, `call` or the generated one; it binds as a method does."""
    call, compiled = call or front, callee.compiled
    if hasattr(like, "__name__") or isinstance(like, functools.partial):
        functools.update_wrapper(call, like)
    call.__wrapped__ = like
    call.__name__ = compiled.name
    call.callee, call.compiled, call.explain, call.ir = callee, compiled, callee.explain, callee.ir
    call.plan, call.text, call.export = callee.plan, callee.text, Exporting(callee)
    call.view, call._repr_html_ = Viewing(callee), functools.partial(function_card, compiled)
    return call
