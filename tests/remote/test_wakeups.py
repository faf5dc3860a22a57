"""How a remote worker registers, waits for tasks and receives wake-ups."""

import asyncio
from pathlib import Path

import pytest

from reelstate.engine import Engine
from reelstate.remote.wire import PROTOCOL
from tests.api.api_server import Server
from tests.remote.scripted_worker import REGISTRATION, ScriptedWorker, error_name


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite only: nothing here depends on the store."""
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


async def test_a_worker_of_another_protocol_is_refused_with_the_release_to_install(api: Server, engine: Engine) -> None:
    far = await ScriptedWorker.of(api, "far")
    for protocol, age in ((PROTOCOL - 1, "old"), (PROTOCOL + 1, "new")):
        answer = await far.send("register", **{**REGISTRATION, "protocol": protocol})
        assert (answer.status_code, error_name(answer)) == (403, "worker-refused")
        assert f"too {age}" in answer.json()["detail"]
        assert "install" in answer.json()["hint"]
    unknown = await far.send("register", **{**REGISTRATION, "pipelines": ["none-such"]})
    assert (unknown.status_code, error_name(unknown)) == (422, "unknown-pipeline")
    wrong = await far.send("register", **{**REGISTRATION, "capabilities": ["a b"]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "capabilities")
    assert len(await engine.workers()) == 1


async def test_a_claim_that_waits_is_answered_when_there_is_work(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    waiting = asyncio.create_task(far.claim(wait=20))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    job = await api.submit()
    (task,) = await asyncio.wait_for(waiting, 18)
    assert task["key"][0] == job


async def test_wake_ups_between_two_requests_are_received_and_none_is_missed_after_a_restart(
    api: Server, engine: Engine
) -> None:
    far = await ScriptedWorker.of(api, "far")
    path = f"/wakeups?worker_id={far.worker_id}&wait=30"
    assert (await far.client.get(path)).json() == {"wakeups": ["work", "stop"]}
    job = await api.submit()
    assert (await far.client.get(path)).json() == {"wakeups": ["work"]}
    waiting = asyncio.create_task(far.client.get(path))
    await asyncio.wait([waiting], timeout=0.2)
    await engine.cancel(job, reason="test")
    assert (await asyncio.wait_for(waiting, 300)).json() == {"wakeups": ["stop"]}


async def test_a_waiting_request_ends_when_its_key_is_revoked(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    path = f"/wakeups?worker_id={far.worker_id}&wait=30"
    await far.client.get(path)
    waiting = asyncio.create_task(far.client.get(path))
    await asyncio.wait([waiting], timeout=0.2)
    await api.engine.revoke("far")
    async with asyncio.timeout(25):
        while (answer := await waiting).status_code == 200:  # a wake-up may arrive before the check of the key
            waiting = asyncio.create_task(far.client.get(path))
    assert answer.status_code == 401
