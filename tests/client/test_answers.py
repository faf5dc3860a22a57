"""What a server can answer, and what the client makes of it: the same errors as beside the database, or a clear one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from reelstate.client import transport
from reelstate.client.engine import connect_server
from reelstate.client.problems import NotTrusted, NotUnderstood
from reelstate.client.transport import SOFTWARE, ServerAddress
from reelstate.core.errors import (
    CursorExpired,
    InvalidSearch,
    InvalidTransition,
    JobArchived,
    KeyRefused,
    NotFound,
    ReelstateError,
    ScopeMissing,
    StoreError,
    StoreFull,
    TooManyRequests,
)
from reelstate.remote.server import ServerUnavailable
from tests.client.scripted_server import KEY, answer, document, problem, scripted_server
from tests.dispatch.redis_proxy import certificate, tls_context
from tests.waiting import until

JOB: dict[str, Any] = {
    **dict.fromkeys(("run_after", "error", "degraded", "inconsistent", "flagged", "flagged_at", "reason", "group")),
    **dict.fromkeys(("started_at", "finished_at", "resource_id")),
    "id": 7,
    "pipeline": "simple",
    "digest": "d",
    "user_id": "",
    "status": "pending",
    "phase": "validating",
    "priority": 5,
    "spec": {},
    "version": 1,
    "actor": "user",
    "archived": False,
    "created_at": "2026-01-01T00:00:00Z",
    "changed_at": "2026-01-01T00:00:00Z",
}
SESSION = {"name": "ops", "user_id": "", "scopes": ["admin"], "version": SOFTWARE}


async def refused(url: str) -> ReelstateError:
    """Ask for the jobs; return the error."""
    async with connect_server(ServerAddress(url, KEY), longest_outage=0) as engine:
        with pytest.raises(ReelstateError) as found:
            await engine.jobs()
    shown = f"{found.value} {found.value!r} {getattr(found.value, '__notes__', '')}"
    assert KEY not in shown
    return found.value


@pytest.mark.parametrize(
    "sent, kind, sentence",
    [
        (problem(401, "key-refused", "the key is not in force", "ask"), KeyRefused, "{url}: the key is not in force"),
        (problem(403, "scope-missing", "no scope admin", "ask"), ScopeMissing, "{url}: no scope admin"),
        (problem(404, "not-found", "there is no job 7", entity="job"), NotFound, "there is no job 7"),
        (problem(409, "job-archived", "job 7 is archived"), JobArchived, "job 7 is archived"),
        (problem(409, "invalid-transition", "no", entity="job", origin="failed"), InvalidTransition, "no"),
        (problem(410, "cursor-expired", "gone", oldest="x.0.1"), CursorExpired, "gone"),
        (problem(422, "invalid-search", "search: bad", position=3), InvalidSearch, "search: bad"),
        (problem(429, "too-many-requests", "too many"), TooManyRequests, "{url}: too many"),
        (problem(500, "unexpected", "the server failed"), StoreError, "{url}: the server failed"),
        (problem(503, "store-unavailable", "no database"), ServerUnavailable, "{url}: no database"),
        (problem(507, "store-full", "The disk is full."), StoreFull, "{url}: The disk is full."),
        (problem(418, "of-a-later-version", "tea"), ReelstateError, "tea"),
    ],
)
async def test_an_error_of_the_server_is_raised_as_beside_the_database(
    sent: bytes, kind: type[ReelstateError], sentence: str
) -> None:
    async with scripted_server(sent) as server:
        error = await refused(server.url)
        assert (type(error), error.message) == (kind, sentence.format(url=server.url))


async def test_an_error_has_what_hints_are_made_of() -> None:
    async with scripted_server(problem(409, "invalid-transition", "no", entity="job", origin="completed")) as server:
        error = await refused(server.url)
    assert isinstance(error, InvalidTransition)
    assert (error.entity, error.origin) == ("job", "completed")


@pytest.mark.parametrize(
    "sent, sentence",
    [
        (answer("200 OK", "<html>", "text/html"), "answered with something that is not JSON"),
        (answer("404 Not Found", "<html>", "text/html"), "answered 404; it does not answer as a Reelstate server"),
        (answer("401 Unauthorized", "{}"), "answered 401; it does not answer as a Reelstate server does"),
        (answer("502 Bad Gateway", "<html>", "text/html"), "answered 502"),
        (answer("301 Moved", "", Location="https://evil.example/"), "redirects to https://evil.example/"),
        (answer("200 OK", "x" * 50, Content_Encoding="gzip"), "sent an answer that can't be decoded"),
        (answer("200 OK", "[" * 200_000), "answered with something that is not JSON"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\nConnection: close", "closed the connection"),
    ],
)
async def test_an_answer_of_something_else_is_explained(sent: bytes, sentence: str) -> None:
    async with scripted_server(sent) as server:
        error = await refused(server.url)
    assert sentence in error.message
    assert server.url in error.message
    assert error.hint
    assert isinstance(error, StoreError)


def changed(**fields: Any) -> bytes:
    return document({"items": [{**JOB, **fields}], "after": None})


@pytest.mark.parametrize(
    "sent",
    [
        changed(status="sleeping"),
        changed(id="seven"),
        changed(id=2**70),
        changed(created_at="9999-12-31T23:59:59Z"),
        changed(created_at="2026-01-01T00:00:00"),
        document({"items": [JOB] * 51, "after": None}),
        document({"items": {}, "after": None}),
        document({"after": 7}),
        document([]),
        document(None),
    ],
)
async def test_a_record_out_of_bounds_is_refused(sent: bytes) -> None:
    async with scripted_server(sent, session=document(SESSION)) as server:
        error = await refused(server.url)
    assert isinstance(error, NotUnderstood)
    assert "sent an answer to /api/v1/jobs that can't be read" in error.message


async def test_a_good_answer_is_parsed_and_a_later_field_is_ignored() -> None:
    async with (
        scripted_server(changed(of_a_later_version=1)) as server,
        connect_server(ServerAddress(server.url, KEY), longest_outage=0) as engine,
    ):
        (job,) = (await engine.jobs()).items
    assert (job.id, job.status, job.created_at.isoformat()) == (7, "pending", "2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize(
    "sent",
    [
        problem(404, "no-route", "no route matches /api/v1/jobs"),
        problem(422, "invalid-request", "flagged: unknown parameter"),
        document({"items": [{"id": 7}], "after": None}),
    ],
)
async def test_a_server_of_another_version_is_named(sent: bytes) -> None:
    async with scripted_server(sent, session=document({**SESSION, "version": "9.9"})) as server:
        error = await refused(server.url)
    assert f"it runs version 9.9, this command is {SOFTWARE}" in error.message
    assert error.hint == "install version 9.9 here, or upgrade the server"


async def test_an_answer_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_RESPONSE", 1000)
    async with scripted_server(document([0] * 1000)) as server:
        assert "at once" in (await refused(server.url)).message


async def test_a_key_does_not_follow_a_redirect() -> None:
    async with scripted_server(changed()) as other, scripted_server(b"") as server:
        server.answer = answer("307 x", "", Location=f"{other.url}/api/v1/jobs")
        assert "redirects to" in (await refused(server.url)).message
        assert f"Bearer {KEY}" in server.heads[0]
    assert other.heads == []


async def test_a_certificate_must_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, key_file = certificate(tmp_path)
    async with scripted_server(changed(), tls_context(file, key_file)) as server:
        error = await refused(server.url)
        assert isinstance(error, NotTrusted)
        assert f"the certificate of {server.url} is not trusted: self-signed certificate" in error.message
        assert "SSL_CERT_FILE" in error.hint
        assert server.heads == []
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        async with connect_server(ServerAddress(server.url, KEY), longest_outage=0) as engine:
            assert len((await engine.jobs()).items) == 1


async def test_a_port_without_tls_or_without_a_server_is_explained(refusing_port: int) -> None:
    async with scripted_server(changed()) as server:
        assert "does not speak TLS" in (await refused(server.url.replace("http:", "https:"))).message
    error = await refused(f"http://127.0.0.1:{refusing_port}")
    assert (type(error), "is unreachable" in error.message) == (ServerUnavailable, True)


async def test_a_proxy_of_the_environment_gets_no_key_in_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted_server(changed()) as proxy, scripted_server(changed()) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        async with connect_server(ServerAddress(server.url, KEY), longest_outage=0) as engine:
            await engine.jobs()
    assert (len(proxy.heads), len(server.heads)) == (0, 1)


async def test_a_command_waits_for_a_server_that_limits_its_rate_briefly() -> None:
    limited = problem(429, "too-many-requests", "too many").replace(b"3600", b"0")
    async with (
        scripted_server(limited, workers=document([])) as server,
        connect_server(ServerAddress(server.url, KEY), longest_outage=300) as engine,
    ):
        asking = asyncio.create_task(engine.jobs())
        await until(lambda: len(server.heads) > 1)
        server.answer = changed()
        assert len((await asking).items) == 1


def test_a_key_is_one_line() -> None:
    for wrong in ("", "a b", "a\nb", "ä", "x" * 600):
        with pytest.raises(ReelstateError, match="is not a key"):
            ServerAddress("https://reel.example", wrong)
    assert KEY not in repr(ServerAddress("https://reel.example", KEY))
