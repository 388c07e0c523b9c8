"""Methods: one paper = one file. A factory takes a problem, perhaps parts, and settings.

It returns a `Learner`. A method's parts are its arguments ``inner``, ``outer`` and ``stop``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ffml.base import Learner
from ffml.methods._adp_olc import adp_olc
from ffml.methods._fairlearn_refit import fairlearn_dp, fairlearn_eo
from ffml.methods._fairsaoml import fairsaoml
from ffml.methods._ffml import ffml
from ffml.methods._ffml_exact import ffml_exact
from ffml.methods._gen_olc import gen_olc
from ffml.methods._inner import INNER
from ffml.methods._m_ftml import m_ftml
from ffml.methods._ogdlc import ogdlc
from ffml.methods._refit import refit
from ffml.methods._sinha_vaze import sinha_vaze
from ffml.methods._stopping import STOP
from ffml.methods._twp import twp
from ffml.methods.outer import OUTER

METHODS: dict[str, Callable[..., Learner]] = {
    "ffml-exact": ffml_exact,
    "ffml": ffml,
    "m-ftml": m_ftml,
    "fairsaoml": fairsaoml,
    "twp": twp,
    "ogdlc": ogdlc,
    "adp-olc": adp_olc,
    "gen-olc": gen_olc,
    "sinha-vaze": sinha_vaze,
    "refit": refit,
    "fairlearn-dp": fairlearn_dp,
    "fairlearn-eo": fairlearn_eo,
}

DEFAULT_METHOD = "ffml-exact"

# The parts that methods are put together from, and those that each has unless told otherwise.
PARTS: dict[str, Mapping[str, Callable[..., Any]]] = {
    "inner": INNER,
    "outer": OUTER,
    "stop": STOP,
}
DEFAULT_PARTS: dict[str, dict[str, str]] = {
    "ffml": {"inner": "primal-dual", "outer": "mean-over-tasks", "stop": "all-steps"},
    "m-ftml": {"inner": "gradient", "outer": "loss-only", "stop": "all-steps"},
    "fairsaoml": {"inner": "primal-dual"},
}

__all__ = [
    "DEFAULT_METHOD",
    "DEFAULT_PARTS",
    "METHODS",
    "PARTS",
    "adp_olc",
    "fairlearn_dp",
    "fairlearn_eo",
    "fairsaoml",
    "ffml",
    "ffml_exact",
    "gen_olc",
    "m_ftml",
    "ogdlc",
    "refit",
    "sinha_vaze",
    "twp",
]
