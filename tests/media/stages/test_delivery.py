"""A package is decoded before it is published, many chunks with one command."""

import shlex
import sys
from pathlib import Path

from reelstate.core.machine import JobStatus
from tests.media.deployment import start_deployment
from tests.media.source_videos import BUILD, make_video, wrap_ffmpeg
from tests.media.streams import builds

DAMAGE = """
import sys
data = bytearray(open(sys.argv[1], "rb").read())
start = data.index(b"mdat") + 60
data[start:start + 1000] = bytes(byte ^ 0x5A for byte in data[start:start + 1000])
open(sys.argv[1], "wb").write(data)
"""


def damaging(path: Path, run: str) -> Path:
    """An ffmpeg whose last output of one run looks well from outside, and can't be decoded."""
    ffmpeg, damage = shlex.quote(builds()[BUILD]), f"{shlex.quote(sys.executable)} -c {shlex.quote(DAMAGE)}"
    spoil = f'{ffmpeg} "$@" || exit 1; for last; do :; done; {damage} "${{last#file:}}"; exit 0'
    return wrap_ffmpeg(path, f'case "$*" in *libx264*{run}*) {spoil};; esac')


async def test_of_many_chunks_the_one_that_can_not_be_decoded_is_named(tmp_path: Path) -> None:
    source = make_video(tmp_path / "source.mp4", 4)
    spoiling = damaging(tmp_path / "ffmpeg", "-encode-2-")
    async with start_deployment(tmp_path, ffmpeg=str(spoiling), sandbox="off") as here:
        detail = await here.transcode(source)
        assert detail.job.status is JobStatus.FAILED
        assert detail.job.error["stage"] == "verify"
        message = detail.job.error["cause"]["message"]
        assert message.startswith(f"90p: versions/{detail.job.id}/encode/2/1/90p.mp4 can't be decoded")
        assert message.count("versions/") == 1
        steps = [step for step in await here.steps(detail.job.id) if "nokey" in step.argv]
        checked = [sum(word.startswith("file:") for word in step.argv) for step in steps if step.token == 1]
        assert checked == [8, *[1] * 7]
