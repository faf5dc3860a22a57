import asyncio
import hashlib
import os
import stat
from pathlib import Path

import pytest

from reelstate.artifacts import bucket
from reelstate.artifacts.bucket import SMALL
from reelstate.artifacts.faults import cause, folder_fault
from reelstate.artifacts.folder import INCOMING, Folder
from reelstate.artifacts.spool import spool_for
from reelstate.artifacts.storage import Storage, open_storage
from reelstate.artifacts.stored import Stored
from reelstate.core.errors import (
    InvalidRequest,
    StorageConflict,
    StorageDamaged,
    StorageDenied,
    StorageFull,
    StorageMissing,
    StorageUnavailable,
)
from tests.media.sources.web_server import TAG, Request, WebServer, silent

KEY = "versions/7/encode/0/3/720p.mp4"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def keys(storage: Storage, prefix: str) -> list[str]:
    return sorted([found.key async for found in storage.list(prefix)])


async def test_bytes_are_read_as_they_were_written(storage: Storage) -> None:
    assert await storage.put_bytes(KEY, b"0123456789") == Stored(KEY, 10, sha256(b"0123456789"))
    assert await storage.get_bytes(KEY) == b"0123456789"
    assert await storage.size(KEY) == 10
    assert await storage.exists(KEY)


@pytest.mark.parametrize(
    "start, length, expected",
    [(0, 4, b"0123"), (3, 4, b"3456"), (8, 10, b"89"), (4, None, b"456789"), (10, 2, b""), (None, 2, b"01")],
)
async def test_a_part_can_be_read(storage: Storage, start: int | None, length: int | None, expected: bytes) -> None:
    await storage.put_bytes(KEY, b"0123456789")
    assert await storage.get_bytes(KEY, start, length) == expected


@pytest.mark.parametrize("size", [0, 1000, 2 * SMALL + 5])
async def test_a_file_is_downloaded_as_it_was_stored(storage: Storage, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "made").write_bytes(data)
    stored = await storage.put_file(KEY, tmp_path / "made")
    assert stored == Stored(KEY, size, sha256(data))
    assert await storage.download(KEY, tmp_path / "back", sha256=stored.sha256) == stored
    assert (tmp_path / "back").read_bytes() == data


async def test_writing_the_same_bytes_again_is_not_an_error(storage: Storage, tmp_path: Path) -> None:
    first = await storage.put_bytes(KEY, b"first")
    (tmp_path / "made").write_bytes(b"first")
    assert await storage.put_bytes(KEY, b"first") == first
    assert await storage.put_file(KEY, tmp_path / "made") == first


@pytest.mark.parametrize("size", [6, SMALL + 1])
async def test_a_key_is_not_overwritten_with_other_bytes(storage: Storage, tmp_path: Path, size: int) -> None:
    await storage.put_bytes(KEY, b"first")
    (tmp_path / "made").write_bytes(bytes(size))
    with pytest.raises(StorageConflict, match=KEY):
        await storage.put_file(KEY, tmp_path / "made")
    assert await storage.get_bytes(KEY) == b"first"


async def test_one_of_many_writers_of_a_key_succeeds_and_the_others_fail(tmp_path: Path) -> None:
    folder = open_storage(str(tmp_path))
    outcomes = await asyncio.gather(
        *(folder.put_bytes(KEY, bytes([number]) * 1000) for number in range(20)), return_exceptions=True
    )
    kept = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    assert len(kept) == 1
    assert sum(isinstance(outcome, StorageConflict) for outcome in outcomes) == 19
    assert sha256(await folder.get_bytes(KEY)) == kept[0].sha256


async def test_removing_an_empty_folder_does_not_fail_a_writer(tmp_path: Path) -> None:
    storage = Folder(tmp_path)

    async def come_and_go(number: int) -> None:
        for turn in range(100):
            key = f"sources/{number}-{turn}"
            await (storage.put_bytes if turn % 2 else storage.replace_bytes)(key, b"data")
            await storage.delete(key)

    await asyncio.gather(*map(come_and_go, range(4)))
    assert await keys(storage, "sources") == []


async def test_a_replaced_file_is_the_old_one_or_the_new_one(storage: Storage) -> None:
    key, texts = "videos/1/master.m3u8", [bytes([number]) * 5000 for number in range(10)]
    await storage.replace_bytes(key, texts[0])
    seen: list[bytes] = []

    async def read() -> None:
        while not seen or seen[-1] != texts[-1]:
            seen.append(await storage.get_bytes(key))

    reader = asyncio.create_task(read())
    for text in texts[1:]:
        await storage.replace_bytes(key, text)
    await reader
    assert set(seen) <= set(texts)


async def test_a_listing_shows_only_the_keys_under_a_prefix(storage: Storage) -> None:
    for key in ["versions/1/a/0/1/x", "versions/1/b/0/1/y", "versions/10/a/0/1/z"]:
        await storage.put_bytes(key, b"data")
    assert await keys(storage, "versions/1") == ["versions/1/a/0/1/x", "versions/1/b/0/1/y"]
    assert await keys(storage, "versions/2") == []
    assert await storage.folders("versions") == ("1", "10")
    assert await storage.folders("videos") == ()


async def test_deleting_a_prefix_deletes_only_the_keys_under_it(storage: Storage) -> None:
    for key in ["versions/1/a/0/1/x", "versions/1/b/0/1/y", "versions/10/a/0/1/z"]:
        await storage.put_bytes(key, b"data")
    assert await storage.delete("versions/1") == 2
    assert await storage.delete("versions/1") == 0
    assert await keys(storage, "versions") == ["versions/10/a/0/1/z"]
    assert await storage.delete("versions/10/a/0/1/z") == 1
    assert await keys(storage, "versions") == []


def left(folder: Path) -> list[Path]:
    return list(folder.glob("back*"))


async def test_a_missing_key_is_reported(storage: Storage, tmp_path: Path) -> None:
    assert await storage.size(KEY) is None
    assert not await storage.exists(KEY)
    with pytest.raises(StorageMissing, match=KEY):
        await storage.get_bytes(KEY)
    with pytest.raises(StorageMissing, match=KEY):
        await storage.download(KEY, tmp_path / "back")
    assert left(tmp_path) == []


async def test_the_parent_of_a_key_is_not_a_key(storage: Storage) -> None:
    await storage.put_bytes("versions/1/encode/a.mp4", b"video")
    assert await storage.size("versions/1/encode") is None
    with pytest.raises(StorageMissing):
        await storage.get_bytes("versions/1/encode")


async def test_a_corrupt_download_leaves_no_file(storage: Storage, tmp_path: Path) -> None:
    await storage.put_bytes(KEY, b"these")
    with pytest.raises(StorageDamaged, match=sha256(b"those")):
        await storage.download(KEY, tmp_path / "back", sha256=sha256(b"those"))
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/etc/passwd",
        "../up",
        "a/../../up",
        "a//b",
        "a/",
        "./a",
        ".incoming/x",
        "a/.hidden",
        "-i",
        "a b",
        "a\\b",
        "é",
        "a%2e",
        "a\0b",
        "a\nb",
    ],
)
async def test_a_key_outside_of_the_storage_is_refused(storage: Storage, key: str, tmp_path: Path) -> None:
    (tmp_path / "made").write_bytes(b"")
    with pytest.raises(InvalidRequest, match="can't be a key"):
        await storage.put_bytes(key, b"")
    with pytest.raises(InvalidRequest):
        await storage.put_file(key, tmp_path / "made")
    with pytest.raises(InvalidRequest):
        await storage.replace_bytes(key, b"")
    with pytest.raises(InvalidRequest):
        await storage.get_bytes(key)
    with pytest.raises(InvalidRequest):
        await storage.delete(key)
    with pytest.raises(InvalidRequest):
        await keys(storage, key)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host/x",
        "s3://",
        "s3:///x",
        "gs://",
        "s3://user:pa55@bucket/x",
        "s3://bucket/x?secret=1",
        "s3://bucket/../x",
        "s3://bucket/x//y",
        "file://elsewhere/x",
        "file:relative://x",
    ],
)
def test_a_wrong_address_is_refused_with_a_hint(url: str) -> None:
    with pytest.raises(InvalidRequest, match="storage_url") as refused:
        open_storage(url)
    assert refused.value.hint
    assert "pa55" not in str(refused.value)


async def test_a_folder_may_be_named_by_path_or_by_address(tmp_path: Path) -> None:
    await open_storage(f"file://{tmp_path}/my%20media").put_bytes(KEY, b"data")
    assert (tmp_path / "my media" / KEY).read_bytes() == b"data"
    assert open_storage(str(tmp_path / "my media")).local_path(KEY) == tmp_path / "my media" / KEY


async def test_an_own_file_is_linked_and_a_foreign_file_is_copied(tmp_path: Path) -> None:
    folder = open_storage(str(tmp_path / "media"))
    (tmp_path / "ours").write_bytes(b"data")
    (tmp_path / "theirs").write_bytes(b"data")
    await folder.put_file("versions/1/a/0/1/ours", tmp_path / "ours")
    await folder.put_file("versions/1/a/0/1/theirs", tmp_path / "theirs", ours=False)
    (tmp_path / "theirs").write_bytes(b"changed")
    assert (tmp_path / "media/versions/1/a/0/1/ours").samefile(tmp_path / "ours")
    assert await folder.get_bytes("versions/1/a/0/1/theirs") == b"data"


async def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    folder = open_storage(str(tmp_path))
    await folder.put_bytes(KEY, b"first")
    with pytest.raises(StorageConflict):
        await folder.put_bytes(KEY, b"other")
    with pytest.raises(StorageMissing, match="Not a directory"):
        await folder.put_bytes(f"{KEY}/below", b"other")
    assert list((tmp_path / INCOMING).iterdir()) == []


async def test_a_read_only_folder_is_reported_with_a_hint(tmp_path: Path) -> None:
    # Not even root may write there.
    with pytest.raises((StorageDenied, StorageMissing, StorageUnavailable)) as refused:
        await Folder(Path("/proc/reelstate")).put_bytes(KEY, b"data")
    assert "/proc/reelstate" in str(refused.value)
    assert refused.value.hint


def test_a_full_disk_is_reported() -> None:
    error = folder_fault("/media/x", OSError(28, "No space left on device"))
    assert isinstance(error, StorageFull)
    assert error.retryable
    assert "free space" in error.hint


@pytest.mark.parametrize(
    "name, value, error, words",
    [
        ("AWS_SECRET_ACCESS_KEY", "anotherwrongsecret", StorageDenied, "refused"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:{port}", StorageUnavailable, "127.0.0.1:{port}"),
    ],
)
async def test_a_bucket_that_denies_access_is_reported_without_the_secret(
    bucket_url: str,
    monkeypatch: pytest.MonkeyPatch,
    refusing_port: int,
    name: str,
    value: str,
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.setenv(name, value.format(port=refusing_port))
    with pytest.raises(error, match=words.format(port=refusing_port)) as refused:
        await open_storage(bucket_url).put_bytes(KEY, b"data")
    assert "secret" not in str(refused.value).replace("AWS_SECRET_ACCESS_KEY", "")


async def test_missing_credentials_are_reported(
    bucket_url: str, monkeypatch: pytest.MonkeyPatch, refusing_port: int
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{refusing_port}")
    with pytest.raises(StorageDenied, match="no credentials") as refused:
        await open_storage(bucket_url).get_bytes(KEY)
    assert "AWS_ACCESS_KEY_ID" in refused.value.hint


async def test_a_missing_bucket_is_reported(bucket_url: str) -> None:
    with pytest.raises(StorageMissing, match="no such bucket"):
        await open_storage("s3://no-such-bucket/x").put_bytes(KEY, b"data")
    with pytest.raises(StorageMissing, match="no such bucket"):
        await keys(open_storage("s3://no-such-bucket/x"), "versions")


def test_the_error_of_a_client_is_shortened_and_redacted() -> None:
    said = "GET http://user:pa55@host/x?X-Amz-Signature=abc&list=2 failed\nDebug source: everything"
    assert cause(said) == "GET http://***host/x?X-Amz-Signature=***&list=2 failed"
    assert len(cause("x" * 5000)) == 200


def test_the_cause_of_a_failed_call_is_kept_after_a_long_address() -> None:
    call = f"Error performing HEAD http://host/{'x' * 300} in 1.2ms, after 3 retries, max_retries: 3  - "
    assert cause(f"Generic S3 error: {call}HTTP error: error sending request") == (
        "Generic S3 error: HEAD http://host: HTTP error: error sending request"
    )


async def test_a_slow_download_may_take_any_time_while_bytes_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(request: Request) -> None:
        await request.head("200 OK", Content_Length=8, ETag=TAG, Last_Modified="Wed, 21 Oct 2015 07:28:00 GMT")
        for sign in b"8 bytes.":
            await request.send(bytes([sign]))
            await asyncio.sleep(0.45)  # the pace of the bytes: all together they take longer than the timeout

    short = {name: "3s" if value == "60s" else value for name, value in bucket.CLIENT.items()}
    monkeypatch.setattr(bucket, "CLIENT", short)
    monkeypatch.setattr(bucket, "RETRIES", {**bucket.RETRIES, "max_retries": 0})
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "something")
    async with WebServer.running() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
        server.scripts = {"/slow/video": slowly, "/slow/never": silent(b"8 b")}
        storage = open_storage("s3://slow")
        assert (await storage.download("video", tmp_path / "video")).sha256 == sha256(b"8 bytes.")
        with pytest.raises(StorageUnavailable):
            async with asyncio.timeout(300):
                await storage.download("never", tmp_path / "video")


def modes(folder: Path) -> dict[str, int]:
    found = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in found}


async def test_a_folder_is_private_and_published_streams_can_be_made_readable(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = Folder(tmp_path / "media")
    (tmp_path / "video").write_bytes(b"video")
    (tmp_path / "video").chmod(0o644)
    usual = os.umask(0o022)
    request.addfinalizer(lambda: os.umask(usual))
    await folder.put_file("sources/abc", tmp_path / "video")
    await folder.put_bytes("sources/def", b"video")
    await folder.put_bytes("versions/1/master.m3u8", b"#EXTM3U")
    assert modes(folder.root) == {
        ".": 0o700,
        ".incoming": 0o700,
        "sources": 0o700,
        "sources/abc": 0o600,
        "sources/def": 0o600,
        "versions": 0o755,
        "versions/1": 0o755,
        "versions/1/master.m3u8": 0o644,
    }


def test_an_upload_in_progress_is_readable_by_this_user_only(tmp_path: Path) -> None:
    spool = spool_for(Folder(tmp_path / "media"), "", tmp_path)
    with spool.held("upload") as descriptor:
        assert descriptor is not None
    assert modes(tmp_path / "media") == {".": 0o700, ".uploads": 0o700, ".uploads/upload": 0o600}
