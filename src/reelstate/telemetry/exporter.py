"""Serves the metrics of a process without an HTTP server of its own, from a thread, on a port of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from reelstate.core.errors import InvalidRequest
from reelstate.telemetry.metrics import Metrics

logger = logging.getLogger("reelstate.telemetry")


@contextmanager
def exporting(metrics: Metrics, host: str, port: int) -> Iterator[int]:
    """Serve `/metrics` while the context is open; yield the port. Raises `InvalidRequest` if it can't be opened."""
    try:
        server, thread = start_http_server(port, host, metrics.exposed)
    except OSError as error:
        raise InvalidRequest(
            "metrics_port",
            f"can't listen on {host}:{port}: {error.strerror}",
            hint="set REEL_METRICS_PORT to a free one",
        ) from error
    logger.info("metrics served address=http://%s:%d/metrics", host, server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
