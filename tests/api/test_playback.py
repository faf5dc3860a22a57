import asyncio
import hashlib
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reelstate.api.auth import COOKIE
from reelstate.stores.store import STATEMENTS
from tests.api.video_server import VIDEOS, VideoLibrary, library_at

BYTES = bytes(range(256)) * 8
TYPES = {
    "master.m3u8": "application/vnd.apple.mpegurl",
    "manifest.mpd": "application/dash+xml",
    "encode/0/1/720p.mp4": "video/mp4",
    "encode/0/1/720p.m4s": "video/iso.segment",
    "captions/0/1/captions.vtt": "text/vtt",
    "thumbnails/0/1/poster.jpg": "image/jpeg",
    "manifest.json": "application/json",
}
SEGMENT = "encode/0/1/720p.mp4"
SPANS = [
    ("bytes=0-0", 206, BYTES[:1], "bytes 0-0/2048"),
    ("bytes=5-9", 206, BYTES[5:10], "bytes 5-9/2048"),
    ("bytes=2000-", 206, BYTES[2000:], "bytes 2000-2047/2048"),
    ("bytes=2000-9999", 206, BYTES[2000:], "bytes 2000-2047/2048"),
    ("bytes=-10", 206, BYTES[-10:], "bytes 2038-2047/2048"),
    ("bytes=-9999", 206, BYTES, "bytes 0-2047/2048"),
    ("bytes=2048-", 416, b"", "bytes */2048"),
    ("bytes=9999-", 416, b"", "bytes */2048"),
    ("bytes=-0", 416, b"", "bytes */2048"),
    ("bytes=9-5", 200, BYTES, None),
    ("bytes=0-1,5-9", 200, BYTES, None),
    ("pages=1-2", 200, BYTES, None),
    ("bytes=a-b", 200, BYTES, None),
]


class Scene:
    """A video of Ada with one version and its files, and a video of Bob."""

    def __init__(self, library: VideoLibrary, video_id: int, job_id: int, other: tuple[int, int]) -> None:
        self.library = library
        self.video_id = video_id
        self.job_id = job_id
        self.other = other

    @property
    def public(self) -> str:
        return f"videos/{self.video_id}/master.m3u8"

    def version(self, file: str) -> str:
        return f"versions/{self.job_id}/{file}"

    async def get(self, key: str, role: str = "ada", method: str = "GET", **headers: str) -> Any:
        path = f"{VIDEOS}/{self.video_id}/files/{key}"
        return await self.library.api.ask(role, method, path, headers=headers)

    async def raw(self, path: str) -> tuple[int, bytes]:
        """Send a path that no client has normalized."""
        parts = urlsplit(self.library.api.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        key = self.library.api.headers("ada")["Authorization"]
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {key}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode("utf-8"))
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[2]

    async def ticket(self, role: str = "ada", **body: Any) -> Any:
        answer = await self.library.api.ask(role, "POST", f"{VIDEOS}/{self.video_id}/playback", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def play(self, url: str, method: str = "GET", **headers: str) -> Any:
        return await self.library.api.ask("nobody", method, url, headers=headers)


async def staged(library: VideoLibrary) -> Scene:
    video_id, job_id = await library.make("ada")
    other = await library.make("bob")
    await library.complete()
    for file in TYPES:
        await library.storage.put_bytes(f"versions/{job_id}/{file}", BYTES)
    await library.storage.put_bytes(f"versions/{other[1]}/{SEGMENT}", BYTES)
    await library.storage.put_bytes("sources/" + "a" * 64, BYTES)
    for number in (video_id, other[0]):
        await library.storage.replace_bytes(f"videos/{number}/master.m3u8", b"#EXTM3U\n")
    return Scene(library, video_id, job_id, other)


@pytest.fixture
def dialect() -> str:
    """One test uses both stores; the others only read files."""
    return "sqlite"


@pytest.fixture
async def scene(library: VideoLibrary) -> Scene:
    return await staged(library)


async def test_every_kind_of_file_has_its_content_type_and_cache_control(scene: Scene) -> None:
    for file, kind in TYPES.items():
        answer = await scene.get(scene.version(file))
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answer.content == BYTES
    changing = await scene.get(scene.public)
    assert (changing.headers["cache-control"], changing.content) == ("no-cache", b"#EXTM3U\n")


@pytest.mark.parametrize("stored", ["folder", "bucket"])
async def test_byte_ranges_are_served(
    stored: str, database_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "media") if stored == "folder" else request.getfixturevalue("bucket_url")
    async with library_at(database_url, tmp_path / "media", storage_url=place) as library:
        scene = await staged(library)
        key = scene.version(SEGMENT)
        for span, status, body, expected in SPANS:
            answer = await scene.get(key, Range=span)
            assert (answer.status_code, answer.content, answer.headers.get("content-range")) == (
                status,
                body,
                expected,
            )
        whole = await scene.get(key, method="HEAD")
        assert (whole.status_code, whole.headers["content-length"], whole.content) == (200, "2048", b"")
        assert whole.headers["accept-ranges"] == "bytes"


async def test_etags_avoid_unchanged_responses_and_outdated_ranges(scene: Scene) -> None:
    for key in (scene.version(SEGMENT), scene.public):
        etag = (await scene.get(key)).headers["etag"]
        assert (await scene.get(key, **{"If-None-Match": f'"other", {etag}'})).status_code == 304
        assert (await scene.get(key, **{"If-None-Match": '"other"'})).status_code == 200
        part = await scene.get(key, Range="bytes=0-1", **{"If-Range": etag})
        whole = await scene.get(key, Range="bytes=0-1", **{"If-Range": '"other"'})
        assert (part.status_code, whole.status_code) == (206, 200)
    etag = (await scene.get(scene.public)).headers["etag"]
    await scene.library.storage.replace_bytes(scene.public, b"#EXTM3U\n#EXT-X-ENDLIST\n")
    changed = await scene.get(scene.public, **{"If-None-Match": etag})
    assert (changed.status_code, changed.content) == (200, b"#EXTM3U\n#EXT-X-ENDLIST\n")


async def test_only_the_files_of_the_video_are_served(scene: Scene) -> None:
    (scene.library.folder.parent / "secret.txt").write_text("secret")
    other_video, other_job = scene.other
    tried = [
        f"videos/{other_video}/master.m3u8", f"versions/{other_job}/{SEGMENT}", "sources/" + "a" * 64,
        "../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt", "..%5csecret.txt",
        f"versions/{scene.job_id}/../../../secret.txt", f"versions/{scene.job_id}/%2e%2e/%2e%2e/%2e%2e/secret.txt",
        f"versions/{scene.job_id}/..%2f..%2f..%2fsecret.txt", f"versions/{scene.job_id}/%2e%2e/{other_job}/{SEGMENT}",
        f"versions/{scene.job_id}/%252e%252e/secret.txt", f"versions/{scene.job_id}//{SEGMENT}",
        f"versions/{scene.job_id}/encode", f"videos/{scene.video_id}/live",
        f"versions/{scene.job_id}", f"versions/0{scene.job_id}/{SEGMENT}",
        f"versions/{scene.job_id}%00/{SEGMENT}", f"versions/{'9' * 40}/x.mp4", "versions/%c2%b2/x.mp4",
        "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", ".uploads/x", ".incoming/x", "",
        f"videos/{scene.video_id}", f"videos/{scene.video_id}/.hidden", "videos/../sources/" + "a" * 64,
    ]  # fmt: skip
    await scene.library.storage.replace_bytes(f"videos/{scene.video_id}/live/7/master.m3u8", b"#EXTM3U\n")
    ticket = (await scene.ticket())["url"].rpartition("/videos/")[0]
    for key in tried:
        for place in (f"{VIDEOS}/{scene.video_id}/files", urlsplit(ticket).path):
            status, body = await scene.raw(f"{place}/{key}")
            assert (status, b"secret" in body.partition(b"detail")[0]) == (404, False), key
    long = "a/" * 500
    assert (await scene.get(f"versions/{scene.job_id}/{long}x")).status_code in {404, 422}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
async def test_a_ticket_plays_one_video_for_a_while_without_a_key(scene: Scene) -> None:
    made = await scene.ticket(lifetime=60)
    played = await scene.play(made["url"])
    assert (played.status_code, played.content) == (200, b"#EXTM3U\n")
    segment = made["url"].replace(scene.public, scene.version(SEGMENT))
    assert (await scene.play(segment, Range="bytes=0-1")).status_code == 206
    exact = await scene.ticket(version=scene.job_id)
    assert (await scene.play(exact["url"])).content == BYTES
    short = await scene.ticket(lifetime=1)
    foreign = await scene.library.api.ask(
        "ada", "POST", f"{VIDEOS}/{scene.video_id}/playback", json={"version": scene.other[1]}
    )
    assert foreign.status_code == 404
    await asyncio.sleep(1.1)  # until it expires
    assert (await scene.play(short["url"])).status_code == 404
    assert (await scene.play(f"{scene.library.api.url}/play/{'x' * 43}/{scene.public}")).status_code == 404


async def test_a_ticket_ends_with_its_key_and_with_its_video(scene: Scene) -> None:
    playback = scene.library.api.context
    by_reader, by_ada = await scene.ticket("reader"), await scene.ticket("ada")
    await playback.keys.revoke(scene.library.api.keys["reader"].key.id, actor="operator:test")
    assert (await scene.play(by_reader["url"])).status_code == 404
    assert (await scene.play(by_ada["url"].replace("master", "missing"))).status_code == 404
    again = await scene.ticket("ada")
    await scene.library.api.ask("ada", "DELETE", f"{VIDEOS}/{scene.video_id}")
    assert (await scene.play(again["url"])).status_code == 404
    assert (await scene.get(scene.public)).status_code == 404


async def test_a_page_of_another_site_may_play_only_with_a_ticket(scene: Scene) -> None:
    url = (await scene.ticket())["url"]
    asked = await scene.play(url, "OPTIONS", Origin="https://example.com")
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, "*")
    assert "Range" in asked.headers["access-control-allow-headers"]
    played = await scene.play(url, Origin="https://example.com")
    assert played.headers["access-control-allow-origin"] == "*"
    assert played.headers["cross-origin-resource-policy"] == "cross-origin"
    keyed = await scene.get(scene.public, Origin="https://example.com")
    assert "access-control-allow-origin" not in keyed.headers
    assert keyed.headers["cross-origin-resource-policy"] == "same-origin"


async def test_a_session_plays_too(scene: Scene) -> None:
    signed = await scene.play("/signin", "POST")
    assert signed.status_code == 422
    client = await scene.library.api.client("nobody")
    await client.post("/signin", json={"key": scene.library.api.keys["ada"].text})
    assert COOKIE in client.cookies
    answer = await client.get(f"{VIDEOS}/{scene.video_id}/files/{scene.public}")
    assert answer.status_code == 200


async def test_a_ticket_is_neither_logged_nor_stored(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "reelstate.access"):
        url = (await scene.ticket())["url"]
        await scene.play(url)
    ticket = url.partition("/play/")[2].partition("/")[0]
    assert len(ticket) == 43
    lines = [record.getMessage() for record in caplog.records if "/play" in record.getMessage()]
    assert lines
    assert not [line for line in lines if ticket in line]

    async def stored(transaction: Any) -> Any:
        return await transaction.run(STATEMENTS["play_ticket"], digest=ticket)

    assert await scene.library.api.engine.store.read(stored) == []
    file = scene.library.api.context.settings.database_url.removeprefix("sqlite:///")
    kept = b"".join(path.read_bytes() for path in Path(file).parent.glob(f"{Path(file).name}*"))
    assert ticket.encode() not in kept
    assert hashlib.sha256(ticket.encode()).hexdigest().encode() in kept
