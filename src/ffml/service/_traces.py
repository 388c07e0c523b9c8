"""Traces of requests, where OpenTelemetry is installed and set up; nothing otherwise.

A span has what the log line has, and the version that decides: no address, no word of what was
sent. Where its values go is said as for any program: ``opentelemetry-instrument ffml serve …``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

try:
    from opentelemetry import propagate, trace
except ImportError:
    trace = None  # type: ignore[assignment]

Note = Callable[[Mapping[str, Any], int | None], None]


@contextmanager
def traced(scope: Mapping[str, Any]) -> Iterator[Note]:
    """Trace a request, as a part of what its ``traceparent`` names; yield what ends the span."""
    if trace is None:
        yield lambda line, version: None
        return
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    tracer, parent = trace.get_tracer("ffml.service"), propagate.extract(headers)
    with tracer.start_as_current_span("request", parent, trace.SpanKind.SERVER) as span:

        def note(line: Mapping[str, Any], version: int | None) -> None:
            span.update_name(f"{line['method']} {line['path']}".strip())
            values = {
                "http.request.method": line["method"],
                "http.route": line["path"],
                "http.response.status_code": line["status"],
                "ffml.request": line["request"],
                "ffml.run": line["run"],
                "ffml.version": version,
                "error.type": line.get("error"),
            }
            span.set_attributes({n: v for n, v in values.items() if v not in (None, "")})
            if line["status"] >= 500:
                span.set_status(trace.StatusCode.ERROR)

        yield note
