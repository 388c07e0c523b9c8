"""Traces of requests: run and version, in whose trace, and no word of who was decided about."""

import pytest
from loaned import GOOD

from ffml.service import _traces

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry's SDK is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@pytest.fixture
def exported(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(_traces.trace, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


def test_a_request_is_a_span_with_run_and_version_and_no_personal_data(client, exported):
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01", "user-agent": "somebody's phone"}
    person = GOOD | {"person": "secret-4711"}
    said = client.post(
        "/runs/loans/decide?", json={"person": person, "task": "counter"}, headers=headers
    )
    [span] = exported()
    assert span.name == "POST /runs/{run}/decide" and span.kind.name == "SERVER"
    assert format(span.context.trace_id, "032x") == trace
    assert dict(span.attributes) == {
        "http.request.method": "POST",
        "http.route": "/runs/{run}/decide",
        "http.response.status_code": 200,
        "ffml.request": said.headers["x-request-id"],
        "ffml.run": "loans",
        "ffml.version": said.json()["version"],
    }
    assert not span.events and "4711" not in span.to_json()


def test_words_of_who_asks_and_messages_of_failures_are_in_no_span(client, exported, monkeypatch):
    client.get("/runs/secret-4711/rounds")
    client.get("/secret-4711")

    def broken(*_, **__):
        raise RuntimeError("secret-4711")

    monkeypatch.setattr(client.app.state.runs["loans"].run, "decide_together", broken)
    assert client.post("/runs/loans/decide", json={"person": GOOD}).status_code == 500
    spans = exported()
    assert [span.name for span in spans] == [
        "GET /runs/{run}/rounds",
        "GET",
        "POST /runs/{run}/decide",
    ]
    assert spans[2].attributes["error.type"] == "RuntimeError"
    assert [span.status.is_ok for span in spans] == [True, True, False]
    assert not any("4711" in span.to_json() for span in spans)


def test_without_opentelemetry_nothing_is_traced(client, monkeypatch):
    monkeypatch.setattr(_traces, "trace", None)
    assert client.get("/v2/health/live").status_code == 200
