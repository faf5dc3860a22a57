import json
from pathlib import Path

import pytest

from reelstate.media.ffmpeg.build import Build, find_ffmpeg
from reelstate.media.ffmpeg.score import NoScore, available_measure, mean, read_score
from tests.media.deployment import start_deployment
from tests.media.source_videos import make_video, profile


def build(*filters: str) -> Build:
    return Build("ffmpeg", "PATH", "7.1.5", "id", frozenset(), frozenset(filters), ())


@pytest.mark.parametrize(
    "wanted, filters, how",
    [("none", (), "none"), ("ssim", (), "ssim"), ("vmaf", ("libvmaf",), "vmaf"), ("vmaf", ("ssim",), "ssim")],
)
def test_a_measure_that_this_ffmpeg_lacks_is_replaced(wanted: str, filters: tuple[str, ...], how: str) -> None:
    assert available_measure(wanted, build(*filters)) == how


def test_the_score_of_a_chunk_is_the_mean_of_its_frames(tmp_path: Path) -> None:
    lines = ["n:1 Y:0.98 U:0.99 V:0.99 All:0.90 (10.0)", "n:2 Y:1.0 U:1.0 V:1.0 All:1.0 (inf)"]
    (tmp_path / "ssim.txt").write_text("\n".join(lines))
    assert read_score("ssim", tmp_path) == pytest.approx(0.95)
    (tmp_path / "vmaf.json").write_text(json.dumps({"pooled_metrics": {"vmaf": {"mean": 93.5}}}))
    assert read_score("vmaf", tmp_path) == 93.5


@pytest.mark.parametrize("how, text", [("ssim", ""), ("ssim", "n:1 All:x"), ("vmaf", "{}"), ("vmaf", "no json")])
def test_a_file_without_a_score_is_an_error(tmp_path: Path, how: str, text: str) -> None:
    with pytest.raises(NoScore):
        read_score(how, tmp_path)
    (tmp_path / {"ssim": "ssim.txt", "vmaf": "vmaf.json"}[how]).write_text(text)
    with pytest.raises(NoScore):
        read_score(how, tmp_path)


def test_chunks_count_by_their_frames() -> None:
    assert mean([(1.0, 30), (0.5, 10)]) == pytest.approx(0.875)


@pytest.mark.parametrize("wanted", ["ssim", "vmaf"])
async def test_a_profile_may_ask_how_close_each_rung_is(tmp_path: Path, wanted: str) -> None:
    source = make_video(tmp_path / "source.mp4", 2)
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=profile(measure=wanted))
        how = available_measure(wanted, await find_ffmpeg(here.settings.ffmpeg))
        scores = stream.outputs["scores"]
        assert {rung: set(found) for rung, found in scores.items()} == {"180p": {how}, "90p": {how}}
        assert all(0.5 < score[how] <= (100 if how == "vmaf" else 1) for score in scores.values())
