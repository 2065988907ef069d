"""Programs as files that run without the tracer.

`saving` makes one of a compiled function and arguments, `loading` a function of a file; `container` is the form of a
file, `structure` and `steps` what is written of arguments and results. A loaded function computes what was traced: what
that read outside its arguments is frozen in it, and is told.
"""
