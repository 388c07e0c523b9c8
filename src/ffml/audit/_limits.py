"""What is asked of decisions, by the gate and by an audit."""

from typing import NamedTuple

from ffml.base import FFMLError, Ratio
from ffml.metrics import NOTIONS

DEFAULT_NOTION = "demographic-parity"


class Limits(NamedTuple):
    """Limits and the notion they are for; None: nothing is asked."""

    max_gap: float | None = None
    notion: str | None = None
    min_dp: float | None = None
    min_eo: float | None = None
    min_ratio: float | None = None

    def asked(self) -> list[tuple[str, float | Ratio]]:
        """Return notions with their bounds."""
        whom = self.notion or DEFAULT_NOTION
        ratios = ((whom, self.min_ratio), (DEFAULT_NOTION, self.min_dp))
        least = [
            (n, Ratio(v)) for n, v in (*ratios, ("equalized-odds", self.min_eo)) if v is not None
        ]
        return [*([] if self.max_gap is None else [(whom, float(self.max_gap))]), *least]

    def refuse_misuse(self, labelled: bool = True) -> None:
        """Refuse limits that are out of range, or that need labels where there are none."""
        for name, limit in self._replace(notion=None)._asdict().items():
            if limit is not None and not 0 <= limit <= 1:
                hint = "0.05 is 5 points" if name in ("max_gap", "max_violation") else "0.8 is 80 %"
                option = f"--{name.replace('_', '-')}"
                raise FFMLError(f"{option} must be between 0 and 1, got {limit}; {hint}")
        if self.notion is not None and self.max_gap is self.min_ratio is None:
            raise FFMLError(
                "--notion says whom --max-gap and --min-ratio compare; give one of these too"
            )
        if self.notion is not None and self.notion not in NOTIONS:
            raise FFMLError(f"--notion must be one of {', '.join(NOTIONS)}, got '{self.notion}'")
        for name, asked in (
            (f"--notion {self.notion}", self.notion not in (None, DEFAULT_NOTION)),
            ("--min-eo", self.min_eo is not None),
        ):
            if asked and not labelled:
                raise FFMLError(f"{name} compares people of the same label; give --label")
