"""Searching for settings: many at once in one compiled program, chosen on rounds not reported."""

from ffml.studies.tuning._choose import Rule, ranked, summarise_settings
from ffml.studies.tuning._chunks import unfinished_chunks
from ffml.studies.tuning._results import draw_trade_off, write_search
from ffml.studies.tuning._search import (
    Search,
    Span,
    check_search,
    plan_search,
)
from ffml.studies.tuning._space import (
    SPACES,
    draw_settings,
    grid_settings,
    number_settings,
    space_axes,
)
from ffml.studies.tuning._study import load_search, plan_space, tune_settings

__all__ = [
    "SPACES",
    "Rule",
    "Search",
    "Span",
    "check_search",
    "draw_settings",
    "draw_trade_off",
    "grid_settings",
    "load_search",
    "number_settings",
    "plan_search",
    "plan_space",
    "ranked",
    "space_axes",
    "summarise_settings",
    "tune_settings",
    "unfinished_chunks",
    "write_search",
]
