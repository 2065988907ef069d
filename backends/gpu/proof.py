"""Whether kernels give on the card that is here what XLA gives on it: asked once in a process, before the first kernel.

Values of kernels are tested on CPUs, where threads run the same LLVM IR. What no CPU shows is how the card's driver,
XLA's call and the barriers of real blocks work together, so a few small loops are run in every form that they have.
"""

import concurrent.futures
import functools
import logging

import jax
import numpy as np

from ...ir.ops.control import evaluate, loop
from ...ir.reading import parse
from ..native.values import NotNative
from .choice import KernelChoice, forms
from .launch import launcher

LOG = logging.getLogger("wengert.compile")
CLOSE = 1e-9  # bound: relative difference of sums in another order, and of functions of NVIDIA's library
PROGRAMS = [
    """
func rows(%x: f64[300]) -> f64[], f64[300] {
  %s, %y = loop 0.0:f64[], %x carried=2 trips=3 : f64[], f64[300]
    body: func(%t: i64[], %s: f64[], %x: f64[300]) -> f64[], f64[300] {
      %0 = slice %x start=[0] stop=[298] stride=[1] : f64[298]
      %1 = slice %x start=[2] stop=[300] stride=[1] : f64[298]
      %2 = add %0, %1 : f64[298]
      %3 = mul 0.5, %2 : f64[298]
      %4 = dynamic_update_slice %x, %3, 1:i64[] : f64[300]
      %5 = mul %4, %4 : f64[300]
      %6 = reduce_sum %5 axes=[0] : f64[]
      %7 = add %s, %6 : f64[]
      return %7, %4
    }
  return %s, %y
}""",
    """
func apart(%x: f64[300], %y: f32[300]) -> f64[], f32[300] {
  %s, %z = loop %x, 0.0:f64[], %y carried=2 trips=300 : f64[], f32[300]
    body: func(%i: i64[], %x: f64[300], %s: f64[], %y: f32[300]) -> f64[], f32[300] {
      %0 = dynamic_slice %x, %i sizes=[1] : f64[1]
      %1 = reshape %0 shape=[] : f64[]
      %2 = sqrt %1 : f64[]
      %3 = cast %2 dtype=f32 : f32[]
      %4 = reshape %3 shape=[1] : f32[1]
      %5 = dynamic_update_slice %y, %4, %i : f32[300]
      %6 = add %s, %1 : f64[]
      return %6, %5
    }
  return %s, %z
}""",
    """
func waves(%x: f64[40,41]) -> f64[40,41] {
  %y = loop %x carried=1 trips=38 : f64[40,41]
    body: func(%i: i64[], %x: f64[40,41]) -> f64[40,41] {
      %0 = add 1, %i : i64[]
      %r = loop %0, %i, %x carried=1 trips=40 : f64[40,41]
        body: func(%j: i64[], %0: i64[], %i: i64[], %x: f64[40,41]) -> f64[40,41] {
          %1 = add 1, %j : i64[]
          %2 = dynamic_slice %x, %i, %1 sizes=[1,1] : f64[1,1]
          %3 = dynamic_slice %x, %0, %j sizes=[1,1] : f64[1,1]
          %4 = add %2, %3 : f64[1,1]
          %5 = mul 0.25, %4 : f64[1,1]
          %6 = dynamic_update_slice %x, %5, %0, %1 : f64[40,41]
          return %6
        }
      return %r
    }
  return %y
}""",
    """
func scattered(%x: f64[200], %k: i64[200,1], %y: f64[20]) -> f64[20] {
  %z = loop %k, %x, %y carried=1 trips=2 : f64[20]
    body: func(%t: i64[], %k: i64[200,1], %x: f64[200], %y: f64[20]) -> f64[20] {
      %0 = exp %x : f64[200]
      %1 = scatter_add %y, %k, %0 offset_dims=[] collapsed=[0] start_index_map=[0] : f64[20]
      return %1
    }
  return %z
}""",
]


def loops():
    """[(types of the operands, attributes, operands, results)] of what is tried."""
    found, random = [], np.random.default_rng(0)
    for text in PROGRAMS:
        func = parse(text)
        (eqn,) = [eqn for eqn in func.eqns if eqn.op is loop]
        given = {}
        for p in func.params:
            fill = random.integers(0, 20, p.type.shape) if p.type.kind == "i" else random.random(p.type.shape)
            given[p] = fill.astype(p.type.dtype)
        operands = [given[x] if x in given else np.array(x.value, x.type.dtype) for x in eqn.operands]
        results = evaluate(func, [given[p].copy() for p in func.params])
        found.append((tuple(x.type for x in eqn.operands), eqn.attrs, operands, results))
    return found


def first_difference(run):
    """What is computed otherwise by `run(choice, operands)`, which gives the results of a kernel, than by NumPy; None
    where nothing is."""
    for types, attrs, operands, want in loops():
        for kernel in forms(types, attrs, False):
            try:
                choice = KernelChoice(kernel, 0, 0.0)
            except NotNative:  # it wants a library that is not here
                continue
            got = run(choice, operands)
            if not all(np.allclose(a, b, CLOSE, 0.0) for a, b in zip(got, want, strict=True)):
                return f"a kernel of {kernel.blocks} x {kernel.threads} threads computed other values than NumPy"
    return None


def run_on(device, choice, operands):
    """The results of a kernel on a card."""
    with jax.enable_x64(True):
        found = jax.jit(launcher(choice))(*jax.device_put(operands, device))
        return [np.asarray(x) for x in found]


@functools.cache
def refused_here():
    """Why no kernel is run on the card that is here; None where they are right, or where there is no card, for which
    programs are compiled alone."""
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        return None
    with concurrent.futures.ThreadPoolExecutor(1) as other:  # where no program is being traced
        try:
            reason = other.submit(first_difference, functools.partial(run_on, device)).result()
        except Exception as problem:  # of the driver, of XLA or of LLVM: whichever, there is no proof
            reason = f"a kernel that was tried failed: {type(problem).__name__}: {problem}"
    if reason is not None:
        reason = f"kernels were tried on {device} and are left to XLA: {reason}"
        LOG.warning(reason)
    return reason
