"""Large videos: an upload during which the server is killed, and the memory that uploads and downloads take."""

import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reelstate.cli.state_files import key_file
from reelstate.config import Settings
from tests.api.test_serve import TIMEOUT, Process, client, running
from tests.api.upload_clients import PIECE
from tests.api.video_server import UPLOADS, VIDEOS, WEB

MIB = 1024 * 1024
BLOCK = random.Random(1).randbytes(MIB)
MAX_GROWTH = 48 * MIB
"""Bytes of memory of the server, for a body or a file of any size."""


def connect(server: Process, folder: Path) -> httpx.Client:
    base = server.until(r"serving (http://127\.0\.0\.1:\d+)")[1]
    server.until(r"sign in once")
    return client(base, key_file(Settings(database_url=f"sqlite:///{folder / 'reelstate.db'}")).read_text().strip())


def blocks(count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield BLOCK


def sha256(count: int) -> str:
    digest = hashlib.sha256()
    for block in blocks(count):
        digest.update(block)
    return digest.hexdigest()


def peak_memory(server: Process) -> int:
    """Return the peak of the memory since the last reset, in bytes."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def reset_peak_memory(server: Process) -> int:
    Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    return peak_memory(server)


def test_an_upload_survives_the_kill_of_its_server(tmp_path: Path) -> None:
    size, sent = 20, 18

    def piece(server: Process, admin: httpx.Client, location: str) -> Iterator[bytes]:
        yield from blocks(sent)
        until = time.monotonic() + TIMEOUT
        while admin.get(location).json()["received"] == 0 and time.monotonic() < until:
            yield b""
        server.kill()
        yield BLOCK

    with running(tmp_path, "serve", "--port", "0") as server, connect(server, tmp_path) as admin:
        location = admin.post(UPLOADS, headers={"Upload-Length": str(size * MIB)}).headers["location"]
        with reconnect(admin) as sender, pytest.raises(httpx.TransportError):
            sender.patch(
                location, content=piece(server, admin, location), headers={"Upload-Offset": "0", "Content-Type": PIECE}
            )
    with running(tmp_path, "serve", "--port", "0") as server, connect(server, tmp_path) as admin:
        offset = int(admin.head(location).headers["upload-offset"])
        assert 16 * MIB <= offset <= sent * MIB
        rest = (BLOCK * size)[offset:]
        done = admin.patch(location, content=rest, headers={"Upload-Offset": str(offset), "Content-Type": PIECE})
        assert done.status_code == 204, done.text
        assert admin.get(location).json()["sha256"] == sha256(size)
    assert [path.name for path in (tmp_path / "media" / "sources").iterdir()] == [sha256(size)]
    assert list((tmp_path / "media" / ".uploads").iterdir()) == []


def reconnect(admin: httpx.Client) -> httpx.Client:
    """Open another connection with the same key."""
    return client(str(admin.base_url), admin.headers["authorization"].removeprefix("Bearer "))


def measure_transfers(folder: Path, size: int) -> dict[str, float]:
    """Upload `size` MiB and download as much; return the seconds and the MiB of memory."""
    with running(folder, "serve", "--port", "0") as server, connect(server, folder) as admin:
        admin.post(f"{VIDEOS}/upload", content=BLOCK).raise_for_status()
        before, began = reset_peak_memory(server), time.monotonic()
        made = admin.post(f"{VIDEOS}/upload", content=blocks(size), timeout=3600)
        sending, memory_in = time.monotonic() - began, peak_memory(server) - before
        assert made.status_code == 201, made.text
        assert memory_in < MAX_GROWTH
        made = admin.post(VIDEOS, json={"source": WEB}).json()
        path = folder / "media" / f"versions/{made['job']}/video.mp4"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(size * MIB)
        before, began, count = reset_peak_memory(server), time.monotonic(), 0
        with admin.stream("GET", f"{VIDEOS}/{made['id']}/files/versions/{made['job']}/video.mp4") as answer:
            for chunk in answer.iter_raw():
                count += len(chunk)
        serving, memory_out = time.monotonic() - began, peak_memory(server) - before
        assert count == size * MIB
        assert memory_out < MAX_GROWTH
    return {"in s": sending, "in MiB": memory_in / MIB, "out s": serving, "out MiB": memory_out / MIB}


def test_large_videos_are_sent_and_served_in_little_memory(tmp_path: Path) -> None:
    measure_transfers(tmp_path, 64)


@pytest.mark.prove
def test_huge_videos_are_sent_and_served_in_little_memory(tmp_path: Path) -> None:
    print(measure_transfers(tmp_path, 2048))  # noqa: T201 - what was measured
