"""The OpenAPI document: what each run takes and gives, with examples of its own columns."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ffml.service._endpoints import ENDPOINTS, Endpoint
from ffml.service._people import Columns
from ffml.service._schemas import COMMON, REPLIES, TEXT, YES, bodies, listed, person, record, ref

REFUSALS = {
    "400": "What was sent is not right; nothing was written.",
    "401": "No token, or an unknown one.",
    "403": "The token may not do this.",
    "404": "No such run or version.",
    "408": "The body took too long.",
    "413": "Too large.",
    "415": "Not JSON.",
    "429": "Too many requests.",
    "503": "Try again in a second.",
}
ALIVE: dict[str, Any] = {  # path -> its answer, and the schema of it
    "/v2": (
        {"name": "ffml", "version": "2", "extensions": []},
        record({"name": TEXT, "version": TEXT, "extensions": listed(TEXT, 0)}),
    ),
    "/v2/health/live": ({"live": True}, record({"live": YES})),
}
READY = "/v2/health/ready"


def document(runs: Mapping[str, Columns]) -> dict[str, Any]:
    """Describe the service over these runs."""
    schemas: dict[str, Any] = dict(COMMON)
    paths: dict[str, Any] = {}
    for name, columns in runs.items():
        schemas[f"{name}.Person"] = person(columns)
        schemas[f"{name}.Labelled"] = person(columns, label=True)
        for one in ENDPOINTS:
            path = one.path.replace("{run}", name)
            paths.setdefault(path, {})[one.method.lower()] = _operation(name, columns, one)
    for path, (_, reply) in ALIVE.items():
        paths[path] = {"get": {"summary": "Whether it is there.", "responses": _replies(reply)}}
    ready = _replies(record({"ready": YES}), ["503"])
    paths[READY] = {"get": {"summary": "Whether all runs can be asked.", "responses": ready}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ffml",
            "version": version("ffml"),
            "description": "Decide, label and look: a run of ffml over HTTP.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(name: str, columns: Columns, one: Endpoint) -> dict[str, Any]:
    summary = (one.handler.__doc__ or "").split("\n\n")[0]
    words = one.path.replace("{run}", "").replace("{version}", "one").split("/")
    parameters = [_parameter(query, "query", text) for query, text in one.query.items()]
    refused = ["400", "401", "403", "404", "429", "503"]
    made: dict[str, Any] = {
        "operationId": f"{name}.{'_'.join(filter(None, [one.method.lower(), *words]))}",
        "tags": [name],
        "summary": " ".join(summary.split()),
        "x-scope": one.scope,
    }
    if "{version}" in one.path:
        pattern = "^(newest|[1-9][0-9]{0,8})$"
        parameters.append(_parameter("version", "path", "a version's number", pattern))
    if one.keyed:
        what = "a request under it is one decision"
        parameters.append(_parameter("Idempotency-Key", "header", what, "^[!-~]{1,255}$"))
    if one.body:
        body = bodies(name)[one.body]
        content = {"schema": body, "examples": _examples(one.body, columns)}
        made["requestBody"] = {"required": True, "content": {"application/json": content}}
        refused += ["408", "413", "415"]
    return made | {"parameters": parameters, "responses": _replies(REPLIES[one.reply], refused)}


def _parameter(name: str, place: str, words: str, pattern: str = "") -> dict[str, Any]:
    schema = TEXT | ({"pattern": pattern} if pattern else {})
    made = {"name": name, "in": place, "description": words, "schema": schema}
    return made | {"required": place == "path"}


def _replies(schema: dict[str, Any], refused: Sequence[str] = ()) -> dict[str, Any]:
    good = {"description": "Done.", "content": {"application/json": {"schema": schema}}}
    error = {"application/json": {"schema": ref("Error")}}
    return {"200": good} | {
        code: {"description": REFUSALS[code], "content": error} for code in refused
    }


def _examples(body: str, columns: Columns) -> dict[str, Any]:
    """Show what may be sent, in the run's own columns."""
    one: dict[str, Any] = {
        name: 50.0 if columns.inputs.get(name) == "numeric" else None
        for name in columns.names
        if name != columns.task
    }
    if columns.id:
        one[columns.id] = "9001"
    label = next(iter(columns.labels), "1")
    tensors = [
        {"name": name, "shape": [1], "datatype": "BYTES" if isinstance(value, str) else "FP64"}
        | {"data": [value]}
        for name, value in one.items()
    ]
    support = [one | {columns.label: word} for word in columns.labels]
    shown: dict[str, dict[str, Any]] = {
        "decide": {"one": {"person": one}, "several": {"people": [one], "task": "counter"}},
        "labels": {
            "by id": {"labels": [{"id": "9001", "label": label, "task": "counter"}]},
            "by decision": {"labels": [{"decision_id": 2413, "label": label}]},
        },
        "adapt": {
            "a population": {"people": [one], "support": support, "task": "Springfield"},
        },
        "forget": {"a person": {"id": "9001"}},
        "infer": {"tensors": {"inputs": tensors}},
    }
    return {name: {"value": value} for name, value in shown[body].items()}
