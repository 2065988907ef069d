"""The parameters of functions. Since Python 3.14 annotations are evaluated when they are asked for, and may name what
is not there."""

import functools
import importlib
import inspect
import sys

if sys.version_info >= (3, 14):
    declared = functools.partial(
        inspect.signature, annotation_format=importlib.import_module("annotationlib").Format.FORWARDREF
    )
else:
    declared = inspect.signature


def annotate(twin, function):
    """Give a twin the annotations of a function, unevaluated as they are."""
    unevaluated = getattr(function, "__annotate__", None)
    if unevaluated is None:
        twin.__annotations__ = function.__annotations__
    else:
        twin.__annotate__ = unevaluated
