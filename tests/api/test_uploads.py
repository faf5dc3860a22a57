import asyncio
import base64
import os
import random
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reelstate.artifacts.keys import source
from reelstate.library import receiver as reception
from reelstate.library.publishing import needed_sources
from reelstate.library.uploads import Uploads
from reelstate.library.videos import Videos
from tests.api.upload_clients import PIECE, begin, digest_header, offset_of, send, sending, sha256
from tests.api.video_server import UPLOADS, VIDEOS, VideoLibrary, library_at
from tests.waiting import until

MIB = 1024 * 1024
VIDEO = random.Random(1).randbytes(3 * MIB + 17)
"""The bytes of an upload."""


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Limit the size of every file of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def source_of(library: VideoLibrary, video_id: int) -> str:
    return (await Videos(library.api.engine).get(video_id)).video.source


async def test_a_file_sent_in_pieces_becomes_the_source_of_a_video(library: VideoLibrary) -> None:
    name = base64.b64encode(b"holiday.mov").decode()
    location = await begin(
        library, VIDEO, **{"Repr-Digest": digest_header(VIDEO), "Upload-Metadata": f"filename {name}"}
    )
    for offset in range(0, len(VIDEO), MIB):
        piece = VIDEO[offset : offset + MIB]
        answer = await send(library, location, piece, offset, **{"Content-Digest": digest_header(piece)})
        assert (answer.status_code, answer.headers["upload-offset"]) == (204, str(offset + len(piece)))
    assert (await library.api.ask("ada", "HEAD", location)).headers["repr-digest"] == digest_header(VIDEO)
    assert (library.sources(), library.spooled()) == ([sha256(VIDEO)], [])
    assert await library.storage.get_bytes(source(sha256(VIDEO))) == VIDEO
    shown = (await library.api.ask("ada", "GET", location)).json()
    assert (shown["complete"], shown["sha256"], shown["name"]) == (True, sha256(VIDEO), "holiday.mov")
    made = await library.api.ask("ada", "POST", VIDEOS, json={"upload": shown["id"], "priority": 7})
    again = await library.api.ask("ada", "POST", VIDEOS, json={"upload": shown["id"], "title": "again"})
    assert (made.status_code, again.status_code) == (201, 201)
    assert (await library.show(made.json()["id"]))["title"] == "holiday.mov"
    assert await source_of(library, made.json()["id"]) == f"stored://{sha256(VIDEO)}"


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_key_revoked_during_an_upload_sends_no_more(library: VideoLibrary) -> None:
    ended = library.api.keys["ada"]

    async def pieces() -> AsyncIterator[bytes]:
        yield VIDEO[:MIB]
        await library.api.context.keys.revoke(ended.key.id, actor="operator:test")
        for offset in range(MIB, len(VIDEO), MIB):
            yield VIDEO[offset : offset + MIB]

    location = await begin(library, VIDEO)
    head = {"Upload-Offset": "0", "Content-Type": PIECE}
    answers = [
        await library.api.ask("ada", "PATCH", location, content=pieces(), headers=head),
        await library.api.ask("writer", "POST", f"{VIDEOS}/upload", content=pieces()),
    ]
    assert [answer.status_code for answer in answers] == [401, 201]
    assert await offset_of(library, location, "writer") < len(VIDEO)


async def test_an_uploaded_source_is_kept_as_long_as_its_upload_or_its_video(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO)
    await send(library, location, VIDEO)
    assert await needed_sources(library.api.engine.store) == {sha256(VIDEO)}
    video_id, job_id = await made_of(library, location)
    assert (await library.api.ask("ada", "DELETE", location)).status_code == 204
    assert await needed_sources(library.api.engine.store) == {sha256(VIDEO)}
    await library.complete()
    assert (await library.api.engine.job(job_id)).job.finished_at is not None
    assert await needed_sources(library.api.engine.store) == {sha256(VIDEO)}
    await library.api.ask("ada", "DELETE", f"{VIDEOS}/{video_id}")
    assert await needed_sources(library.api.engine.store) == frozenset()


async def made_of(library: VideoLibrary, location: str) -> tuple[int, int]:
    answer = await library.api.ask("ada", "POST", VIDEOS, json={"upload": location.rpartition("/")[2]})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], answer.json()["job"]


async def test_an_interrupted_upload_resumes_at_the_received_offset(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO, **{"Repr-Digest": digest_header(VIDEO)})
    async with sending(library, location, len(VIDEO), VIDEO[: 2 * MIB]):
        pass

    async def kept() -> bool:
        return await offset_of(library, location) > 0

    await until(kept)
    offset = await offset_of(library, location)
    assert 0 < offset <= 2 * MIB
    early = await library.api.ask("ada", "POST", VIDEOS, json={"upload": location.rpartition("/")[2]})
    assert (early.status_code, early.json()["hint"]) == (409, "send the remaining bytes")
    assert (await send(library, location, VIDEO[offset:], offset)).status_code == 204
    assert library.sources() == [sha256(VIDEO)]


async def test_a_client_that_resumes_does_not_wait_for_its_dead_connection(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO)
    async with sending(library, location, len(VIDEO), VIDEO[:MIB]) as writer:  # its connection is not closed

        async def written() -> bool:
            path = Path(library.folder) / ".uploads" / location.rpartition("/")[2]
            return path.exists() and path.stat().st_size >= MIB

        await until(written)
        late = await send(library, location, VIDEO, 0)
        assert (late.status_code, late.json()["type"]) == (409, "urn:reelstate:error:upload-conflict")
        assert await offset_of(library, location) == MIB
        assert (await send(library, location, VIDEO[MIB:], MIB)).status_code == 204
        assert not writer.is_closing()
    assert library.sources() == [sha256(VIDEO)]


async def test_a_client_that_stops_sending_times_out(database_url: str, tmp_path: Path) -> None:
    async with library_at(database_url, tmp_path / "media", body_timeout=0.3) as library:
        location = await begin(library, VIDEO)
        async with sending(library, location, len(VIDEO), VIDEO[:MIB]):

            async def kept() -> bool:
                return await offset_of(library, location) == MIB

            await until(kept)


async def test_a_piece_with_a_wrong_digest_is_not_kept(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO)
    assert (await send(library, location, VIDEO[:MIB])).status_code == 204
    wrong = await send(library, location, VIDEO[MIB : 2 * MIB], MIB, **{"Content-Digest": digest_header(b"other")})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "content-digest")
    assert await offset_of(library, location) == MIB
    assert (await send(library, location, VIDEO[MIB:], MIB)).status_code == 204
    assert library.sources() == [sha256(VIDEO)]


async def test_an_upload_with_a_wrong_digest_leaves_nothing(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO, **{"Repr-Digest": digest_header(b"other")})
    wrong = await send(library, location, VIDEO)
    assert (wrong.status_code, wrong.json()["field"]) == (422, "repr-digest")
    assert (await library.api.ask("ada", "HEAD", location)).status_code == 404
    assert (library.spooled(), library.sources()) == ([], [])


async def test_an_upload_over_the_limit_is_refused_by_length_and_while_it_is_received(
    database_url: str, tmp_path: Path
) -> None:
    async with library_at(database_url, tmp_path / "media", input_limit=2 * MIB) as library:
        refused = await library.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": str(len(VIDEO))})
        assert (refused.status_code, refused.json()["hint"]) == (413, "raise REEL_INPUT_LIMIT, or send less")
        location = await begin(library, VIDEO[:MIB])
        longer = await send(library, location, VIDEO[: MIB + 1])
        assert longer.status_code == 413
        assert await offset_of(library, location) <= MIB
        whole = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", content=VIDEO)
        assert whole.status_code == 413

        async def endless() -> Any:
            for offset in range(0, len(VIDEO), 65_536):
                yield VIDEO[offset : offset + 65_536]

        unsaid = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", content=endless())
        assert unsaid.status_code == 413
        assert library.spooled() == [location.rpartition("/")[2]]
        assert (await Videos(library.api.engine).list()).items == []


async def test_a_full_disk_is_reported_and_received_bytes_are_kept(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO)
    assert (await send(library, location, VIDEO[:MIB])).status_code == 204
    with full_disk(2 * MIB):
        full = await send(library, location, VIDEO[MIB:], MIB)
        assert (full.status_code, full.json()["type"]) == (507, "urn:reelstate:error:storage-full")
        whole = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", content=VIDEO)
        assert whole.status_code == 507
    offset = await offset_of(library, location)
    assert MIB <= offset <= 2 * MIB
    assert library.spooled() == [location.rpartition("/")[2]]
    assert (await send(library, location, VIDEO[offset:], offset)).status_code == 204
    assert library.sources() == [sha256(VIDEO)]


async def test_abandoned_uploads_expire(database_url: str, tmp_path: Path) -> None:
    async with library_at(database_url, tmp_path / "media", upload_lifetime=1) as library:
        location = await begin(library, VIDEO)
        await send(library, location, VIDEO[:MIB])
        assert library.spooled() == [location.rpartition("/")[2]]

        async def over() -> bool:
            return (await library.api.ask("ada", "HEAD", location)).status_code == 404

        await until(over)
        keeper = reception.upload_receiver(library.api.engine.store, library.api.context.settings)
        assert await keeper.expire() == 1
        assert library.spooled() == []
        stranger = library.folder / ".uploads" / "stranger"
        stranger.write_bytes(b"left behind")
        assert await keeper.expire() == 0
        assert library.spooled() == ["stranger"]
        os.utime(stranger, (0, 0))
        await keeper.expire()
        assert library.spooled() == []
        stranger.parent.rmdir()
        assert await keeper.expire() == 0
        assert (await send(library, location, VIDEO[MIB:], MIB)).status_code == 404
        assert library.spooled() == []


async def test_open_uploads_per_user_are_limited(database_url: str, tmp_path: Path) -> None:
    async with library_at(database_url, tmp_path / "media", upload_open=2) as library:
        first = await begin(library, VIDEO)
        await begin(library, VIDEO)
        third = await library.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})
        assert (third.status_code, third.headers["retry-after"]) == (429, "60")
        await begin(library, VIDEO, role="bob")
        await send(library, first, VIDEO)
        await begin(library, VIDEO)


async def test_an_upload_over_the_quota_is_refused_with_the_usage_and_a_hint(database_url: str, tmp_path: Path) -> None:
    async with library_at(database_url, tmp_path / "media", upload_quota=2 * len(VIDEO)) as library:
        location = await begin(library, VIDEO)
        await send(library, location, VIDEO)
        await send(library, await begin(library, VIDEO), VIDEO)
        refused = await library.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})
        problem = refused.json()
        assert (refused.status_code, problem["type"]) == (413, "urn:reelstate:error:quota-exceeded")
        assert (problem["used"], problem["limit"]) == (2 * len(VIDEO), 2 * len(VIDEO))
        assert "create videos from finished uploads, or delete unneeded ones" in problem["hint"]
        whole = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", content=VIDEO)
        assert (whole.status_code, whole.json()["type"]) == (413, problem["type"])
        await library.api.ask("ada", "POST", VIDEOS, json={"upload": location.rpartition("/")[2]})
        assert (await library.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})).status_code == 201


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("digest", [{}, {"Content-Digest": digest_header(VIDEO)}], ids=["plain", "digest"])
async def test_a_body_of_unknown_length_ends_where_the_quota_does(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: dict[str, str]
) -> None:
    monkeypatch.setattr(reception, "COUNT_EVERY", MIB)
    refused = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        """The last piece is sent after the refusal: the pieces before it are refused."""
        yield VIDEO[:MIB]
        yield VIDEO[MIB : 2 * MIB]
        await asyncio.wait_for(refused.wait(), 300)
        yield VIDEO[2 * MIB :]

    refuse = Uploads._refuse

    async def noted(*arguments: Any, **options: Any) -> None:
        refused.set()
        await refuse(*arguments, **options)

    monkeypatch.setattr(Uploads, "_refuse", noted)
    async with library_at(database_url, tmp_path / "media", upload_quota=MIB) as library:
        answer = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", content=pieces(), headers=digest)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:reelstate:error:quota-exceeded")
        assert (library.spooled(), library.sources()) == ([], [])


async def test_an_upload_of_another_user_is_not_found(library: VideoLibrary) -> None:
    location = await begin(library, VIDEO)
    await send(library, location, VIDEO[:MIB])
    upload_id = location.rpartition("/")[2]
    asked = [
        await library.api.ask("bob", "HEAD", location),
        await library.api.ask("bob", "GET", location),
        await send(library, location, VIDEO[MIB:], MIB, role="bob"),
        await library.api.ask("bob", "DELETE", location),
        await library.api.ask("bob", "POST", VIDEOS, json={"upload": upload_id}),
    ]
    assert [answer.status_code for answer in asked] == [404] * 5
    assert (await library.api.ask("reader", "GET", location)).status_code == 403
    assert await offset_of(library, location) == MIB


async def test_the_tus_protocol_is_served(library: VideoLibrary) -> None:
    options = await library.api.ask("nobody", "OPTIONS", UPLOADS)
    assert (options.status_code, options.headers["tus-version"]) == (204, "1.0.0")
    assert options.headers["tus-extension"] == "creation,creation-with-upload,expiration,termination"
    assert int(options.headers["tus-max-size"]) == library.api.context.settings.input_limit
    old = await library.api.ask("ada", "POST", UPLOADS, headers={"Tus-Resumable": "0.2.2", "Upload-Length": "1"})
    assert (old.status_code, old.headers["tus-version"]) == (412, "1.0.0")
    first = {"Upload-Length": str(len(VIDEO)), "Content-Type": "application/offset+octet-stream"}
    begun = await library.api.ask("ada", "POST", UPLOADS, headers=first, content=VIDEO[:MIB])
    assert (begun.status_code, begun.headers["upload-offset"], begun.headers["tus-resumable"]) == (
        201, str(MIB), "1.0.0",
    )  # fmt: skip
    seen = await library.api.ask("ada", "HEAD", begun.headers["location"])
    assert (seen.headers["upload-length"], seen.headers["cache-control"]) == (str(len(VIDEO)), "no-store")
    assert seen.headers["upload-expires"].endswith("GMT")
    kind = await library.api.ask(
        "ada", "PATCH", begun.headers["location"], content=b"x", headers={"Upload-Offset": str(MIB)}
    )
    assert kind.status_code == 415
    for headers in ({}, {"Upload-Length": "0"}, {"Upload-Length": "many"}, {"Upload-Length": "-1"}):
        assert (await library.api.ask("ada", "POST", UPLOADS, headers=headers)).status_code == 422, headers


async def test_a_file_and_its_video_in_one_request(library: VideoLibrary) -> None:
    async def ask(data: bytes, options: bytes) -> Any:
        return await library.api.ask(
            "ada", "POST", f"{VIDEOS}/upload", params={"title": "Holiday", "priority": "high"}, content=data,
            headers={"Content-Digest": digest_header(options), "Idempotency-Key": "video-1"},
        )  # fmt: skip

    wrong = await ask(VIDEO, b"other")
    assert (wrong.status_code, library.spooled(), library.sources()) == (422, [], [])
    assert (await Videos(library.api.engine).list()).items == []
    made, again = await ask(VIDEO, VIDEO), await ask(VIDEO, VIDEO)
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == {**made.json(), "verdict": "repeated"}
    shown = await library.show(made.json()["id"])
    assert (shown["title"], shown["source"], shown["versions"][0]["priority"]) == (
        "Holiday", f"stored://{sha256(VIDEO)}", 8,
    )  # fmt: skip
    assert (library.spooled(), library.sources()) == ([], [sha256(VIDEO)])
    unknown = await library.api.ask("ada", "POST", f"{VIDEOS}/upload", params={"profile": "none"}, content=VIDEO)
    assert (unknown.status_code, unknown.json()["field"]) == (422, "profile")


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_an_upload_is_stored_in_a_bucket(database_url: str, tmp_path: Path, bucket_url: str) -> None:
    scratch = tmp_path / "scratch"
    async with library_at(database_url, tmp_path, storage_url=bucket_url, scratch=str(scratch)) as library:
        location = await begin(library, VIDEO)
        await send(library, location, VIDEO[:MIB])
        assert len(list((scratch / "reelstate-uploads").iterdir())) == 1
        assert (await send(library, location, VIDEO[MIB:], MIB)).status_code == 204
        assert await library.storage.get_bytes(source(sha256(VIDEO))) == VIDEO
        assert list((scratch / "reelstate-uploads").iterdir()) == []
