"""Which ffmpeg is used, what it can do, and what is known against it."""

import logging
import shutil
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]  # it has no types
import pytest

from reelstate.core.errors import NotFound
from reelstate.media.ffmpeg import build as ffmpeg
from reelstate.media.ffmpeg.build import build_id, find_ffmpeg, weaknesses

VERSION_OUTPUT = """ffmpeg version 7.1.5-static Copyright (c) 2000-2024 the FFmpeg developers
built with gcc 8 (Debian 8.3.0-6)
configuration: --enable-gpl --enable-libx264
libavutil      59.  8.100 / 59.  8.100
libavcodec     61.  3.100 / 61.  3.100
"""


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ffmpeg, "_known", {})


def fake(folder: Path, words: str, name: str = "ffmpeg") -> Path:
    """Create a program that always prints the same text and records its calls."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho asked >> {folder}/asked\ncat <<'END'\n{words}END\n")
    path.chmod(0o755)
    return path


async def test_the_wheel_has_an_ffmpeg_that_can_encode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    build = await find_ffmpeg()
    assert (build.origin, build.path) == ("wheel", imageio_ffmpeg.get_ffmpeg_exe())
    assert {"libx264", "libx265", "aac"} <= build.encoders
    assert {"zscale", "tonemap", "ssim", "scale", "split"} <= build.filters


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on PATH; that of the wheel is tested")
async def test_an_ffmpeg_on_the_path_comes_first() -> None:
    build = await find_ffmpeg()
    assert (build.origin, build.path) == ("PATH", shutil.which("ffmpeg"))
    assert {"libx264", "aac"} <= build.encoders
    assert {"ssim", "scale"} <= build.filters


async def test_a_configured_ffmpeg_is_preferred_asked_once_and_logged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = fake(tmp_path, VERSION_OUTPUT.replace("7.1.5", "7.1.4"))
    build = await find_ffmpeg(str(path))
    assert (build.origin, build.version) == ("settings", "7.1.4-static")
    asked = (tmp_path / "asked").read_text()
    assert await find_ffmpeg(str(path)) is build
    assert (tmp_path / "asked").read_text() == asked
    logged = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in logged] == ["INFO", "WARNING"]
    assert logged[0][1].startswith("ffmpeg found version=7.1.4-static origin=settings")
    assert logged[1][1].startswith("ffmpeg vulnerable name=CVE-2026-8461")


async def test_an_ffmpeg_on_the_path_that_fails_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "ffmpeg"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (await find_ffmpeg()).origin == "wheel"


async def test_a_configured_ffmpeg_that_is_missing_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no ffmpeg that can be run at .*/nothing") as raised:
        await find_ffmpeg(str(tmp_path / "nothing"))
    assert "REEL_FFMPEG" in raised.value.hint


def test_a_build_is_its_version_configuration_and_libraries() -> None:
    same = VERSION_OUTPUT.replace("gcc 8", "gcc 9")
    others = [
        VERSION_OUTPUT.replace("7.1.5", "7.1.6"),
        VERSION_OUTPUT.replace("x264", "x265"),
        VERSION_OUTPUT.replace("61.  3.100 / 61.  3.100", "61.  3.100 / 61.  4.100"),
    ]
    assert build_id(same) == build_id(VERSION_OUTPUT)
    assert len({build_id(text) for text in (VERSION_OUTPUT, *others)}) == 4


@pytest.mark.parametrize(
    "version",
    ["5.1.10", "5.1.10-0+deb12u1", "6.1.6", "n7.1.5", "7.1.5-static", "8.1.2", "8.1.3", "8.2", "9.0", "10.0.1"],
)
def test_nothing_is_known_against_a_build_with_the_fix(version: str) -> None:
    assert weaknesses(version) == []


@pytest.mark.parametrize(
    "version",
    ["4.4.6", "5.0.3", "5.1.9-0+deb12u1", "5.1", "6.0.1", "6.1.5", "7.0.2-static", "n7.1.4", "8.0.9", "8.1", "8.1.1"],
)
def test_a_build_without_the_fix_is_named(version: str) -> None:
    (weakness,) = weaknesses(version)
    assert weakness.name == "CVE-2026-8461"
    assert f"in ffmpeg {version}" in weakness.detail
    assert "5.1.10, 6.1.6, 7.1.5, 8.1.2" in weakness.hint


@pytest.mark.parametrize("version", ["N-109469-g62da0b4a74", "git-2026-01-01-abc", "2026-01-01"])
def test_a_build_that_is_no_release_may_be_vulnerable(version: str) -> None:
    (weakness,) = weaknesses(version)
    assert "it is unknown whether" in weakness.detail
