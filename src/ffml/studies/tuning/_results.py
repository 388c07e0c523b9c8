"""The files that a search leaves: all settings, the chosen one and why, and the trade-off."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.recipe.plain import to_json
from ffml.studies.files import write_files
from ffml.studies.tuning._choose import METRICS, Rule
from ffml.studies.tuning._plot import draw_trade_off
from ffml.studies.tuning._search import Search, Span
from ffml.tables.csvfile import frame_text

_ROUNDS = {"judged": "rounds", "dp_defined": "dp_rounds", "eo_defined": "eo_rounds"}
SETTINGS, CHOSEN, PICTURE = "settings.csv", "chosen.json", "trade-off"


def write_search(
    folder: Path,
    search: Search,
    span: Span,
    table: pd.DataFrame,
    rule: Rule,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Write all files from what `ranked` returned; return what chosen.json says."""
    document = chosen_document(search, span, table, rule, facts)
    files: dict[str, str | bytes] = {SETTINGS: settings_csv(search, table)}
    pictures = draw_trade_off(table, rule, _title(search, span))
    files |= {f"{PICTURE}.{kind}": data for kind, data in pictures.items()}
    files[CHOSEN] = to_json(document)
    write_files(folder, files)
    return document


def settings_csv(search: Search, table: pd.DataFrame) -> str:
    """One line a setting in the rule's order: its values, then how it did; empty: undefined."""
    values = pd.DataFrame([_words(search.settings[number - 1]) for number in table.index])
    rest = table.reset_index(drop=True)
    lines = pd.concat([values, rest], axis=1)
    lines.insert(0, "rank", range(1, len(lines) + 1))
    return frame_text(lines)


def chosen_document(
    search: Search, span: Span, table: pd.DataFrame, rule: Rule, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the chosen setting and how it was chosen; ``ffml run --config`` reads ``run``."""
    best, number = table.iloc[0], int(table.index[0])
    return {
        "data": search.data,
        "method": search.method,
        "settings": search.settings[number - 1],
        "how": {
            **facts,
            "seeds": search.seeds,
            "rounds": {"first": span.first, "last": span.last, "of": span.rounds},
            "min_validation": search.min_validation,
            "rule": str(rule),
            "targets": {"dp_of_ceiling": rule.target_dp, "eo_of_ceiling": rule.target_eo},
            "settings_tried": len(table),
            "settings_that_reach_the_targets": int((table["shortfall"] <= 0).sum()),
            "settings_as_fair_as_the_fairest": int(table["as_fair"].sum()),
        },
        "measured": {
            name: {"mean": float(best[name]), "standard_error": float(best[f"{name}_se"])}
            for name in METRICS
        }
        | {name: {"mean": float(best[name])} for name in ("typical_gap", "long_run_gap")}
        | {"rounds": {name: int(best[column]) for name, column in _ROUNDS.items()}},
        "run": replace(search.configs[number - 1], rounds=None).to_json(),
    }


def _title(search: Search, span: Span) -> str:
    return (
        f"{Path(search.data).stem}: {len(search.settings)} settings of {search.method}, each a "
        f"mean over rounds {span.first}–{span.last} of {span.rounds} and seeds {search.seed_words}"
    )


def _words(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Write several values in one cell as ``--grid`` takes them.

    >>> _words({"max_gap": (0.02, 0.05), "l2": 0.1})
    {'max_gap': '0.02+0.05', 'l2': 0.1}
    """
    return {
        name: "+".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in setting.items()
    }
