"""Methods: one paper = one file. A factory takes a problem and settings, returns a `Learner`."""

from collections.abc import Callable

from ffml.base import Learner
from ffml.methods._adp_olc import adp_olc
from ffml.methods._fairlearn_refit import fairlearn_dp, fairlearn_eo
from ffml.methods._ffml import ffml
from ffml.methods._gen_olc import gen_olc
from ffml.methods._m_ftml import m_ftml
from ffml.methods._ogdlc import ogdlc
from ffml.methods._refit import refit
from ffml.methods._twp import twp

METHODS: dict[str, Callable[..., Learner]] = {
    "ffml": ffml,
    "m-ftml": m_ftml,
    "twp": twp,
    "ogdlc": ogdlc,
    "adp-olc": adp_olc,
    "gen-olc": gen_olc,
    "refit": refit,
    "fairlearn-dp": fairlearn_dp,
    "fairlearn-eo": fairlearn_eo,
}

__all__ = [
    "METHODS",
    "adp_olc",
    "fairlearn_dp",
    "fairlearn_eo",
    "ffml",
    "gen_olc",
    "m_ftml",
    "ogdlc",
    "refit",
    "twp",
]
