"""Guards: what a trace reads, draws and writes outside itself, and the test that it is still so.

Promises that whatever a trace relied on is asked again at each call, is done at each call in its order, or is refused.
What may run unseen while tracing is a positive list (`purity`).
May import: numpy_api, extents, values, rewriter, common.
"""
