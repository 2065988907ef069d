"""One run of a function on traced values -> Captured: the program, its checks, its stores, and what is handed over.

Promises that results, containers and mutated arguments are what Python's would be, objects and memory included.
May import: regions, guards and all below.
"""
