"""Connections without a key: their number, their idle time, and the memory they may take."""

import asyncio
import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from reelstate.api.connections import MAX_OPEN_FILES, RESERVED_FILES, Admission
from reelstate.api.server import MAX_HEAD, ConnectionTimings
from reelstate.engine import Engine
from tests.api.api_server import NOBODY, Server, api_server
from tests.api.server_process import ServerProcess
from tests.waiting import until

TIMEOUT = 300.0


@pytest.fixture
def dialect() -> str:
    return "sqlite"


async def connected(stack: ExitStack, api: Server, source: str = "127.0.0.1") -> socket.socket:
    """Open a connection from an address of this machine, and send nothing."""
    made = stack.enter_context(socket.socket())
    made.setblocking(False)
    made.bind((source, 0))
    place = urlsplit(api.url)
    await asyncio.get_running_loop().sock_connect(made, (place.hostname, place.port))
    return made


async def is_closed(connection: socket.socket) -> bool:
    async with asyncio.timeout(TIMEOUT):
        try:
            return await asyncio.get_running_loop().sock_recv(connection, 1) == b""
        except ConnectionResetError:
            return True


async def answers(connection: socket.socket) -> bool:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT):
        await loop.sock_sendall(connection, b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        return (await loop.sock_recv(connection, 100)).startswith(b"HTTP/1.1 200")


async def test_connections_per_address_are_limited(engine: Engine, database_url: str) -> None:
    with ExitStack() as stack:
        async with api_server(engine, database_url, connections_per_address=5) as api:
            held = [await connected(stack, api) for _ in range(5)]
            assert await is_closed(await connected(stack, api))
            assert await answers(await connected(stack, api, "127.0.0.2"))
            assert await answers(held[0])
            held[1].close()
            await until(lambda: len(api.server.server_state.connections) < 6)
            assert await answers(await connected(stack, api))


async def test_connections_per_server_are_limited(engine: Engine, database_url: str) -> None:
    with ExitStack() as stack:
        async with api_server(engine, database_url, connections_per_server=4, connections_per_address=4) as api:
            held = [await connected(stack, api, f"127.0.0.{number}") for number in range(2, 6)]
            assert await is_closed(await connected(stack, api, "127.0.0.9"))
            assert await answers(held[-1])


async def test_connections_of_a_trusted_proxy_are_not_limited_per_address(engine: Engine, database_url: str) -> None:
    with ExitStack() as stack:
        terms = {"connections_per_address": 2, "trusted_proxies": "127.0.0.0/8"}
        async with api_server(engine, database_url, **terms) as api:
            held = [await connected(stack, api) for _ in range(4)]
            assert [await answers(each) for each in held] == [True] * 4


async def test_a_silent_connection_is_closed_early(api: Server) -> None:
    assert ConnectionTimings().head <= 10
    api.set_timings(head=0.2)
    with ExitStack() as stack:
        silent, started = await connected(stack, api), await connected(stack, api)
        await asyncio.get_running_loop().sock_sendall(started, b"G")
        assert [await is_closed(silent), await is_closed(started)] == [True, True]


async def test_a_connection_that_sent_a_request_is_not_closed_as_silent(api: Server) -> None:
    with ExitStack() as stack:
        asked, silent = await connected(stack, api), await connected(stack, api)
        assert await answers(asked)
        await until(lambda: len(api.server.server_state.connections) == 2)
        for each in list(api.server.server_state.connections):
            each._close_silent()  # type: ignore[union-attr]  # as if the time was over
        assert await is_closed(silent)
        await until(lambda: len(api.server.server_state.connections) == 1)


def test_limits_stay_below_the_limit_of_open_files() -> None:
    small = Admission.within(1024, total=10_000, per_address=500)
    assert (small.total, small.per_address) == (1024 - RESERVED_FILES, (1024 - RESERVED_FILES) // 2)
    large = Admission.within(65_536, total=10_000, per_address=500)
    assert (large.total, large.per_address) == (10_000, 500)
    assert Admission.within(8, total=10_000, per_address=500).per_address >= 1


def test_callers_are_distinguished_by_ipv4_address_and_ipv6_network() -> None:
    admission = Admission(total=10, per_address=1)
    asked = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:192.0.2.1", "::ffff:192.0.2.2", "192.0.2.2"]
    assert [admission.admit(address) for address in asked] == [True, False, True, True, True, False]
    admission.leave("2001:db8::1")
    assert admission.admit("2001:db8::2")
    assert (admission.count, admission.refused) == (4, 2)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 512, reason="NOT TESTED, few files may be opened")
async def test_a_server_raises_its_limit_of_open_files(engine: Engine, database_url: str, tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        server_process = ServerProcess(tmp_path, database_url)
        await server_process.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        raised = resource.prlimit(server_process.pid, resource.RLIMIT_NOFILE)[0]
    finally:
        server_process.kill()
    assert raised == (MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES))


async def test_no_more_than_a_kilobyte_is_read_from_a_client_without_a_key(api: Server) -> None:
    small = await api.ask(NOBODY, "POST", "/signin", json={"key": "x" * 900})
    large = await api.ask(NOBODY, "POST", "/signin", json={"key": "x" * 1100})
    assert (small.status_code, large.status_code) == (401, 413)


async def test_an_endless_request_head_is_refused(api: Server) -> None:
    with ExitStack() as stack:
        made = await connected(stack, api)
        loop = asyncio.get_running_loop()
        head = b"GET /livez HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * MAX_HEAD
        await loop.sock_sendall(made, head + b"x" * 1000)
        assert (await loop.sock_recv(made, 100)).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
async def test_the_description_is_written_once(api: Server, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    first = await api.ask(NOBODY, "GET", path)
    app = api.server.config.app

    def never() -> None:
        raise AssertionError("it was written again")

    monkeypatch.setattr(app, "openapi", never)
    second = await api.ask(NOBODY, "GET", path)
    assert (first.status_code, second.status_code) == (httpx.codes.OK, httpx.codes.OK)
    assert first.content == second.content
