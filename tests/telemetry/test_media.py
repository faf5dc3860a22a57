"""A real ffmpeg: what it encodes, how fast, and how it exits."""

from pathlib import Path

import pytest

from reelstate.core.machine import JobStatus
from reelstate.media.ffmpeg.exit_cause import ExitKind
from reelstate.telemetry.metrics import Metrics, counting
from tests.media.deployment import start_deployment
from tests.media.source_videos import ffmpeg_failing_at, make_video, profile
from tests.telemetry.scraping import Scrape

SECONDS = 2


async def test_encoded_seconds_speed_and_exits_are_counted(tmp_path: Path) -> None:
    source = make_video(tmp_path / "video.mp4", SECONDS)
    with counting(Metrics()) as metrics:
        async with start_deployment(tmp_path) as deployment:
            detail = await deployment.transcode(source)
            steps = [step for step in await deployment.steps(detail.job.id) if step.type == "ffmpeg"]
    assert detail.job.status is JobStatus.COMPLETED, detail.job.error
    found = Scrape(metrics.render().decode())
    rungs = {labels["rung"] for labels in found.labels("media_seconds_encoded_total")}
    assert rungs
    for rung in rungs:
        assert found.value("media_seconds_encoded_total", rung=rung) == pytest.approx(SECONDS)
        assert found.value("encode_speed_ratio_count", rung=rung) == found.value(
            "task_run_seconds_count", stage="encode"
        )
    exits = found.labels("command_exits_total")
    assert {labels["cause"] for labels in exits} == {"ok"}
    assert found.value("command_exits_total") == len(steps) > 0


async def test_an_exit_is_counted_by_its_cause(tmp_path: Path) -> None:
    source = make_video(tmp_path / "video.mp4", 1)
    program = ffmpeg_failing_at(tmp_path / "ffmpeg-wrapped", "90p")
    with counting(Metrics()) as metrics:
        async with start_deployment(tmp_path, ffmpeg=str(program), sandbox="off") as deployment:
            detail = await deployment.transcode(source, profile=profile(optional=["90p"]))
    assert detail.job.status is JobStatus.COMPLETED, detail.job.error
    found = Scrape(metrics.render().decode())
    assert found.value("command_exits_total", program="ffmpeg-wrapped", cause=ExitKind.FAILED) == 2
    assert found.value("media_seconds_encoded_total", rung="180p") == pytest.approx(1)
    assert found.value("media_seconds_encoded_total", rung="90p") == 0
