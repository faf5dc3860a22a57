"""Limits of a server: large, deep and slow bodies, floods, and an unreachable database."""

import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import example, given, strategies
from hypothesis.strategies import SearchStrategy

from reelstate.api.body import MAX_BODY_DEPTH, too_deep
from reelstate.api.rate import Buckets
from reelstate.api.server import ConnectionTimings
from reelstate.core.errors import StoreUnavailable
from reelstate.core.model import Json
from reelstate.engine import Engine
from tests.api.api_server import NOBODY, Server, api_server
from tests.waiting import until

JOBS = "/api/v1/jobs"
MIB = 1024 * 1024
TIMEOUT = 300


async def raw(api: Server, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send bytes unchanged; return the response until the server closes the connection."""
    host, port = api.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)  # the pace of the client
        async with asyncio.timeout(TIMEOUT):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def head(api: Server, *lines: str) -> bytes:
    key = api.keys["ada"].text
    start = [f"POST {JOBS} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Content-Type: application/json"]
    return "\r\n".join([*start, *lines, "", ""]).encode()


def _nested(inner: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return strategies.lists(inner, max_size=3) | strategies.dictionaries(
        strategies.text("[{", max_size=2), inner, max_size=3
    )


def _wrapped(times: int) -> Json:
    value: Json = []
    for number in range(times):
        value = [value] if number % 2 else {"a": value}
    return value


def _depth(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


@pytest.fixture
def dialect() -> str:
    return "sqlite"


async def test_a_too_large_body_is_refused_by_its_length_and_while_it_is_read(api: Server) -> None:
    body = {"pipeline": "simple", "spec": {"text": "x" * MIB}}
    said = await api.ask("ada", "POST", JOBS, json=body)
    assert (said.status_code, said.json()["type"]) == (413, "urn:reelstate:error:too-large")

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b" " * 65536

    came = await api.ask("ada", "POST", JOBS, content=endless(), headers={"Content-Type": "application/json"})
    assert came.status_code == 413
    spec = await api.ask("ada", "POST", JOBS, json={"pipeline": "simple", "spec": {"text": "x" * 300_000}})
    assert (spec.status_code, spec.json()["field"]) == (413, "spec")
    assert (await api.engine.jobs()).items == []


@pytest.mark.parametrize("sent", ["application/x-www-form-urlencoded", "text/plain", ""])
async def test_a_body_without_a_json_content_type_is_refused_with_a_hint(api: Server, sent: str) -> None:
    kind = {"Content-Type": sent} if sent else {}
    answer = await api.ask("ada", "POST", JOBS, content=b'{"pipeline": "simple"}', headers=kind)
    assert answer.status_code == 422
    assert answer.json()["field"] == "Content-Type"
    assert "application/json" in answer.json()["hint"]


@pytest.mark.parametrize(
    "sent", ["application/json; charset=utf-8", "application/merge-patch+json", "Application/JSON"]
)
async def test_several_content_types_are_accepted_as_json(api: Server, sent: str) -> None:
    kind = {"Content-Type": sent}
    answer = await api.ask("ada", "POST", JOBS, content=b'{"pipeline": "simple"}', headers=kind)
    assert answer.status_code == 201


async def test_deep_json_is_refused(api: Server) -> None:
    kind = {"Content-Type": "application/json"}
    for content in (b"[" * 500_000, b'{"a":' * 200_000, b'{"pipeline":"simple","spec":' + b"[" * 33 + b"]" * 33 + b"}"):
        answer = await api.ask("ada", "POST", JOBS, content=content, headers=kind)
        assert (answer.status_code, answer.json()["field"]) == (422, "body")
    fits = b'{"pipeline":"simple","spec":' + b"[" * 31 + b"]" * 31 + b"}"
    assert (await api.ask("ada", "POST", JOBS, content=fits, headers=kind)).status_code == 201


@given(strategies.recursive(strategies.text('[]{}"\\a', max_size=5), _nested, max_leaves=100))
@example(["[" * 100, '"{' * 100])
@example([{"a": [1]}] * 50)
@example(_wrapped(MAX_BODY_DEPTH - 1))
@example(_wrapped(MAX_BODY_DEPTH))
@example([_wrapped(MAX_BODY_DEPTH - 1), {}, _wrapped(MAX_BODY_DEPTH - 2)])
def test_depth_is_counted_outside_of_strings(value: Json) -> None:
    assert too_deep(json.dumps(value).encode()) == (_depth(value) > MAX_BODY_DEPTH)


def test_invalid_json_is_refused_quickly() -> None:
    endless = b"[" * 33 + b'"' + b'\\"' * 40_000  # each quote may start a string, and none ends
    for content in (b"[" * MIB, b"]" * MIB, b"[]" * (MIB // 2), b'{"' * (MIB // 2), b'"' + b"\\" * MIB, endless):
        began = time.process_time()
        too_deep(content)
        assert time.process_time() - began < 20, "minutes, if it went back for every quote"


async def test_hostile_bodies_do_not_grow_the_process(api: Server) -> None:
    """By less than twenty times the limit: refused bodies are not kept."""
    contents = [b"[" * (MIB - 1), b'{"a":' * 200_000, b'"' + b"\\u0000" * 170_000 + b'"', b"9" * (MIB - 1)]
    kind = {"Content-Type": "application/json"}

    async def flood(times: int) -> None:
        for _ in range(times):
            answers = [await api.ask("ada", "POST", JOBS, content=content, headers=kind) for content in contents]
            assert all(answer.status_code in (400, 413, 422) for answer in answers)

    await flood(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await flood(4)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


async def test_a_slow_body_times_out(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, body_timeout=0.2) as api:
        answer = await raw(api, head(api, "Content-Length: 1000"), b"{")
        assert b"408" in answer.split(b"\r\n")[0]
        assert b"application/problem+json" in answer


async def test_a_client_that_disconnects_within_a_body_is_not_a_server_error(
    api: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "reelstate.access")
    host, port = api.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(head(api, "Content-Length: 1000") + b"{")
    await writer.drain()
    writer.close()
    await until(lambda: any(record.name == "reelstate.access" for record in caplog.records))
    assert [record.levelname for record in caplog.records if record.name != "reelstate.access"] == []
    assert f"POST {JOBS} 408" in caplog.text


@pytest.mark.parametrize("path", [JOBS, f"{JOBS}/1/cancel", "/api/worker/register", "/api/worker/complete"])
async def test_no_body_is_read_without_a_valid_key(api: Server, path: str) -> None:
    for key in ("", "Authorization: Bearer reel_guess\r\n"):
        start = f"POST {path} HTTP/1.1\r\nHost: x\r\n{key}Content-Type: application/json\r\nContent-Length: 100000\r\n"
        answer = await raw(api, f"{start}Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 401")


async def test_an_incomplete_request_times_out(api: Server) -> None:
    assert ConnectionTimings().check <= 15
    api.set_timings(check=0.2)
    assert await raw(api, b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\n", pause=0.05) == b""
    kept = await raw(api, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert kept.startswith(b"HTTP/1.1 200")


async def test_a_key_over_its_rate_limit_is_refused_with_retry_after(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, rate_per_key=0.5) as api:
        answers = [await api.ask("ada", "GET", JOBS) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 429, 429]
        assert 1 <= int(answers[1].headers["retry-after"]) <= 2
        assert answers[1].json()["type"] == "urn:reelstate:error:too-many-requests"
        assert (await api.ask("bob", "GET", JOBS)).status_code == 200


async def test_an_address_that_guesses_keys_is_soon_refused(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, rate_per_address=0.5) as api:
        wrong = {"Authorization": "Bearer reel_guess"}
        statuses = [(await api.ask(NOBODY, "GET", JOBS, headers=wrong)).status_code for _ in range(3)]
        assert statuses == [401, 429, 429]
        assert (await api.ask("ada", "GET", JOBS)).status_code == 429


def test_a_token_bucket_refills_and_the_oldest_is_dropped() -> None:
    buckets = Buckets(1000.0)
    assert not any(buckets.take("a") for _ in range(2000))
    assert sum(bool(buckets.take("a")) for _ in range(500)) > 0
    assert buckets.take("a", 10_000) > 5
    time.sleep(0.05)  # a bucket refills by its clock; a longer time is as good
    assert buckets.take("a", 20) == 0
    for number in range(20_000):
        buckets.take(str(number))
    assert len(buckets._levels) == 10_000


async def test_responses_have_the_security_headers_for_browsers(api: Server) -> None:
    for path in ("/livez", "/docs", "/nope", JOBS):
        headers = (await api.ask(NOBODY, "GET", path, headers={"Origin": "https://evil.example"})).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


async def test_unknown_fields_and_parameters_are_refused(api: Server) -> None:
    cases = [
        ("POST", JOBS, {"pipeline": "simple", "status": "completed"}, "status"),
        ("POST", JOBS, {"pipeline": "simple", "attempt": 1}, "attempt"),
        ("POST", f"{JOBS}/1/cancel", {"why": "x"}, "why"),
        ("GET", f"{JOBS}?owner=bob", None, "owner"),
    ]
    for method, path, body, field in cases:
        answer = await api.ask("ada", method, path, json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)


async def test_all_errors_are_problem_documents(api: Server) -> None:
    for method, path, status, kind in (
        ("GET", "/nope", 404, "no-route"),
        ("DELETE", JOBS, 405, "method-not-allowed"),
        ("GET", f"{JOBS}/1", 404, "not-found"),
        ("GET", f"{JOBS}/x", 422, "invalid-request"),
        ("POST", JOBS, 422, "invalid-request"),
    ):
        answer = await api.ask("ada", method, path)
        problem = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, problem["status"]) == (status, status)
        assert problem["type"] == f"urn:reelstate:error:{kind}"
        assert problem["title"]
        assert problem["detail"]
        assert problem["hint"]


async def test_an_error_names_what_was_requested(api: Server) -> None:
    nothing = await api.ask("ada", "GET", "/api/v1/job")
    assert nothing.json()["detail"] == "no route matches /api/v1/job"
    method = await api.ask("ada", "DELETE", JOBS)
    assert method.json()["detail"] == f"DELETE is not allowed for {JOBS}"
    broken = await api.ask("ada", "POST", JOBS, content=b"{pipeline", headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["field"]) == (422, "body")
    assert "is not JSON" in broken.json()["detail"]
    assert "at character 1" in broken.json()["detail"]
    remote = await api.ask("ada", "POST", "/api/worker/register", json={"protocol": 1})
    assert "reel workers register" in remote.json()["hint"]


async def test_an_unexpected_error_is_reported_without_its_message(
    api: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret of the server")

    monkeypatch.setattr(Engine, "jobs", broken)
    answer = await api.ask("ada", "GET", JOBS)
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:reelstate:error:unexpected")
    assert "secret" not in answer.text
    assert "the secret of the server" in caplog.text


async def test_an_unreachable_database_is_reported(api: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("no way to db.internal:5432 as reel")

    monkeypatch.setattr(Engine, "jobs", away)
    monkeypatch.setitem(api.context.checks, "database", away)
    answer = await api.ask("ada", "GET", JOBS)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "db.internal" not in answer.text
    ready = await api.ask(NOBODY, "GET", "/readyz")
    assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "unavailable")
    assert (await api.ask(NOBODY, "GET", "/livez")).status_code == 200
    assert (await api.ask("admin", "GET", "/health")).json()["status"] == "unavailable"
