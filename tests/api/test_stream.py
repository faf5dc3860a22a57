"""Live streams over HTTP: which events are sent, and to which users."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from reelstate.api import events
from reelstate.core.model import Progress, TaskState
from reelstate.engine import Engine
from reelstate.services import feed as log
from tests.api.api_server import Server, api_server
from tests.api.event_stream import EVENT_STREAM, StreamEvent, event_stream
from tests.engines import a_worker, done, failed

EVENTS = "/api/v1/events"
JOBS = "/api/v1/jobs"


@asynccontextmanager
async def quick(engine: Engine, database_url: str, **changes: Any) -> AsyncIterator[Server]:
    """Run a server with frequent heartbeats."""
    async with api_server(engine, database_url, **{"stream_heartbeat": 0.1, **changes}) as api:
        yield api


def changes(received: list[StreamEvent], entity: str = "job") -> list[str]:
    return [each.data["to"] for each in received if each.kind == "event" and each.data["entity"] == entity]


def jobs_of(received: list[StreamEvent]) -> set[int]:
    return {each.data["job"] for each in received if each.kind in {"event", "progress"}}


async def run_one(api: Server) -> None:
    worker = await a_worker(api.engine)
    (task,) = (await api.engine.claim(worker)).tasks
    await api.engine.complete([done(task)])


async def refused(api: Server, role: str, path: str, last_id: str = "") -> tuple[int, str]:
    answer = await api.ask(role, "GET", path, headers={**EVENT_STREAM, "Last-Event-ID": last_id})
    return answer.status_code, answer.json().get("field", "")


async def test_a_job_stream_starts_at_the_first_event_and_ends_when_the_job_is_inactive(api: Server) -> None:
    job_id = await api.submit("ada")
    path = f"{JOBS}/{job_id}/events"
    async with event_stream(api, "ada", path) as stream:
        replayed = await stream.until("replay_complete")
        assert changes(replayed) == ["pending"]
        await run_one(api)
        live = await stream.rest()
    assert changes(live) == ["processing", "completed"]
    assert changes(live, "task") == ["running", "done"]
    assert {each.data["stage"] for each in live if each.kind == "event"} == {None, "main"}
    again = await api.ask("ada", "GET", path, headers={**EVENT_STREAM, "Last-Event-ID": stream.last_id or ""})
    assert (again.status_code, again.content) == (204, b"")
    async with event_stream(api, "ada", path) as stream:
        assert changes(await stream.rest()) == ["pending", "processing", "completed"]


async def test_a_retried_job_continues_for_followers_and_resumed_streams(api: Server) -> None:
    job_id = await api.submit("ada")
    path = f"{JOBS}/{job_id}/events"
    worker = await a_worker(api.engine)
    (task,) = (await api.engine.claim(worker)).tasks
    await api.engine.fail([failed(task, retryable=False)])
    async with event_stream(api, "ada", path) as ended:
        assert changes(await ended.rest())[-1] == "failed"
    async with event_stream(api, "ada", f"{path}?follow=true", ended.last_id) as stream:
        await stream.until("replay_complete")
        await api.engine.retry(job_id)
        assert changes(await stream.until("event", entity="job")) == ["pending"]
    async with event_stream(api, "ada", path, ended.last_id) as stream:
        assert changes(await stream.until("replay_complete")) == ["pending"]
        await run_one(api)
        assert changes(await stream.rest())[-1] == "completed"


async def test_pages_and_streams_have_the_same_events(api: Server) -> None:
    first = await api.submit("ada")
    async with event_stream(api, "admin", f"{EVENTS}?after=0") as stream:
        replayed = await stream.until("replay_complete")
        await run_one(api)
        live = await stream.until("event", to="completed")
    streamed = [each.data for each in [*replayed, *live] if each.kind == "event"]
    found: list[Any] = []
    page: dict[str, Any] = {"after": "0", "more": True}
    while page["more"]:
        page = (await api.ask("admin", "GET", f"{EVENTS}?limit=3&after={page['after']}")).json()
        found += page["items"]
    assert found[: len(streamed)] == streamed
    assert changes([*replayed, *live]) == ["pending", "processing", "completed"]
    mine = (await api.ask("ada", "GET", f"{EVENTS}?job={first}&only=task&status=done&status=completed")).json()
    assert [(each["id"], each["to"]) for each in mine["items"]] == [(f"{first}/main/0", "done")]
    again = await api.ask("ada", "GET", f"{EVENTS}?after={mine['after']}")
    assert (again.json()["items"], again.json()["more"]) == ([], False)


async def test_a_narrow_page_of_a_long_log_is_read_in_windows(api: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "WINDOW", 3)
    monkeypatch.setattr(events, "MAX_READS", 2)
    mine = [await api.submit("ada")]
    for _ in range(20):
        await api.submit("bob")
    mine.append(await api.submit("ada"))
    found: list[Any] = []
    pages: list[dict[str, Any]] = [{"after": "0", "more": True, "items": []}]
    while pages[-1]["more"]:
        pages.append((await api.ask("ada", "GET", f"{EVENTS}?only=job&after={pages[-1]['after']}")).json())
        found += pages[-1]["items"]
    assert [each["job"] for each in found] == mine
    assert [] in [page["items"] for page in pages[1:-1]], "the window is too wide to show anything"
    head = api.engine.feed.log.order(await api.engine.head())
    assert api.engine.feed.log.order(str(pages[-1]["after"])) <= head
    async with event_stream(api, "ada", f"{EVENTS}?only=job&after=0") as stream:
        replayed = await stream.until("replay_complete")
    assert [each.data["job"] for each in replayed if each.kind == "event"] == mine


async def test_states_are_sent_with_an_id_and_progress_without(api: Server) -> None:
    job_id = await api.submit("ada")
    worker = await a_worker(api.engine)
    (task,) = (await api.engine.claim(worker)).tasks
    async with event_stream(api, "ada", f"{JOBS}/{job_id}/events") as stream:
        await stream.until("replay_complete")
        task_state = TaskState(number=1, tag="ingest", status=7, message="copied")
        report = Progress(key=task.key, token=task.token, percent=40, message="half\nway", states=(task_state,))
        await api.engine.report(worker, [report])
        streamed = await stream.until("state")
        state, last_id = streamed[-1], stream.last_id
        if not any(
            each.kind == "progress" and each.data["percent"] == 40 for each in streamed
        ):  # the order of the two is not defined
            streamed += await stream.until("progress", percent=40)
        progress = [each for each in streamed if each.kind == "progress" and each.data["percent"] == 40][-1]
        assert (state.data["tag"], state.data["status"], state.id) == ("ingest", 7, state.data["cursor"])
        assert (progress.id, stream.last_id) == (None, last_id)
        assert (progress.data["id"], progress.data["message"]) == (f"{job_id}/main/0", "half\nway")


async def test_a_stream_has_no_events_of_other_users(api: Server) -> None:
    bobs = await api.submit("bob")
    async with event_stream(api, "bob", f"{JOBS}/{bobs}/events") as stream:
        foreign = (await stream.until("replay_complete"))[0].id
    paths = [EVENTS, f"{EVENTS}?after=0", f"{EVENTS}?after={foreign}", f"{EVENTS}?progress=true"]
    async with event_stream(api, "bob", f"{EVENTS}?progress=true") as his, AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(event_stream(api, "ada", path)) for path in paths]
        worker = await a_worker(api.engine)
        (task,) = (await api.engine.claim(worker)).tasks
        await api.engine.report(worker, [Progress(key=task.key, token=task.token, percent=40)])
        assert jobs_of(await his.until("progress")) == {bobs}
        await api.engine.complete([done(task)])
        mine = await api.submit("ada")
        for stream in opened:
            assert jobs_of(await stream.until("event", entity="job")) == {mine}
    assert (await refused(api, "ada", f"{JOBS}/{bobs}/events"))[0] == 404
    assert (await refused(api, "ada", f"{JOBS}/{bobs}/events", foreign or ""))[0] == 404
    assert (await refused(api, "ada", f"{EVENTS}?job={bobs}"))[0] == 404
    assert (await refused(api, "ada", f"{EVENTS}?user_id=bob"))[0] == 403
    assert (await api.ask("ada", "GET", f"{EVENTS}?job={bobs}")).status_code == 404
    pages = (await api.ask("ada", "GET", EVENTS)).json()["items"]
    assert {each["job"] for each in pages} == {mine}
    assert (await refused(api, "worker", EVENTS))[0] == (await refused(api, "writer", EVENTS))[0] == 403
    assert (await refused(api, "nobody", EVENTS))[0] == 401


async def test_filtered_events_are_left_out_and_still_advance_the_cursor(engine: Engine, database_url: str) -> None:
    async with quick(engine, database_url) as api:
        wanted = f"{EVENTS}?pipeline=fan&only=job&status=pending&status=completed"
        async with event_stream(api, "ada", wanted) as stream:
            began = (await stream.until("replay_complete"))[-1].data["cursor"]
            await api.submit("ada", "simple")
            received = await stream.until("bookmark")
            assert [each.kind for each in received] == ["bookmark"]
            assert began != received[0].id == received[0].data["cursor"]
            fan = await api.submit("ada", "fan")
            received = await stream.until("event")
            assert [(each.data["id"], each.data["to"]) for each in received if each.kind == "event"] == [
                (fan, "pending")
            ]


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_an_idle_stream_has_heartbeats_and_must_not_be_cached(engine: Engine, database_url: str) -> None:
    async with quick(engine, database_url, stream_retry=0.25) as api:
        async with event_stream(api, "ada") as stream:
            assert (await stream.next()).kind == "replay_complete"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await stream.next()
            assert stream.comments >= 2
            assert stream.retry == 250
        headers = stream.answer.headers
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
        assert not {"content-encoding", "content-length"} & set(headers)


async def test_a_cursor_of_another_database_resets_the_stream(api: Server) -> None:
    job_id = await api.submit("ada")
    foreign = "0123456789ab.5.5"
    async with event_stream(api, "ada", EVENTS, foreign) as stream:
        first = await stream.next()
        assert (first.kind, first.id) == ("reset", first.data["cursor"])
        await stream.until("replay_complete")
    async with event_stream(api, "ada", EVENTS, first.id) as stream:
        assert (await stream.next()).kind == "replay_complete"
    async with event_stream(api, "ada", f"{JOBS}/{job_id}/events", foreign) as stream:
        received = await stream.until("replay_complete")
        assert (received[0].kind, changes(received)) == ("reset", ["pending"])
    await run_one(api)
    async with event_stream(api, "ada", f"{JOBS}/{job_id}/events", foreign) as stream:
        assert changes(await stream.rest()) == ["pending", "processing", "completed"]
    answer = await api.ask("ada", "GET", f"{EVENTS}?after={foreign}")
    assert (answer.status_code, answer.json()["field"]) == (410, "after")


async def test_subscribers_are_notified_when_the_store_is_unreachable(api: Server) -> None:
    async with event_stream(api, "ada") as stream:
        await stream.until("replay_complete")
        api.engine.feed._set_stale("a test says so")
        assert [each.kind for each in await stream.until("fresh")] == ["stale", "fresh"]


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_invalid_parameters_are_refused_before_the_stream_starts(api: Server) -> None:
    job_id = await api.submit("ada")
    path = f"{JOBS}/{job_id}/events"
    assert await refused(api, "ada", EVENTS, "yesterday") == (422, "after")
    assert await refused(api, "ada", f"{EVENTS}?after=a%0Ab.0.0") == (422, "after")
    assert await refused(api, "ada", f"{path}?status=finished") == (422, "status")
    assert await refused(api, "ada", f"{EVENTS}?only=jobs") == (422, "only")
    assert await refused(api, "ada", f"{EVENTS}?staus=failed") == (422, "staus")
    assert (await refused(api, "ada", f"{JOBS}/7/events"))[0] == 404
