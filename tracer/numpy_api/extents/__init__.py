"""NumPy names on arrays whose length only the running program knows.

Each registers a handler beside that of arrays of fixed length; see `tracer/extents`.
May import: what numpy_api may.
"""
