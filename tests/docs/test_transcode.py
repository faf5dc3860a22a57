"""The commands that the pages show for videos run unchanged, with a short video in place of the reader's."""

import re
from pathlib import Path

import pytest

from reelstate.media.planning.quality import ENCODE
from reelstate.media.results import RESULTS
from tests.docs.pages import ROOT, Terminals, blocks, run
from tests.media.clips import ffmpeg
from tests.media.streams import builds

GUIDE = "docs/guides/transcode.md"


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of four seconds, in 640×360, with audio."""
    path = tmp_path_factory.mktemp("video") / "movie.mp4"
    inputs = "-y -f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine -t 4"
    ffmpeg(min(builds()), *f"{inputs} -c:v libx264 -preset ultrafast -c:a aac".split(), str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path, movie: Path) -> Path:
    (tmp_path / "movie.mp4").symlink_to(movie)
    return tmp_path


def playlist(printed: str) -> Path:
    """Return the playlist that a command prints."""
    return Path(re.findall(r"^plays: (.+)$", printed, re.MULTILINE)[-1])


def test_the_video_of_the_readme_becomes_a_stream(folder: Path) -> None:
    _, submit, *_ = blocks("README.md", "sh")
    assert "`reel up`" in (ROOT / "README.md").read_text()
    with Terminals(folder) as terminals:
        terminals.start("reel up")
        printed = terminals.type(submit)
    assert "completed  100 %" in printed
    assert re.search(r"\d+ +ready +.* movie\.mp4", printed)
    assert "RESOLUTION=640x360" in playlist(printed).read_text()


def test_the_guide_makes_shows_and_rolls_back_versions(folder: Path) -> None:
    up, first, profile, ingest, versions, failed = blocks(GUIDE, "sh")
    with Terminals(folder) as terminals:
        terminals.start(up)
        printed = terminals.type(first.replace("--wait", "--profile small --wait"))
        assert re.search(r"ready .* Dawn", printed)
        printed = terminals.type(profile)
        assert re.findall(r"RESOLUTION=(\d+x\d+),F", playlist(printed).read_text()) == ["640x360", "320x180"]
        job, video = re.findall(r"submitted job (\d+) to transcode for video (\d+)", printed)[0]
        terminals.keep(JOB=job, VIDEO=video)
        shown = terminals.type(without_first_line(versions))
        (made,) = re.findall(r"submitted version (\d+)", shown)
        assert re.search(rf"{job} +completed +plays, pinned", shown)
        assert f"plays version {made}" in shown.splitlines()[-1]
        looked = terminals.type(without_first_line(failed))
        assert re.search(rf"{ENCODE}/0 ffmpeg exit 0 .*ffmpeg", looked)
        assert "evening.mp4" in terminals.type(f"{ingest}reel videos")


def without_first_line(commands: str) -> str:
    """Return the commands without the line in which a reader enters an id."""
    assert re.match(r"[A-Z]+=\d+\n", commands)
    return commands.partition("\n")[2]


def test_the_program_of_the_guide_submits(folder: Path) -> None:
    with Terminals(folder) as terminals:
        terminals.start("reel up --workers 1")
    assert run(blocks(GUIDE, "python")[0], folder) == ["pending"]


def test_the_guide_names_every_stage_and_every_field_of_a_spec() -> None:
    text = (ROOT / GUIDE).read_text()
    assert [name for name in RESULTS if name not in text] == []
    fields = re.findall(r"spec(?:\.get\(|\[)\"(\w+)\"", (ROOT / "src/reelstate/media/planning/request.py").read_text())
    assert [name for name in fields if f"| `{name}` |" not in text] == []
