"""How live streams end: key revoked, server stopped, client disconnected or too slow, limit reached."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from reelstate.api.auth import COOKIE
from reelstate.api.streams import Streams
from reelstate.core.model import Submission
from reelstate.engine import Engine
from reelstate.feed.subscriber import BUFFER
from reelstate.services.keys import Keys, Scope
from tests.api.api_server import NOBODY, Server, api_server
from tests.api.event_stream import EVENT_STREAM, RECORDED, event_stream
from tests.waiting import until

EVENTS = "/api/v1/events"
pytestmark = pytest.mark.parametrize("dialect", ["sqlite"])


def streams_of(api: Server) -> Streams:
    streams: Streams = api.server.config.app.state.streams  # type: ignore[union-attr]
    return streams


async def test_a_stream_ends_within_five_seconds_of_its_key(api: Server) -> None:
    elsewhere = Keys(api.engine.store)  # another process has another cache
    made = [
        await elsewhere.create(name, scopes=[Scope.READ], user_id="ada", actor="operator:test", lifetime=lifetime)
        for name, lifetime in (("revoked", None), ("rotated", None), ("over", 3.0))
    ]
    async with AsyncExitStack() as stack:
        opened = []
        for key in made:
            api.keys[key.key.name] = key
            stream = await stack.enter_async_context(event_stream(api, key.key.name))
            await stream.until("replay_complete")
            opened.append(stream)
        kept = await stack.enter_async_context(event_stream(api, "ada"))
        await kept.until("replay_complete")
        await elsewhere.revoke(made[0].key.id, actor="operator:test")
        await elsewhere.rotate(made[1].key.id, actor="operator:test", overlap=0)
        for stream in opened:
            assert [each.kind for each in await stream.rest() if each.kind in RECORDED] == []
        for key in made:
            answer = await api.ask(key.key.name, "GET", EVENTS, headers=EVENT_STREAM)
            assert answer.status_code == 401
        await api.submit("ada")
        await kept.until("event", to="pending")


async def test_streams_per_key_and_server_are_limited_and_closed_ones_do_not_count(
    engine: Engine, database_url: str
) -> None:
    async with (
        api_server(engine, database_url, streams_per_key=2, streams_per_server=3) as api,
        AsyncExitStack() as stack,
    ):
        first = AsyncExitStack()
        await first.enter_async_context(event_stream(api, "ada"))
        for role in ("ada", "bob"):
            await stack.enter_async_context(event_stream(api, role))
        for role, why in (("ada", "this key has 2"), ("bob", "the server has")):
            answer = await api.ask(role, "GET", EVENTS, headers=EVENT_STREAM)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
            assert answer.json()["detail"].startswith(why)
        assert (await api.ask("ada", "GET", EVENTS)).status_code == 200
        await first.aclose()
        await until(lambda: len(streams_of(api)) == 2)
        await stack.enter_async_context(event_stream(api, "bob"))


async def test_the_sessions_of_a_key_share_its_limit_of_streams(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, streams_per_key=3) as api, AsyncExitStack() as stack:
        for _ in range(2):
            browser = await a_session(api)
            answer = await stack.enter_async_context(browser)
            assert answer.status_code == 200
        await stack.enter_async_context(event_stream(api, "ada"))
        async with await a_session(api) as answer:
            assert answer.status_code == 429
        await stack.enter_async_context(event_stream(api, "bob"))


async def a_session(api: Server) -> AbstractAsyncContextManager[httpx.Response]:
    """Open a stream with a browser session of the key of `ada`."""
    session = await api.context.keys.open_session(api.keys["ada"].key)
    headers = {**EVENT_STREAM, "Cookie": f"{COOKIE}={session.text}"}
    return (await api.client(NOBODY)).stream("GET", EVENTS, headers=headers)


async def test_nothing_remains_of_a_disconnected_client(api: Server) -> None:
    async with AsyncExitStack() as stack:
        for stream in [await stack.enter_async_context(event_stream(api, "ada")) for _ in range(5)]:
            await stream.until("replay_complete")
        await until(lambda: len(streams_of(api)) == api.engine.feed.figures.subscribers == 5)
    await until(lambda: len(streams_of(api)) == api.engine.feed.figures.subscribers == 0)
    await until(lambda: {task.get_name() for task in asyncio.all_tasks()}.isdisjoint({"feed", "stream"}))


async def test_a_server_that_stops_ends_its_streams_and_waits_for_none(engine: Engine, database_url: str) -> None:
    async with AsyncExitStack() as stack:
        running = AsyncExitStack()
        api = await running.enter_async_context(api_server(engine, database_url, serve_grace=3600.0))
        streams = [await stack.enter_async_context(event_stream(api, role)) for role in ("ada", "bob", "admin")]
        for stream in streams:
            await stream.until("replay_complete")
        await stack.enter_async_context(taking_nothing(api))
        await fill(api)
        began = time.monotonic()
        api.server.stop()
        for stream in streams:
            await stream.rest()
        await running.aclose()
        assert time.monotonic() - began < 3600, "it does not wait for its grace"


async def test_a_slow_reader_overflows_and_resumes_without_a_gap(api: Server) -> None:
    async with event_stream(api, "ada") as stream:
        began = (await stream.until("replay_complete"))[-1].id
    async with taking_nothing(api, began) as slow:
        made = await fill(api)
        figures = api.engine.feed.figures
        await until(lambda: figures.overflows == 1 and figures.subscribers == 1)
        received = await read_response(slow)
    assert "event: overflow" in received
    seen = jobs_in(received)
    last_id = received.rpartition("\nid: ")[2].split("\n")[0]
    assert 0 < len(seen) < len(made)
    async with event_stream(api, "ada", EVENTS, last_id) as stream:
        rest = await stream.until("replay_complete")
    seen += [each.data["job"] for each in rest if each.kind == "event" and each.data["entity"] == "job"]
    assert seen == made


async def test_a_client_that_reads_nothing_is_disconnected_after_the_timeout(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, stream_timeout=0.5) as api, taking_nothing(api):
        await fill(api)
        await until(lambda: len(streams_of(api)) == engine.feed.figures.subscribers == 0)
        await until(lambda: not api.server.server_state.connections)


@asynccontextmanager
async def taking_nothing(api: Server, after: str | None = None) -> AsyncIterator[socket.socket]:
    """A client that reads only the beginning of the response."""
    place = urlsplit(api.url)
    headers = {
        **EVENT_STREAM,
        **api.headers("ada"),
        "Host": place.netloc,
        **({"Last-Event-ID": after} if after else {}),
    }
    lines = [f"GET {EVENTS} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    loop = asyncio.get_running_loop()
    for listener in api.server.servers[0].sockets:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.setblocking(False)
        await loop.sock_connect(wire, (place.hostname, place.port))
        await loop.sock_sendall(wire, ("\r\n".join(lines) + "\r\n\r\n").encode())
        assert b"200 OK" in await loop.sock_recv(wire, 200)
        yield wire


async def fill(api: Server) -> list[int]:
    """Submit more jobs than a stream can buffer; return their ids."""
    made: list[int] = []
    await until(lambda: api.engine.feed.figures.subscribers >= 1)
    while len(made) < 2 * BUFFER:
        jobs = [Submission(pipeline="simple", user_id="ada", spec={}) for _ in range(500)]
        made += [answer.job_id for answer in await api.engine.submit_many(jobs)]
    return made


async def read_response(wire: socket.socket) -> str:
    """Return the response until the server ends it."""
    loop = asyncio.get_running_loop()
    received = b""
    while not received.endswith(b"\r\n0\r\n\r\n"):
        received += await loop.sock_recv(wire, 1 << 16)
    return unchunked(received)


def unchunked(body: bytes) -> str:
    """Remove the chunk sizes; each event is one chunk."""
    lines = body.decode().split("\r\n")
    return "".join(line for line in lines if "\n" in line)


def jobs_in(received: str) -> list[int]:
    found = [json.loads(line.removeprefix("data: ")) for line in received.split("\n") if line.startswith("data: ")]
    return [each["job"] for each in found if each.get("entity") == "job"]
