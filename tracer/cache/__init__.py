"""What one process has traced and compiled, kept on disk for the next: a program is found before anything is traced.

A file holds a program's text, the state of the world outside that its trace relied on, and its executables.
It is used where all that decides the trace is as it was: the code of every function the trace went through, the
values it read, the arguments' types, options and versions. What cannot be said in a file is not kept.
"""
