import pytest

from reelstate.artifacts import keys
from reelstate.core.errors import InvalidRequest


def test_a_key_names_the_run_that_made_the_file() -> None:
    key = keys.made(7, "encode", 12, 3, "video/720p.mp4")
    assert key == "versions/7/encode/12/3/video/720p.mp4"
    assert keys.origin(key) == keys.Origin(7, "encode", 12, 3)
    assert keys.Origin(7, "encode", 12, 3).prefix == keys.task(7, "encode", 12, 3)
    assert keys.made(7, "encode", 12, 4, "x").startswith(f"{keys.version(7)}/")


@pytest.mark.parametrize(
    "key", ["sources/abc", "versions/7", "versions/7/encode/0/3", "versions/x/encode/0/3/f", "videos/7/encode/0/3/f"]
)
def test_a_key_of_another_kind_names_no_run(key: str) -> None:
    assert keys.origin(key) is None


@pytest.mark.parametrize("file", ["../x", "a/../../x", "/x", "", "x y", "-i"])
def test_a_name_can_not_escape_its_run(file: str) -> None:
    with pytest.raises(InvalidRequest):
        keys.made(7, "encode", 0, 1, file)


def test_a_source_is_kept_under_its_content() -> None:
    assert keys.source("a" * 64) == f"sources/{'a' * 64}"
    with pytest.raises(InvalidRequest, match="sha256"):
        keys.source("../etc/passwd")


def test_only_replaceable_files_may_not_be_cached() -> None:
    assert keys.attributes(keys.video(1, "master.m3u8")) == {
        "Content-Type": "application/vnd.apple.mpegurl",
        "Cache-Control": "no-cache",
    }
    assert "immutable" in keys.attributes(keys.made(1, "package", 0, 1, "master.m3u8"))["Cache-Control"]
