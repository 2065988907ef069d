"""Python's own syntax, captured: functions rewritten so that loops, branches, stores and calls pass through hooks.

On plain values a rewritten function does exactly what Python does. On traced values the hooks run the
body of a branch or loop in a trace of its own and make it a region of the program.
May import: guards and all below.
"""
