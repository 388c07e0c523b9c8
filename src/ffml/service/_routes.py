"""Which path does what, and who may ask it."""

from typing import NamedTuple

from ffml.service import _endpoints as e
from ffml.service._endpoints import Handler


class Endpoint(NamedTuple):
    """A path of a run."""

    method: str
    path: str
    scope: str
    handler: Handler
    reply: str  # its schema, see `ffml.service._schemas`
    body: str = ""
    keyed: bool = False  # whether a request may have a key
    learns: bool = False  # whether it may take long

    @property
    def name(self) -> str:
        """The last word of its path."""
        return self.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        """A name of its own."""
        words = self.path.replace("{run}", "").replace("{version}", "one").split("/")
        return "_".join(filter(None, [self.method.lower(), *words]))


_RUN, _MODEL, _VERSION = "/runs/{run}", "/v2/models/{run}", "/v2/models/{run}/versions/{version}"
ENDPOINTS = (
    Endpoint("POST", f"{_RUN}/decide", "decide", e.decide, "decide", "decide", keyed=True),
    Endpoint(
        *("POST", f"{_RUN}/adapt", "decide", e.adapt, "decisions", "adapt"), keyed=True, learns=True
    ),
    Endpoint("POST", f"{_RUN}/labels", "label", e.labels, "labels", "labels", learns=True),
    Endpoint("POST", f"{_RUN}/forget", "admin", e.forget, "forgotten", "forget", learns=True),
    Endpoint("GET", f"{_RUN}/fairness", "read", e.fairness, "fairness"),
    Endpoint("GET", f"{_RUN}/check", "read", e.check, "check"),
    Endpoint("GET", f"{_RUN}/columns", "", e.columns, "columns"),
    Endpoint("GET", f"{_RUN}/rounds", "read", e.rounds, "rounds"),
    Endpoint("GET", f"{_RUN}/events", "read", e.events, "events"),
    Endpoint("GET", f"{_RUN}/versions", "read", e.versions, "versions"),
    Endpoint("POST", f"{_RUN}/versions/roll_back", "admin", e.roll_back, "deciding"),
    Endpoint("POST", f"{_RUN}/versions/{{version}}/promote", "admin", e.promote, "deciding"),
    *(
        one
        for at in (_MODEL, _VERSION)
        for one in (
            Endpoint("GET", at, "read", e.model, "model"),
            Endpoint("GET", f"{at}/ready", "read", e.ready, "ready"),
            Endpoint("POST", f"{at}/infer", "decide", e.infer, "infer", "infer", keyed=True),
        )
    ),
)
