"""Who may do what: tokens with scopes, of which the ledger keeps a hash."""

import datetime
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

from ffml.base import FFMLError
from ffml.store import Store

SCOPES = ("decide", "label", "read", "admin")  # an admin may do everything
_KEY = "tokens"


def make_token(store: Store, name: str, scopes: Sequence[str]) -> str:
    """Make a token, keep its hash under a name, and return it: it cannot be shown again."""
    if strange := [scope for scope in scopes if scope not in SCOPES]:
        raise FFMLError(f"no scope {strange[0]!r}; there are {', '.join(SCOPES)}")
    if not scopes or not name.strip():
        raise FFMLError("a token needs a name and at least one scope, such as decide")
    token = f"ffml_{secrets.token_urlsafe(32)}"
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    row = {"name": name, "sha256": _hash(token), "scopes": sorted({*scopes}), "made": at}
    with store.transaction("token", "a token was made") as ledger:
        rows = tokens_of(store)
        if any(one["name"] == name for one in rows):
            raise FFMLError(f"there is a token {name!r} already; remove it first, or choose a name")
        ledger.put_document(_KEY, [*rows, row])
    return token


def remove_token(store: Store, name: str) -> None:
    """Make a token worthless."""
    with store.transaction("token", "a token was removed") as ledger:
        rows = tokens_of(store)
        rest = [one for one in rows if one["name"] != name]
        if len(rest) == len(rows):
            names = ", ".join(one["name"] for one in rows) or "none"
            raise FFMLError(f"there is no token {name!r}; there are: {names}")
        ledger.put_document(_KEY, rest)


def tokens_of(store: Store) -> list[dict[str, Any]]:
    """Return names, scopes and hashes of a run's tokens."""
    return store.document(_KEY) or []


def holder(rows: Sequence[dict[str, Any]], token: str) -> dict[str, Any] | None:
    """Find whose token it is; every row is compared, so that time tells nothing."""
    given, match = _hash(token), None
    for row in rows:
        if hmac.compare_digest(row["sha256"], given):
            match = row
    return match


def allows(row: dict[str, Any], scope: str) -> bool:
    """Tell whether a token has a scope; any token has none ("")."""
    return not scope or scope in row["scopes"] or "admin" in row["scopes"]


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
