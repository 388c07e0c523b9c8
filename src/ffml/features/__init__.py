"""Columns learned from earlier tasks: a factory takes a schema and settings."""

from collections.abc import Callable

from ffml.base import Features
from ffml.features.boosted import boosted

FEATURES: dict[str, Callable[..., Features]] = {"boosted": boosted}

__all__ = ["FEATURES", "boosted"]
