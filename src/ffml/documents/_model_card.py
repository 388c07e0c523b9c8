"""The model card: the report's own, with the head that Hugging Face reads, and as JSON.

The JSON is that of the Model Card Toolkit, schema 0.0.2.
"""

import json
import math
from typing import Any

from ffml.documents._document import NO_ADVICE, SIGN_OFF, Document, Section, sign_off
from ffml.documents._people import People
from ffml.documents._run_facts import RATES, RunFacts
from ffml.report.answer import sentences
from ffml.report.card import model_card_text

RULE = "Model card; Hugging Face model-index, and Model Card Toolkit schema 0.0.2."
FIELDS = {"name": "Name", "license": "Licence", **SIGN_OFF}
_TYPES = {"rate": "selection_rate"}  # as others call it
_METRICS = ("accuracy", "balanced_accuracy", "positive_share")
_TASK = "tabular-classification"


def document(people: People, run: RunFacts, given: dict[str, str]) -> Document:
    """Make the card with metrics of everybody and of each group."""
    name = given.get("name") or run.data_name
    overall, rows = _overall(run), run.group_rows()
    texts = tuple(sentences(run.view.summary))
    signed = sign_off(given)
    written = "\n".join(f"- **{k}**: {v or '(to be filled in)'}" for k, v in signed.fields)
    card = model_card_text(run.view)
    return Document(
        "model-card",
        f"Model card: {name}",
        RULE,
        (
            Section("What was found", texts),
            Section("By group, all tasks pooled", rows=tuple(rows)),
            signed,
        ),
        markdown=f"{_head(name, run, overall, given)}\n{card}\n## {signed.title}\n\n{written}\n\n"
        f"{NO_ADVICE}\n",
        own_json=_toolkit(name, people, run, overall, given),
    )


def _overall(run: RunFacts) -> list[dict[str, Any]]:
    answer = run.view.summary["answer"]
    names = {"positive_share": "selection_rate"}
    metrics = {names.get(key, key): answer.get(key) for key in _METRICS}
    return [{"type": key, "value": value} for key, value in metrics.items() if _is_number(value)]


def _slices(run: RunFacts) -> list[dict[str, Any]]:
    return [
        {
            "type": _TYPES.get(metric, metric),
            "value": row[metric],
            "slice": f"{row['column']}={row['group']}",
        }
        for row in run.group_rows()
        for metric in RATES
        if _is_number(row[metric])
    ]


def _head(name: str, run: RunFacts, overall: list[dict[str, Any]], given: dict[str, str]) -> str:
    """Write the YAML head; every value is JSON, which YAML reads as it is."""
    metrics = [one | {"name": one["type"].replace("_", " ")} for one in overall]
    metrics += [
        {"type": one["type"], "value": one["value"]}
        | {"name": f"{one['type'].replace('_', ' ')}, {one['slice']}"}
        for one in _slices(run)
    ]
    result = {
        "task": {"type": _TASK},
        "dataset": {"name": run.data_name, "type": run.data_name},
    }
    lines = [
        *([f"license: {_json(given['license'])}"] if "license" in given else []),
        "library_name: ffml",
        f"pipeline_tag: {_TASK}",
        "tags:",
        "- fairness",
        "- online-learning",
        "model-index:",
        f"- name: {_json(name)}",
        "  results:",
        *(f"  {'-' if i == 0 else ' '} {k}: {_json(v)}" for i, (k, v) in enumerate(result.items())),
        "    metrics:",
        *(f"    - {_json(one)}" for one in metrics),
    ]
    return "\n".join(["---", *lines, "---", ""])


def _toolkit(
    name: str,
    people: People,
    run: RunFacts,
    overall: list[dict[str, Any]],
    given: dict[str, str],
) -> dict[str, Any]:
    config, said = run.view.config, sentences(run.view.summary)
    newest = run.versions[-1]
    description = f"{people.total:,} people decided about in {len(run.view.rounds)} tasks"
    return {
        "schema_version": "0.0.2",
        "model_details": {
            "name": name,
            "overview": said[0] if said else "",
            "documentation": " ".join([*said, NO_ADVICE]),
            "owners": [{"name": given["owner"]}] if "owner" in given else [],
            "version": {"name": f"version {newest.number}", "date": newest.at[:10]},
        },
        "model_parameters": {
            "model_architecture": f"{config['model']}, learned by {config['method']}",
            "data": [
                {
                    "name": run.data_name,
                    "description": description,
                    "sensitive": {"sensitive_data": list(people.columns)},
                }
            ],
            "input_format": ", ".join(run.view.inputs),
            "output_format": "probability and decision",
        },
        "quantitative_analysis": {"performance_metrics": [*overall, *_slices(run)]},
        "considerations": {
            "limitations": [
                {"description": "The figures describe the people measured; later ones may differ."}
            ],
        },
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
