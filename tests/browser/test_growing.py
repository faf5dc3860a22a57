"""A stream that is watched while it is made."""

import asyncio
import json
from pathlib import Path

from tests.browser.chromium import Page
from tests.browser.files import Files
from tests.browser.numbered import CHUNK, FRAMES, RATE, make_numbered_video, numbered_profile
from tests.library.local_library import Gate, encoded, front, library

CHUNKS = FRAMES // CHUNK
AT_THE_EDGE = {"liveSyncDurationCount": 1}
"""A player that joins a live stream as late as can be, as every player does with a longer one."""
WAITING = "bufferStalledError"
"""What hls.js calls it when it has shown all that there is so far."""


async def test_a_growing_stream_plays_from_its_first_frame_to_its_last(
    tmp_path: Path, page: Page, files: Files
) -> None:
    def run(script: str) -> object:
        return page.run(script)

    gate = Gate()
    async with library(tmp_path, gate=gate, keep=86_400) as made:
        submitted = await made.submit(make_numbered_video(tmp_path / "source.mp4"), profile=numbered_profile())
        gate.open(2)
        await encoded(made.engine, submitted.job_id, 2)
        await made.publisher.update_live()
        url = files.url(f"own/{front(submitted.resource_id or 0)}")
        await asyncio.to_thread(run, f"openHls({json.dumps(url)}, null, {json.dumps(AT_THE_EDGE)})")
        assert await asyncio.to_thread(run, "shown()") == 0
        assert await asyncio.to_thread(run, "hls.latestLevelDetails.live") is True
        await asyncio.to_thread(run, "play(2)")
        await asyncio.to_thread(run, f"until(() => video.currentTime > {float(CHUNK * 2 / RATE) - 0.5}, 'at the edge')")
        gate.open(CHUNKS - 2)
        await made.completed(submitted.job_id)
        await made.publisher.publish()
        await asyncio.to_thread(run, "until(() => video.ended, 'at the end')")
    state = page.run("state()")
    assert set(state["errors"]) <= {WAITING}
    assert page.run("frames")[-1][1] >= FRAMES - CHUNK
    assert state["time"] == state["duration"]
