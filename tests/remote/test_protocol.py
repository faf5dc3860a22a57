"""What a remote worker may say, and what it is answered: over HTTP, on both stores."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reelstate.api.remotes import Remotes
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Release, TaskKey
from reelstate.remote.wire import PROTOCOL
from reelstate.services.engine import Engine
from tests.api.served import Served, served
from tests.engines import engine_at
from tests.remote.far import HELLO, Far, Json, kind, prefix


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    async with engine_at(database_url) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Served]:
    places = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "scratch"), "remote_file_limit": 10_000}
    async with served(engine, database_url, **places) as made:
        yield made


def remotes(api: Served) -> Remotes:
    found: Remotes = api.server.config.app.state.remotes  # type: ignore[union-attr]
    return found


async def status(engine: Engine, task: Json) -> TaskStatus:
    key = TaskKey(*task["key"])
    return next(each.status for each in (await engine.tasks(key.job_id)).items if each.key == key)


async def taken_back(engine: Engine, task: Json) -> None:
    """Others may have the task from now on."""
    await engine.release([Release(key=TaskKey(*task["key"]), token=task["token"])])


async def test_a_task_is_claimed_reported_on_and_completed(api: Served, engine: Engine) -> None:
    far = await Far.of(api, "far")
    job = await api.submit(spec={"size": 7})
    answer = (await far.say("claim", worker_id=far.worker_id, limit=5)).json()
    (task,) = answer["tasks"]
    assert answer["jobs"] == {str(job): {"pipeline": "simple", "spec": {"size": 7}}}
    said = {
        "permit": task["permit"],
        "percent": 40,
        "logs": [{"message": "half"}],
        "steps": [{"number": 1, "argv": ["x"]}],
    }
    report = await far.say("progress", worker_id=far.worker_id, items=[said])
    assert report.json() == {"verdicts": ["ok"], "drain": False, "permits": [None]}
    assert [line.message for line in (await engine.logs(job)).items] == ["half"]
    assert [step.argv for step in (await engine.steps(job)).items] == [["x"]]
    done = await far.end("complete", task["permit"], result={"made": 1})
    assert (done.status_code, done.json()) == (200, {"verdicts": ["ok"]})
    again = await far.end("complete", task["permit"], result={"made": 1})
    assert (again.status_code, again.json()) == (200, {"verdicts": ["repeated"]})
    detail = await engine.job(job)
    assert (detail.job.status, detail.outputs) == (JobStatus.COMPLETED, {"main": {"made": 1}})
    (worker,) = await engine.workers()
    assert (worker.name, worker.kind) == ("far", "remote")


async def test_a_worker_may_not_touch_the_task_of_another(api: Served, engine: Engine) -> None:
    mine, other = await Far.of(api, "mine"), await Far.of(api, "other")
    await api.submit()
    (task,) = await mine.claim()
    permit = task["permit"]
    forged = [permit, "", permit[:-1] + ("A" if permit[-1] != "A" else "B"), permit.partition(".")[0], "x" * 3000]
    for shown in forged:
        answers = [
            await other.end("complete", shown),
            await other.end("fail", shown, error="no"),
            await other.end("release", shown),
            await other.say("progress", worker_id=other.worker_id, items=[{"permit": shown, "percent": 1}]),
            await other.say("heartbeat", worker_id=other.worker_id, items=[{"permit": shown}]),
            await other.ask("GET", "/results?stage=main", shown),
            await other.ask("GET", f"/files/{prefix(task)}/a.mp4", shown),
            await other.ask("HEAD", f"/files/{prefix(task)}/a.mp4", shown),
            await other.ask("GET", f"/files?prefix={prefix(task)}", shown),
            await other.ask("GET", "/source", shown),
            await other.put(f"{prefix(task)}/a.mp4", b"x", shown),
            await other.ask("PUT", "/archive", shown, content=b"x"),
        ]
        assert {answer.status_code for answer in answers} <= {403, 422}
        if len(shown) < 3000:
            assert {answer.status_code for answer in answers} == {403}
    stolen = [
        await other.say("claim", worker_id=mine.worker_id),
        await other.say("heartbeat", worker_id=mine.worker_id, items=[]),
        await other.say("leave", worker_id=mine.worker_id),
        await other.client.get(f"/bells?worker_id={mine.worker_id}"),
    ]
    assert [answer.status_code for answer in stolen] == [404] * len(stolen)
    assert await status(engine, task) is TaskStatus.RUNNING
    assert (await mine.end("complete", permit)).json() == {"verdicts": ["ok"]}


async def test_a_run_that_was_fenced_off_gets_a_conflict_and_its_files_go(api: Served, engine: Engine) -> None:
    late, next_one = await Far.of(api, "late"), await Far.of(api, "next")
    await api.submit()
    (old,) = await late.claim()
    assert (await late.put(f"{prefix(old)}/a.mp4", b"old", old["permit"])).status_code == 200
    await taken_back(engine, old)
    (new,) = await next_one.claim()
    assert (await next_one.put(f"{prefix(new)}/a.mp4", b"new", new["permit"])).status_code == 200
    storage = remotes(api).storage
    assert await storage.exists(f"{prefix(old)}/a.mp4")
    answer = await late.end("complete", old["permit"])
    assert (answer.status_code, answer.json()) == (409, {"verdicts": ["lost"]})
    assert not await storage.exists(f"{prefix(old)}/a.mp4")
    assert (await late.end("fail", old["permit"], error="x")).status_code == 409
    for answer in [
        await late.put(f"{prefix(old)}/b.mp4", b"old", old["permit"]),
        await late.ask("GET", f"/files/{prefix(new)}/a.mp4", old["permit"]),
        await late.ask("PUT", "/archive", old["permit"], content=b""),
    ]:
        assert (answer.status_code, kind(answer)) == (409, "lease-lost")
    assert await storage.get_bytes(f"{prefix(new)}/a.mp4") == b"new"
    assert (await next_one.end("complete", new["permit"])).json() == {"verdicts": ["ok"]}


async def test_a_report_after_the_end_does_not_take_the_files_that_count(api: Served) -> None:
    far = await Far.of(api, "far")
    await api.submit()
    (task,) = await far.claim()
    await far.put(f"{prefix(task)}/a.mp4", b"good", task["permit"])
    await far.end("complete", task["permit"])
    answer = await far.end("fail", task["permit"], error="late")
    assert (answer.status_code, answer.json()) == (409, {"verdicts": ["lost"]})
    assert await remotes(api).storage.get_bytes(f"{prefix(task)}/a.mp4") == b"good"


async def test_tasks_of_a_claim_whose_answer_was_lost_are_told_again(api: Served) -> None:
    far = await Far.of(api, "far")
    await api.submit(pipeline="parts", spec={"parts": [1, 2, 3]})
    first = await far.claim(limit=2)
    lease = [*first[0]["key"], first[0]["token"]]
    told = await far.claim(limit=2, known=[lease])
    assert [(task["key"], task["token"]) for task in told] == [(first[1]["key"], first[1]["token"])]
    known = [[*task["key"], task["token"]] for task in first]
    assert [task["key"] for task in await far.claim(limit=2, known=known)] == [[*first[0]["key"][:2], 2]]


async def test_a_permit_ends_and_is_renewed_with_the_lease(api: Served) -> None:
    far, permits = await Far.of(api, "far"), remotes(api).permits
    await api.submit()
    permits._lifetime = -10.0
    (task,) = await far.claim()
    permits._lifetime = 3600.0
    refused = await far.end("complete", task["permit"])
    assert (refused.status_code, kind(refused)) == (403, "permit-expired")
    report = (await far.say("heartbeat", worker_id=far.worker_id, items=[{"permit": task["permit"]}])).json()
    (renewed,) = report["permits"]
    assert report["verdicts"] == ["ok"]
    assert (await far.say("heartbeat", worker_id=far.worker_id, items=[{"permit": renewed}])).json()["permits"] == [
        None
    ]
    assert (await far.end("complete", renewed)).json() == {"verdicts": ["ok"]}


async def test_who_speaks_another_protocol_is_told_what_to_install(api: Served, engine: Engine) -> None:
    far = await Far.of(api, "far")
    for protocol, word in ((PROTOCOL - 1, "old"), (PROTOCOL + 1, "new")):
        answer = await far.say("register", **{**HELLO, "protocol": protocol})
        assert (answer.status_code, kind(answer)) == (403, "worker-refused")
        assert f"too {word}" in answer.json()["detail"]
        assert "install" in answer.json()["hint"]
    unknown = await far.say("register", **{**HELLO, "pipelines": ["none-such"]})
    assert (unknown.status_code, kind(unknown)) == (422, "unknown-pipeline")
    wrong = await far.say("register", **{**HELLO, "capabilities": ["a b"]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "capabilities")
    assert len(await engine.workers()) == 1


async def test_a_disabled_name_may_neither_register_nor_claim(api: Served, engine: Engine) -> None:
    far = await Far.of(api, "far")
    await api.submit()
    (task,) = await far.claim()
    assert await engine.disable("far") == 1
    assert await status(engine, task) is TaskStatus.READY
    api.context.keys._cache.clear()
    answers = [await far.say("claim", worker_id=far.worker_id), await far.say("register", **HELLO)]
    assert [answer.status_code for answer in answers] == [401, 401]


async def test_a_claim_that_waits_is_answered_when_there_is_work(api: Served) -> None:
    far = await Far.of(api, "far")
    waiting = asyncio.create_task(far.claim(wait=20))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    job = await api.submit()
    (task,) = await asyncio.wait_for(waiting, 5)
    assert task["key"][0] == job


async def test_bells_are_heard_between_two_questions_and_nothing_is_missed_after_a_restart(
    api: Served, engine: Engine
) -> None:
    far = await Far.of(api, "far")
    ask = f"/bells?worker_id={far.worker_id}&wait=10"
    assert (await far.client.get(ask)).json() == {"bells": ["work", "stop"]}
    job = await api.submit()
    assert (await far.client.get(ask)).json() == {"bells": ["work"]}
    waiting = asyncio.create_task(far.client.get(ask))
    await asyncio.wait([waiting], timeout=0.2)
    await engine.cancel(job, reason="enough")
    assert (await asyncio.wait_for(waiting, 5)).json() == {"bells": ["stop"]}


async def test_a_question_that_waits_ends_with_the_key(api: Served) -> None:
    far = await Far.of(api, "far")
    ask = f"/bells?worker_id={far.worker_id}&wait=30"
    await far.client.get(ask)
    waiting = asyncio.create_task(far.client.get(ask))
    await asyncio.wait([waiting], timeout=0.2)
    await api.engine.revoke("far")
    answers = [(await asyncio.wait_for(waiting, 6)).json()]
    if "bells" in answers[0]:  # the bell was quicker than the look at the key
        answers = [(await asyncio.wait_for(far.client.get(ask), 6)).json()]
    assert answers[0]["status"] == 401


async def test_files_are_kept_under_the_token_of_their_run_alone(api: Served) -> None:
    far = await Far.of(api, "far")
    for _ in range(2):
        await api.submit()
    task, other = await far.claim(limit=2)
    permit, storage = task["permit"], remotes(api).storage
    kept = await far.put(f"{prefix(task)}/video/a.mp4", b"0123456789", permit)
    assert (kept.status_code, kept.json()["size"]) == (200, 10)
    same = await far.put(f"{prefix(task)}/video/a.mp4", b"0123456789", permit)
    assert same.status_code == 200
    changed = await far.put(f"{prefix(task)}/video/a.mp4", b"changed", permit)
    assert (changed.status_code, kind(changed)) == (409, "storage-conflict")
    damaged = await far.put(f"{prefix(task)}/b.mp4", b"what came", permit, told=b"what was sent")
    assert (damaged.status_code, kind(damaged)) == (422, "storage-damaged")
    large = await far.put(f"{prefix(task)}/b.mp4", bytes(10_001), permit)
    assert large.status_code == 413
    job = task["key"][0]
    for key in (
        f"{prefix(other)}/a.mp4",
        f"versions/{job}/main/0/{task['token'] + 1}/a.mp4",
        f"versions/{job}/main/1/1/a.mp4",
        f"versions/{job}/master.m3u8",
        f"sources/{'0' * 64}",
        "videos/1/master.m3u8",
        "a.mp4",
    ):
        refused = await far.put(key, b"x", permit)
        assert (refused.status_code, kind(refused)) == (403, "permit-refused"), key
    for key in ("versions/..%2f..%2fx", f"{prefix(task)}/.hidden", f"{prefix(task)}/a//b"):
        assert (await far.put(key, b"x", permit)).status_code == 422, key
    assert not await storage.exists(f"{prefix(task)}/b.mp4")
    listing = (await far.ask("GET", f"/files?prefix=versions/{job}", permit)).json()["files"]
    assert [(each["key"], each["size"]) for each in listing] == [(f"{prefix(task)}/video/a.mp4", 10)]


async def test_files_are_read_in_parts_and_only_those_of_the_own_job(api: Served) -> None:
    far = await Far.of(api, "far")
    for _ in range(2):
        await api.submit()
    task, other = await far.claim(limit=2)
    path, permit = f"/files/{prefix(task)}/a.mp4", task["permit"]
    await far.put(f"{prefix(task)}/a.mp4", b"0123456789", permit)
    await far.put(f"{prefix(other)}/a.mp4", b"private", other["permit"])
    whole = await far.ask("GET", path, permit)
    assert (whole.content, whole.headers["content-type"]) == (b"0123456789", "video/mp4")
    part = await far.ask("GET", path, permit, headers={"Range": "bytes=3-5"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"345", "bytes 3-5/10")
    rest = await far.ask("GET", path, permit, headers={"Range": "bytes=8-"})
    assert (rest.status_code, rest.content) == (206, b"89")
    beyond = await far.ask("GET", path, permit, headers={"Range": "bytes=10-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")
    head = await far.ask("HEAD", path, permit)
    assert (head.headers["content-length"], head.content) == ("10", b"")
    for foreign in (
        f"{prefix(other)}/a.mp4",
        "sources/" + "0" * 64,
        "videos/1/master.m3u8",
        f"{prefix(task)}/none.mp4",
    ):
        assert (await far.ask("GET", f"/files/{foreign}", permit)).status_code == 404, foreign
    assert (await far.ask("GET", f"/files?prefix=versions/{other['key'][0]}", permit)).status_code == 404
    assert (await far.ask("GET", "/source", permit)).status_code == 404
