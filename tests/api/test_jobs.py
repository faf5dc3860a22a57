"""Jobs over HTTP: what is submitted, listed and shown, with the names of the command line."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from reelstate.app import built_in_pipelines
from reelstate.config import Settings
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import Completion, LogLine, Progress, Step
from reelstate.core.pipeline import Graph, StageSpec
from tests.api.api_server import Server
from tests.engines import a_worker, done, failed

JOBS = "/api/v1/jobs"


async def test_a_submitted_job_is_listed_for_its_user_only(api: Server) -> None:
    job_id = await api.submit("ada", spec={"video": "a.mov"})
    mine = (await api.ask("ada", "GET", JOBS)).json()
    assert [job["id"] for job in mine["items"]] == [job_id]
    assert mine["items"][0]["spec"] == {"video": "a.mov"}
    assert (await api.ask("bob", "GET", JOBS)).json()["items"] == []
    assert [job["id"] for job in (await api.ask("admin", "GET", JOBS)).json()["items"]] == [job_id]


async def test_a_repeated_request_with_an_idempotency_key_creates_one_job(api: Server) -> None:
    headers = {"Idempotency-Key": "a-1"}
    body = {"pipeline": "simple", "spec": {"video": 1}}
    first = await api.ask("ada", "POST", JOBS, json=body, headers=headers)
    again = await api.ask("ada", "POST", JOBS, json=body, headers=headers)
    other = await api.ask("ada", "POST", JOBS, json={**body, "priority": 9}, headers=headers)
    theirs = await api.ask("bob", "POST", JOBS, json=body, headers=headers)
    assert [each.status_code for each in (first, again, other, theirs)] == [201, 200, 422, 201]
    assert first.json()["id"] == again.json()["id"] != theirs.json()["id"]
    assert again.json()["verdict"] == "repeated"
    assert other.json()["field"] == "idempotency_key"
    assert first.headers["location"] == f"{JOBS}/{first.json()['id']}"


async def test_a_spec_is_checked_by_the_schema_of_its_pipeline(api: Server) -> None:
    schema = {"required": ["video"], "properties": {"width": {"type": "integer"}}}
    await api.engine.declare(Graph.of("shots", [StageSpec(name="grab")], spec=schema))
    wrong, right = ({"pipeline": "shots", "spec": {"video": "a", "width": width}} for width in ("wide", 640))
    one = await api.ask("ada", "POST", JOBS, json=wrong)
    many = await api.ask("ada", "POST", f"{JOBS}/batch", json={"jobs": [right, wrong]})
    for refused in (one, many):
        assert (refused.status_code, refused.json()["field"]) == (422, "spec.width")
        assert '"wide" is not of type "integer"' in refused.json()["detail"]
    assert (await api.ask("ada", "POST", JOBS, json=right)).status_code == 201


async def test_a_batch_is_created_completely_or_not_at_all_and_may_be_repeated(api: Server) -> None:
    jobs = [{"pipeline": "simple", "spec": {"n": n}} for n in range(20)]
    wrong = await api.ask("ada", "POST", f"{JOBS}/batch", json={"jobs": [*jobs, {"pipeline": "no such"}]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "pipeline")
    assert (await api.ask("ada", "GET", JOBS)).json()["items"] == []
    headers = {"Idempotency-Key": "batch"}
    first, again = [
        await api.ask("ada", "POST", f"{JOBS}/batch", json={"jobs": jobs}, headers=headers) for _ in range(2)
    ]
    assert first.status_code == again.status_code == 201
    assert [made["id"] for made in first.json()["items"]] == [made["id"] for made in again.json()["items"]]
    assert {made["verdict"] for made in again.json()["items"]} == {"repeated"}
    assert len((await api.ask("ada", "GET", JOBS)).json()["items"]) == 20


async def test_flagged_jobs_can_be_listed(api: Server) -> None:
    job_id = await api.submit()
    await api.submit()
    await api.engine.claim(await a_worker(api.engine), 1)
    await api.engine.flag_stalled(stall_after=0)
    (found,) = (await api.ask("ada", "GET", f"{JOBS}?flagged=true")).json()["items"]
    assert found["id"] == job_id
    assert found["flagged"] == f"task {job_id}/0/0 of stage main has reported no progress for 0 s"
    assert datetime.fromisoformat(found["flagged_at"]).tzinfo is not None
    assert (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()["flagged"] == found["flagged"]


async def test_a_degraded_job_shows_its_reason(api: Server) -> None:
    whole, degraded = await api.submit(), await api.submit()
    lists: dict[int, Any] = {whole: {"1080p": "no encoder"}, degraded: ["1080p: no encoder"]}
    tasks = (await api.engine.claim(await a_worker(api.engine), 2)).tasks
    await api.engine.complete([done(task, {"degraded": lists[task.key.job_id]}) for task in tasks])
    listed = {job["id"]: job["degraded"] for job in (await api.ask("ada", "GET", JOBS)).json()["items"]}
    assert listed == {whole: None, degraded: ["1080p: no encoder"]}
    for job_id, reasons in listed.items():
        shown = (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()
        assert (shown["status"], shown["degraded"]) == ("completed", reasons)


async def test_pages_follow_each_other_by_their_links(api: Server) -> None:
    made = {await api.submit(spec={"n": n}) for n in range(5)}
    found: list[int] = []
    path = f"{JOBS}?limit=2&status=pending&pipeline=simple"
    while path:
        answer = await api.ask("ada", "GET", path)
        found += [job["id"] for job in answer.json()["items"]]
        path = answer.links["next"]["url"] if answer.links else ""
    assert found == sorted(made, reverse=True)
    for wrong in ("limit=501", "limit=0", "after=x", "status=nope", "staus=failed"):
        assert (await api.ask("ada", "GET", f"{JOBS}?{wrong}")).status_code == 422


async def test_the_status_running_selects_every_phase(api: Server) -> None:
    waiting, running = await api.submit(), await api.submit(priority=9)
    await api.engine.claim(await a_worker(api.engine), 1)
    listed = (await api.ask("ada", "GET", f"{JOBS}?status=running")).json()["items"]
    assert [job["id"] for job in listed] == [running]
    both = (await api.ask("ada", "GET", f"{JOBS}?status=running&status=pending&status=processing")).json()["items"]
    assert {job["id"] for job in both} == {waiting, running}
    counted = await api.ask("ada", "POST", f"{JOBS}/bulk", json={"action": "cancel", "status": ["running"]})
    assert counted.json()["matched"] == 1


async def test_only_an_admin_may_name_another_user(api: Server) -> None:
    await api.submit("admin", user_id="bob")
    await api.submit("ada", user_id="ada")
    refused = await api.ask("ada", "POST", JOBS, json={"pipeline": "simple", "user_id": "bob"})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:reelstate:error:scope-missing")
    assert (await api.ask("ada", "GET", f"{JOBS}?user_id=bob")).status_code == 403
    bobs = (await api.ask("admin", "GET", f"{JOBS}?user_id=bob")).json()["items"]
    assert [job["user_id"] for job in bobs] == ["bob"]


async def test_a_job_may_have_a_start_time_and_a_priority(api: Server) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    job_id = await api.submit("ada", run_after=at.isoformat(), priority="high")
    job = (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()
    assert abs(datetime.fromisoformat(job["run_after"]) - at) < timedelta(seconds=1)
    assert job["priority"] == 8


async def test_a_job_is_shown_with_its_stages_tasks_and_events(api: Server) -> None:
    job_id = await api.submit("ada", "fan")
    engine = api.engine
    worker = await a_worker(engine, "encoder")
    (plan,) = (await engine.claim(worker)).tasks
    await engine.complete([Completion(key=plan.key, token=plan.token, result={"items": [1, 2]})])
    (task, other) = (await engine.claim(worker, 2)).tasks
    step = Step(number=1, argv=["ffmpeg", "-i", "a"], exit_code=0, seconds=0.5, output="fine")
    await engine.report(
        worker, [Progress(key=task.key, token=task.token, percent=40, logs=(LogLine(message="half"),), steps=(step,))]
    )
    await engine.fail([failed(other)])

    async def got(path: str) -> Any:
        return (await api.ask("reader", "GET", f"{JOBS}/{job_id}{path}")).json()

    job = await got("")
    assert (job["status"], job["phase"], job["version"]) == ("processing", "processing", 3)
    assert [(task["id"], task["worker"], task["percent"]) for task in job["running"]] == [
        (f"{job_id}/work/0", "encoder", 40)
    ]
    assert [task["attempt"] for task in job["retrying"]] == [1]
    assert [stage["status"] for stage in await got("/stages")] == ["done", "running", "new"]
    assert [task["status"] for task in (await got("/tasks?stage=work"))["items"]] == ["running", "error"]
    assert [task["part"] for task in (await got("/tasks?status=error"))["items"]] == [1]
    assert [line["message"] for line in (await got("/logs"))["items"]] == ["half"]
    assert [line["stage"] for line in (await got("/logs?stage=work&part=0"))["items"]] == ["work"]
    assert (await got("/logs?stage=work&part=1"))["items"] == []
    assert (await got("/logs?stage=work"))["field"] == "part"
    assert [step["argv"] for step in (await got("/steps"))["items"]] == [["ffmpeg", "-i", "a"]]
    events = (await got("/events"))["items"]
    assert [(event["from"], event["to"]) for event in events if event["entity"] == "job"] == [
        (None, "pending"),
        ("pending", "planning"),
        ("planning", "processing"),
    ]
    assert json.dumps(job)  # it has nothing that JSON lacks


async def test_a_transcode_job_that_can_not_run_is_refused_at_submit(api: Server) -> None:
    await api.engine.declare(*built_in_pipelines(Settings()))
    for spec, field in (({"sorce": "https://example.com/a.mp4"}, "spec.sorce"), ({}, "spec.source")):
        answer = await api.ask("ada", "POST", JOBS, json={"pipeline": "transcode", "spec": spec})
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    batch = {"jobs": [{"pipeline": "simple"}, {"pipeline": "transcode", "spec": {"source": "a.mp4"}}]}
    assert (await api.ask("admin", "POST", f"{JOBS}/batch", json=batch)).status_code == 422
    assert (await api.engine.jobs()).items == []
    assert await api.submit(pipeline="transcode", spec={"source": "https://example.com/a.mp4"})


async def test_the_worker_of_a_finished_task_is_shown_after_it_is_pruned(api: Server) -> None:
    job_id = await api.submit("ada")
    worker = await a_worker(api.engine, "encoder-7")
    await api.engine.complete([done(task) for task in (await api.engine.claim(worker, 1)).tasks])
    await api.engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    assert await api.engine.prune_workers(older=-1.0) == [worker]
    (task,) = (await api.ask("ada", "GET", f"/api/v1/jobs/{job_id}/tasks")).json()["items"]
    assert (task["status"], task["worker"]) == ("done", "encoder-7")
    events = (await api.ask("ada", "GET", f"/api/v1/jobs/{job_id}/events")).json()["items"]
    assert {event["worker_name"] for event in events if event["entity"] == "task"} == {"encoder-7"}
