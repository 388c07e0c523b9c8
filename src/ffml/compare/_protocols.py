"""Which cells a comparison has: methods × data sets × seeds, by a protocol."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.checks import one_of
from ffml.compare._cell import Cell
from ffml.compare._summary import MIN_VALIDATION, enough_rows
from ffml.constraints import demographic_parity
from ffml.experiment import SMALLEST_SCHEMA, RunConfig, configure_run, method_defaults
from ffml.methods import METHODS
from ffml.models import linear
from ffml.problem import fair_classification

PAPER_DATA = ("adult", "bank", "crime")
LAST_THIRD = 2 / 3  # `RunConfig.judge_from` of the rounds t with 3t > 2T


@dataclass(frozen=True)
class Protocol:
    """How runs are measured, whatever the method."""

    summary: str
    seeds: tuple[int, ...]
    preset: str
    validation: tuple[float, ...]  # shares of a task's rows that judge, each a run of its own
    settings: dict[str, Any] = field(default_factory=dict)


PROTOCOLS: dict[str, Protocol] = {
    "clean": Protocol(
        summary="no synthetic rows, half of every task judges, 5 seeds",
        seeds=tuple(range(5)),
        preset="default",
        validation=(0.5,),
    ),
    "paper": Protocol(
        summary="tasks filled up to 2,500 rows by rotation, 90 % and 30 % judge, 10 repeats",
        seeds=tuple(range(10)),
        preset="paper",
        validation=(0.9, 0.3),
        settings={"augment_to": 2500},
    ),
}


class Variant(NamedTuple):
    """A method with settings of its own, under a name of its own."""

    label: str
    method: str
    settings: Mapping[str, Any] = {}


# What a plan decides itself, and the argument (or option) that changes it.
_PLANNED = {
    "data": "data",
    "data_options": "data",
    "method": "method",
    "seed": "seeds",
    "validation_fraction": "validation",
    "method_settings": "the method's own settings",
    "model_settings": "the model's own settings",
}


def plan(
    data: Sequence[str] = PAPER_DATA,
    methods: Sequence[str | Variant] = tuple(METHODS),
    *,
    protocol: str = "clean",
    seeds: Sequence[int] | None = None,
    seeds_of: Mapping[str, Sequence[int]] | None = None,
    validation: Sequence[float] | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    data_options: Mapping[str, Mapping[str, Any]] | None = None,
    fingerprints: Mapping[str, str] | None = None,
) -> list[Cell]:
    """List the cells of a comparison; labels are the methods' names, or those of variants.

    Methods that call other libraries take seconds for a decision: they decide only in the rounds
    that a summary looks at, the last third and those with rows enough.

    Args:
        data: data sets, or paths of tables.
        methods: keys of `ffml.methods.METHODS`, or variants of them.
        protocol: a key of `PROTOCOLS`; the following override what it says.
        seeds: draw the order of the tasks, splits and starts; the same for every method.
        seeds_of: other seeds for some of the data, by data: more of them where results are noisy.
        validation: shares of a task's rows that judge the decision.
        preset: settings by name, see `ffml.presets`.
        settings: a run's settings for all, and a method's for those methods that have it.
        data_options: options of data sets, or roles of a table's columns, by data.
        fingerprints: of tables, by data.

    >>> [cell.name for cell in plan(["adult"], ["ffml", "twp"], seeds=[7])]
    ['ffml on adult, seed 7', 'twp on adult, seed 7']
    >>> loose = Variant("FFML, bound 0.1", "ffml", {"bounds": (0.1,)})
    >>> [cell.name for cell in plan(["adult"], ["ffml", loose], seeds=[7])]
    ['ffml on adult, seed 7', 'FFML, bound 0.1 on adult, seed 7']
    """
    chosen = one_of("protocol", protocol, PROTOCOLS)
    given = chosen.settings | dict(settings or {})
    variants = _variants(methods)
    _refuse_unknown(given, [variant.method for variant in variants])
    for name in seeds_of or {}:
        one_of("data set in seeds", name, dict.fromkeys(data))
    slow = {variant.method for variant in variants if not _is_pure(variant.method)}
    for_all = chosen.seeds if seeds is None else seeds
    cells = []
    for name in dict.fromkeys(data):
        options = dict((data_options or {}).get(name, {}))
        for share in dict.fromkeys(validation or chosen.validation):
            for label, method, of_its_own in variants:
                own = {k: v for k, v in given.items() if _takes(method, k)} | dict(of_its_own)
                own |= {"method": method, "validation_fraction": share}
                if method in slow:
                    rows = enough_rows(name, MIN_VALIDATION)
                    own = {"judge_from": LAST_THIRD, "judge_min_rows": rows} | own
                if options:
                    own["data_options"] = options
                for seed in dict.fromkeys((seeds_of or {}).get(name, for_all)):
                    config = configure_run(name, own | {"seed": seed}, preset or chosen.preset)
                    cells.append(Cell(label, config, (fingerprints or {}).get(name, "")))
    return cells


def _variants(methods: Sequence[str | Variant]) -> list[Variant]:
    """Look up every method once; a label stands for one of them."""
    found: dict[str, Variant] = {}
    for given in methods:
        variant = Variant(given, given) if isinstance(given, str) else given
        one_of("method", variant.method, METHODS)
        _refuse_unknown(variant.settings, [variant.method])
        if found.setdefault(variant.label, variant) != variant:
            raise FFMLError(f"'{variant.label}' is the name of two variants; give them other names")
    return list(found.values())


def _takes(method: str, setting: str) -> bool:
    return setting in _run_settings() or setting in method_defaults(method)


def _run_settings() -> set[str]:
    return {f.name for f in fields(RunConfig)} | {"hidden"}


def _refuse_unknown(settings: Mapping[str, Any], methods: Sequence[str]) -> None:
    """Refuse what no run has, and what the plan decides."""
    known = _run_settings().union(*(method_defaults(method) for method in methods))
    for name in settings:
        if name in _PLANNED:
            raise FFMLError(f"'{name}' differs between the cells; change it by {_PLANNED[name]}")
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise FFMLError(
                f"none of the methods has a setting '{name}'; {hint}See 'ffml methods' and "
                "'ffml run --help'"
            )


def _is_pure(method: str) -> bool:
    """Tell whether a method's decisions are compiled."""
    problem = fair_classification(SMALLEST_SCHEMA, linear(), demographic_parity(0.1))
    return METHODS[method](problem).pure
