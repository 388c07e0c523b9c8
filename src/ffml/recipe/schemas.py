"""A schema as JSON, and back. Needs no JAX."""

from collections.abc import Mapping
from typing import Any

from ffml.base import Schema, SensitiveColumn


def schema_document(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain JSON values."""
    return {
        "features": list(schema.features),
        "sensitive": [{"name": c.name, "groups": list(c.groups)} for c in schema.sensitive],
        "label": schema.label,
        "categories": [list(places) for places in schema.categories],
        **({"known_groups": True} if schema.known_groups else {}),
    }


def schema_from(document: Mapping[str, Any]) -> Schema:
    """Read back what `schema_document` wrote."""
    columns = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in document["sensitive"])
    categories = tuple(map(tuple, document.get("categories", ())))
    features = tuple(document["features"])
    schema = Schema(features, columns, document["label"], categories=categories)
    return schema.with_known_groups() if document.get("known_groups") else schema
