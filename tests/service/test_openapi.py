"""The OpenAPI document says what the service does: Schemathesis tries to show that it does not."""

from contextlib import suppress

import hypothesis
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck
from hypothesis.errors import Unsatisfiable
from loaned import learning_here, persons
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from ffml.service.app import create_app
from ffml.store.copying import copy_ledger

EXAMPLES = 6  # requests of each kind for each path
SLOW = ("labels", "adapt", "forget")  # these need the learning process: fewer


@pytest.fixture(scope="module")
def app(first, tmp_path_factory):
    folder = tmp_path_factory.mktemp("openapi") / "loans"
    copy_ledger(first, folder)
    app = create_app({"loans": str(folder)})
    with learning_here(), TestClient(app, "http://localhost") as client:
        client.post("/runs/loans/decide", json={"people": persons(3), "task": "counter"})
        yield client.app


@pytest.fixture
def document(app):
    return TestClient(app, "http://localhost").get("/openapi.json").json()


def test_every_example_is_what_its_schema_says_and_is_taken(app, document):
    client = TestClient(app, "http://localhost")
    tried = 0
    for path, operations in document["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            sent = content.get("application/json", {"examples": {}})
            for example in sent["examples"].values():
                schema = sent["schema"] | {"components": document["components"]}
                jsonschema.validate(example["value"], schema)
                if "{" in path or path.endswith(SLOW):
                    continue
                reply = client.post(path, json=example["value"])
                assert reply.status_code == 200, (path, reply.text)
                tried += 1
    assert tried == 3


def test_schemathesis_finds_nothing(app):
    """Of its checks one is left out: a schema cannot say which ids and labels a run knows."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "localhost"})
    schema.config.base_url = "http://localhost"
    for result in schema.get_all_operations():
        operation = result.ok()
        few = 2 if operation.path.endswith(SLOW) else EXAMPLES
        for mode in schemathesis.GenerationMode:

            @hypothesis.settings(
                max_examples=few,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
                phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
            )
            @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
            def tried(case):
                case.call_and_validate(excluded_checks=[positive_data_acceptance], timeout=120)

            with suppress(Unsatisfiable):  # nothing to send that could be wrong
                tried()
