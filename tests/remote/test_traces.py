"""Traces of real processes: a server, remote workers and their ffmpeg send spans to one collector."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reelstate.core.machine import TaskStatus
from tests.media.source_videos import make_video, profile
from tests.remote.remote_fleet import TASKS, TIMEOUT, RemoteFleet
from tests.telemetry.collector import Collector, Span, open_collector

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "vendor=1"}
TRACED = {"traces": "otlp", "log_format": "json"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with open_collector() as collector:
        for name, value in collector.settings.items():
            monkeypatch.setenv(name, value)
        yield collector


async def submit(remote_fleet: RemoteFleet, pipeline: str, spec: object) -> int:
    key = remote_fleet.fleet.reel("keys", "create", "traces", "--scope", "admin")["key"]
    async with httpx.AsyncClient(trust_env=False, timeout=TIMEOUT) as client:
        answer = await client.post(
            f"{remote_fleet.url}/api/v1/jobs",
            json={"pipeline": pipeline, "spec": spec},
            headers={**HEADERS, "Authorization": f"Bearer {key}"},
        )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def path_to_caller(span: Span, spans: list[Span]) -> list[str]:
    """Return the names of the spans from this one up to the first whose parent is not among them."""
    by_id = {each.span_id: each for each in spans}
    names = [span.name]
    while span.parent_id in by_id:
        span = by_id[span.parent_id]
        names.append(span.name)
    return [*names, span.parent_id]


async def test_a_request_is_one_trace_down_to_the_ffmpeg_of_a_remote_worker(
    remote_fleet: RemoteFleet, collector: Collector, tmp_path: Path
) -> None:
    server = await remote_fleet.serve(input_roots=tmp_path, **TRACED)
    worker = await remote_fleet.worker("far", **TRACED)
    job = await submit(
        remote_fleet, "transcode", {"source": str(make_video(tmp_path / "video.mp4", 1)), "profile": profile()}
    )
    await remote_fleet.stream(job)
    await remote_fleet.fleet.wait_until(lambda: bool(collector.spans("job transcode")), "the job is sent")
    await remote_fleet.fleet.wait_until(lambda: bool(collector.spans("process transcode/publish")), "its end is sent")
    spans = collector.spans()
    assert {span.trace_id for span in spans if span.attributes.get("reelstate.job.id") == job} == {TRACE}
    (encode,) = collector.spans("process transcode/encode")
    command = next(span for span in collector.spans("ffmpeg") if span.parent_id == encode.span_id)
    assert path_to_caller(command, spans) == [
        "ffmpeg", "process transcode/encode", "stage encode", "job transcode", "send transcode", "POST /api/v1/jobs",
        CALLER,
    ]  # fmt: skip
    assert (command.kind, command.attributes["process.exit.code"], command.failed) == ("CLIENT", 0, False)
    ids = ("job", "stage", "part", "token", "attempt", "worker")
    assert [command.attributes[f"reelstate.{name}"] for name in ids] == [job, "encode", 0, 1, 1, "far"]
    uploads = [span for span in collector.spans("PUT /api/worker") if span.parent_id == encode.span_id]
    assert uploads
    assert {span.kind for span in uploads} == {"SERVER"}
    assert {span.trace_id for span in spans if span.kind == "CONSUMER"} == {TRACE}
    lines = [json.loads(line) for line in worker.log.splitlines() if line.startswith("{")]
    assert {line.get("trace_id") for line in lines if line.get("job") == job} == {TRACE}
    assert f'"trace_id": "{TRACE}"' in next(line for line in server.log.splitlines() if "POST /api/v1/jobs" in line)


async def test_the_attempt_of_a_killed_worker_ends_with_an_error(
    remote_fleet: RemoteFleet, collector: Collector
) -> None:
    remote_fleet.app = TASKS
    await remote_fleet.serve(**TRACED)
    killed = await remote_fleet.worker("killed", **TRACED)
    job = await submit(remote_fleet, "short", {"work": [{"first": "never"}], "encode": []})
    fleet = remote_fleet.fleet
    await fleet.wait_for(lambda: fleet.tasks(job, TaskStatus.RUNNING, stage="work"), "it runs", TIMEOUT)
    killed.kill()
    await fleet.wait_until(lambda: bool(collector.spans("process short/work")), "the lost attempt is sent")
    await remote_fleet.worker("next", **TRACED)
    await fleet.wait_status(job)
    await fleet.wait_until(lambda: len(collector.spans("process short/work")) == 2, "the second attempt is sent")
    await fleet.wait_until(lambda: bool(collector.spans("job short")), "the job is sent")
    (lost,) = collector.spans("process short/work", token=1)
    (again,) = collector.spans("process short/work", token=2)
    assert (lost.failed, lost.attributes["error.type"]) == (True, "lost")
    assert (again.failed, again.attributes["reelstate.worker"]) == (False, "next")
    assert {lost.trace_id, again.trace_id} == {TRACE}
    assert lost.parent_id == again.parent_id
    assert lost.seconds > 0
