"""JSON Schemas of what is sent and returned, for the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from ffml.service._people import CONTENT_TYPES, DATATYPES, Columns

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
WHOLE: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": ["number", "null"]}
ANY: Schema = {"type": "object"}


def record(required: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    """Describe an object with these fields and no others."""
    fields = {**required, **(more or {})}
    return {
        "type": "object",
        "properties": fields,
        "required": [*required],
        "additionalProperties": False,
    }


def listed(schema: Schema, least: int = 1) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": schema} | ({"minItems": least} if least else {})


def ref(name: str) -> Schema:
    """Name a schema of this page."""
    return {"$ref": f"#/components/schemas/{name}"}


ERROR = record({"error": TEXT})
DECISION = record(
    {
        **{"id": TEXT, "task": TEXT, "decision_id": WHOLE, "decision": TEXT, "favourable": YES},
        **{"probability": NUMBER, "threshold": NUMBER, "without_fairness": TEXT, "version": WHOLE},
    }
)
GROUP = record(
    {
        **{"column": TEXT, "group": TEXT, "people": WHOLE, "positives": WHOLE},
        **{"rate": NUMBER, "low": NUMBER, "high": NUMBER},
    }
)
NOTION = record(
    {
        **{"notion": TEXT, "max_gap": NUMBER, "min_ratio": NUMBER},
        "verdict": {"type": ["string", "null"]},
        **{"gap": NUMBER, "ratio": NUMBER, "low": NUMBER, "high": NUMBER},
        **{"highest": {"type": ["string", "null"]}, "lowest": {"type": ["string", "null"]}},
        "unmeasured": TEXT,
    }
)
PERIOD = record(
    {
        **{"period": TEXT, "people": WHOLE, "labelled": WHOLE},
        **{"notions": listed(NOTION, 0), "groups": listed(GROUP, 0)},
    },
    {"evidence": ANY},
)
VERSION = record(
    {
        **{"number": WHOLE, "at": TEXT, "task": {"type": ["string", "null"]}, "checksum": TEXT},
        **{"parent": {"type": ["integer", "null"]}, "kept": YES, "deciding": YES},
    }
)
EVENT = record({"seq": WHOLE, "at": TEXT, "who": TEXT, "what": TEXT, "hash": TEXT})
TENSOR = record(
    {
        **{"name": TEXT, "shape": listed(WHOLE), "datatype": {"enum": [*DATATYPES]}},
        "data": {"type": "array"},
    },
    {"parameters": {"type": "object", "properties": {"content_type": {"enum": [*CONTENT_TYPES]}}}},
)
MODEL = record(
    {
        **{"name": TEXT, "versions": listed(TEXT, 0), "platform": TEXT},
        **{"inputs": listed(ANY, 0), "outputs": listed(ANY, 0)},
    }
)
INFERENCE = record(
    {
        **{"model_name": TEXT, "model_version": TEXT},
        **{"parameters": record({"recorded": YES}), "outputs": listed(TENSOR)},
    },
    {"id": TEXT},
)
LABEL = {
    "type": "object",
    "properties": {
        **{"id": {"type": ["string", "number"]}, "decision_id": {"type": ["string", "number"]}},
        **{"label": {"type": ["string", "number"]}, "task": WORD},
    },
    "required": ["label"],
    "anyOf": [{"required": ["id"]}, {"required": ["decision_id"]}],
    "additionalProperties": False,
}
COMMON = {
    **{"Error": ERROR, "Decision": DECISION, "Period": PERIOD, "Version": VERSION, "Event": EVENT},
    **{"Tensor": TENSOR, "Model": MODEL, "Inference": INFERENCE, "Label": LABEL},
}
REPLIES: dict[str, Schema] = {
    "labels": record(
        {"new": WHOLE, "known": WHOLE, "learned": listed(TEXT, 0), "corrections": WHOLE}
    ),
    "decisions": record({"decisions": listed(ref("Decision"))}),
    "decide": {"anyOf": [ref("Decision"), record({"decisions": listed(ref("Decision"))})]},
    "forgotten": record({"forgotten": WHOLE}),
    "deciding": record({"deciding": WHOLE}),
    "fairness": record(
        {
            **{"words": listed(TEXT, 0), "answer": ANY, "by": TEXT},
            "periods": listed(ref("Period"), 0),
        }
    ),
    "check": record({"verdict": TEXT, "findings": listed(ANY, 0)}),
    "rounds": record({"rounds": listed(ANY, 0)}),
    "versions": record(
        {
            **{"deciding": WHOLE, "newest": WHOLE, "promotion": TEXT, "waits": TEXT},
            "versions": listed(ref("Version"), 0),
        }
    ),
    "columns": record(
        {
            **{"inputs": ANY, "sensitive": listed(TEXT, 0), "id": {"type": ["string", "null"]}},
            **{"task": {"type": ["string", "null"]}, "label": TEXT, "labels": ANY},
        }
    ),
    "events": record({"events": listed(ref("Event"), 0)}),
    "model": ref("Model"),
    "ready": record({"ready": YES, "name": TEXT}),
    "infer": ref("Inference"),
}


def person(columns: Columns, label: bool = False) -> Schema:
    """Describe a person of a run, or with ``label`` a labelled row."""
    amount: Schema = {"type": ["number", "null"]}
    some: Schema = {"type": ["string", "number", "boolean", "null"]}
    fields = {name: some for name in columns.names}
    fields |= {name: amount for name, kind in columns.inputs.items() if kind == "numeric"}
    if columns.id:
        fields[columns.id] = {"type": ["string", "integer"], "minLength": 1}
    if columns.task:
        fields[columns.task] = WORD
    required = [*columns.inputs, *([columns.id] if columns.id else [])]
    if label:
        fields[columns.label] = {"enum": [*columns.labels]}
        required += [*columns.sensitive, columns.label]
    return record({name: fields[name] for name in dict.fromkeys(required)}, fields)


def bodies(name: str, columns: Columns) -> dict[str, Schema]:
    """Describe what a run takes, by endpoint."""
    one, few = ref(f"{name}.Person"), {"maxItems": 10_000}
    people = listed(one) | few
    return {
        "decide": {
            "oneOf": [
                record({"person": one}, {"task": WORD}),
                record({"people": people}, {"task": WORD}),
            ]
        },
        "labels": record({"labels": listed(ref("Label")) | few}, {"correct": YES}),
        "adapt": record(
            {"people": people, "support": listed(ref(f"{name}.Labelled")) | few}, {"task": WORD}
        ),
        "forget": record({"id": WORD}, {"task": WORD}),
        "infer": {
            "type": "object",
            "properties": {"id": TEXT, "inputs": listed(ref("Tensor")), "parameters": ANY},
            "required": ["inputs"],
        },
    }
