"""The rewriter: the source of a function -> the same function with hooks, compiled, with its lines and names.

Promises that on plain values the rewritten code does exactly what Python does.
It knows syntax and code objects; it knows no traced value.
May import: common.
"""
