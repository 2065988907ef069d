"""Objects of other libraries among the arguments: what to pass in their place, to have a call compiled."""

from .by_class import InstanceCell

NUMBERS = {  # library -> what gives the numbers of its objects
    "pandas": "to_numpy()", "polars": "to_numpy()", "pyarrow": "to_numpy()", "xarray": "to_numpy()",
    "dask": "compute()",
}


def advice_for(static):
    """A line for each argument that holds numbers in an object of a library whose arithmetic is its own. static: name
    -> what is known of an argument that is not traced."""
    lines = []
    for name, x in static.items():
        kind = x.kind if type(x) is InstanceCell else type(x)
        home = str(kind.__module__).partition(".")[0]
        method = NUMBERS.get(home)
        if method is not None and hasattr(kind, method.removesuffix("()")):
            lines.append(f"\n  Argument {name} is a {kind.__name__} of {home}: pass its numbers, {name}.{method}.")
    return "".join(lines)
