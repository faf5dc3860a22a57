"""Clients that read slowly receive the whole response; those that read nothing are disconnected."""

import asyncio
import json
import socket
from urllib.parse import urlsplit

import pytest

from reelstate.api.ranges import BLOCK
from reelstate.api.server import MAX_STUCK_CHECKS, ConnectionTimings
from tests.api.video_server import VIDEOS, VideoLibrary
from tests.waiting import until

SMALL = 8192
FILE = bytes(range(256)) * (3 * BLOCK // 256)
TIMEOUT = 300


@pytest.fixture
def dialect() -> str:
    return "sqlite"


async def asked(library: VideoLibrary, path: str, *lines: str) -> socket.socket:
    """Send a request on a connection with small buffers."""
    for listening in library.api.server.servers[0].sockets:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    made.setblocking(False)
    loop, parts = asyncio.get_running_loop(), urlsplit(library.api.url)
    await loop.sock_connect(made, (parts.hostname, parts.port))
    authorization = f"Authorization: {library.api.headers('ada')['Authorization']}"
    head = [f"GET {path} HTTP/1.1", "Host: x", authorization, *lines, "", ""]
    await loop.sock_sendall(made, "\r\n".join(head).encode())
    return made


async def read(connection: socket.socket, pause: float) -> bytes:
    """Return the bytes until the server closes the connection."""
    came = b""
    async with asyncio.timeout(TIMEOUT):
        while data := await asyncio.get_running_loop().sock_recv(connection, SMALL):
            came += data
            await asyncio.sleep(pause)  # the pace of the client
    return came


@pytest.mark.parametrize("lines", [("Connection: close",), ()], ids=["once", "kept"])
async def test_a_slow_client_receives_the_whole_response(library: VideoLibrary, lines: tuple[str, ...]) -> None:
    spec = {"source": "https://example.com/video.mov", "note": "x" * 200_000}
    jobs = [await library.api.submit(pipeline="transcode", spec=spec) for _ in range(6)]
    # From here on: a short interval would close the connections of the client that submits between its requests.
    library.api.set_timings(check=0.5)
    library.api.server.config.timeout_keep_alive = 0
    with await asked(library, "/api/v1/jobs", *lines) as connection:
        came = await read(connection, pause=0.002)
    page = json.loads(came.partition(b"\r\n\r\n")[2])
    assert [job["id"] for job in page["items"]] == jobs[::-1]


async def test_a_client_that_reads_nothing_is_cut_off(library: VideoLibrary) -> None:
    assert ConnectionTimings().check * MAX_STUCK_CHECKS <= 60
    video_id, job_id = await library.make("ada")
    key = f"versions/{job_id}/encode/0/1/720p.mp4"
    await library.storage.put_bytes(key, FILE)
    library.api.set_timings(check=0.05)
    with await asked(library, f"{VIDEOS}/{video_id}/files/{key}") as connection:
        begun = await asyncio.get_running_loop().sock_recv(connection, SMALL)
        await until(lambda: not library.api.server.server_state.connections)
        rest = await read(connection, pause=0)
    assert begun.startswith(b"HTTP/1.1 200")
    assert len(begun) + len(rest) < len(FILE)
