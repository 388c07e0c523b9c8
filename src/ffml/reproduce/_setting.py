"""How thoroughly to reproduce: the paper's protocol, or less of it and saying so."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ffml.checks import at_least, one_of
from ffml.compare import PROTOCOLS, Cell, Protocol, plan
from ffml.experiment import configure_run, method_defaults
from ffml.presets import preset
from ffml.reproduce._paper import DATA, LABELS

NOT_COMPARABLE = "not comparable with the paper"


@dataclass(frozen=True)
class Setting:
    """What runs have in common. None means what the protocol says.

    Args:
        protocol: a key of `ffml.compare.PROTOCOLS`.
        seeds: one run each.
        iterations: outer iterations a round, and gradient steps of the online methods.
        rounds: the first so many tasks of a stream.
        preset: settings by name, see `ffml.presets`.
        overrides: settings that win over the preset's.
        instead: in words, what preset and overrides put in the place of the paper's settings.
        quick: whether this is `QUICK` or made from it.
    """

    protocol: str = "paper"
    seeds: tuple[int, ...] | None = None
    iterations: int | None = None
    rounds: int | None = None
    preset: str | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    instead: str = ""
    quick: bool = False

    def __post_init__(self) -> None:
        one_of("protocol", self.protocol, PROTOCOLS)
        at_least(1, **{k: 1 if (v := getattr(self, k)) is None else v for k in _COUNTS})

    @property
    def _protocol(self) -> Protocol:
        return PROTOCOLS[self.protocol]

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of every item."""
        return self._protocol.seeds if self.seeds is None else self.seeds

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of a task's rows that judge; tables and ablations take the first."""
        return self._protocol.validation

    @property
    def suffix(self) -> str:
        """What file names add, so that no file of one setting passes for another's."""
        words = [self.protocol] if self.protocol != "paper" else []
        if self.quick:
            words.append("quick")
        elif self._reductions():
            words.append("reduced")
        return "".join(f"-{word}" for word in words)

    @property
    def note(self) -> str:
        """What every output says if it is not the paper's setting; empty if it is."""
        parts = []
        if self.protocol != "paper":
            parts.append(f"{self.protocol} protocol: {self._protocol.summary}")
        if reductions := self._reductions():
            parts.append(f"{'quick' if self.quick else 'reduced'} setting: {reductions}")
        return "; ".join([*parts, NOT_COMPARABLE]) if parts else ""

    def iterations_of(self, data: str) -> int:
        """Return the outer iterations a round."""
        return self.iterations or self._full_iterations(data)

    def document(self) -> dict[str, Any]:
        """Return what JSON files keep of it."""
        return asdict(self) | {
            "seeds": self.all_seeds,
            "shares": self.shares,
            "iterations": {data: self.iterations_of(data) for data in DATA},
            "note": self.note,
        }

    def cells(
        self,
        data: Sequence[str],
        methods: Sequence[str],
        *,
        shares: Sequence[float] | None = None,
        label: str | None = None,
        **settings: Any,
    ) -> list[Cell]:
        """Plan runs under the paper's names of methods, or under ``label``.

        In the paper all methods "share … parameter settings": with its preset, the online methods
        take as many steps a round as FFML's outer level, of the same size.
        """
        known = {name for method in methods for name in method_defaults(method)}
        cells = []
        for name in data:
            given: dict[str, Any] = {}
            if (self.preset or self._protocol.preset) == "paper":
                paper = preset("paper", name)
                given |= {"lr": paper["outer_lr"], "num_steps": paper["num_outer_steps"]}
            if self.iterations is not None:
                given |= dict.fromkeys(("num_outer_steps", "num_steps"), self.iterations)
            given = {k: v for k, v in given.items() if k in known} | self.overrides | settings
            if self.rounds is not None:
                given["rounds"] = self.rounds
            cells += plan(
                [name],
                methods,
                protocol=self.protocol,
                seeds=self.all_seeds,
                validation=shares or self.shares[:1],
                preset=self.preset,
                settings=given,
            )
        return [replace(cell, label=label or LABELS[cell.label]) for cell in cells]

    def _reductions(self) -> str:
        """Say in words what is less than the protocol asks for, or other."""
        parts, full = [], len(self._protocol.seeds)
        if self.all_seeds != self._protocol.seeds:
            count = len(self.all_seeds)
            parts.append(f"{count} of {full} repeats" if count < full else f"{count} repeats")
        steps = sorted({self._full_iterations(data) for data in DATA})
        if self.iterations and steps != [self.iterations]:
            usual = " to ".join(f"{count:,}" for count in steps[:: max(len(steps) - 1, 1)])
            parts.append(f"{self.iterations:,} iterations a round instead of {usual}")
        if self.rounds:
            parts.append(f"the first {self.rounds} tasks of a stream")
        if self.instead:
            parts.append(self.instead)
        return ", ".join(parts)

    def _full_iterations(self, data: str) -> int:
        return configure_run(data, {}, self._protocol.preset).settings["num_outer_steps"]


_COUNTS = ("iterations", "rounds")

# The paper's plain descent needs thousands of iterations to get anywhere; Adam shows something
# after a few, and a linear model compiles faster. The rest is pinned, so that what is chosen as
# the package's default changes neither the time this takes nor what the figures compare.
QUICK = Setting(
    seeds=(0, 1),
    iterations=20,
    rounds=20,
    preset="default",
    overrides={
        "model": "linear",
        "constraints": ("demographic-parity",),
        "bounds": (0.02,),
        "temperature": 1.0,
        "relative_temperature": False,
        "positive_weight": 1.0,
        "gap_spread": 0.0,
        "gap_penalty": 0.0,
        "predict_gaps": False,
        "parity_goal": 1.0,
        "l2": 0.0,
        "outer_lr": 0.01,
        "memory_policy": "all",
        "memory_capacity": 256,
        "tasks_per_round": 32,
    },
    instead="the package's settings with a linear model and one constraint instead of the paper's",
    quick=True,
)
