"""How thoroughly to reproduce: the paper's protocol, or less of it and saying so."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ffml.border import at_least, one_of, positive
from ffml.recipe.config import configure_run
from ffml.recipe.recipes import Recipe, known_settings
from ffml.research.reproduce._paper import DATA, LABELS
from ffml.studies.compare import PROTOCOLS, Protocol, RunSpec, plan

NOT_COMPARABLE = "not comparable with the paper"


@dataclass(frozen=True)
class Setting:
    """What runs have in common. None means what the protocol says.

    Args:
        protocol: a key of `ffml.studies.compare.PROTOCOLS`.
        seeds: one run each.
        iterations: outer iterations a round, and gradient steps of the online methods.
        tolerance: a round of FFML or m-FTML ends once it has settled within this, see
            `ffml.methods._stopping.settled`.
        rounds: how many tasks of a stream, from the first on.
        preset: settings by name, see `ffml.recipe.presets`.
        instead: in words, what the preset puts in the place of the paper's settings.
        quick: whether this is `QUICK` or made from it.
    """

    protocol: str = "paper"
    seeds: tuple[int, ...] | None = None
    iterations: int | None = None
    tolerance: float | None = None
    rounds: int | None = None
    preset: str | None = None
    instead: str = ""
    quick: bool = False

    def __post_init__(self) -> None:
        one_of("protocol", self.protocol, PROTOCOLS)
        at_least(1, **{k: 1 if (v := getattr(self, k)) is None else v for k in _COUNTS})
        positive(tolerance=1.0 if self.tolerance is None else self.tolerance)

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
    ) -> list[RunSpec]:
        """Plan runs under the paper's names of methods, or under ``label``."""
        known = {name for method in methods for name in known_settings(Recipe(method))}
        cells = []
        for name in data:
            given: dict[str, Any] = {}
            if self.iterations is not None:
                steps = ("num_outer_steps", "num_steps")
                given = {step: self.iterations for step in steps if step in known}
            if self.tolerance is not None and "stop" in known:
                given |= {"stop": "settled", "stop.tolerance": self.tolerance}
            given |= settings
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
        if self.tolerance:
            parts.append(f"rounds end once they have settled within {100 * self.tolerance:g} %")
        if self.rounds:
            parts.append(f"the first {self.rounds} tasks of a stream")
        if self.instead:
            parts.append(self.instead)
        return ", ".join(parts)

    def _full_iterations(self, data: str) -> int:
        return configure_run(data, {"method": "ffml"}, self._protocol.preset).settings[
            "num_outer_steps"
        ]


_COUNTS = ("iterations", "rounds")

# The paper's plain descent needs thousands of iterations to get anywhere; Adam shows something
# after a few, and a linear model compiles faster.
QUICK = Setting(
    seeds=(0, 1),
    iterations=20,
    rounds=20,
    preset="default",
    instead="the package's settings with a linear model and one constraint instead of the paper's",
    quick=True,
)
