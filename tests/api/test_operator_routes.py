"""Routes that the command line needs over HTTP: rows of the archive, qualities, names of workers, retries in bulk."""

import json
from datetime import UTC, datetime
from typing import Any

from reelstate.core.machine import TaskStatus
from reelstate.core.month import Month
from tests.api.api_server import Server
from tests.api.event_stream import event_stream
from tests.archive.finished_jobs import complete_jobs
from tests.cli import sample_jobs
from tests.cli.test_videos import half_done
from tests.engines import a_worker


async def test_the_rows_of_a_month_are_one_object_a_line(api: Server) -> None:
    jobs = await complete_jobs(api.engine, 3)
    await api.engine.archive(older=0)
    month = str(Month.of_time(datetime.now(UTC)))
    answer = await api.ask("admin", "GET", f"/api/v1/archive/{month}", params={"table": "jobs"})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert sorted(json.loads(line)["id"] for line in answer.text.splitlines()) == sorted(jobs)
    (listed,) = (await api.ask("admin", "GET", "/api/v1/archive")).json()
    assert (listed["month"], listed["jobs"], listed["exported"], listed["deleted"]) == (month, 3, False, False)
    for path, status in ((f"{month}?table=jobs;%20DROP%20TABLE%20jobs", 422), ("2020-01", 404), ("soon", 422)):
        assert (await api.ask("admin", "GET", f"/api/v1/archive/{path}")).status_code == status, path
    assert (await api.ask("ada", "GET", f"/api/v1/archive/{month}")).status_code == 403


async def test_the_qualities_of_a_job_are_its_owners(api: Server) -> None:
    _, job_id = await half_done(api.engine)
    found: list[dict[str, Any]] = (await api.ask("ada", "GET", f"/api/v1/jobs/{job_id}/qualities")).json()
    assert [(each["quality"], each["status"], each["segments_completed"]) for each in found] == [
        ("720p", "in_progress", 2),
        ("360p", "failed", 0),
        ("1080p", "skipped", 0),
    ]
    assert (await api.ask("bob", "GET", f"/api/v1/jobs/{job_id}/qualities")).status_code == 404
    other = await api.submit("ada")
    assert (await api.ask("ada", "GET", f"/api/v1/jobs/{other}/qualities")).json() == []


async def test_names_of_workers_include_those_that_are_gone(api: Server) -> None:
    for name in ("encoder-2", "encoder-1", "encoder-2"):
        await a_worker(api.engine, name)
    assert (await api.ask("admin", "GET", "/api/v1/workers/names")).json() == ["encoder-1", "encoder-2"]


async def test_many_jobs_are_retried_from_a_stage_on(api: Server) -> None:
    job_id = await sample_jobs.failed_pack(api.engine)
    body = {"action": "retry", "status": ["failed"], "stage": "work", "parts": [[0, 1], [3, 3]], "expected": 1}
    assert (await api.ask("admin", "POST", "/api/v1/jobs/bulk", json=body)).json()["done"]
    ready = (await api.engine.tasks(job_id, stage="work", statuses=[TaskStatus.READY])).items
    assert [task.part for task in ready] == [0, 1, 3]
    refused = await api.ask("admin", "POST", "/api/v1/jobs/bulk", json={**body, "action": "cancel"})
    assert (refused.status_code, refused.json()["field"]) == (422, "stage")


async def test_a_stream_sends_a_bookmark_whenever_the_client_has_everything(api: Server) -> None:
    async with event_stream(api, "ada", "/api/v1/events?bookmarks=true&only=job") as stream:
        await stream.until("replay_complete")
        job_id = await api.submit("ada")
        created, bookmark = await stream.next(), await stream.next()
    assert (created.data["id"], bookmark.kind) == (job_id, "bookmark")
    assert bookmark.id is not None


async def test_an_error_says_what_it_is_about(api: Server) -> None:
    missing = (await api.ask("ada", "GET", "/api/v1/jobs/7")).json()
    assert missing["entity"] == "job"
    job_id = await api.submit("ada")
    await api.engine.cancel(job_id)
    refused = (await api.ask("ada", "POST", f"/api/v1/jobs/{job_id}/retry", json={})).json()
    assert (refused["entity"], refused["origin"]) == ("job", "cancelled")
