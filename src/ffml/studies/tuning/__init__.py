"""Searching for settings: many at once in one compiled program, chosen on rounds not reported."""

from ffml.studies.tuning._choose import Rule, ranked, summarise_settings
from ffml.studies.tuning._chunks import Chunk, unfinished_chunks
from ffml.studies.tuning._plot import draw_trade_off
from ffml.studies.tuning._results import write_search
from ffml.studies.tuning._search import (
    REPORTED_SEEDS,
    SEEDS,
    Search,
    Span,
    check_search,
    plan_search,
)
from ffml.studies.tuning._space import (
    SPACES,
    Space,
    draw_settings,
    grid_settings,
    number_settings,
    space_axes,
)
from ffml.studies.tuning._study import Tuned, load_search, plan_space, tune_settings

__all__ = [
    "REPORTED_SEEDS",
    "SEEDS",
    "SPACES",
    "Chunk",
    "Rule",
    "Search",
    "Space",
    "Span",
    "Tuned",
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
