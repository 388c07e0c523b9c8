"""Everything that decides what a run does, in one record."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ffml.base import FFMLError, Ratio
from ffml.kinds import refuse_other_kinds
from ffml.limits import refuse_large
from ffml.metrics import NOTIONS
from ffml.metrics.verdict import most_apart
from ffml.recipe.asked import aimed_bounds, asked_bounds
from ffml.recipe.policy import DEFAULT_POLICY, PAPERS_POLICY
from ffml.recipe.presets import default_method, preset
from ffml.recipe.recipes import Recipe, check_recipe, known_settings, takes_policy
from ffml.recipe.renamed import todays_method


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run does.

    Args:
        data: a data set, a table, or "sql" for a query on a database.
        data_options: options of the data, such as the roles of a table's columns.
        notions: what must not differ between groups, see `ffml.constraints`.
        max_gap: by how much it may differ (0.05 is 5 points), one for all notions or one for each;
            None asks for no fairness, or for a ratio.
        min_ratio: in place of ``max_gap``: what share of the higher rate of positive decisions the
            lower one is at least (0.8: the four-fifths rule).
        aim: what to learn for, in the units of the bound and no looser: 0.03 where 0.05 is to be
            kept, so that chance does not break it. None aims at the bound itself.
        policy: who is decided favourably: "labels" (as many as favourable labels are expected),
            "approve=0.8", "cost=5", "accuracy", "balanced", or a least probability; None leaves it
            to the method, whose scores are positive or not.
        recipe: how the learner is put together.
        seed: draws the order of tasks, the splits and the starting point.
        rounds: stop after this number of tasks; None plays all.
        validation_fraction: part of each task that is decided about and judged.
        shots: rows drawn of each class, for adapting and for learning; None takes all.
        tasks_per_round: |U|, most tasks that a round learns from.
        rows_per_task: most rows kept of a task.
        memory_policy: which tasks are kept: all, recent or reservoir (a uniform sample).
        memory_capacity: most tasks kept by the policies recent and reservoir.
        augment_to: the paper's protocol: add rotated rows until a task has so many; 0 adds none.
        judge_from: share of the stream that is only learned from, and not judged.
        judge_min_rows: rounds with fewer rows to judge are only learned from.
        label_delay: labels are known so many rounds after their decision, and not used before.
        decide_with_groups: groups are known when people are decided about, and prices may go by
            them; off, decisions never look at a group.
        plugins: files with parts of one's own, by path with their SHA-256.
    """

    data: str
    data_options: dict[str, Any] = field(default_factory=dict)
    notions: tuple[str, ...] = ("demographic-parity",)
    max_gap: tuple[float, ...] | None = (0.05,)
    min_ratio: tuple[float, ...] | None = None
    aim: tuple[float, ...] | None = None
    recipe: Recipe = field(default_factory=Recipe)
    seed: int = 0
    rounds: int | None = None
    validation_fraction: float = 0.5
    shots: int | None = 100
    tasks_per_round: int = 32
    rows_per_task: int = 1024
    memory_policy: str = "reservoir"
    memory_capacity: int = 256
    augment_to: int = 0
    judge_from: float = 0.0
    judge_min_rows: int = 0
    label_delay: int = 0
    decide_with_groups: bool = False
    policy: str | None = None
    plugins: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; an estimator among the settings is none."""
        for name, value in self.recipe.settings.items():
            if hasattr(value, "fit"):
                raise FFMLError(
                    f"{name} is a {type(value).__name__} object, which no file can hold; name one "
                    "(see 'ffml methods'), or stay in memory with FairMetaClassifier or ffml.play"
                )
        return asdict(self)

    @property
    def asked(self) -> tuple[tuple[str, float | Ratio], ...]:
        """What was asked for: each notion with its bound, or nothing."""
        return asked_bounds(self.notions, self.max_gap, self.min_ratio)

    @property
    def aimed(self) -> tuple[tuple[str, float | Ratio], ...]:
        """What is learned for: each notion with what is aimed at, the bound itself by default."""
        return aimed_bounds(self.notions, self.max_gap, self.min_ratio, self.aim)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, flat, with the recipe's defaults filled in."""
        own = {name: getattr(self, name) for name in OWN_SETTINGS}
        return own | {"wrappers": self.recipe.wrappers} | self.recipe.values()


# What a run has besides its data and its recipe, by the names that ``--set`` takes.
_NO_SETTINGS = ("data", "data_options", "recipe", "plugins")
OWN_SETTINGS = tuple(f.name for f in fields(RunConfig) if f.name not in _NO_SETTINGS)


def check_settings(config: RunConfig) -> None:
    """Refuse settings of a wrong kind, and sizes that no machine could serve."""
    own = {name: getattr(config, name) for name in ("data", "data_options", *OWN_SETTINGS)}
    refuse_other_kinds(own, {f.name: f.type for f in fields(RunConfig)})
    refuse_large(own | config.data_options)
    _check_asked(config)
    check_recipe(config.recipe)
    if config.decide_with_groups and "evened" not in config.recipe.wrappers:
        raise FFMLError("decide_with_groups is for prices by group; add the wrapper evened")
    if config.policy is not None and not takes_policy(config.recipe):
        raise FFMLError(
            f"'{config.recipe.method}' decides by the sign of its scores; add the wrapper evened "
            "(--with evened) to choose who is approved, or leave out approve, cost and threshold"
        )


def _check_asked(config: RunConfig) -> None:
    if not config.notions:
        raise FFMLError("name a notion; max_gap=null asks for no fairness at all")
    if config.max_gap is not None and config.min_ratio is not None:
        raise FFMLError("max_gap and min_ratio are two ways to ask for the same; give one of them")
    for notion, bound in config.asked:
        _check_bound(notion, bound)
    for (_, bound), (_, aim) in zip(config.asked, config.aimed, strict=True):
        if not 0 <= most_apart(aim) <= most_apart(bound):
            raise FFMLError(
                f"aim must be as strict as what is to be kept, or stricter; got {_number(aim):g} "
                f"for {_number(bound):g}"
            )


def _check_bound(notion: str, bound: float | Ratio) -> None:
    if isinstance(bound, Ratio):
        if not 0 < bound.least <= 1:
            raise FFMLError(
                f"min_ratio must be above 0 and at most 1, got {bound.least:g}; 0.8 is 80 %"
            )
        if notion not in NOTIONS:
            raise FFMLError(
                f"min_ratio compares rates of decisions, and '{notion}' compares scores; use "
                f"max_gap, or one of {', '.join(NOTIONS)}"
            )
    elif bound < 0:
        raise FFMLError(f"max_gap must be >= 0, got {bound:g}")
    elif bound > 1 and notion in NOTIONS:
        raise FFMLError(f"max_gap must be <= 1, got {bound:g}; 0.05 is 5 points")


def _number(bound: float | Ratio) -> float:
    return bound.least if isinstance(bound, Ratio) else bound


def configure_run(
    data: str,
    given: Mapping[str, Any],
    preset_name: str | None = "default",
    policy: str = DEFAULT_POLICY,
) -> RunConfig:
    """Sort settings into their places; ``given`` wins over the preset, which wins over defaults.

    Args:
        data: a data set or a table.
        given: ``method``, ``wrappers``, settings of the run (`OWN_SETTINGS`) and of the recipe.
            One that neither has is refused.
        preset_name: see `ffml.recipe.presets`. What it says of parts that were exchanged for
            others is left out. None: ``given`` says everything that differs from the defaults.
        policy: where none is given and the recipe takes one.
    """
    method = given.get("method", default_method(preset_name))
    refuse_other_kinds({"method": method}, {"method": str})
    method = todays_method(method)
    chosen = preset(preset_name, data, method) if preset_name else {}
    merged = chosen | dict(given)
    wrappers = tuple(merged.pop("wrappers", ()))
    merged.pop("method", None)
    if merged.get("min_ratio") is not None and given.get("max_gap") is None:
        merged["max_gap"] = None  # of a preset, or the default
    own = {n: merged.pop(n) for n in (*OWN_SETTINGS, "data_options", "plugins") if n in merged}
    known = known_settings(Recipe(method, wrappers, merged))
    settings = {n: value for n, value in merged.items() if n in known or n in given}
    recipe = Recipe(method, wrappers, settings)
    if takes_policy(recipe):
        own.setdefault("policy", PAPERS_POLICY if preset_name == "paper" else policy)
    config = RunConfig(data=data, recipe=recipe, **own)
    check_settings(config)
    return config
