import hashlib
import os
from pathlib import Path

import pytest

from reelstate.artifacts.bucket import SMALL, Bucket
from reelstate.config import Settings
from reelstate.media.sources.address import (
    BucketAddress,
    InputRules,
    LocalAddress,
    WebAddress,
    input_rules,
    parse_address,
)
from reelstate.media.sources.errors import UnusableSource
from reelstate.media.sources.fetched import FetchedSource
from reelstate.media.sources.source import fetch, open_source

DATA = os.urandom(1_000_000)
FETCHED = FetchedSource(len(DATA), hashlib.sha256(DATA).hexdigest())


@pytest.mark.parametrize(
    "text, address",
    [
        ("/a/b.mp4", LocalAddress(Path("/a/b.mp4"))),
        ("/a/-i", LocalAddress(Path("/a/-i"))),
        ("file:///a/b%20c.mp4", LocalAddress(Path("/a/b c.mp4"))),
        ("file://localhost/a", LocalAddress(Path("/a"))),
        ("https://host/a.mp4?x=1", WebAddress("https://host/a.mp4?x=1")),
        ("s3://bucket/a b/c.mp4", BucketAddress("s3://bucket", "a b/c.mp4")),
        ("gs://bucket/c.mp4", BucketAddress("gs://bucket", "c.mp4")),
    ],
)
def test_an_address_is_parsed(text: str, address: object) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.mp4",
        "-i",
        "../a.mp4",
        "ftp://host/a",
        "concat:/a|/b",
        "http://",
        "http://:80/x",
        "http://host:x/",
        "http://[::1/x",
        "s3://b",
        "s3://bucket/",
        "file://elsewhere/a",
        "/a\0b",
        "http://host/a\nb",
        "data:text/plain,x",
        "/" + "x" * 5000,
    ],
)
def test_an_invalid_address_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UnusableSource) as refused:
        parse_address(text)
    assert refused.value.kind == "address"
    assert refused.value.hint


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "is empty"),
        ("/" + "x" * 5000, "5,001 characters"),
        ("/a\0b", "null character"),
        ("http://host/a\nb", "control character"),
    ],
)
def test_the_error_of_an_address_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UnusableSource, match=message):
        parse_address(text)


def test_the_settings_become_rules() -> None:
    rules = input_rules(Settings(input_roots="/a: /b :", input_hosts="NAS, box:8080,", input_limit=5))
    assert rules == InputRules(roots=(Path("/a"), Path("/b")), hosts=frozenset({"nas", "box:8080"}), limit=5)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.mp4").write_bytes(DATA)
    return tmp_path / "root"


@pytest.mark.parametrize("name", ["a.mp4", "-i", "a b'c\"d$(x).mp4", "ü.mp4", "line\nbreak.mp4", "a://b.mp4"])
async def test_a_file_in_a_root_is_read_whatever_its_name(root: Path, tmp_path: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_bytes(DATA)
    rules, address = InputRules(roots=(root,)), parse_address(str(root / name))
    assert await fetch(address, tmp_path / "copy", rules) == FETCHED
    assert (tmp_path / "copy").read_bytes() == DATA
    async with open_source(address, rules) as reader:
        assert reader.size == len(DATA)
        assert await reader.read(999_990, 100) == DATA[-10:]


async def test_a_path_that_leads_out_of_the_roots_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "link.mp4").symlink_to(tmp_path / "outside.mp4")
    (root / "folder").symlink_to(tmp_path)
    (tmp_path / "rootless").mkdir()
    (tmp_path / "rootless/a.mp4").write_bytes(DATA)
    paths = [root / "link.mp4", root / "folder/outside.mp4", root / "../outside.mp4", tmp_path / "rootless/a.mp4"]
    for path in paths:
        with pytest.raises(UnusableSource, match="REEL_INPUT_ROOTS") as refused:
            await fetch(LocalAddress(path), tmp_path / "copy", InputRules(roots=(root,)))
        assert refused.value.kind == "forbidden"
    assert not (tmp_path / "copy").exists()


async def test_a_link_that_stays_in_the_roots_is_followed(root: Path, tmp_path: Path) -> None:
    (root / "a.mp4").write_bytes(DATA)
    (root / "link.mp4").symlink_to(root / "a.mp4")
    (tmp_path / "link").symlink_to(root)
    assert await fetch(LocalAddress(root / "link.mp4"), tmp_path / "copy", InputRules(roots=(root,))) == FETCHED
    assert (
        await fetch(LocalAddress(root / "a.mp4"), tmp_path / "copy", InputRules(roots=(tmp_path / "link",))) == FETCHED
    )


async def test_only_a_regular_file_is_read(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "pipe")
    for path in (root, root / "pipe", Path("/dev/zero")):
        with pytest.raises(UnusableSource, match="not a file"):
            await fetch(LocalAddress(path), tmp_path / "copy", InputRules())


async def test_a_missing_or_too_large_file_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UnusableSource, match="there is no file") as missing:
        await fetch(LocalAddress(root / "none.mp4"), tmp_path / "copy", InputRules())
    assert missing.value.kind == "missing"
    with pytest.raises(UnusableSource) as large:
        await fetch(LocalAddress(tmp_path / "outside.mp4"), tmp_path / "copy", InputRules(limit=999_999))
    assert large.value.kind == "too_large"


async def test_the_download_of_an_object_reports_progress(bucket_url: str, tmp_path: Path) -> None:
    """Without progress the task would count as stalled."""
    size = 2 * SMALL + 5
    await Bucket(bucket_url).put_bytes("a.mp4", bytes(size))
    progress: list[tuple[int, int | None]] = []
    address = parse_address(f"{bucket_url}/a.mp4")
    await fetch(address, tmp_path / "a", InputRules(), on_progress=lambda *step: progress.append(step))
    assert len(progress) > 1
    assert progress == sorted(progress)
    assert progress[-1] == (size, size)


async def test_an_object_is_read_and_fetched(bucket_url: str, tmp_path: Path) -> None:
    bucket, _, prefix = bucket_url.removeprefix("s3://").partition("/")
    address = parse_address(f"s3://{bucket}/{prefix}/my video (1).mp4")
    await Bucket(bucket_url, check=str).put_bytes("my video (1).mp4", DATA)
    assert await fetch(address, tmp_path / "copy", InputRules()) == FETCHED
    async with open_source(address, InputRules()) as reader:
        assert await reader.read(500_000, 10) == DATA[500_000:500_010]
        assert await reader.read(999_990, 100) == DATA[-10:]


async def test_a_missing_denied_or_too_large_object_is_refused(
    bucket_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = parse_address(f"{bucket_url}/a.mp4")
    with pytest.raises(UnusableSource) as missing:
        await fetch(address, tmp_path / "copy", InputRules())
    assert missing.value.kind == "missing"
    await Bucket(bucket_url).put_bytes("a.mp4", DATA)
    with pytest.raises(UnusableSource) as large:
        await fetch(address, tmp_path / "copy", InputRules(limit=10))
    assert large.value.kind == "too_large"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anotherwrongsecret")
    with pytest.raises(UnusableSource) as denied:
        await fetch(address, tmp_path / "copy", InputRules())
    assert denied.value.kind == "denied"
