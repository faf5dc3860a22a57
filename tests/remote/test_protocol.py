"""The requests of a remote worker and their answers, over HTTP, on both stores."""

import asyncio

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Release, TaskKey
from reelstate.engine import Engine
from tests.api.api_server import Server, api_server
from tests.manual_sql import ManualSql
from tests.remote.scripted_worker import REGISTRATION, Json, ScriptedWorker, error_name, output_prefix, remotes_of
from tests.waiting import until


async def task_status(engine: Engine, task: Json) -> TaskStatus:
    key = TaskKey(*task["key"])
    return next(each.status for each in (await engine.tasks(key.job_id)).items if each.key == key)


async def release_task(engine: Engine, task: Json) -> None:
    """Release a task, so that another worker can claim it."""
    await engine.release([Release(key=TaskKey(*task["key"]), token=task["token"])])


async def test_a_task_is_claimed_reported_and_completed(api: Server, engine: Engine) -> None:
    far = await ScriptedWorker.of(api, "far")
    job = await api.submit(spec={"size": 7})
    answer = (await far.send("claim", worker_id=far.worker_id, limit=5)).json()
    (task,) = answer["tasks"]
    assert answer["jobs"] == {str(job): {"pipeline": "simple", "spec": {"size": 7}, "trace": None}}
    item = {
        "permit": task["permit"],
        "percent": 40,
        "logs": [{"message": "half"}],
        "steps": [{"number": 1, "argv": ["x"]}],
    }
    report = await far.send("progress", worker_id=far.worker_id, items=[item])
    assert report.json() == {"verdicts": ["ok"], "drain": False, "permits": [None]}
    assert [line.message for line in (await engine.logs(job)).items] == ["half"]
    assert [step.argv for step in (await engine.steps(job)).items] == [["x"]]
    done = await far.send_items("complete", task["permit"], result={"made": 1})
    assert (done.status_code, done.json()) == (200, {"verdicts": ["ok"]})
    again = await far.send_items("complete", task["permit"], result={"made": 1})
    assert (again.status_code, again.json()) == (200, {"verdicts": ["repeated"]})
    detail = await engine.job(job)
    assert (detail.job.status, detail.outputs) == (JobStatus.COMPLETED, {"main": {"made": 1}})
    (worker,) = await engine.workers()
    assert (worker.name, worker.kind) == ("far", "remote")


async def test_a_fenced_run_gets_a_conflict_and_its_files_are_deleted(api: Server, engine: Engine) -> None:
    late, next_one = await ScriptedWorker.of(api, "late"), await ScriptedWorker.of(api, "next")
    await api.submit()
    (old,) = await late.claim()
    assert (await late.put(f"{output_prefix(old)}/a.mp4", b"old", old["permit"])).status_code == 200
    await release_task(engine, old)
    (new,) = await next_one.claim()
    assert (await next_one.put(f"{output_prefix(new)}/a.mp4", b"new", new["permit"])).status_code == 200
    storage = remotes_of(api).storage
    assert await storage.exists(f"{output_prefix(old)}/a.mp4")
    answer = await late.send_items("complete", old["permit"])
    assert (answer.status_code, answer.json()) == (409, {"verdicts": ["lost"]})
    assert not await storage.exists(f"{output_prefix(old)}/a.mp4")
    assert (await late.send_items("fail", old["permit"], error="x")).status_code == 409
    for answer in [
        await late.put(f"{output_prefix(old)}/b.mp4", b"old", old["permit"]),
        await late.request("GET", f"/files/{output_prefix(new)}/a.mp4", old["permit"]),
        await late.request("PUT", "/archive", old["permit"], content=b""),
        await late.request("GET", "/results?stage=main", old["permit"]),
    ]:
        assert (answer.status_code, error_name(answer)) == (409, "lease-lost")
    assert await storage.get_bytes(f"{output_prefix(new)}/a.mp4") == b"new"
    assert (await next_one.send_items("complete", new["permit"])).json() == {"verdicts": ["ok"]}


async def test_tasks_of_a_claim_whose_answer_was_lost_are_sent_again(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    await api.submit(pipeline="parts", spec={"parts": [1, 2, 3]})
    first = await far.claim(limit=2)
    lease = [*first[0]["key"], first[0]["token"]]
    resent = await far.claim(limit=2, known=[lease])
    assert [(task["key"], task["token"]) for task in resent] == [(first[1]["key"], first[1]["token"])]
    known = [[*task["key"], task["token"]] for task in first]
    assert [task["key"] for task in await far.claim(limit=2, known=known)] == [[*first[0]["key"][:2], 2]]


async def test_tasks_claimed_for_a_client_that_disconnected_are_released(api: Server, engine: Engine) -> None:
    far = await ScriptedWorker.of(api, "far")
    job = await api.submit()
    instance = await remotes_of(api).require_instance(far.worker_id, "far")
    async with instance.claiming:  # as if the claim took long
        claiming = asyncio.create_task(far.claim())
        await until(lambda: bool(instance.claiming._waiters))
        claiming.cancel()
        await asyncio.wait({claiming})
    async with instance.claiming:  # acquired when the claim has returned
        (task,) = (await engine.tasks(job)).items
    assert (task.status, task.attempt, task.lost, task.worker_id) == (TaskStatus.READY, 0, 0, None)
    assert task.token == 1, "it was leased and released"
    (again,) = await far.claim()
    assert (again["key"], again["token"]) == ([job, 0, 0], 2)


async def test_an_expired_permit_is_renewed_with_the_lease(api: Server) -> None:
    far, permits = await ScriptedWorker.of(api, "far"), remotes_of(api).permits
    await api.submit()
    permits._lifetime = -10.0
    (task,) = await far.claim()
    permits._lifetime = 3600.0
    refused = await far.send_items("complete", task["permit"])
    assert (refused.status_code, error_name(refused)) == (403, "permit-expired")
    report = (await far.send("heartbeat", worker_id=far.worker_id, items=[{"permit": task["permit"]}])).json()
    (renewed,) = report["permits"]
    assert report["verdicts"] == ["ok"]
    assert (await far.send("heartbeat", worker_id=far.worker_id, items=[{"permit": renewed}])).json()["permits"] == [
        None
    ]
    assert (await far.send_items("complete", renewed)).json() == {"verdicts": ["ok"]}


async def test_a_disabled_name_may_neither_register_nor_claim_until_it_is_enabled(api: Server, engine: Engine) -> None:
    far = await ScriptedWorker.of(api, "far")
    await api.submit()
    (task,) = await far.claim()
    named = "/api/v1/workers/far"
    assert (await api.ask("admin", "POST", f"{named}/disable")).json() == {"name": "far", "released": 1}
    assert await task_status(engine, task) is TaskStatus.READY
    api.context.keys._cache.clear()
    answers = [
        await far.send("claim", worker_id=far.worker_id),
        await far.send("register", **REGISTRATION),
        await far.send_items("complete", task["permit"]),
        await far.put(f"{output_prefix(task)}/a.mp4", b"late", task["permit"]),
    ]
    outcomes = [(answer.status_code, answer.json().get("verdicts") or error_name(answer)) for answer in answers]
    assert outcomes == [(403, "worker-refused"), (403, "worker-refused"), (409, ["lost"]), (409, "lease-lost")]
    beat = await far.send("heartbeat", worker_id=far.worker_id, items=[{"permit": task["permit"]}])
    assert (beat.json()["verdicts"], beat.json()["drain"]) == (["lost"], True)
    assert (await api.ask("admin", "POST", f"{named}/enable")).status_code == 200
    (again,) = await far.claim()
    assert again["token"] == task["token"] + 1
    assert (await far.send("register", **REGISTRATION)).status_code == 200


async def test_the_live_instances_of_a_name_are_limited(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, instances_per_key=2) as api:
        first, other = await ScriptedWorker.of(api, "far"), await ScriptedWorker.of(api, "other")
        second = (await first.send("register", **REGISTRATION)).json()["worker_id"]
        refused = await first.send("register", **REGISTRATION)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "15")
        assert "worker 'far' has 2 live instances, the limit is 2" in refused.json()["detail"]
        assert "REEL_INSTANCES_PER_KEY" in refused.json()["hint"]
        assert (await other.send("register", **REGISTRATION)).status_code == 200
        assert (await first.send("leave", worker_id=second)).status_code == 200
        assert (await first.send("register", **REGISTRATION)).status_code == 200
        assert ManualSql(database_url).run("SELECT count(*) FROM worker_instances") == [(5,)], (
            "a row was written for a refused instance"
        )


async def test_an_instance_marked_offline_returns_only_within_the_limit_of_its_name(
    engine: Engine, database_url: str
) -> None:
    async with api_server(engine, database_url, instances_per_key=1) as api:
        far = await ScriptedWorker.of(api, "far")
        await engine.reclaim_workers(stale_after=-1.0)
        newer = (await far.send("register", **REGISTRATION)).json()["worker_id"]
        for verb in ("heartbeat", "claim"):
            answer = await far.send(verb, worker_id=far.worker_id)
            assert (answer.status_code, error_name(answer)) == (404, "worker-unknown")
        assert (await far.send("heartbeat", worker_id=newer)).status_code == 200
        await far.send("leave", worker_id=newer)
        assert (await far.send("heartbeat", worker_id=far.worker_id)).status_code == 200
