"""The installations: what the rooms above give to classes and cells of the rooms below them, all in one table.

A lower room declares a slot and calls what stands in it; the meaning comes from a room that it may not import. This
module fills every such slot, once, when `wengert` is imported, and no other module assigns to a class that it does not
define.
"""

from ..extents import indexing as bounded_indexing
from ..extents.bounded import BoundedArray
from ..guards.outside import Outside
from ..numpy_api import meeting, memory, products, registry, ufunc_calls
from ..numpy_api.extents import functions as bounded_functions
from ..numpy_api.shaping import copy_method
from ..regions import (
    alternatives,
    array_object_attributes,
    array_object_results,
    array_objects,
    frame,
    growing,
    hooks,
    jax_arrays,
    library,
    objects,
)
from ..regions.branch import ASKED, GROWN
from ..regions.convert import CELL, FALLBACK
from ..values import elements, identity, texts
from ..values.array import Traced, TracedArray, TracedScalar, shape_told
from ..values.array_object import ArrayObject
from ..values.indexing import scalar_item
from ..values.trace import Trace
from ..values.variant import Variant

SLOTS = (  # (the class of a lower room, its attribute, what stands there)
    # NumPy's two protocols, and functions found by their source
    (Traced, "ufunc", staticmethod(registry.call_ufunc_method)),
    (Traced, "function", staticmethod(registry.call_function)),
    (Traced, "source", staticmethod(library.by_source)),
    (Traced, "__getattr__", registry.method_of),
    (Traced, "jax_attribute", (jax_arrays.has_attribute, jax_arrays.attribute_of)),
    # operators
    (Traced, "operators", staticmethod(ufunc_calls.operate)),
    (Traced, "__matmul__", products.matmul),
    (Traced, "__rmatmul__", lambda x, y: products.matmul(y, x)),
    (TracedArray, "__imatmul__", products.matmul_in_place),
    (Traced, "__copy__", copy_method),
    (TracedArray, "__getitem__", bounded_indexing.getitem),
    (TracedArray, "__setitem__", bounded_indexing.setitem),
    (TracedScalar, "__getitem__", scalar_item),
    # numbers of several kinds
    (Traced, "meet", staticmethod(meeting.meet)),
    (Traced, "firm", staticmethod(meeting.firm)),
    (Traced, "apart", staticmethod(alternatives.apart)),
    (Variant, "of_sides", staticmethod(alternatives.of_sides)),
    (Variant, "__call__", alternatives.variant_called),
    (Traced, "where_only", staticmethod(alternatives.where_only)),
    (Traced, "of_numpy", staticmethod(alternatives.of_numpy)),
    # attributes of arrays and numbers
    (Traced, "T", property(memory.transposed, doc="The array with its axes reversed.")),
    (Traced, "mT", property(memory.matrix_transposed, doc="The array with its last two axes exchanged.")),
    (Traced, "real", property(memory.real, doc="The real part.")),
    (Traced, "imag", property(memory.imag, doc="The imaginary part.")),
    (Traced, "device", property(lambda x: "cpu", doc="Where NumPy would hold it.")),
    (TracedArray, "shape", property(shape_told, memory.set_shape, doc="Sizes of the axes.")),
    (TracedArray, "real", property(memory.real, memory.set_real, doc="The real part, a view.")),
    (TracedArray, "imag", property(memory.imag, memory.set_imag, doc="The imaginary part, a view.")),
    (TracedArray, "flat", property(memory.Flat, memory.set_flat, doc=memory.Flat.__doc__)),
    (TracedArray, "elements", elements.elements_of),
    (Trace, "quoted", staticmethod(texts.quoted)),
    (TracedArray, "flags", property(identity.Flags, doc=identity.Flags.__doc__)),
    (TracedArray, "strides", property(memory.strides, doc="Bytes from one element to the next along each axis.")),
    (TracedArray, "base", property(identity.base, doc="The array that owns the memory; None if it is this one.")),
    (TracedScalar, "flat", property(memory.flat_of_number, doc=memory.Flat.__doc__)),
    # arrays whose length the data decides
    (BoundedArray, "ufunc_handler", staticmethod(bounded_functions.call_ufunc_method)),
    (BoundedArray, "function_handler", staticmethod(bounded_functions.call_function)),
    (BoundedArray, "getitem", staticmethod(bounded_indexing.getitem)),
    (BoundedArray, "setitem", staticmethod(bounded_indexing.setitem)),
    (BoundedArray, "T", property(bounded_functions.transpose)),
    (BoundedArray, "real", property(bounded_functions.real_part)),
    (BoundedArray, "imag", property(bounded_functions.imaginary_part)),
    # instances of subclasses of np.ndarray
    (Outside, "stand_in", staticmethod(array_objects.seen_instance)),
    (ArrayObject, "__apply__", staticmethod(array_object_results.apply)),
    (ArrayObject, "__attribute__", staticmethod(array_object_attributes.attribute_of_instance)),
    (ArrayObject, "__elements__", staticmethod(array_object_attributes.elements_of_instance)),
    (ArrayObject, "__plainly__", staticmethod(array_objects.memory)),
)
CELLS = (  # (a cell that code of a lower module reads, what it holds)
    (ASKED, objects.asked),
    (GROWN, growing.grown_by_choice),
    (FALLBACK, frame.hooked),
    (CELL, hooks.NAMESPACE),
)


def install():
    """Fill every slot."""
    for owner, name, value in SLOTS:
        setattr(owner, name, value)
    for cell, value in CELLS:
        cell.cell_contents = value


install()
