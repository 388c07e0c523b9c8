"""Which cells a comparison has: methods × data sets × seeds, by a protocol."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.methods import METHODS
from ffml.recipe.build import SMALLEST_SCHEMA, build_for
from ffml.recipe.config import OWN_SETTINGS, RunConfig, configure_run
from ffml.recipe.policy import PAPERS_POLICY
from ffml.recipe.presets import default_method
from ffml.recipe.presets import preset as preset_settings
from ffml.recipe.recipes import Recipe, additions, known_settings, takes_policy
from ffml.recipe.renamed import todays_method
from ffml.studies.cells import RunSpec
from ffml.studies.compare._summary import MIN_VALIDATION, enough_rows

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
    """A method with settings of its own (``wrappers`` among them), under a name of its own."""

    label: str
    method: str
    settings: Mapping[str, Any] = {}


Choose = Callable[[str, str, Mapping[str, Any], str], Mapping[str, Any]]
# ^ data, label, what is given, preset -> more settings of this variant on these data

# What a plan decides itself, and the argument (or option) that changes it.
_PLANNED = {
    "data": "data",
    "data_options": "data",
    "method": "method",
    "seed": "seeds",
    "validation_fraction": "validation",
}


def plan(
    data: Sequence[str] = PAPER_DATA,
    methods: Sequence[str | Variant] | None = None,
    *,
    protocol: str = "clean",
    seeds: Sequence[int] | None = None,
    seeds_of: Mapping[str, Sequence[int]] | None = None,
    validation: Sequence[float] | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    data_options: Mapping[str, Mapping[str, Any]] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    plugins: Mapping[str, str] | None = None,
    choose: Choose | None = None,
) -> list[RunSpec]:
    """List the cells of a comparison; labels are the methods' names, or those of variants.

    Methods that call other libraries take seconds for a decision. They decide only in the rounds
    that a summary looks at: those of the last third with enough rows.

    Args:
        data: data sets, or paths of tables.
        methods: keys of `ffml.methods.METHODS`, or variants of them; by default all.
        protocol: a key of `PROTOCOLS`; the following override what it says.
        seeds: draw the order of the tasks, splits and starts; the same for every method.
        seeds_of: other seeds for some of the data, by data: more of them where results are noisy.
        validation: shares of a task's rows that judge the decision.
        preset: settings by name, see `ffml.recipe.presets`.
        settings: for all variants that have them; a variant's own win.
        data_options: options of data sets, or roles of a table's columns, by data.
        fingerprints: of tables, by data.
        plugins: of `ffml.recipe.plugins.load_plugins`.
        choose: asked for settings of each variant and data set, such as
            `ffml.studies.budget.chosen_by_search`.

    >>> [cell.name for cell in plan(["adult"], ["ffml", "twp"], seeds=[7])]
    ['ffml on adult, seed 7', 'twp on adult, seed 7']
    >>> plan(["adult"], ["leader"], seeds=[7])[0].config.recipe.method
    'ffml-exact'
    >>> loose = Variant("FFML, gap 0.1", "ffml", {"max_gap": (0.1,)})
    >>> [cell.name for cell in plan(["adult"], ["ffml", loose], seeds=[7])]
    ['ffml on adult, seed 7', 'FFML, gap 0.1 on adult, seed 7']
    """
    chosen = one_of("protocol", protocol, PROTOCOLS)
    preset = preset or chosen.preset
    given = chosen.settings | dict(settings or {})
    variants = _variants(tuple(METHODS) if methods is None else methods)
    for name in seeds_of or {}:
        one_of("data set in seeds", name, dict.fromkeys(data))
    for_all = chosen.seeds if seeds is None else seeds
    cells = []
    for name in dict.fromkeys(data):
        options = dict((data_options or {}).get(name, {}))
        known = _known_settings(name, variants, given, preset)
        for share in dict.fromkeys(validation or chosen.validation):
            for variant in variants:
                own = {k: v for k, v in given.items() if k in known[variant.label]}
                own |= dict(variant.settings)
                own |= {"method": variant.method, "validation_fraction": share}
                own |= {"data_options": options, "plugins": dict(plugins or {})}
                if choose is not None:
                    own |= choose(name, variant.label, own, preset)
                config = _judged_late(configure_run(name, own, preset, PAPERS_POLICY), own)
                for seed in dict.fromkeys((seeds_of or {}).get(name, for_all)):
                    seeded = replace(config, seed=seed)
                    cells.append(RunSpec(variant.label, seeded, (fingerprints or {}).get(name, "")))
    return cells


def known_kinds(data: str, given: Mapping[str, Any], preset_name: str) -> dict[str, Any]:
    """Return the kind of value that each setting takes, whether it is given or not.

    What a recipe has depends on its method, parts and wrappers.

    Args:
        data: a data set or a table.
        given: as `ffml.recipe.config.configure_run` takes it; names of no setting are ignored.
        preset_name: see `ffml.recipe.presets`.

    >>> known_kinds("adult", {"method": "twp"}, "default")["lr"]
    <class 'float'>
    """
    method = given.get("method", default_method(preset_name))
    merged = preset_settings(preset_name, data, method) | dict(given)
    recipe = Recipe(method, tuple(merged.get("wrappers", ())), merged)
    own = {f.name: f.type for f in fields(RunConfig) if f.name in OWN_SETTINGS}
    if not takes_policy(recipe):
        del own["policy"]
    of_recipe = {name: setting.kind for name, setting in known_settings(recipe).items()}
    return own | {"wrappers": tuple[str, ...]} | of_recipe


def _variants(methods: Sequence[str | Variant]) -> list[Variant]:
    """Look up every method once; a label stands for one of them."""
    variants: dict[str, Variant] = {}
    for given in methods:
        variant = Variant(given, given) if isinstance(given, str) else given
        variant = variant._replace(method=todays_method(variant.method))
        one_of("method", variant.method, METHODS)
        if variants.setdefault(variant.label, variant) != variant:
            raise FFMLError(f"'{variant.label}' is the name of two variants; give them other names")
    return list(variants.values())


def _known_settings(
    data: str, variants: Sequence[Variant], given: Mapping[str, Any], preset: str
) -> dict[str, set[str]]:
    """Name the settings of each variant; refuse what no run has, and what the plan decides."""
    found = {}
    for label, method, own in variants:
        merged = {**given, **own, "method": method}
        found[label] = set(known_kinds(data, merged, preset))
        _refuse_unknown(own, found[label])
    _refuse_unknown(given, set().union(*found.values()))
    return found


def _refuse_unknown(names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name in _PLANNED:
            raise FFMLError(f"'{name}' differs between the cells; change it by {_PLANNED[name]}")
        if name in known:
            continue
        owner = name.partition(".")[0]
        if owner in additions():
            raise FFMLError(f"'{name}' is a setting of the wrapper '{owner}'; add with={owner}")
        near = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise FFMLError(f"none of the methods has a setting '{name}'; {hint}See 'ffml methods'")


def _judged_late(config: RunConfig, given: Mapping[str, Any]) -> RunConfig:
    """Let a method that is not compiled decide only where a summary looks."""
    built = build_for(config, SMALLEST_SCHEMA)
    if built.learner.traits.pure and built.features is None:
        return config
    late: dict[str, Any] = {
        "judge_from": LAST_THIRD,
        "judge_min_rows": enough_rows(config.data, MIN_VALIDATION),
    }
    return replace(config, **{name: value for name, value in late.items() if name not in given})
