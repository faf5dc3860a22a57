"""Which files a remote worker can read and write, and for which tasks it can send requests."""

import base64
from pathlib import Path

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.core.model import TaskKey
from reelstate.engine import Engine
from tests.api.api_server import Server
from tests.remote.scripted_worker import Json, ScriptedWorker, error_name, output_prefix, remotes_of


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite only: nothing here depends on the store."""
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


async def task_status(engine: Engine, task: Json) -> TaskStatus:
    key = TaskKey(*task["key"])
    return next(each.status for each in (await engine.tasks(key.job_id)).items if each.key == key)


async def test_a_worker_cant_access_the_task_of_another(api: Server, engine: Engine) -> None:
    mine, other = await ScriptedWorker.of(api, "mine"), await ScriptedWorker.of(api, "other")
    await api.submit()
    (task,) = await mine.claim()
    permit = task["permit"]
    body, _, mac = permit.partition(".")
    payload = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).replace(b'"mine"', b'"other"')
    renamed = f"{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.{mac}"
    assert b'"other"' in payload
    forged = [
        permit,
        renamed,
        "",
        permit[:-1] + ("A" if permit[-1] != "A" else "B"),
        permit.partition(".")[0],
        "x" * 3000,
    ]
    for permit_text in forged:
        answers = [
            await other.send_items("complete", permit_text),
            await other.send_items("fail", permit_text, error="no"),
            await other.send_items("release", permit_text),
            await other.send("progress", worker_id=other.worker_id, items=[{"permit": permit_text, "percent": 1}]),
            await other.send("heartbeat", worker_id=other.worker_id, items=[{"permit": permit_text}]),
            await other.request("GET", "/results?stage=main", permit_text),
            await other.request("GET", f"/files/{output_prefix(task)}/a.mp4", permit_text),
            await other.request("GET", f"/files?prefix={output_prefix(task)}", permit_text),
            await other.request("GET", "/source", permit_text),
            await other.put(f"{output_prefix(task)}/a.mp4", b"x", permit_text),
            await other.request("PUT", "/archive", permit_text, content=b"x"),
        ]
        assert {answer.status_code for answer in answers} <= {403, 422}
        if len(permit_text) < 3000:
            assert {answer.status_code for answer in answers} == {403}
    stolen = [
        await other.send("claim", worker_id=mine.worker_id),
        await other.send("heartbeat", worker_id=mine.worker_id, items=[]),
        await other.send("leave", worker_id=mine.worker_id),
        await other.client.get(f"/wakeups?worker_id={mine.worker_id}"),
    ]
    assert [answer.status_code for answer in stolen] == [404] * len(stolen)
    assert await task_status(engine, task) is TaskStatus.RUNNING
    assert (await mine.send_items("complete", permit)).json() == {"verdicts": ["ok"]}


async def test_a_failure_after_a_completion_does_not_delete_its_files(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    await api.submit()
    (task,) = await far.claim()
    await far.put(f"{output_prefix(task)}/a.mp4", b"good", task["permit"])
    await far.send_items("complete", task["permit"])
    answer = await far.send_items("fail", task["permit"], error="late")
    assert (answer.status_code, answer.json()) == (409, {"verdicts": ["lost"]})
    assert await remotes_of(api).storage.get_bytes(f"{output_prefix(task)}/a.mp4") == b"good"


async def test_a_run_writes_only_under_its_own_token(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    for _ in range(2):
        await api.submit()
    task, other = await far.claim(limit=2)
    permit, storage = task["permit"], remotes_of(api).storage
    kept = await far.put(f"{output_prefix(task)}/video/a.mp4", b"0123456789", permit)
    assert (kept.status_code, kept.json()["size"]) == (200, 10)
    same = await far.put(f"{output_prefix(task)}/video/a.mp4", b"0123456789", permit)
    assert same.status_code == 200
    changed = await far.put(f"{output_prefix(task)}/video/a.mp4", b"changed", permit)
    assert (changed.status_code, error_name(changed)) == (409, "storage-conflict")
    damaged = await far.put(f"{output_prefix(task)}/b.mp4", b"what came", permit, digest_of=b"what was sent")
    assert (damaged.status_code, error_name(damaged)) == (422, "storage-damaged")
    large = await far.put(f"{output_prefix(task)}/b.mp4", bytes(10_001), permit)
    assert large.status_code == 413
    job = task["key"][0]
    for key in (
        f"{output_prefix(other)}/a.mp4",
        f"versions/{job}/main/0/{task['token'] + 1}/a.mp4",
        f"versions/{job}/main/1/1/a.mp4",
        f"versions/{job}/master.m3u8",
        f"sources/{'0' * 64}",
        "videos/1/master.m3u8",
        "a.mp4",
    ):
        refused = await far.put(key, b"x", permit)
        assert (refused.status_code, error_name(refused)) == (403, "permit-refused"), key
    for key in ("versions/..%2f..%2fx", f"{output_prefix(task)}/.hidden", f"{output_prefix(task)}/a//b"):
        assert (await far.put(key, b"x", permit)).status_code == 422, key
    assert not await storage.exists(f"{output_prefix(task)}/b.mp4")
    listing = (await far.request("GET", f"/files?prefix=versions/{job}", permit)).json()["files"]
    assert [(each["key"], each["size"]) for each in listing] == [(f"{output_prefix(task)}/video/a.mp4", 10)]


async def test_a_run_reads_only_files_of_its_job_also_in_ranges(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    for _ in range(2):
        await api.submit()
    task, other = await far.claim(limit=2)
    path, permit = f"/files/{output_prefix(task)}/a.mp4", task["permit"]
    await far.put(f"{output_prefix(task)}/a.mp4", b"0123456789", permit)
    await far.put(f"{output_prefix(other)}/a.mp4", b"private", other["permit"])
    whole = await far.request("GET", path, permit)
    assert (whole.content, whole.headers["content-type"]) == (b"0123456789", "video/mp4")
    part = await far.request("GET", path, permit, headers={"Range": "bytes=3-5"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"345", "bytes 3-5/10")
    rest = await far.request("GET", path, permit, headers={"Range": "bytes=8-"})
    assert (rest.status_code, rest.content) == (206, b"89")
    beyond = await far.request("GET", path, permit, headers={"Range": "bytes=10-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")
    for foreign in (
        f"{output_prefix(other)}/a.mp4",
        "sources/" + "0" * 64,
        "videos/1/master.m3u8",
        f"{output_prefix(task)}/none.mp4",
    ):
        assert (await far.request("GET", f"/files/{foreign}", permit)).status_code == 404, foreign
    assert (await far.request("GET", f"/files?prefix=versions/{other['key'][0]}", permit)).status_code == 404
    assert (await far.request("GET", "/source", permit)).status_code == 404
