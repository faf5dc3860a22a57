"""Capabilities are detected with the ffmpeg that tasks will use."""

from pathlib import Path

import pytest

from reelstate.worker.capabilities import detect


def test_the_bundled_ffmpeg_is_detected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {"ffmpeg", "encoder:libx264", "encoder:libx265"} <= detect()
    assert "encoder:h264_nvenc" not in detect()


def test_a_configured_ffmpeg_is_the_only_one_probed(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("#!/bin/sh\necho ' V....D mine                 An encoder (codec h264)'\n")
    path.chmod(0o755)
    assert {name for name in detect(str(path)) if not name.startswith("gpu")} == {"ffmpeg", "encoder:mine"}
    assert "ffmpeg" not in detect(str(tmp_path / "nothing"))
