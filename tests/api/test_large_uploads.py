"""Films that are large to a server: killed while one comes in, and what of its memory one takes."""

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
"""Of the memory of a server, for a body or a file of any size."""


def begun(server: Process, folder: Path) -> httpx.Client:
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


def most_memory(server: Process) -> int:
    """The most that the server has held since it was asked to forget."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def forget_most(server: Process) -> int:
    Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    return most_memory(server)


def test_an_upload_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    size, sent = 20, 18

    def piece(server: Process, admin: httpx.Client, place: str) -> Iterator[bytes]:
        yield from blocks(sent)
        until = time.monotonic() + TIMEOUT
        while admin.get(place).json()["received"] == 0 and time.monotonic() < until:
            yield b""
        server.kill()
        yield BLOCK

    with running(tmp_path, "serve", "--port", "0") as server, begun(server, tmp_path) as admin:
        place = admin.post(UPLOADS, headers={"Upload-Length": str(size * MIB)}).headers["location"]
        with begun_again(admin) as sender, pytest.raises(httpx.TransportError):
            sender.patch(
                place, content=piece(server, admin, place), headers={"Upload-Offset": "0", "Content-Type": PIECE}
            )
    with running(tmp_path, "serve", "--port", "0") as server, begun(server, tmp_path) as admin:
        offset = int(admin.head(place).headers["upload-offset"])
        assert 16 * MIB <= offset <= sent * MIB
        rest = (BLOCK * size)[offset:]
        done = admin.patch(place, content=rest, headers={"Upload-Offset": str(offset), "Content-Type": PIECE})
        assert done.status_code == 204, done.text
        assert admin.get(place).json()["sha256"] == sha256(size)
    assert [path.name for path in (tmp_path / "media" / "sources").iterdir()] == [sha256(size)]
    assert list((tmp_path / "media" / ".uploads").iterdir()) == []


def begun_again(admin: httpx.Client) -> httpx.Client:
    """A connection of its own."""
    return client(str(admin.base_url), admin.headers["authorization"].removeprefix("Bearer "))


def comes_and_goes(folder: Path, size: int) -> dict[str, float]:
    """Send a film of so many MiB, and have another of the same size; gives seconds and MiB of memory."""
    with running(folder, "serve", "--port", "0") as server, begun(server, folder) as admin:
        admin.post(f"{VIDEOS}/upload", content=BLOCK).raise_for_status()
        before, began = forget_most(server), time.monotonic()
        made = admin.post(f"{VIDEOS}/upload", content=blocks(size), timeout=3600)
        came, grown = time.monotonic() - began, most_memory(server) - before
        assert made.status_code == 201, made.text
        assert grown < MAX_GROWTH
        made = admin.post(VIDEOS, json={"source": WEB}).json()
        path = folder / "media" / f"versions/{made['job']}/film.mp4"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(size * MIB)
        before, began, count = forget_most(server), time.monotonic(), 0
        with admin.stream("GET", f"{VIDEOS}/{made['id']}/files/versions/{made['job']}/film.mp4") as answer:
            for chunk in answer.iter_raw():
                count += len(chunk)
        went, held = time.monotonic() - began, most_memory(server) - before
        assert count == size * MIB
        assert held < MAX_GROWTH
    return {"in s": came, "in MiB": grown / MIB, "out s": went, "out MiB": held / MIB}


def test_large_films_come_and_go_in_little_memory(tmp_path: Path) -> None:
    comes_and_goes(tmp_path, 64)


@pytest.mark.prove
def test_huge_films_come_and_go_in_little_memory(tmp_path: Path) -> None:
    print(comes_and_goes(tmp_path, 2048))  # noqa: T201 - what was measured
