"""The words of the Open Inference Protocol, version 2: models, versions, tensors."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ffml.base import FFMLError
from ffml.service._decider import lists_of
from ffml.service._guard import authorise, few_enough, read_json, request_key
from ffml.service._people import Columns, check_names, check_values, table
from ffml.service._served import Served

# What the protocol calls kinds of values; a JSON value is taken for what it is.
DATATYPES = ("BYTES", "FP64", "FP32", "INT64", "INT32", "INT16", "INT8", "BOOL")
CONTENT_TYPES = ("np", "pd", "str")  # as MLServer takes them: all of them are one value a row here
OUTPUTS = {
    "id": "BYTES",
    "decision_id": "INT64",
    "probability": "FP32",
    "threshold": "FP64",
    "decision": "INT64",
    "label": "BYTES",
}


async def infer(request: Request, served: Served, who: str) -> Any:
    """Decide about tensors of the Open Inference Protocol, one a column, and write it.

    Another version than the one that decides says what it would; nothing is written, and the token
    needs the scope read too.
    """
    number = await _other_version(request, served)
    if number is not None:
        await authorise(request, served, "read")
    body = await read_json(request)
    people = tensor_table(body.get("inputs"), served.columns)
    few_enough(request, len(people))
    if number is None:
        key = request_key(request, who)
        said = await served.decider.decide(people, None, bool(served.columns.id), key)
    else:
        said = await run_in_threadpool(
            lambda: lists_of(served.run.decide(people, record=False, version=number))
        )
    shown = served.shown(said)
    values = shown | {"label": shown["decision"], "decision": [*map(int, shown["favourable"])]}
    outputs = [
        {"name": name, "datatype": kind, "shape": [len(people)], "data": values[name]}
        for name, kind in OUTPUTS.items()
    ]
    reply = {"model_name": served.name, "model_version": str(shown["version"][0])}
    reply |= {"id": str(body["id"])[:255]} if "id" in body else {}
    return reply | {"parameters": {"recorded": number is None}, "outputs": outputs}


async def model(request: Request, served: Served, who: str) -> Any:
    """Say what the run takes and gives, in the words of the Open Inference Protocol."""
    await _other_version(request, served)
    kinds = served.columns.inputs
    inputs = {n: "FP64" if kinds.get(n) == "numeric" else "BYTES" for n in served.columns.names}
    return {
        "name": served.name,
        "versions": [str(number) for number in await _kept_versions(served)],
        "platform": "ffml",
        "inputs": _described(inputs),
        "outputs": _described(OUTPUTS),
    }


async def ready(request: Request, served: Served, who: str) -> Any:
    """Say that the run, or one of its versions, can decide."""
    await _other_version(request, served)
    return {"ready": True, "name": served.name}


def version_number(text: str) -> int:
    """Read the number of a version."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise HTTPException(404, "a version is a number, as /versions lists them, or newest")
    return int(text)


def tensor_table(inputs: Any, columns: Columns) -> pa.Table:
    """Turn tensors into a table, one column each."""
    if not isinstance(inputs, list) or not all(isinstance(one, dict) for one in inputs):
        raise FFMLError("inputs is a list of tensors, each with name, shape, datatype and data")
    values = {str(one.get("name")): _tensor(one) for one in inputs}
    if len(values) < len(inputs):
        raise FFMLError("two inputs have the same name; give each column once")
    check_names(values, columns)
    if len({len(column) for column in values.values()}) != 1:
        raise FFMLError("inputs need the same number of rows each")
    return check_values(table(values), columns)


def _tensor(one: Mapping[str, Any]) -> list[Any]:
    name, shape, data = one.get("name"), one.get("shape"), one.get("data")
    if one.get("datatype") not in DATATYPES:
        raise FFMLError(f"input {name!r:.60}: datatype is one of {', '.join(DATATYPES)}")
    if not isinstance(data, list) or shape not in ([len(data)], [len(data), 1]):
        raise FFMLError(f"input {name!r:.60}: give shape [n] or [n, 1] and n values as data")
    parameters = one.get("parameters", {})
    kind = parameters.get("content_type", "np") if isinstance(parameters, dict) else None
    if kind not in CONTENT_TYPES:
        raise FFMLError(f"input {name!r:.60}: content_type is one of {', '.join(CONTENT_TYPES)}")
    return [v[0] if isinstance(v, list) and len(v) == 1 else v for v in data]


async def _other_version(request: Request, served: Served) -> int | None:
    """Return the version in the path if it is another than the one that decides."""
    if "version" not in request.path_params:
        return None
    wanted = version_number(request.path_params["version"])
    if wanted == served.decider.version:
        return None
    kept = await _kept_versions(served)
    if wanted not in kept:
        there = ", ".join(map(str, kept))
        raise HTTPException(404, f"version {wanted} has no state; there are {there}")
    return wanted


async def _kept_versions(served: Served) -> list[int]:
    return await run_in_threadpool(lambda: [v.number for v in served.run.versions if v.kept])


def _described(kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "shape": [-1], "datatype": kind} for name, kind in kinds.items()]
