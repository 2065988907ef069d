"""Arrays whose length along an axis is known only when the program runs: windows with traced ends, selections by masks.

Promises that no number of the padding behind an array's length reaches a result.
May import: values and all below; NumPy's names on such arrays are handlers of `numpy_api/extents`.
"""
