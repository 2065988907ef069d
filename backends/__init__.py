"""How a program *runs*: as generated NumPy source, or through jax.lax and XLA on CPU or GPU.

The only folder that imports jax (public interface only). Each op has one lowering line, in the file
named as the op's own family. Nothing here knows Python capture, guards or derivatives.
"""
