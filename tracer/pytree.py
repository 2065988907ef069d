"""Nested containers of arrays; the one module of this folder that meets jax, for its registry of node types."""

from jax import tree_util

flatten = tree_util.tree_flatten
flatten_with_path = tree_util.tree_flatten_with_path
unflatten = tree_util.tree_unflatten
structure = tree_util.tree_structure
leaves = tree_util.tree_leaves
map = tree_util.tree_map


def path_text(path):
    """`['w'][0]` for a leaf's path."""
    return tree_util.keystr(path)


def is_leaf(tree):
    """Whether a structure is one leaf and nothing around it."""
    return tree_util.treedef_is_leaf(tree) and tree.num_leaves == 1
