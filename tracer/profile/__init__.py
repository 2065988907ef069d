"""Where the time of a script goes: calls, traces, compilation and user lines, as a table and as a file for trace
viewers.

Promises that real calls are timed, and that nothing is recorded unless it is asked for.
May import: api and all below.
"""
