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
from tests.api.upload_clients import PIECE, begin, digest_header, offset_of, send, sending, sha256, until
from tests.api.video_server import UPLOADS, VIDEOS, Films, films_at

MIB = 1024 * 1024
FILM = random.Random(1).randbytes(3 * MIB + 17)
"""Bytes of a film, as far as an upload cares."""


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process grows beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def source_of(films: Films, video_id: int) -> str:
    return (await Videos(films.api.engine).get(video_id)).video.source


async def test_a_film_is_sent_in_pieces_and_becomes_a_source_that_a_video_is_made_of(films: Films) -> None:
    name = base64.b64encode(b"holiday.mov").decode()
    place = await begin(films, FILM, **{"Repr-Digest": digest_header(FILM), "Upload-Metadata": f"filename {name}"})
    for offset in range(0, len(FILM), MIB):
        piece = FILM[offset : offset + MIB]
        answer = await send(films, place, piece, offset, **{"Content-Digest": digest_header(piece)})
        assert (answer.status_code, answer.headers["upload-offset"]) == (204, str(offset + len(piece)))
    assert (await films.api.ask("ada", "HEAD", place)).headers["repr-digest"] == digest_header(FILM)
    assert (films.sources(), films.spooled()) == ([sha256(FILM)], [])
    assert await films.storage.get_bytes(source(sha256(FILM))) == FILM
    shown = (await films.api.ask("ada", "GET", place)).json()
    assert (shown["complete"], shown["sha256"], shown["name"]) == (True, sha256(FILM), "holiday.mov")
    made = await films.api.ask("ada", "POST", VIDEOS, json={"upload": shown["id"], "priority": 7})
    again = await films.api.ask("ada", "POST", VIDEOS, json={"upload": shown["id"], "title": "again"})
    assert (made.status_code, again.status_code) == (201, 201)
    assert (await films.show(made.json()["id"]))["title"] == "holiday.mov"
    assert await source_of(films, made.json()["id"]) == f"stored://{sha256(FILM)}"


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_key_that_ends_while_it_sends_sends_no_more(films: Films) -> None:
    ended = films.api.keys["ada"]

    async def pieces() -> AsyncIterator[bytes]:
        yield FILM[:MIB]
        await films.api.context.keys.revoke(ended.key.id, actor="operator:test")
        for offset in range(MIB, len(FILM), MIB):
            yield FILM[offset : offset + MIB]

    place = await begin(films, FILM)
    head = {"Upload-Offset": "0", "Content-Type": PIECE}
    answers = [
        await films.api.ask("ada", "PATCH", place, content=pieces(), headers=head),
        await films.api.ask("writer", "POST", f"{VIDEOS}/upload", content=pieces()),
    ]
    assert [answer.status_code for answer in answers] == [401, 201]
    assert await offset_of(films, place, "writer") < len(FILM)


async def test_what_was_uploaded_stays_while_its_upload_or_its_video_does(films: Films) -> None:
    place = await begin(films, FILM)
    await send(films, place, FILM)
    assert await needed_sources(films.api.engine.store) == {sha256(FILM)}
    video_id, job_id = await made_of(films, place)
    assert (await films.api.ask("ada", "DELETE", place)).status_code == 204
    assert await needed_sources(films.api.engine.store) == {sha256(FILM)}
    await films.complete()
    assert (await films.api.engine.job(job_id)).job.finished_at is not None
    assert await needed_sources(films.api.engine.store) == {sha256(FILM)}
    await films.api.ask("ada", "DELETE", f"{VIDEOS}/{video_id}")
    assert await needed_sources(films.api.engine.store) == frozenset()


async def made_of(films: Films, place: str) -> tuple[int, int]:
    answer = await films.api.ask("ada", "POST", VIDEOS, json={"upload": place.rpartition("/")[2]})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"], answer.json()["job"]


async def test_an_upload_that_is_cut_off_goes_on_from_what_came(films: Films) -> None:
    place = await begin(films, FILM, **{"Repr-Digest": digest_header(FILM)})
    async with sending(films, place, len(FILM), FILM[: 2 * MIB]):
        pass

    async def kept() -> bool:
        return await offset_of(films, place) > 0

    await until(kept)
    offset = await offset_of(films, place)
    assert 0 < offset <= 2 * MIB
    early = await films.api.ask("ada", "POST", VIDEOS, json={"upload": place.rpartition("/")[2]})
    assert (early.status_code, early.json()["hint"]) == (409, "send the remaining bytes")
    assert (await send(films, place, FILM[offset:], offset)).status_code == 204
    assert films.sources() == [sha256(FILM)]


async def test_a_sender_who_begins_anew_does_not_wait_for_the_line_that_is_dead(films: Films) -> None:
    place = await begin(films, FILM)
    async with sending(films, place, len(FILM), FILM[:MIB]) as writer:  # it never says that it is gone

        async def written() -> bool:
            path = Path(films.folder) / ".uploads" / place.rpartition("/")[2]
            return path.exists() and path.stat().st_size >= MIB

        await until(written)
        late = await send(films, place, FILM, 0)
        assert (late.status_code, late.json()["type"]) == (409, "urn:reelstate:error:upload-conflict")
        assert await offset_of(films, place) == MIB
        assert (await send(films, place, FILM[MIB:], MIB)).status_code == 204
        assert not writer.is_closing()
    assert films.sources() == [sha256(FILM)]


async def test_a_sender_who_falls_silent_is_not_waited_for(database_url: str, tmp_path: Path) -> None:
    async with films_at(database_url, tmp_path / "media", body_timeout=0.3) as films:
        place = await begin(films, FILM)
        async with sending(films, place, len(FILM), FILM[:MIB]):

            async def kept() -> bool:
                return await offset_of(films, place) == MIB

            await until(kept)


async def test_a_piece_that_is_not_as_it_says_does_not_count(films: Films) -> None:
    place = await begin(films, FILM)
    assert (await send(films, place, FILM[:MIB])).status_code == 204
    wrong = await send(films, place, FILM[MIB : 2 * MIB], MIB, **{"Content-Digest": digest_header(b"other")})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "content-digest")
    assert await offset_of(films, place) == MIB
    assert (await send(films, place, FILM[MIB:], MIB)).status_code == 204
    assert films.sources() == [sha256(FILM)]


async def test_a_film_that_is_not_as_it_says_leaves_nothing(films: Films) -> None:
    place = await begin(films, FILM, **{"Repr-Digest": digest_header(b"other")})
    wrong = await send(films, place, FILM)
    assert (wrong.status_code, wrong.json()["field"]) == (422, "repr-digest")
    assert (await films.api.ask("ada", "HEAD", place)).status_code == 404
    assert (films.spooled(), films.sources()) == ([], [])


async def test_what_is_too_large_is_refused_before_it_comes_and_while_it_comes(
    database_url: str, tmp_path: Path
) -> None:
    async with films_at(database_url, tmp_path / "media", input_limit=2 * MIB) as films:
        refused = await films.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": str(len(FILM))})
        assert (refused.status_code, refused.json()["hint"]) == (413, "raise REEL_INPUT_LIMIT, or send less")
        place = await begin(films, FILM[:MIB])
        longer = await send(films, place, FILM[: MIB + 1])
        assert longer.status_code == 413
        assert await offset_of(films, place) <= MIB
        whole = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", content=FILM)
        assert whole.status_code == 413

        async def endless() -> Any:
            for offset in range(0, len(FILM), 65_536):
                yield FILM[offset : offset + 65_536]

        unsaid = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", content=endless())
        assert unsaid.status_code == 413
        assert films.spooled() == [place.rpartition("/")[2]]
        assert (await Videos(films.api.engine).list()).items == []


async def test_a_full_disk_is_told_and_what_came_before_counts(films: Films) -> None:
    place = await begin(films, FILM)
    assert (await send(films, place, FILM[:MIB])).status_code == 204
    with full_disk(2 * MIB):
        full = await send(films, place, FILM[MIB:], MIB)
        assert (full.status_code, full.json()["type"]) == (507, "urn:reelstate:error:storage-full")
        whole = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", content=FILM)
        assert whole.status_code == 507
    offset = await offset_of(films, place)
    assert MIB <= offset <= 2 * MIB
    assert films.spooled() == [place.rpartition("/")[2]]
    assert (await send(films, place, FILM[offset:], offset)).status_code == 204
    assert films.sources() == [sha256(FILM)]


async def test_uploads_that_are_not_gone_on_with_are_given_up(database_url: str, tmp_path: Path) -> None:
    async with films_at(database_url, tmp_path / "media", upload_lifetime=1) as films:
        place = await begin(films, FILM)
        await send(films, place, FILM[:MIB])
        assert films.spooled() == [place.rpartition("/")[2]]

        async def over() -> bool:
            return (await films.api.ask("ada", "HEAD", place)).status_code == 404

        await until(over)
        keeper = reception.upload_receiver(films.api.engine.store, films.api.context.settings)
        assert await keeper.expire() == 1
        assert films.spooled() == []
        stranger = films.folder / ".uploads" / "stranger"
        stranger.write_bytes(b"left behind")
        assert await keeper.expire() == 0
        assert films.spooled() == ["stranger"]
        os.utime(stranger, (0, 0))
        await keeper.expire()
        assert films.spooled() == []
        stranger.parent.rmdir()
        assert await keeper.expire() == 0
        assert (await send(films, place, FILM[MIB:], MIB)).status_code == 404
        assert films.spooled() == []


async def test_a_user_has_only_so_many_under_way(database_url: str, tmp_path: Path) -> None:
    async with films_at(database_url, tmp_path / "media", upload_open=2) as films:
        first = await begin(films, FILM)
        await begin(films, FILM)
        third = await films.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})
        assert (third.status_code, third.headers["retry-after"]) == (429, "60")
        await begin(films, FILM, role="bob")
        await send(films, first, FILM)
        await begin(films, FILM)


async def test_what_does_not_fit_into_the_quota_is_refused_with_what_is_used_and_what_to_do(
    database_url: str, tmp_path: Path
) -> None:
    async with films_at(database_url, tmp_path / "media", upload_quota=2 * len(FILM)) as films:
        place = await begin(films, FILM)
        await send(films, place, FILM)
        await send(films, await begin(films, FILM), FILM)
        refused = await films.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})
        problem = refused.json()
        assert (refused.status_code, problem["type"]) == (413, "urn:reelstate:error:quota-exceeded")
        assert (problem["used"], problem["limit"]) == (2 * len(FILM), 2 * len(FILM))
        assert "create videos from finished uploads, or delete unneeded ones" in problem["hint"]
        whole = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", content=FILM)
        assert (whole.status_code, whole.json()["type"]) == (413, problem["type"])
        await films.api.ask("ada", "POST", VIDEOS, json={"upload": place.rpartition("/")[2]})
        assert (await films.api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": "5"})).status_code == 201


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("digest", [{}, {"Content-Digest": digest_header(FILM)}], ids=["plain", "digest"])
async def test_a_body_of_unknown_length_ends_where_the_quota_does(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: dict[str, str]
) -> None:
    monkeypatch.setattr(reception, "COUNT_EVERY", MIB)
    refused = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        """The last piece comes when the answer is there: what is refused is what came before it."""
        yield FILM[:MIB]
        yield FILM[MIB : 2 * MIB]
        await asyncio.wait_for(refused.wait(), 300)
        yield FILM[2 * MIB :]

    refuse = Uploads._refuse

    async def noted(*arguments: Any, **options: Any) -> None:
        refused.set()
        await refuse(*arguments, **options)

    monkeypatch.setattr(Uploads, "_refuse", noted)
    async with films_at(database_url, tmp_path / "media", upload_quota=MIB) as films:
        answer = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", content=pieces(), headers=digest)
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:reelstate:error:quota-exceeded")
        assert (films.spooled(), films.sources()) == ([], [])


async def test_the_upload_of_somebody_else_is_not_there(films: Films) -> None:
    place = await begin(films, FILM)
    await send(films, place, FILM[:MIB])
    upload_id = place.rpartition("/")[2]
    asked = [
        await films.api.ask("bob", "HEAD", place),
        await films.api.ask("bob", "GET", place),
        await send(films, place, FILM[MIB:], MIB, role="bob"),
        await films.api.ask("bob", "DELETE", place),
        await films.api.ask("bob", "POST", VIDEOS, json={"upload": upload_id}),
    ]
    assert [answer.status_code for answer in asked] == [404] * 5
    assert (await films.api.ask("reader", "GET", place)).status_code == 403
    assert await offset_of(films, place) == MIB


async def test_clients_of_tus_find_what_they_ask_for(films: Films) -> None:
    told = await films.api.ask("nobody", "OPTIONS", UPLOADS)
    assert (told.status_code, told.headers["tus-version"]) == (204, "1.0.0")
    assert told.headers["tus-extension"] == "creation,creation-with-upload,expiration,termination"
    assert int(told.headers["tus-max-size"]) == films.api.context.settings.input_limit
    old = await films.api.ask("ada", "POST", UPLOADS, headers={"Tus-Resumable": "0.2.2", "Upload-Length": "1"})
    assert (old.status_code, old.headers["tus-version"]) == (412, "1.0.0")
    first = {"Upload-Length": str(len(FILM)), "Content-Type": "application/offset+octet-stream"}
    begun = await films.api.ask("ada", "POST", UPLOADS, headers=first, content=FILM[:MIB])
    assert (begun.status_code, begun.headers["upload-offset"], begun.headers["tus-resumable"]) == (
        201, str(MIB), "1.0.0",
    )  # fmt: skip
    seen = await films.api.ask("ada", "HEAD", begun.headers["location"])
    assert (seen.headers["upload-length"], seen.headers["cache-control"]) == (str(len(FILM)), "no-store")
    assert seen.headers["upload-expires"].endswith("GMT")
    kind = await films.api.ask(
        "ada", "PATCH", begun.headers["location"], content=b"x", headers={"Upload-Offset": str(MIB)}
    )
    assert kind.status_code == 415
    for headers in ({}, {"Upload-Length": "0"}, {"Upload-Length": "many"}, {"Upload-Length": "-1"}):
        assert (await films.api.ask("ada", "POST", UPLOADS, headers=headers)).status_code == 422, headers


async def test_a_film_and_its_video_in_one_request(films: Films) -> None:
    async def ask(data: bytes, told: bytes) -> Any:
        return await films.api.ask(
            "ada", "POST", f"{VIDEOS}/upload", params={"title": "Holiday", "priority": "high"}, content=data,
            headers={"Content-Digest": digest_header(told), "Idempotency-Key": "film-1"},
        )  # fmt: skip

    wrong = await ask(FILM, b"other")
    assert (wrong.status_code, films.spooled(), films.sources()) == (422, [], [])
    assert (await Videos(films.api.engine).list()).items == []
    made, again = await ask(FILM, FILM), await ask(FILM, FILM)
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == {**made.json(), "verdict": "repeated"}
    shown = await films.show(made.json()["id"])
    assert (shown["title"], shown["source"], shown["versions"][0]["priority"]) == (
        "Holiday", f"stored://{sha256(FILM)}", 8,
    )  # fmt: skip
    assert (films.spooled(), films.sources()) == ([], [sha256(FILM)])
    unknown = await films.api.ask("ada", "POST", f"{VIDEOS}/upload", params={"profile": "none"}, content=FILM)
    assert (unknown.status_code, unknown.json()["field"]) == (422, "profile")


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_bucket_gets_what_was_uploaded(database_url: str, tmp_path: Path, bucket_url: str) -> None:
    scratch = tmp_path / "scratch"
    async with films_at(database_url, tmp_path, storage_url=bucket_url, scratch=str(scratch)) as films:
        place = await begin(films, FILM)
        await send(films, place, FILM[:MIB])
        assert len(list((scratch / "reelstate-uploads").iterdir())) == 1
        assert (await send(films, place, FILM[MIB:], MIB)).status_code == 204
        assert await films.storage.get_bytes(source(sha256(FILM))) == FILM
        assert list((scratch / "reelstate-uploads").iterdir()) == []
