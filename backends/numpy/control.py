"""NumPy source of the ops that run functions: plain `if`, `for`, `while` and `def`.

The parameters of a region take the names of its operands, so a branch or a body reads as if written in place.
"""

import builtins
import inspect
from functools import partial

from ...ir.core import Lit
from ...ir.op import OPS
from ...ir.ops.control import call, cond, groups, host, loop, map_
from ...ir.ops.drawing import draw
from ...ir.ops.flow import apart
from .emit import EMIT, identifier

# names that mean something in an emitted file already
RESERVED = {
    *dir(builtins),
    *(name for op in OPS.values() for name, found in op.body.__globals__.items() if inspect.isfunction(found)),
}


WIDE = 60  # bound: columns of a line of text, from which values are assigned line by line, if that is the same


def emitter_of(op):
    """Decorator: the emitter of `op`, `(writer, equation) -> lines`."""
    return lambda emitter: EMIT.setdefault(op, emitter)


def indent(lines):
    return ["    " + line for line in lines or ["pass"]]


def texts(writer, values):
    return [writer.operand(x, whole=True) for x in values]


def enter(writer, params, operands):
    """Let `params` stand for `operands`; numbers are given a name first."""
    lines = []
    for p, x in zip(params, operands, strict=True):
        (text,) = texts(writer, [x])
        if isinstance(x, Lit):
            lines.append(f"{writer.bind(p)} = {text}")
        else:
            writer.names[p] = text
    return lines


def assign(lines, targets, values):
    """`lines` and then `targets = values`, all at once; a last line that computes the one value takes the target
    itself."""
    pairs = [(t, v) for t, v in zip(targets, values, strict=True) if t != v]
    if not pairs:
        return lines
    target, value = (", ".join(side) for side in zip(*pairs, strict=True))
    if not any(t == v for k, (t, _) in enumerate(pairs) for _, v in pairs[k + 1 :]) and len(target + value) > WIDE:
        return [*lines, *(f"{t} = {v}" for t, v in pairs)]
    if len(pairs) == 1 and lines and lines[-1].startswith(f"{value} = "):
        return [*lines[:-1], target + lines[-1][len(value) :]]
    return [*lines, f"{target} = {value}"]


def reads(func):
    return {*(x for eqn in func.eqns for x in eqn.operands), *func.results}


def expression(lines, name):
    """The one expression `lines` compute for `name`, or None."""
    if not lines:
        return name
    found = lines[0].partition("  # ")[0]
    return found[len(name) + 3 :] if len(lines) == 1 and found.startswith(f"{name} = ") else None


def unpacking_target(names):
    """The left side that unpacks a tuple."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


@emitter_of(cond)
def emit_cond(writer, eqn):
    index, *operands = eqn.operands
    (pick,), branches = texts(writer, [index]), eqn.attrs["branches"]
    targets, parts = [writer.bind(r) for r in eqn.results], []
    for branch in branches:
        lines = enter(writer, branch.params, operands) + writer.block(branch)
        parts.append(assign(lines, targets, texts(writer, branch.results)))
    if len(parts) == 1:
        return parts[0]
    if index.type.kind == "b":
        heads, parts = [f"if {pick}:", "else:"], parts[::-1]
    else:
        heads = [f"if {pick} <= 0:", *(f"elif {pick} == {k}:" for k in range(1, len(parts) - 1)), "else:"]
    return [line for head, part in zip(heads, parts, strict=True) for line in (head, *indent(part))]


@emitter_of(loop)
def emit_loop(writer, eqn):
    """A limit makes it a `for`, a test alone a `while`; the counter of a `while` is kept only if it is read."""
    body, test, trips = eqn.attrs["body"], eqn.attrs["test"], eqn.attrs["trips"]
    limit, invariants, state = groups(eqn.operands, **eqn.attrs)
    first, counted = 1 + len(invariants), test is None or trips is not None
    lines = enter(writer, body.params[1:first], invariants)
    names = [writer.bind(p) for p in body.params[first:]]
    lines = assign(lines, names, texts(writer, state))
    reading = body.params[0] in reads(body) or (test is not None and test.params[0] in reads(test))
    i = writer.names[body.params[0]] = writer.fresh("i") if reading else "_"
    head, inside = "while True:", []
    if counted:
        head = f"for {i} in np.arange({texts(writer, limit)[0] if limit else trips}):"
    elif reading:
        lines.append(f"{i} = np.int64(0)")
    if test is not None:
        writer.names.update(zip(test.params, (writer.names[p] for p in body.params), strict=True))
        asked = writer.block(test)
        (goes,) = texts(writer, test.results)
        if not counted and expression(asked, goes):
            head = f"while {expression(asked, goes)}:"
        else:
            asked, goes = ([], f"({expression(asked, goes)})") if expression(asked, goes) else (asked, goes)
            inside = [*asked, f"if not {goes}:", *indent(["break"])]
    inside += assign(writer.block(body), names, texts(writer, body.results))
    if reading and not counted:
        inside.append(f"{i} = {i} + 1")
    writer.names.update(zip(eqn.results, names, strict=True))
    return [*lines, head, *indent(inside)]


@emitter_of(map_)
def emit_map(writer, eqn):
    body, mapped, size = eqn.attrs["body"], eqn.attrs["mapped"], eqn.attrs["size"]
    if size == 0:
        return [f"{writer.bind(r)} = np.zeros({r.type.shape}, np.{r.type.dtype.name})" for r in eqn.results]
    whole = [(p, x) for p, x, flag in zip(body.params, eqn.operands, mapped, strict=True) if not flag]
    lines = enter(writer, *zip(*whole, strict=True)) if whole else []
    rows = texts(writer, [x for x, flag in zip(eqn.operands, mapped, strict=True) if flag])
    items = [writer.bind(p) for p, flag in zip(body.params, mapped, strict=True) if flag]
    over = f"zip({', '.join(rows)})" if len(rows) > 1 else rows[0] if rows else f"range({size})"
    head = f"for {', '.join(items) or '_'} in {over}"
    inside, results = writer.block(body), texts(writer, body.results)
    names = [writer.bind(r) for r in eqn.results]
    if len(names) == 1 and expression(inside, results[0]):
        return [*lines, f"{names[0]} = np.stack([{expression(inside, results[0])} {head}])"]
    lines += [f"{name} = []" for name in names]
    inside += [f"{name}.append({x})" for name, x in zip(names, results, strict=True)]
    return [*lines, f"{head}:", *indent(inside), *(f"{name} = np.stack({name})" for name in names)]


@emitter_of(call)
@emitter_of(apart)
def emit_call(writer, eqn):
    name = outlined(writer, eqn.attrs["body"], eqn.attrs.get("name") or eqn.attrs["body"].name)
    text = f"{name}({', '.join(texts(writer, eqn.operands))})"
    names = [writer.bind(r) for r in eqn.results]
    return [f"{', '.join(names)} = {text}" if names else text]


def outlined(writer, body, wish):
    """The name of the function above that is `body`; it is written there on first use."""
    module = writer.module
    name = module.outlined.get(body)
    if name is None or name in writer.names.values():
        name = unused(identifier(wish), {*writer.taken, *RESERVED, *module.helpers, *module.objects})
        module.outlined[body] = name
        module.helpers[name] = "\n".join(module.function(body, name, writer.sources))
    writer.taken.add(name)
    return name


def unused(wish, taken):
    name, n = wish, 1
    while name in taken:
        name, n = f"{wish}_{n}", n + 1
    return name


@emitter_of(host)
def emit_host(writer, eqn):
    """The callback has no text: the file is given it under its own name."""
    function = eqn.attrs["function"]
    wish = getattr(function, "__name__", "function")
    return given_function(writer, eqn, wish, partial(host.body, function=function, results=eqn.attrs["results"]))


@emitter_of(draw)
def emit_draw(writer, eqn):
    return given_function(writer, eqn, eqn.attrs["kind"], partial(draw.body, **eqn.attrs))


def given_function(writer, eqn, wish, function):
    """A call of a function that the file is given under a name."""
    module = writer.module
    name = unused(identifier(wish), {*writer.taken, *RESERVED, *module.helpers, *module.objects})
    module.objects[name] = function
    writer.taken.add(name)
    text = f"{name}({', '.join(texts(writer, eqn.operands))})"
    names = [writer.bind(r) for r in eqn.results]
    return [f"{unpacking_target(names)} = {text}" if names else text]
