"""Workers may not send deeper JSON than users; an unreadable row fails no listing and no stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reelstate.api.body import MAX_VALUES, SMALL_BODY, Shape
from reelstate.core.document import MAX_DEPTH, UNREADABLE, encode, is_deeper, readable
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Failure
from reelstate.engine import Engine
from tests.api.api_server import Server, api_server
from tests.api.event_stream import event_stream
from tests.engines import a_worker
from tests.manual_sql import ManualSql
from tests.remote.scripted_worker import REGISTRATION, ScriptedWorker, error_name

Json = Any
DEEP = (400, 940)
"""Levels of nesting: more than a response can have, and almost more than a database driver can read."""


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    async with api_server(engine, database_url, storage_url=str(tmp_path / "media")) as made:
        yield made


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def text_of(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


async def failed(engine: Engine) -> int:
    """Return a job whose task has finally failed."""
    job = (await engine.submit("simple", user_id="ada")).job_id
    worker = await a_worker(engine, "inner", metadata={"a": 1})
    (task,) = (await engine.claim(worker)).tasks
    await engine.fail([Failure(key=task.key, token=task.token, error={"message": "no"}, retryable=False)])
    return job


async def test_a_worker_that_sends_deep_json_is_refused(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    await api.submit()
    (task,) = await far.claim()
    deep = nested(400)
    for answer in [
        await far.send("register", **{**REGISTRATION, "metadata": deep}),
        await far.send_items("fail", task["permit"], error=deep),
        await far.send_items("complete", task["permit"], result=deep),
        await far.send("progress", worker_id=far.worker_id, items=[{"permit": task["permit"], "checkpoint": deep}]),
    ]:
        assert (answer.status_code, error_name(answer), answer.json()["field"]) == (422, "invalid-request", "body")
    assert (await far.send_items("complete", task["permit"], result=nested(MAX_DEPTH))).json() == {"verdicts": ["ok"]}


async def test_a_deeply_nested_error_is_recorded(engine: Engine) -> None:
    job = (await engine.submit("simple")).job_id
    worker = await a_worker(engine)
    (task,) = (await engine.claim(worker)).tasks
    await engine.fail([Failure(key=task.key, token=task.token, error={"a": nested(400)}, retryable=False)])
    error = (await engine.job(job)).job.error
    assert not is_deeper(error, MAX_DEPTH)
    assert "'a'" in error["cause"]["message"]


@pytest.mark.parametrize("depth", DEEP)
async def test_an_unreadable_row_does_not_fail_a_listing(
    api: Server, engine: Engine, database_url: str, depth: int
) -> None:
    job, other = await failed(engine), await failed(engine)
    manual_sql = ManualSql(database_url)
    manual_sql.drop_guards()
    for table in ("jobs", "tasks"):
        column = "id" if table == "jobs" else "job_id"
        manual_sql.run(f"UPDATE {table} SET error = ? WHERE {column} = ?", text_of(depth), job)
    manual_sql.run("UPDATE workers SET metadata = ?", text_of(depth))
    manual_sql.run("UPDATE events SET data = ? WHERE job_id = ?", text_of(depth), job)
    for path in ("/jobs", f"/jobs/{job}", f"/jobs/{job}/tasks", f"/jobs/{job}/events", "/events", "/workers"):
        answer = await api.ask("admin", "GET", f"/api/v1{path}")
        assert answer.status_code == 200, path
        assert UNREADABLE in answer.text, path
    listed = {each["id"]: each for each in (await api.ask("admin", "GET", "/api/v1/jobs")).json()["items"]}
    assert set(listed[job]["error"]) == {UNREADABLE}
    assert listed[other]["error"]["cause"] == {"message": "no"}


@pytest.mark.parametrize("depth", DEEP)
async def test_an_unreadable_row_does_not_end_a_stream(
    api: Server, engine: Engine, database_url: str, depth: int
) -> None:
    job = await failed(engine)
    manual_sql = ManualSql(database_url)
    manual_sql.drop_guards()
    manual_sql.run("UPDATE events SET data = ?", text_of(depth))
    async with asyncio.timeout(300), event_stream(api, "admin", "/api/v1/events?after=0") as stream:
        received = await stream.until("replay_complete")
    events = [each.data for each in received if each.kind == "event"]
    unreadable = [event for event in events if event["data"] and set(event["data"]) == {UNREADABLE}]
    assert {"failed"} <= {event["to"] for event in unreadable if event["entity"] == "job" and event["job"] == job}


@pytest.mark.parametrize("value", [nested(MAX_DEPTH + 1), {"a": "\ud800"}, {"a": float("nan")}])
def test_a_value_that_can_not_be_written_is_shown_as_a_note(value: Json) -> None:
    assert set(readable(value)) == {UNREADABLE}
    with pytest.raises(InvalidRequest):
        encode("error", value, 1_000_000)


def test_depth_is_counted_in_levels() -> None:
    for depth in (0, 1, 2, MAX_DEPTH, 5000):
        assert not is_deeper(nested(depth), depth)
        assert depth == 0 or is_deeper(nested(depth), depth - 1)
    assert readable(nested(MAX_DEPTH)) == nested(MAX_DEPTH)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_body_has_the_same_shape_in_pieces_of_any_size(size: int) -> None:
    quoted = json.dumps(['"[{', "\\", '\\"', "[" * 50, {"a": "]"}]).encode()
    for body, refused in (
        (quoted, False),
        (text_of(MAX_DEPTH).encode(), False),
        (text_of(MAX_DEPTH + 1).encode(), True),
    ):
        shape = Shape(MAX_DEPTH, MAX_VALUES)
        try:
            for first in range(0, len(body), size):
                shape.feed(body[first : first + size])
        except InvalidRequest:
            assert refused
        else:
            assert not refused


async def test_a_body_of_too_many_values_is_refused_before_it_is_read(api: Server) -> None:
    far = await ScriptedWorker.of(api, "far")
    body = b'{"items":[' + b"[]," * MAX_VALUES + b"[]]}"
    assert len(body) > SMALL_BODY
    answer = await far.client.post("/complete", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (422, "body")
    assert "values" in answer.json()["detail"]
