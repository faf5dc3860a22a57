import asyncio
import hashlib
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from reelstate.connections.guarded_http import Resolve
from reelstate.connections.public_addresses import is_public
from reelstate.media.sources.address import InputRules, parse_address
from reelstate.media.sources.errors import SourceUnavailable, SourceUnseekable, UnusableSource
from reelstate.media.sources.fetched import FetchedSource
from reelstate.media.sources.reader import BLOCK
from reelstate.media.sources.source import fetch, open_source
from reelstate.media.sources.web import HEAD, WebClient
from tests.media.sources.web_server import (
    Request,
    WebServer,
    endless,
    file,
    plain,
    redirect,
    silent,
    status,
    trickling,
)

CERTIFICATE = Path(__file__).with_name("certificates") / "media.test.pem"
DATA = os.urandom(3_000_000)
RULES = InputRules(hosts=frozenset({"127.0.0.1", "media.test"}), pause=0.01, idle=5, connect=5, total=30)


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with WebServer.running() as server:
        yield server


def fetched(data: bytes) -> FetchedSource:
    return FetchedSource(len(data), hashlib.sha256(data).hexdigest())


def resolve_to(*addresses: str) -> Resolve:
    """Return a resolver that returns the next address at each call."""
    left = list(addresses)

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return (left.pop(0),)

    return resolve


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "168.63.129.16",
        "100.64.0.1",
        "100.100.100.200",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.2.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "2002:a00:1::",
        "0.1.2.3",
        "169.254.0.1",
        "192.0.0.8",
        "192.0.0.192",
        "192.0.0.255",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.175.48.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "239.255.255.255",
        "240.0.0.1",
        "64:ff9b:1::1",
        "64:ff9b::c000:c0",
        "::ffff:0:7f00:1",
        "::ffff:0:101:101",
        "::ffff:192.0.0.192",
        "100::1",
        "100:0:0:1::1",
        "2001::1",
        "2001:1::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:30::1",
        "2001:db8::1",
        "2002:101:101::1",
        "2620:4f:8000::1",
        "3fff::1",
        "3fff:fff:ffff::1",
        "4000::1",
        "5f00::1",
        "fec0::1",
        "no address",
    ],
)
def test_a_special_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "192.0.1.1",
        "191.255.255.255",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
    ],
)
def test_a_global_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0", "127.1"]
)
async def test_a_private_host_is_refused_however_it_is_written(server: WebServer, host: str, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = file(DATA)
    with pytest.raises(UnusableSource, match="not a public address") as refused:
        await fetch(parse_address(server.url("/a.mp4", host)), tmp_path / "a", InputRules())
    assert refused.value.kind == "forbidden"
    assert "REEL_INPUT_HOSTS" in refused.value.hint
    assert server.requests == []


@pytest.mark.parametrize("hosts", [{"127.0.0.1"}, {"127.0.0.1:{port}"}])
async def test_an_allowed_private_host_is_fetched_from(server: WebServer, tmp_path: Path, hosts: set[str]) -> None:
    server.scripts["/a.mp4"] = file(DATA)
    rules = InputRules(hosts=frozenset(host.format(port=server.port) for host in hosts))
    seen: list[tuple[int, int | None]] = []
    outcome = await fetch(
        parse_address(server.url("/a.mp4")), tmp_path / "a", rules, on_progress=lambda *step: seen.append(step)
    )
    assert outcome == fetched(DATA)
    assert (tmp_path / "a").read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))


async def test_a_redirect_into_the_private_network_is_refused(server: WebServer, tmp_path: Path) -> None:
    async with WebServer.running() as inner:
        inner.scripts["/secret"] = file(DATA)
        server.scripts["/a.mp4"] = redirect(inner.url("/secret", "localhost"))
        with pytest.raises(UnusableSource, match="localhost is not a public address"):
            await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES)
        assert len(server.requests) == 1
        assert inner.requests == []


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"])
async def test_a_redirect_to_another_protocol_is_refused(server: WebServer, tmp_path: Path, location: str) -> None:
    server.scripts["/a.mp4"] = redirect(location)
    with pytest.raises(UnusableSource, match="expected http") as refused:
        await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES)
    assert refused.value.kind == "forbidden"


async def test_five_redirects_are_followed_and_no_more(server: WebServer, tmp_path: Path) -> None:
    for number in range(6):
        server.scripts[f"/{number}"] = redirect(f"/{number + 1}")
    server.scripts["/6"] = file(DATA)
    assert await fetch(parse_address(server.url("/1")), tmp_path / "a", RULES) == fetched(DATA)
    with pytest.raises(UnusableSource, match="more than 5 times"):
        await fetch(parse_address(server.url("/0")), tmp_path / "a", RULES)


async def test_a_host_is_resolved_once_and_the_checked_address_is_connected_to(
    server: WebServer, tmp_path: Path
) -> None:
    """Otherwise DNS could change from a public to a private address between check and connection."""
    server.scripts["/a.mp4"] = file(DATA)
    async with WebClient(RULES, resolve=resolve_to("127.0.0.1", "203.0.113.1")) as web:
        assert await web.download(server.url("/a.mp4", "media.test"), tmp_path / "a") == fetched(DATA)
    assert server.requests[0].headers["host"] == f"media.test:{server.port}"


async def test_a_host_that_becomes_private_is_refused_at_its_next_use(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = redirect(server.url("/b.mp4", "changes.test"))
    async with WebClient(RULES, resolve=resolve_to("127.0.0.1", "10.0.0.1")) as web:
        with pytest.raises(UnusableSource, match=r"changes\.test is not a public address"):
            await web.download(server.url("/a.mp4", "media.test"), tmp_path / "a")


async def test_one_private_address_among_public_ones_is_refused(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return "93.184.216.34", "10.0.0.1"

    async with WebClient(InputRules(), resolve=resolve) as web:
        with pytest.raises(UnusableSource, match=r"both\.test is not a public address"):
            await web.download("http://both.test/a.mp4", tmp_path / "a")


class RecordingTransport(httpx.AsyncBaseTransport):
    """Records the hosts of requests, and sends nothing."""

    def __init__(self, error: str = "") -> None:
        self.hosts: list[str] = []
        self._error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.hosts.append(request.url.host)
        if self._error:
            raise httpx.ConnectError(self._error)
        return httpx.Response(200, content=DATA)


@pytest.mark.parametrize("address", ["192.0.0.192", "5f00::1", "10.0.0.1"])
async def test_a_private_address_gets_no_request_and_is_not_disclosed(tmp_path: Path, address: str) -> None:
    transport = RecordingTransport()
    async with WebClient(InputRules(attempts=1), resolve=resolve_to(address), connect=transport) as web:
        with pytest.raises(UnusableSource, match=r"media\.test is not a public address") as refused:
            await web.download("http://media.test/a.mp4", tmp_path / "a")
    assert transport.hosts == []
    assert address not in str(refused.value)


async def test_a_public_address_is_connected_to(tmp_path: Path) -> None:
    transport = RecordingTransport()
    async with WebClient(InputRules(attempts=1), resolve=resolve_to("1.1.1.1"), connect=transport) as web:
        assert await web.download("http://media.test/a.mp4", tmp_path / "a") == fetched(DATA)
    assert transport.hosts == ["1.1.1.1"]


@pytest.mark.parametrize("address", ["10.0.0.7", "fd00::7"])
async def test_no_error_discloses_the_address_of_a_private_host(tmp_path: Path, address: str) -> None:
    transport = RecordingTransport(f"[Errno 111] Connect call failed ('{address}', 80)")
    rules = InputRules(attempts=1, hosts=frozenset({"media.test"}))
    async with WebClient(rules, resolve=resolve_to(address), connect=transport) as web:
        with pytest.raises(SourceUnavailable) as failed:
            await web.download("http://media.test/a.mp4", tmp_path / "a")
    assert transport.hosts == [address]
    assert address not in str(failed.value)
    assert "media.test" in failed.value.message
    assert failed.value.__cause__ is None


async def test_the_certificate_must_match_the_host_though_the_address_is_pinned(tmp_path: Path) -> None:
    identity = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    identity.load_cert_chain(CERTIFICATE)
    trust = ssl.create_default_context(cafile=str(CERTIFICATE))
    rules = InputRules(hosts=frozenset({"media.test", "other.test"}), attempts=1)
    async with WebServer.running(identity) as server:
        server.scripts["/a.mp4"] = file(DATA)
        async with WebClient(rules, resolve=resolve_to("127.0.0.1", "127.0.0.1"), trust=trust) as web:
            url = server.url("/a.mp4", "media.test", "https")
            assert await web.download(url, tmp_path / "a") == fetched(DATA)
            with pytest.raises(SourceUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                await web.download(server.url("/a.mp4", "other.test", "https"), tmp_path / "a")


async def test_a_broken_download_resumes(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = file(DATA, breaks=700_000)
    assert await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES) == fetched(DATA)
    starts = [request.span for request in server.requests]
    assert starts == [None, (700_000, None), (1_400_000, None), (2_100_000, None), (2_800_000, None)]


async def test_the_download_of_a_changed_source_restarts(server: WebServer, tmp_path: Path) -> None:
    other = os.urandom(len(DATA))

    async def changed(request: Request) -> None:
        server.scripts["/a.mp4"] = file(other, tag='"two"')
        await file(DATA, breaks=1_500_000)(request)

    server.scripts["/a.mp4"] = changed
    assert await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES) == fetched(other)
    assert (tmp_path / "a").read_bytes() == other


async def test_a_download_without_progress_fails(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = file(DATA, breaks=0)
    with pytest.raises(SourceUnavailable) as failed:
        await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES)
    assert failed.value.retryable
    assert len(server.requests) == RULES.attempts


async def test_no_more_than_the_limit_is_downloaded(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/sized.mp4"] = file(DATA)
    server.scripts["/endless.mp4"] = endless()
    rules = InputRules(hosts=RULES.hosts, limit=1_000_000, total=20)
    for path in ("/sized.mp4", "/endless.mp4"):
        with pytest.raises(UnusableSource, match="larger than 1,000,000 bytes") as refused:
            await fetch(parse_address(server.url(path)), tmp_path / "a", rules)
        assert refused.value.kind == "too_large"
        assert (tmp_path / "a").stat().st_size <= 1_000_000


async def test_a_silent_server_times_out(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = silent(b"beginning")
    rules = InputRules(hosts=RULES.hosts, idle=0.1, attempts=1)
    with pytest.raises(SourceUnavailable):
        await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", rules)


async def test_a_trickling_download_times_out(server: WebServer, tmp_path: Path) -> None:
    server.scripts["/a.mp4"] = trickling()
    rules = InputRules(hosts=RULES.hosts, total=0.3)
    with pytest.raises(SourceUnavailable, match=r"took longer than 0\.3 s"):
        async with asyncio.timeout(300):
            await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", rules)


async def test_a_trickling_range_request_times_out(server: WebServer) -> None:
    server.scripts["/a.mp4"] = trickling()
    rules = InputRules(hosts=RULES.hosts, part=0.3)
    with pytest.raises(SourceUnavailable, match=r"a range request to .* took longer than 0\.3 s"):
        async with asyncio.timeout(300), open_source(parse_address(server.url("/a.mp4")), rules):
            pass


@pytest.mark.parametrize(
    "line, kind",
    [
        ("404 Not Found", "missing"),
        ("410 Gone", "missing"),
        ("403 Forbidden", "denied"),
        ("401 Unauthorized", "denied"),
        ("405 Method Not Allowed", "address"),
        ("300 Multiple Choices", "address"),
    ],
)
async def test_a_refused_request_is_not_retried(server: WebServer, tmp_path: Path, line: str, kind: str) -> None:
    server.scripts["/a.mp4"] = status(line)
    with pytest.raises(UnusableSource, match=line[:3]) as refused:
        await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES)
    assert refused.value.kind == kind
    assert len(server.requests) == 1


@pytest.mark.parametrize("line", ["500 Internal Server Error", "503 Service Unavailable", "429 Too Many Requests"])
async def test_a_server_error_is_retried(server: WebServer, tmp_path: Path, line: str) -> None:
    async def recovering(request: Request) -> None:
        server.scripts["/a.mp4"] = file(DATA)
        await status(line)(request)

    server.scripts["/a.mp4"] = recovering
    assert await fetch(parse_address(server.url("/a.mp4")), tmp_path / "a", RULES) == fetched(DATA)


async def test_a_password_is_sent_to_its_host_only_and_never_disclosed(
    server: WebServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with WebServer.running() as other:
        server.scripts["/a.mp4"] = redirect(other.url("/b.mp4?signature=s3cret"))
        address = server.url("/a.mp4?token=s3cret").replace("//", "//user:s3cret@")
        with pytest.raises(UnusableSource, match="404") as refused:
            await fetch(parse_address(address), tmp_path / "a", RULES)
        assert server.requests[0].headers["authorization"] == httpx.BasicAuth("user", "s3cret")._auth_header
        assert "authorization" not in other.requests[0].headers
    assert "s3cret" not in str(refused.value) + caplog.text + str(parse_address(address))


async def test_parts_are_read_and_cached(server: WebServer) -> None:
    server.scripts["/a.mp4"] = file(DATA)
    async with open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        assert reader.size == len(DATA)
        for offset, length in [(0, 10), (BLOCK - 5, 10), (len(DATA) - 5, 100), (1_000_000, 300_000), (len(DATA), 5)]:
            assert await reader.read(offset, length) == DATA[offset : offset + length]
        requests = len(server.requests)
        assert await reader.read(BLOCK - 5, 10) == DATA[BLOCK - 5 : BLOCK + 5]
        assert len(server.requests) == requests


async def test_sequential_reads_are_read_ahead(server: WebServer) -> None:
    server.scripts["/a.mp4"] = file(DATA)
    async with open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        whole = b"".join([await reader.read(offset, 32_768) for offset in range(0, len(DATA), 32_768)])
    assert whole == DATA
    assert len(server.requests) <= 4


async def test_a_source_that_changes_while_it_is_read_is_detected(server: WebServer) -> None:
    server.scripts["/a.mp4"] = file(DATA)
    async with open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        server.scripts["/a.mp4"] = file(DATA[::-1], tag='"two"')
        with pytest.raises(SourceUnavailable, match="changed while it was read"):
            await reader.read(1_000_000, 10)


async def test_without_range_requests_a_small_source_is_read_whole(server: WebServer) -> None:
    server.scripts["/a.mp4"] = plain(DATA)
    async with open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        assert reader.size == len(DATA)
        assert await reader.read(len(DATA) - 5, 100) == DATA[-5:]
    assert len(server.requests) == 1


async def test_without_range_requests_a_large_source_must_be_fetched(server: WebServer) -> None:
    server.scripts["/a.mp4"] = plain(bytes(HEAD + 1000))
    async with open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        assert await reader.read(0, 10) == bytes(10)
        with pytest.raises(SourceUnseekable, match="does not support range requests"):
            await reader.read(HEAD, 10)


async def test_an_endless_source_does_not_fill_the_memory(server: WebServer) -> None:
    server.scripts["/a.mp4"] = endless()
    async with asyncio.timeout(300), open_source(parse_address(server.url("/a.mp4")), RULES) as reader:
        assert len(await reader.read(0, HEAD)) == HEAD
