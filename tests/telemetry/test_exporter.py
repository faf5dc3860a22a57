"""A process without a server of its own, such as a worker, has its metrics on a port of its own."""

import httpx
import pytest

from reelstate.app import metered
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.telemetry.exporter import exporting
from reelstate.telemetry.facts import JobCreated, emit
from reelstate.telemetry.metrics import Metrics, counting
from tests.remote.remote_fleet import free_port
from tests.telemetry.scraping import Scrape


def test_the_port_shows_what_is_counted() -> None:
    with counting(Metrics()) as metrics, exporting(metrics, "127.0.0.1", 0) as port:
        emit(JobCreated("p"))
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=60).text
    assert Scrape(text).value("jobs_created_total", pipeline="p") == 1
    assert "_created{" not in text.replace("jobs_created", "")


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    port = free_port()
    settings = Settings(metrics_port=port)
    with metered(settings), pytest.raises(InvalidRequest, match="can't listen on") as refused, metered(settings):
        pass
    assert "REEL_METRICS_PORT" in refused.value.hint
