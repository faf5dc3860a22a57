"""A collector of spans: OTLP over HTTP, in a thread of the test."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

ERROR = 2
"""The status code of a failed span."""
KINDS = ("", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    seconds: float
    failed: bool
    attributes: dict[str, Any]


class Collector:
    def __init__(self, url: str) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._spans: list[Span] = []

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a process that sends its spans here, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def spans(self, name: str = "", **attributes: Any) -> list[Span]:
        """Return the spans whose names start so, and whose attributes (`part` is `reelstate.part`) are these."""
        with self._lock:
            found = list(self._spans)
        wanted = {f"reelstate.{key}": value for key, value in attributes.items()}.items()
        return [span for span in found if span.name.startswith(name) and wanted <= span.attributes.items()]

    def receive(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        spans = [
            _span(span) for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
        ]
        with self._lock:
            self._spans += spans


def _span(span: Any) -> Span:
    return Span(
        span.name,
        KINDS[span.kind],
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        span.status.code == ERROR,
        {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes},
    )


@contextmanager
def open_collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.receive(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
