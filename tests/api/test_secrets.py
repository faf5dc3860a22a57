"""Secrets of callers and of the server: what responses, logs and cookies show of them."""

import asyncio
import json
import logging

import httpx
import pytest

from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from reelstate.media.pipeline import transcode_pipeline
from reelstate.media.tools import MediaTools
from tests.api.api_server import NOBODY, PLAIN, Server, api_server
from tests.cli.conftest import Reel, reel

__all__ = ["reel"]  # a fixture of the command line's tests
SOURCE = "https://ada:canary-password@example.com/video.mov?X-Amz-Signature=canary-signature&id=canary-query"
SHOWN = "https://example.com/video.mov?…"
CANARY = "canary"
SPEC = {
    "source": SOURCE,
    "nested": [{"callback": "https://u:canary@example.com/?sig=canary&access_token=canary&page=2"}],
    "design": "a=1",
}
SHOWN_SPEC = {
    "source": SHOWN,
    "nested": [{"callback": "https://u:***@example.com/?sig=***&access_token=***&page=2"}],
    "design": "a=1",
}
JOBS = "/api/v1/jobs"


async def test_no_answer_shows_the_secrets_of_a_spec(api: Server) -> None:
    await api.engine.declare(transcode_pipeline(MediaTools.from_settings(Settings())))
    job_id = await api.submit(spec=SPEC)
    made = await api.ask("admin", "POST", "/api/v1/videos", json={"source": SOURCE, "user_id": "ada"})
    video_id, version = made.json()["id"], made.json()["job"]
    assert (await api.ask("ada", "GET", f"{JOBS}/{job_id}")).json()["spec"] == SHOWN_SPEC
    routes = [JOBS, "/api/v1/videos", "/api/v1/events"]
    for each in (job_id, version):
        routes += [f"{JOBS}/{each}", *(f"{JOBS}/{each}/{part}" for part in ("events", "tasks", "stages", "states"))]
    for route in [*routes, f"/api/v1/videos/{video_id}", f"/api/v1/videos/{video_id}/progress"]:
        answer = await api.ask("admin", "GET", route)
        assert (answer.status_code in {200, 404}, CANARY in answer.text) == (True, False), (route, answer.text)
    assert (await api.engine.job(job_id)).job.spec == SPEC, "what a handler gets is what was submitted"


async def test_no_stream_shows_the_secrets_of_a_spec(api: Server) -> None:
    job_id = await api.submit(spec=SPEC)
    await api.ask("ada", "POST", f"{JOBS}/{job_id}/cancel", json={})
    headers = {**api.headers("ada"), "Accept": "text/event-stream"}
    client = await api.client("ada")
    async with client.stream("GET", f"{JOBS}/{job_id}/events", headers=headers) as stream:
        text = ""
        async for line in stream.aiter_lines():
            text += line
            if "replay_complete" in text or "cancelled" in text:
                break
    assert CANARY not in text


def test_no_command_shows_the_secrets_of_a_spec(reel: Reel) -> None:
    async def submitted(engine: Engine) -> tuple[int, int]:
        await engine.declare(transcode_pipeline(MediaTools.from_settings(Settings())))
        answer = await Videos(engine).submit(SOURCE)
        return answer.job_id, answer.resource_id or 0

    job_id, video_id = reel.engine(submitted)
    for command in (["jobs"], ["job", job_id], ["history", job_id], ["videos"], ["videos", "show", video_id]):
        for options in ([], ["--json"]):
            answer = reel(*command, *options)
            assert (answer.code, CANARY in answer.stdout + answer.stderr) == (0, False), (command, answer)


async def _raw(api: Server, request: bytes) -> bytes:
    """Return the bytes that the server sends on one connection until it closes it."""
    address = httpx.URL(api.url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 300)
    finally:
        writer.close()
        await writer.wait_closed()


async def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(api: Server) -> None:
    smuggled = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
    request = (
        b"POST /signin HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    answer = await _raw(api, request + smuggled)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer.lower()


async def test_a_forwarded_address_can_not_write_to_the_log(
    engine: Engine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "reelstate.access")
    async with api_server(engine, database_url, trusted_proxies="127.0.0.1") as api:
        forged = b"1.2.3.4\x1b[2J\xc2\x9b2J" + b"x" * 9000
        await _raw(
            api, b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: " + forged + b"\r\n\r\n"
        )
        await api.ask(NOBODY, "GET", "/livez", headers={"X-Forwarded-For": "1.2.3.4"})
    lines = [record.getMessage() for record in caplog.records if "/livez" in record.getMessage()]
    assert lines[-1].startswith("1.2.3.4 GET /livez 200")
    assert all(line.isprintable() and len(line) < 200 for line in lines), lines


@pytest.mark.parametrize(
    "scheme, name, secure", [("https", "__Host-reelstate_session", True), ("http", "reelstate_session", False)]
)
async def test_a_session_under_tls_is_in_a_cookie_that_only_this_host_can_set(
    engine: Engine, database_url: str, scheme: str, name: str, secure: bool
) -> None:
    forwarded = {"X-Forwarded-Proto": scheme}
    async with (
        api_server(engine, database_url, trusted_proxies="127.0.0.1") as api,
        httpx.AsyncClient(base_url=api.url, verify=PLAIN, trust_env=False, timeout=60, headers=forwarded) as browser,
    ):
        answer = await browser.post("/signin", json={"key": api.keys["ada"].text})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{name}=")
        assert "Path=/;" in f"{cookie};"
        assert ("; Secure" in cookie, "Domain" in cookie) == (secure, False)
        session = cookie.partition("=")[2].partition(";")[0]
        browser.cookies.clear()
        assert (await browser.get(JOBS, headers={"Cookie": f"{name}={session}"})).status_code == 200
        if secure:
            planted = {"Cookie": f"reelstate_session={session}"}
            assert (await browser.get(JOBS, headers=planted)).status_code == 401
        ours = {"Cookie": f"{name}={session}", "X-Reelstate": "1"}
        ended = await browser.post("/signout", headers=ours)
        assert ended.headers["set-cookie"].startswith(f'{name}=""')
        assert ("; Secure" in ended.headers["set-cookie"]) == secure


async def test_the_description_knows_the_cookie(api: Server) -> None:
    document = json.loads((await api.ask(NOBODY, "GET", "/openapi.json")).text)
    assert document["components"]["securitySchemes"]["session"]["in"] == "cookie"
