"""What the uploads of one user may amount to: counted and refused by the statement that would store more.

Bytes count only from the position that the sender knows of.
"""

import pytest

from reelstate.core.errors import NotFound, QuotaExceeded, TooManyRequests, UploadConflict
from reelstate.engine import Engine
from reelstate.library.uploads import Upload, UploadLimits, Uploads
from reelstate.library.videos import Videos
from tests.engines import FakeClock

LIFETIME = 60.0


def uploads_of(engine: Engine, *, under_way: int = 50, unused: int = 50, size: int = 100) -> Uploads:
    limits = UploadLimits(open=under_way, unused=unused, bytes=size)
    return Uploads(engine.store, lifetime=LIFETIME, limits=limits)


async def finished(uploads: Uploads, size: int, sha256: str, user_id: str = "ada") -> Upload:
    upload = await uploads.create(user_id=user_id, length=size)
    return await uploads.finish(await uploads.receive(upload, size), sha256)


async def test_bytes_of_finished_uploads_count_until_a_video_uses_them(engine: Engine) -> None:
    uploads = uploads_of(engine)
    await finished(uploads, 60, "a" * 64)
    with pytest.raises(QuotaExceeded, match="use 60 of 100 bytes; 41 more do not fit") as refused:
        await uploads.create(user_id="ada", length=41)
    assert (refused.value.used, refused.value.limit) == (60, 100)
    assert "REEL_UPLOAD_QUOTA" in refused.value.hint
    made = await Videos(engine).submit(f"stored://{'a' * 64}", pipeline="simple", user_id="ada")
    await uploads.create(user_id="ada", length=100)
    assert made.resource_id is not None
    await Videos(engine).delete(made.resource_id)
    with pytest.raises(QuotaExceeded, match="use 160 of 100 bytes"):
        await uploads.create(user_id="ada", length=1)


async def test_an_upload_under_way_has_its_whole_length_reserved(engine: Engine) -> None:
    uploads = uploads_of(engine)
    await uploads.create(user_id="ada", length=99)
    with pytest.raises(QuotaExceeded, match="use 99 of 100 bytes; 2 more do not fit"):
        await uploads.create(user_id="ada", length=2)
    await uploads.create(user_id="ada", length=1)
    with pytest.raises(QuotaExceeded):
        await uploads.create(user_id="ada", length=None)
    await uploads.create(user_id="bob", length=100)


async def test_an_upload_of_unknown_length_uses_the_quota_as_its_bytes_arrive(engine: Engine) -> None:
    uploads = uploads_of(engine, under_way=2, unused=2)
    upload = await uploads.create(user_id="ada", length=None)
    upload = await uploads.receive(upload, 70)
    await uploads.create(user_id="ada", length=20)
    with pytest.raises(QuotaExceeded, match="use 90 of 100 bytes; 11 more do not fit"):
        await uploads.receive(upload, 81)
    assert (await uploads.receive(upload, 80, last=True)).complete
    with pytest.raises(UploadConflict):
        await uploads.receive(upload, 80)


async def test_expired_and_deleted_uploads_do_not_use_the_quota(engine: Engine, clock: FakeClock) -> None:
    uploads = uploads_of(engine)
    await finished(uploads, 100, "a" * 64)
    clock.advance(LIFETIME + 1)
    upload = await uploads.create(user_id="ada", length=100)
    await uploads.delete(upload.id)
    await uploads.create(user_id="ada", length=100)


async def test_finished_uploads_without_a_video_are_counted_too(engine: Engine) -> None:
    uploads = uploads_of(engine, under_way=2, unused=3)
    for number in range(3):
        await finished(uploads, 1, f"{number}" * 64)
    with pytest.raises(QuotaExceeded, match="3 uploads of this user have no video yet, the limit is 3") as refused:
        await uploads.create(user_id="ada", length=1)
    assert (refused.value.used, refused.value.limit) == (3, 3)
    await Videos(engine).submit(f"stored://{'1' * 64}", pipeline="simple", user_id="ada")
    await uploads.create(user_id="ada", length=1)


async def test_uploads_under_way_have_a_limit_of_their_own(engine: Engine) -> None:
    uploads = uploads_of(engine, under_way=2)
    for _ in range(2):
        await uploads.create(user_id="ada", length=1)
    with pytest.raises(TooManyRequests, match="2 uploads of this user are under way"):
        await uploads.create(user_id="ada", length=1)


async def test_bytes_from_a_stale_position_conflict_and_change_nothing(engine: Engine) -> None:
    uploads = uploads_of(engine)
    upload = await uploads.create(user_id="ada", length=10)
    received = await uploads.receive(upload, 4)
    for position in (2, 4, 6):
        with pytest.raises(UploadConflict):
            await uploads.receive(upload, position)
    assert await uploads.find(upload.id) == received


async def test_the_end_of_an_upload_from_a_stale_position_conflicts(engine: Engine) -> None:
    uploads = uploads_of(engine)
    upload = await uploads.create(user_id="ada", length=None)
    received = await uploads.receive(upload, 4)
    with pytest.raises(UploadConflict):
        await uploads.receive(upload, 2, last=True)
    assert await uploads.find(upload.id) == received


async def test_bytes_after_the_end_conflict(engine: Engine) -> None:
    uploads = uploads_of(engine)
    whole = await finished(uploads, 4, "a" * 64)
    with pytest.raises(UploadConflict):
        await uploads.receive(whole, 5)
    assert await uploads.find(whole.id) == whole


async def test_bytes_of_an_upload_that_was_deleted_conflict(engine: Engine) -> None:
    uploads = uploads_of(engine)
    upload = await uploads.create(user_id="ada", length=4)
    assert await uploads.delete(upload.id)
    with pytest.raises(UploadConflict):
        await uploads.receive(upload, 4)
    with pytest.raises(NotFound):
        await uploads.find(upload.id)
