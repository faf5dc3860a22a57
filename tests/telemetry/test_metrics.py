"""Counting facts: labels are bounded, names can be bare, a broken sink breaks nothing, only commits count."""

from collections.abc import Iterable

import pytest

from reelstate.app import metered
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import JobStatus
from reelstate.engine import Engine
from reelstate.stores.store import Transaction
from reelstate.telemetry import facts
from reelstate.telemetry.declarations import METRICS
from reelstate.telemetry.facts import JobCreated, JobEnded, emit
from reelstate.telemetry.metrics import MAX_LABEL_VALUES, Metrics, Sample, counting
from tests.api.api_server import Server, api_server
from tests.engines import engine_at
from tests.telemetry.scraping import Scrape


def scrape(metrics: Metrics, cluster: Iterable[Sample] = ()) -> Scrape:
    return Scrape(metrics.render(cluster).decode())


def test_a_label_with_too_many_values_is_folded_into_other() -> None:
    metrics = Metrics()
    for number in range(MAX_LABEL_VALUES + 20):
        metrics(JobCreated(f"pipeline-{number}"))
    found = scrape(metrics)
    assert len(found.labels("jobs_created_total")) == MAX_LABEL_VALUES + 1
    assert found.value("jobs_created_total", pipeline="other") == 20


def test_gauges_beyond_the_bound_are_added_or_the_largest_is_kept() -> None:
    lanes = [(f"pipeline-{number}", "any") for number in range(MAX_LABEL_VALUES + 3)]
    samples = [Sample("tasks_ready", 2, lane) for lane in lanes]
    samples += [Sample("oldest_ready_seconds", number, lane) for number, lane in enumerate(lanes)]
    found = scrape(Metrics(), samples)
    assert found.value("tasks_ready", pipeline="other") == 6
    assert found.value("oldest_ready_seconds", pipeline="other") == MAX_LABEL_VALUES + 2


def test_no_label_names_a_user_a_job_or_a_video() -> None:
    labels = {label for metric in METRICS for label in metric.labels}
    assert labels == {
        "pipeline", "status", "worker", "machine", "from", "to", "state", "lane", "stage", "outcome", "cause", "duty",
        "cache", "result", "method", "route", "rung", "program",
    }  # fmt: skip


def test_every_declared_metric_is_exposed_from_the_start() -> None:
    families = scrape(Metrics()).families
    assert {f"reelstate_{metric.name.removesuffix('_total')}" for metric in METRICS} <= families


def test_names_can_be_bare() -> None:
    with metered(Settings(metrics_names="bare")) as metrics:
        emit(JobCreated("p"))
    text = metrics.render([Sample("queue_size", 3)]).decode()
    assert 'jobs_created_total{pipeline="p"} 1.0' in text.splitlines()
    assert "queue_size 3.0" in text.splitlines()
    assert "reelstate_" not in text


def test_nothing_is_counted_after_the_context_is_closed() -> None:
    with counting(Metrics()) as metrics:
        assert facts.listening()
        emit(JobCreated("p"))
    emit(JobCreated("p"))
    assert not facts.listening()
    assert scrape(metrics).value("jobs_created_total") == 1


def test_a_sink_that_raises_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: facts.Fact) -> None:
        raise RuntimeError("it broke")

    facts.add_sink(broken)
    try:
        with counting(Metrics()) as metrics:
            emit(JobCreated("p"))
    finally:
        facts.remove_sink(broken)
    assert scrape(metrics).value("jobs_created_total") == 1
    assert "fact lost fact=JobCreated" in caplog.text


async def test_only_a_committed_transaction_is_counted_and_once(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        with counting(Metrics()) as metrics:

            async def flow(transaction: Transaction) -> None:
                transaction.note(JobEnded(JobStatus.FAILED, 1.0))

            async def broken(transaction: Transaction) -> None:
                await flow(transaction)
                raise InvalidRequest("spec", "it broke")

            await engine.store.write(flow)
            with pytest.raises(InvalidRequest):
                await engine.store.write(broken)
            assert scrape(metrics).value("jobs_completed_total", status="failed") == 1
            await engine.store.write_alone(flow)
            assert scrape(metrics).value("jobs_completed_total", status="failed") == 2


@pytest.fixture
def sqlite_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('metrics') / 'jobs.db'}"


async def answers(engine: Engine, url: str, access: str) -> list[int]:
    """Return the status for requests of this machine, of a proxy, and with keys."""

    async def status(server: Server, role: str, **headers: str) -> int:
        return (await server.ask(role, "GET", "/metrics", headers=headers)).status_code

    async with api_server(engine, url, metrics_access=access) as server:
        forwarded = {"X-Forwarded-For": "203.0.113.9"}
        return [
            await status(server, "nobody"),
            await status(server, "nobody", **forwarded),
            await status(server, "reader", **forwarded),
            await status(server, "metrics", **forwarded),
            await status(server, "admin", **forwarded),
        ]


async def test_metrics_of_others_than_this_machine_need_a_key(sqlite_url: str) -> None:
    async with engine_at(sqlite_url) as engine:
        assert await answers(engine, sqlite_url, "default") == [200, 401, 403, 200, 200]
        assert await answers(engine, sqlite_url, "key") == [401, 401, 403, 200, 200]
        assert await answers(engine, sqlite_url, "open") == [200] * 5


async def test_the_gauges_of_the_cluster_are_read_once_for_many_scrapes(sqlite_url: str) -> None:
    async with engine_at(sqlite_url) as engine, api_server(engine, sqlite_url) as server:
        first = Scrape((await server.ask("nobody", "GET", "/metrics")).text)
        await engine.submit("simple")
        second = Scrape((await server.ask("nobody", "GET", "/metrics")).text)
    assert (first.value("queue_size"), second.value("queue_size")) == (0, 0)
    assert first.value("database_read_seconds") == second.value("database_read_seconds") > 0
