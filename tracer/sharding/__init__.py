"""Over which devices the axes of arguments are spread, and what the collectives cost."""
