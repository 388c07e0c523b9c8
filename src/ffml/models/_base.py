"""What a model is."""

from collections.abc import Callable
from typing import NamedTuple

from ffml.base import Array, Params


class Model(NamedTuple):
    """``init(key, num_features) -> params`` and ``apply(params, x) -> logits (n,)``."""

    init: Callable[[Array, int], Params]
    apply: Callable[[Params, Array], Array]
