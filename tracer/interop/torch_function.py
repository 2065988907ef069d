"""`to_torch`: a function on torch tensors, whose derivatives of all orders come from Wengert's programs.

torch is never imported here: who has a tensor has imported it. Tensors on the CPU become ndarrays of the same memory,
read-only, and those on other devices jax arrays by DLPack; results become tensors the same ways. One
`torch.autograd.Function` stands for all such calls. Its backward half is a program too: that of the residuals which the
forward half has kept, or where torch is to differentiate it once more (create_graph, torch.func), a function on tensors
by the same construction.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.xla import dispatch, exchange
from ..api.jit import jit
from ..call.pickled import sources_of
from ..common import pytree
from ..rewriter.travelled import receive
from .leaf_functions import LeafLayout, batched, forward, is_inexact, pulled, pushed

_apart = []  # `called_with_tensors`, as torch.compile leaves it


def to_torch(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`function`, written with NumPy, as a function on torch tensors that torch differentiates.

    Arguments are any containers of tensors, and whatever else the function takes; tensors are ndarrays to it, of the
    same shape and dtype, without a copy where they are on the CPU. In results, arrays and floating numbers become
    tensors of their shape and dtype, on the device of the arguments, and other objects stay what they are. options: of
    `jit`. The same function is found in copies and pickles of the result.

    Gradients are Wengert's, to any order: `backward`, `create_graph=True`, `torch.func.grad`, `jvp`, `jacrev`, `vmap`,
    with parameters of modules as with other tensors. torch.compile leaves calls of it as they are. What the function
    does to an argument in place raises ValueError, as for any read-only array: torch would not know of it.

    Raises TypeError where torch has not been imported, and for tensors without a dense memory.

    >>> import numpy as np, torch
    >>> from wengert import to_torch
    >>> f = to_torch(lambda w, x: np.tanh(x @ w).sum())
    >>> w = torch.ones(2, requires_grad=True)
    >>> f(w, torch.eye(2)).backward()
    >>> w.grad
    tensor([0.4200, 0.4200])
    """
    if not callable(function):
        raise TypeError(f"to_torch takes a function, got {type(function).__name__}\n  Write to_torch(f)(x).")
    return TorchFunction(jit(function, **options), (function, options))


def to_torch_again(function, options, sources):
    """What a pickle of a TorchFunction is made to; sources: those of its functions, which cloudpickle leaves out."""
    receive(sources)
    return to_torch(function, **options)


class TorchFunction:
    """A compiled function, called with tensors."""

    def __init__(self, compiled, given):
        """given: (function, options) of `to_torch`, None for a derivative."""
        self.compiled, self.given = compiled, given
        self.derived = {}  # (what, LeafLayout, more) -> the function that is it
        if given is not None:
            functools.update_wrapper(self, given[0])

    def __reduce__(self):
        function, options = self.given
        return to_torch_again, (function, options, sources_of(function))

    def __call__(self, *args, **kwargs):
        if "torch._dynamo" in sys.modules:
            return around_dynamo()(self, args, kwargs)
        return called_with_tensors(self, args, kwargs)

    def made(self, rule, layout, *more):
        """The compiled function of leaves that a rule makes of this one."""
        key = rule, layout, *more
        if key not in self.derived:
            self.derived[key] = rule(self.compiled, layout, *more)
        return self.derived[key]

    def on_tensors(self, rule, layout, *more):
        """The same, as a function on tensors."""
        key = "on tensors", rule, layout, *more
        if key not in self.derived:
            self.derived[key] = TorchFunction(self.made(rule, layout, *more), None)
        return self.derived[key]


class TensorCall:
    """One call with tensors: what is handed to the program, and what comes back."""

    def __init__(self, owner, torch, args, kwargs):
        self.owner, self.torch, self.args, self.kwargs = owner, torch, args, kwargs
        self.leaves, self.tree = pytree.flatten((args, kwargs))
        self.order = pytree.key_order((args, kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        asked = torch.is_grad_enabled()
        self.wanted = tuple([n for n, t in enumerate(self.tensors) if asked and t.requires_grad and differs(t)])
        self.given = [np.copy(x) if self.wanted and type(x) is np.ndarray else x for x in self.leaves]
        self.pull = self.tree_out = self.out = self.like = None

    def layout(self, chosen):
        """Which leaves vary, of those that are tensors."""
        return LeafLayout(self.tree, pytree.hashable(self.order), tuple([self.places[n] for n in chosen]))

    def run(self, tensors):
        """The program on the memory of tensors -> tensors of its results, in a tuple."""
        leaves = list(self.leaves)
        memory = arrays_of(self.torch, tensors)
        if memory is None:
            raise RuntimeError(
                "a tensor without memory of its own has no array: torch's older vmap, of is_grads_batched=True and "
                "vectorize=True, makes such\n  Use torch.func.vmap, jacrev or jacfwd."
            )
        for i, x in zip(self.places, memory):
            leaves[i] = x
        if self.wanted:
            layout = self.layout(self.wanted)
            value, self.pull = self.owner.made(forward, layout)(*layout.parted(leaves))
        else:
            args, kwargs = pytree.unflatten(self.tree, leaves, self.order)
            value = self.owner.compiled(*args, **kwargs)
        return self.taken(value, tensors)

    def taken(self, value, tensors):
        self.out, self.tree_out = pytree.flatten(value)
        self.out_order = pytree.key_order(value)
        held = [] if self.pull is None else list(self.pull.residuals)
        made = []
        for n, x in enumerate(self.out):
            if isinstance(x, self.torch.Tensor):
                raise TypeError(
                    "a tensor that is not among the arguments decides a result, so torch would know of no gradient\n"
                    "  Pass it as an argument, or as part of one."
                )
            if becomes_tensor(x):
                made.append(as_tensor(self.torch, x, held))
                held.append(x)
                self.out[n] = None
        device = next((t.device for t in tensors if t.device.type != "cpu"), None)
        made = [t if device is None or t.device == device else t.to(device) for t in made]
        self.like = [(t.shape, t.dtype, t.device) if differs(t) else None for t in made]
        return tuple(made)

    def result(self, tensors):
        """What the function returned, around the tensors that torch knows of."""
        given = iter(tensors)
        return pytree.unflatten(
            self.tree_out, [next(given) if x is None else x for x in self.out], self.out_order
        )

    def zeros(self, slopes):
        """Cotangents of the floating results, zeros where torch has none."""
        return tuple(
            [
                self.torch.zeros(like[0], dtype=like[1], device=like[2]) if g is None else g
                for g, like in zip(slopes, self.like)
                if like is not None
            ]
        )

    def pulled_back(self, tensors, wanted, slopes):
        """Cotangents of the tensors that are wanted, from those of the results."""
        slopes = self.zeros(slopes)
        if self.pull is not None and wanted == self.wanted and not self.torch.is_grad_enabled():
            memory = arrays_of(self.torch, slopes)
            if memory is not None:
                return self.through_residuals(memory)
        layout = self.layout(wanted)
        varied, rest = layout.parted(self.with_tensors(tensors))
        return self.owner.on_tensors(pulled, layout)(varied, rest, slopes)

    def through_residuals(self, slopes):
        given = iter(slopes)
        shown = iter(self.like)
        full = [0.0 if x is not None or next(shown) is None else conjugate_of(next(given)) for x in self.out]
        found = self.pull(pytree.unflatten(self.tree_out, full, self.out_order))
        return [as_tensor(self.torch, conjugate_of(g), ()) for g in found]

    def pushed_forward(self, tensors, moved, tangents):
        """Tangents of the floating results."""
        layout = self.layout(moved)
        varied, rest = layout.parted(self.with_tensors(tensors))
        return self.owner.on_tensors(pushed, layout)(varied, rest, tuple(tangents))

    def over_lanes(self, tensors, axes):
        """The call for all lanes -> tensors of the results, whose first axis is that of the lanes."""
        full = [None] * len(self.leaves)
        for i, axis in zip(self.places, axes):
            full[i] = axis
        function = self.owner.on_tensors(batched, self.layout(()), tuple(full))
        call = TensorCall(function, self.torch, (tuple(self.with_tensors(tensors)),), {})
        made = bridge(self.torch).apply(call, *call.tensors)
        self.out, self.tree_out, self.out_order, self.like = call.out, call.tree_out, call.out_order, call.like
        return made

    def with_tensors(self, tensors):
        """The leaves as they were at the call, for a derivative that runs the function again."""
        leaves = [np.copy(x) if type(x) is np.ndarray else x for x in self.given]
        for i, t in zip(self.places, tensors):
            leaves[i] = t
        return leaves


def called_with_tensors(function, args, kwargs):
    torch = imported_torch()
    call = TensorCall(function, torch, args, kwargs)
    return call.result(bridge(torch).apply(call, *call.tensors))


def around_dynamo():
    """The same, left as it is by torch.compile, which compiles what is around."""
    if not _apart:
        _apart.append(sys.modules["torch"].compiler.disable(called_with_tensors))
    return _apart[0]


def imported_torch():
    """torch, as the caller has imported it."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise TypeError("to_torch takes tensors, and torch has not been imported\n  Write import torch first.")
    return torch


@functools.cache
def bridge(torch):
    """The node of torch's graph that stands for a call."""

    class Wengert(torch.autograd.Function):
        @staticmethod
        def forward(call, *tensors):
            return call.run(tensors)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.call, *tensors = inputs
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(*[t for t in output if not differs(t)])

        @staticmethod
        def backward(ctx, *slopes):
            tensors, wanted = ctx.saved_tensors, [n for n, asked in enumerate(ctx.needs_input_grad[1:]) if asked]
            found = [None] * len(tensors)
            if any(g is not None for g in slopes):
                for n, g in zip(wanted, ctx.call.pulled_back(tensors, tuple(wanted), slopes)):
                    found[n] = g
            return None, *found

        @staticmethod
        def jvp(ctx, _, *tangents):
            moved = tuple([n for n, t in enumerate(tangents) if t is not None])
            given = [t for t in tangents if t is not None]
            found = iter(ctx.call.pushed_forward(ctx.saved_tensors, moved, given))
            return tuple([None if like is None else next(found) for like in ctx.call.like])

        @staticmethod
        def vmap(info, in_dims, call, *tensors):
            made = call.over_lanes(tensors, in_dims[1:])
            return made, (0,) * len(made)

    return Wengert


def differs(tensor):
    """Whether a tensor has derivatives."""
    return tensor.is_floating_point() or tensor.is_complex()


def becomes_tensor(x):
    """Whether a result becomes a tensor: arrays do, and what may have a derivative."""
    return isinstance(x, np.ndarray | np.generic) or is_inexact(x) or dispatch.is_device_array(x)


def arrays_of(torch, tensors):
    """The tensors as arrays; None where they are torch's own stand-ins, which have no memory."""
    try:
        return [as_array(torch, t) for t in tensors]
    except (RuntimeError, NotImplementedError):
        return None


def as_array(torch, tensor):
    """The memory of a tensor, read-only: an ndarray where it is on the CPU, else a jax array."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.device.type != "cpu":
        return exchange.from_dlpack(tensor.contiguous())
    if tensor.dtype is torch.bfloat16:
        array = tensor.view(torch.int16).numpy().view(exchange.BFLOAT16)
    else:
        array = tensor.numpy()
    array.flags.writeable = False
    return array


def as_tensor(torch, x, held):
    """A result as a tensor that shares no memory with what is held, nor with an argument."""
    if dispatch.is_device_array(x):
        tensor = torch.from_dlpack(x)
        return tensor.clone() if any(x is other for other in held) else tensor
    array = np.asarray(x)
    shared = any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in held)
    if shared or not array.flags.writeable or not array.dtype.isnative or any(s < 0 for s in array.strides):
        array = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    if array.dtype == exchange.BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def conjugate_of(x):
    """torch's gradients of complex numbers are the conjugates of ours."""
    return x.conj() if np.iscomplexobj(x) else x
