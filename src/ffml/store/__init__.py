"""A run is a small database: every decision about every person, every label when it comes.

SQLite in the run's folder (``run.db``) or PostgreSQL by URL, with the same tables. A round is one
transaction. What is said of the past is summed by SQL; ``verify`` finds what was changed since.
"""

from ffml.border import public_address
from ffml.store._chain import person_hash, request_hash
from ffml.store._database import Away
from ffml.store._files import Busy, holds_run, locked
from ffml.store._store import Store
from ffml.store._transaction import Transaction
from ffml.store._values import (
    Correction,
    Counts,
    Decided,
    Event,
    Finding,
    Labels,
    Placement,
    Round,
    Version,
    VersionRow,
)
from ffml.store._verify import Verification, verify

__all__ = [
    "Away",
    "Busy",
    "Correction",
    "Counts",
    "Decided",
    "Event",
    "Finding",
    "Labels",
    "Placement",
    "Round",
    "Store",
    "Transaction",
    "Verification",
    "Version",
    "VersionRow",
    "holds_run",
    "locked",
    "person_hash",
    "public_address",
    "request_hash",
    "verify",
]
