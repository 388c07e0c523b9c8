"""One run of a comparison, and the name under which its results are kept."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ffml.recipe.config import RunConfig

# Raised whenever the same settings would give other numbers, or results are kept otherwise.
RESULTS_FORMAT = 4


@dataclass(frozen=True)
class RunSpec:
    """A run to compare with others.

    Args:
        label: what tables call it, usually the method. It is no part of the results' name.
        config: all that decides what the run does.
        fingerprint: of a table of one's own, so that results of a changed table do not count.
    """

    label: str
    config: RunConfig
    fingerprint: str = ""

    @property
    def key(self) -> str:
        """A name for the results: other settings, data or defaults make it another one."""
        described = self.config.to_json()
        plugins = sorted(described.pop("plugins").values())  # wherever the files are
        described |= {"plugins": plugins} if plugins else {}
        described |= {
            "format": RESULTS_FORMAT,
            "recipe": self.config.recipe.method,
            "settings": self.config.settings,  # with defaults, whether given or not
            "fingerprint": self.fingerprint,
        }
        text = json.dumps(described, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What people call it; the share of rows that judges is named where it is not a half.

        >>> RunSpec("FFML", RunConfig("adult", seed=3, validation_fraction=0.9)).name
        'FFML on adult, seed 3, 90 % judge'
        """
        share = self.config.validation_fraction
        judged = "" if share == RunConfig.validation_fraction else f", {100 * share:g} % judge"
        return f"{self.label} on {Path(self.config.data).stem}, seed {self.config.seed}{judged}"
