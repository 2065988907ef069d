"""What a program *is*: types, values, equations, functions, their text, and the passes over them.

A program is a frozen `Func` of typed SSA equations; regions (`cond`, `loop`, `map`, `call`) are
closed functions held in attributes. Mutation never reaches this folder, nor do broadcasting and
dtype promotion: the tracer has made both explicit. Imports numpy and nothing else of the project.
"""
