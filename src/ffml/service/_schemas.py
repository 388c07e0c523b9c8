"""JSON Schemas of what is sent and returned, for the OpenAPI document."""

from collections.abc import Mapping
from typing import Any

from ffml.service._inference import CONTENT_TYPES, DATATYPES
from ffml.service._people import LONGEST, Columns

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
WORD: Schema = {"type": "string", "minLength": 1}
NAME: Schema = WORD | {"maxLength": LONGEST}
WHOLE: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": ["number", "null"]}
VALUE: Schema = {"type": ["string", "number"]}
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


def all_are(schema: Schema, names: str) -> dict[str, Schema]:
    """Describe several fields of one kind."""
    return dict.fromkeys(names.split(), schema)


def listed(schema: Schema, least: int = 1) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": schema} | ({"minItems": least} if least else {})


def ref(name: str) -> Schema:
    """Name a schema of this page."""
    return {"$ref": f"#/components/schemas/{name}"}


COMMON: dict[str, Schema] = {
    "Error": record({"error": TEXT}),
    "Decision": record(
        all_are(TEXT, "id task decision without_fairness")
        | all_are(WHOLE, "decision_id version")
        | all_are(NUMBER, "probability threshold")
        | {"favourable": YES}
    ),
    "Period": record(
        all_are(WHOLE, "people labelled")
        | {"period": TEXT, "notions": listed(ref("Notion"), 0), "groups": listed(ref("Group"), 0)},
        {"evidence": ANY},
    ),
    "Notion": record(
        all_are(TEXT, "notion unmeasured")
        | all_are(MAYBE_TEXT, "verdict highest lowest")
        | all_are(NUMBER, "max_gap min_ratio gap ratio low high")
    ),
    "Group": record(
        all_are(TEXT, "column group")
        | all_are(WHOLE, "people positives")
        | all_are(NUMBER, "rate low high")
    ),
    "Version": record(
        all_are(TEXT, "at checksum")
        | all_are(YES, "kept deciding")
        | {"number": WHOLE, "task": MAYBE_TEXT, "parent": {"type": ["integer", "null"]}}
    ),
    "Event": record(all_are(TEXT, "at who what hash") | {"seq": WHOLE}),
    "Tensor": record(
        {
            "name": TEXT,
            "shape": listed(WHOLE),
            "datatype": {"enum": [*DATATYPES]},
            "data": {"type": "array"},
        },
        {"parameters": ANY | {"properties": {"content_type": {"enum": [*CONTENT_TYPES]}}}},
    ),
    "Model": record(
        all_are(TEXT, "name platform")
        | all_are(listed(ANY, 0), "inputs outputs")
        | {"versions": listed(TEXT, 0)}
    ),
    "Inference": record(
        all_are(TEXT, "model_name model_version")
        | {"parameters": record({"recorded": YES}), "outputs": listed(ref("Tensor"))},
        {"id": TEXT},
    ),
    "Label": record({"label": VALUE}, all_are(VALUE, "id decision_id") | {"task": WORD})
    | {"oneOf": [{"required": ["id"]}, {"required": ["decision_id"]}]},
}
REPLIES: dict[str, Schema] = {
    "labels": record(all_are(WHOLE, "new known corrections") | {"learned": listed(TEXT, 0)}),
    "decisions": record({"decisions": listed(ref("Decision"))}),
    "decide": {"anyOf": [ref("Decision"), record({"decisions": listed(ref("Decision"))})]},
    "forgotten": record({"forgotten": WHOLE}),
    "deciding": record({"deciding": WHOLE}),
    "fairness": record(
        {
            "words": listed(TEXT, 0),
            "answer": ANY,
            "by": TEXT,
            "periods": listed(ref("Period"), 0),
        }
    ),
    "check": record({"verdict": TEXT, "findings": listed(ANY, 0)}),
    "rounds": record({"rounds": listed(ANY, 0)}),
    "versions": record(
        all_are(WHOLE, "deciding newest")
        | all_are(TEXT, "promotion waits")
        | {"versions": listed(ref("Version"), 0)}
    ),
    "columns": record(
        all_are(ANY, "inputs labels")
        | all_are(MAYBE_TEXT, "id task")
        | {"sensitive": listed(TEXT, 0), "label": TEXT}
    ),
    "events": record({"events": listed(ref("Event"), 0)}),
    "model": ref("Model"),
    "ready": record({"ready": YES, "name": TEXT}),
    "infer": ref("Inference"),
}


def person(columns: Columns, label: bool = False) -> Schema:
    """Describe a person of a run, or with ``label`` a labelled row."""
    some: Schema = {"type": ["string", "number", "boolean", "null"]}
    fields = dict.fromkeys(columns.names, some)
    fields |= {name: NUMBER for name, kind in columns.inputs.items() if kind == "numeric"}
    if columns.id:
        fields[columns.id] = {"type": ["string", "integer"], "minLength": 1, "maxLength": LONGEST}
    if columns.task:
        fields[columns.task] = NAME
    required = [*columns.inputs, *filter(None, [columns.id])]
    if label:
        fields[columns.label] = {"enum": [*columns.labels]}
        required += [*columns.sensitive, columns.label]
    return record({name: fields[name] for name in dict.fromkeys(required)}, fields)


def bodies(name: str) -> dict[str, Schema]:
    """Describe what a run takes, by endpoint."""
    one, few, task = ref(f"{name}.Person"), {"maxItems": 10_000}, {"task": NAME}
    people = {"people": listed(one) | few}
    support = {"support": listed(ref(f"{name}.Labelled")) | few}
    tensors = {"id": TEXT, "inputs": listed(ref("Tensor")), "parameters": ANY}
    return {
        "decide": {"oneOf": [record({"person": one}, task), record(people, task)]},
        "labels": record({"labels": listed(ref("Label")) | few}, {"correct": YES}),
        "adapt": record(people | support, task),
        "forget": record({"id": WORD}, {"task": {"anyOf": [WORD, listed(WORD)]}}),
        "infer": {"type": "object", "properties": tensors, "required": ["inputs"]},
    }
