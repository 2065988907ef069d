"""Nests of symbolic sizes: one machine code for all sizes, found by comparing what is emitted at several.

How generated NumPy comes by one. Within `ir.sample.of_sample({"n": 37})`

- `builtin(nest)` and `again(nest)` give a `SampledNest` and a `SampledAgain`, of which nothing is compiled;
- generated text calls them with the sizes first, by their names in order, as plain ints: `if nest(37, x, y): again(37,
  x, y)`. Comparing the texts of several samples makes `nest(n, x, y)` of that, as of all other numbers.

`one = SampledNest.unified(nests, samples)` takes the objects that stand at the same place in the texts of several
samples (the same samples in the same order for all nests of a program) and gives a `SizeFreeNest`, or raises
`ir.sample.Unalike`; `SampledAgain.unified` likewise gives what to call where the nest could not run on an object as it
lies. Nothing is compiled before it is called first. Then

- `one(n, x, y)` runs and gives False, or gives True where it has done nothing: an object is not what it should be, or
  the sizes are not covered;
- `one.covers({"n": 41})`: whether it may be called with such sizes, which a guard asks once for a new size, before any
  of the program runs. They lie between the least and the largest that were compared (each name by itself), have the
  remainder that all those have, and fulfil `one.conditions`, each a Dim that must be no less than 0;
- `one.extended(nest, sizes)`: whether the nest of another sample is the one that this one says; if so, those sizes and
  all between are covered from then on.
"""
