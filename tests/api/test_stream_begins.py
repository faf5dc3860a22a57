"""Streams that end before their first event: the store does not respond, the server stops, or the key is revoked."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import psycopg
import pytest

from reelstate.engine import Engine
from reelstate.services.keys import Keys
from tests.api.api_server import Server, api_server
from tests.api.event_stream import EVENT_STREAM
from tests.waiting import until

EVENTS = "/api/v1/events"
pytestmark = pytest.mark.parametrize("dialect", ["postgres"])


@asynccontextmanager
async def waiting(api: Server, database_url: str) -> AsyncIterator[asyncio.Task[httpx.Response]]:
    """Request a stream whose first read of the event log waits for a lock; keys are read as usual."""
    async with await psycopg.AsyncConnection.connect(database_url) as holder:
        await holder.execute("LOCK TABLE reelstate.facts IN ACCESS EXCLUSIVE MODE")
        asking = asyncio.create_task(api.ask("ada", "GET", EVENTS, headers=EVENT_STREAM))
        streams = api.server.config.app.state.streams  # type: ignore[union-attr]
        await until(lambda: len(streams) == 1)
        yield asking
        await holder.rollback()


async def test_a_stream_without_a_first_event_ends_when_the_server_stops(
    engine: Engine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with api_server(engine, database_url, serve_grace=5.0) as api:
        await api.ask("ada", "GET", EVENTS)
        async with waiting(api, database_url) as asking:
            api.server.stop()
            answer = await asking
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert answer.text == "retry: 2000\n\n"
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_stream_whose_key_is_revoked_before_the_first_event_is_refused(
    engine: Engine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with api_server(engine, database_url) as api, waiting(api, database_url) as asking:
        await Keys(engine.store).revoke(api.keys["ada"].key.id, actor="operator:test")
        answer = await asking
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:reelstate:error:key-refused")
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
