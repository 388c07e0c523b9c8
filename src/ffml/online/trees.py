"""A learner's state, a tree of arrays, as arrays by name, and back into the same kind of tree."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ffml.base import FFMLError


def leaves_by_name(tree: Any, root: str) -> dict[str, np.ndarray]:
    """Name every array of a tree by its place.

    >>> sorted(leaves_by_name({"w": np.ones(2), "b": [np.zeros(())]}, "params"))
    ["params['b'][0]", "params['w']"]
    """
    named = {
        root + jax.tree_util.keystr(path): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }
    for name, array in named.items():
        if array.dtype.kind not in "biuf":
            raise FFMLError(
                f"a checkpoint holds numbers only, and {name} of this method's state is "
                f"{array.dtype}; keep arrays in the state instead"
            )
    return named


def array_names(tree: Any, root: str) -> Any:
    """Return a tree of dicts and lists with the arrays' names in their places."""
    return jax.tree_util.tree_map_with_path(lambda path, _: root + jax.tree_util.keystr(path), tree)


def restored_tree(like: Any, root: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """Put named arrays into a tree of the shape of ``like``; refuses arrays that do not fit it.

    An array that starts without rows (what a method has seen so far) may have grown.
    """
    wanted = leaves_by_name(like, root)
    present = {n for n in arrays if n == root or n.startswith((f"{root}.", f"{root}["))}
    if strays := sorted(present ^ set(wanted)):
        which = "has" if strays[0] in present else "lacks"
        raise FFMLError(
            f"the saved {root} {which} {strays[0]}, unlike that of this method; use the settings "
            "and the ffml that wrote it"
        )
    for name, array in wanted.items():
        found = arrays[name]
        grown = array.size == 0 and found.ndim == array.ndim
        if found.dtype != array.dtype or (found.shape != array.shape and not grown):
            raise FFMLError(
                f"the saved {name} is {found.dtype}{list(found.shape)}, but this method has "
                f"{array.dtype}{list(array.shape)}; use the settings and the ffml that wrote it"
            )
    return jax.tree.unflatten(jax.tree.structure(like), [arrays[name] for name in wanted])
