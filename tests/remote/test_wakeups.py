"""How a remote worker joins, waits and hears."""

import asyncio
from pathlib import Path

import pytest

from reelstate.engine import Engine
from reelstate.remote.wire import PROTOCOL
from tests.api.served import Served
from tests.remote.scripted_worker import REGISTRATION, ScriptedWorker, error_name


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """What is said here does not depend on the store."""
    return f"sqlite:///{tmp_path / 'reelstate.db'}"


async def test_who_speaks_another_protocol_is_told_what_to_install(api: Served, engine: Engine) -> None:
    far = await ScriptedWorker.of(api, "far")
    for protocol, word in ((PROTOCOL - 1, "old"), (PROTOCOL + 1, "new")):
        answer = await far.say("register", **{**REGISTRATION, "protocol": protocol})
        assert (answer.status_code, error_name(answer)) == (403, "worker-refused")
        assert f"too {word}" in answer.json()["detail"]
        assert "install" in answer.json()["hint"]
    unknown = await far.say("register", **{**REGISTRATION, "pipelines": ["none-such"]})
    assert (unknown.status_code, error_name(unknown)) == (422, "unknown-pipeline")
    wrong = await far.say("register", **{**REGISTRATION, "capabilities": ["a b"]})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "capabilities")
    assert len(await engine.workers()) == 1


async def test_a_claim_that_waits_is_answered_when_there_is_work(api: Served) -> None:
    far = await ScriptedWorker.of(api, "far")
    waiting = asyncio.create_task(far.claim(wait=20))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    job = await api.submit()
    (task,) = await asyncio.wait_for(waiting, 18)
    assert task["key"][0] == job


async def test_bells_are_heard_between_two_questions_and_nothing_is_missed_after_a_restart(
    api: Served, engine: Engine
) -> None:
    far = await ScriptedWorker.of(api, "far")
    ask = f"/wakeups?worker_id={far.worker_id}&wait=30"
    assert (await far.client.get(ask)).json() == {"wakeups": ["work", "stop"]}
    job = await api.submit()
    assert (await far.client.get(ask)).json() == {"wakeups": ["work"]}
    waiting = asyncio.create_task(far.client.get(ask))
    await asyncio.wait([waiting], timeout=0.2)
    await engine.cancel(job, reason="enough")
    assert (await asyncio.wait_for(waiting, 300)).json() == {"wakeups": ["stop"]}


async def test_a_question_that_waits_ends_with_the_key(api: Served) -> None:
    far = await ScriptedWorker.of(api, "far")
    ask = f"/wakeups?worker_id={far.worker_id}&wait=30"
    await far.client.get(ask)
    waiting = asyncio.create_task(far.client.get(ask))
    await asyncio.wait([waiting], timeout=0.2)
    await api.engine.revoke("far")
    async with asyncio.timeout(25):
        while (answer := await waiting).status_code == 200:  # a bell may be quicker than the look at the key
            waiting = asyncio.create_task(far.client.get(ask))
    assert answer.status_code == 401
