"""A video that is uploaded over HTTP and watched over HTTP, during its transcode and after it."""

import asyncio
import json
from pathlib import Path

from tests.api.api_server import api_server
from tests.api.upload_clients import PIECE
from tests.api.video_server import UPLOADS, VIDEOS
from tests.browser.chromium import Page
from tests.browser.numbered import CHUNK, FRAMES, HEIGHTS, RATE, make_numbered_video, numbered_profile
from tests.browser.test_growing import AT_THE_EDGE, CHUNKS, WAITING
from tests.library.local_library import Gate, encoded, library


async def test_an_uploaded_video_plays_in_a_browser_from_its_first_chunk_on(tmp_path: Path, page: Page) -> None:
    def run(script: str) -> object:
        return page.run(script)

    gate = Gate()
    video = make_numbered_video(tmp_path / "source.mp4").read_bytes()
    database, storage = f"sqlite:///{tmp_path / 'library.db'}", str(tmp_path / "media")
    async with (
        library(tmp_path, gate=gate, keep=86_400) as made,
        api_server(made.engine, database, storage_url=storage) as api,
    ):
        begun = await api.ask("ada", "POST", UPLOADS, headers={"Upload-Length": str(len(video))})
        place, half = begun.headers["location"], len(video) // 2
        for offset, piece in ((0, video[:half]), (half, video[half:])):
            headers = {"Upload-Offset": str(offset), "Content-Type": PIECE}
            assert (await api.ask("ada", "PATCH", place, content=piece, headers=headers)).status_code == 204
        upload = place.rpartition("/")[2]
        answer = await api.ask("ada", "POST", VIDEOS, json={"upload": upload, "profile": numbered_profile()})
        video_id, job_id = answer.json()["id"], answer.json()["job"]
        gate.open(2)
        await encoded(made.engine, job_id, 2)
        await made.publisher.update_live()
        shown = (await api.ask("ada", "GET", f"{VIDEOS}/{video_id}")).json()
        assert shown["status"] == "processing"
        assert {each["quality"]: (each["status"], each["segments_completed"]) for each in shown["qualities"]} == {
            f"{height}p": ("in_progress", 2 * CHUNK // 30) for height in HEIGHTS
        }
        url = (await api.ask("ada", "POST", f"{VIDEOS}/{video_id}/playback")).json()["url"]
        await asyncio.to_thread(run, f"openHls({json.dumps(url)}, null, {json.dumps(AT_THE_EDGE)})")
        assert await asyncio.to_thread(run, "shown()") == 0
        assert await asyncio.to_thread(run, "hls.latestLevelDetails.live") is True
        await asyncio.to_thread(run, "play(2)")
        await asyncio.to_thread(run, f"until(() => video.currentTime > {float(CHUNK * 2 / RATE) - 0.5}, 'at the edge')")
        gate.open(CHUNKS - 2)
        await made.completed(job_id)
        await made.publisher.publish()
        await asyncio.to_thread(run, "until(() => video.ended, 'at the end')")
        state = await asyncio.to_thread(page.run, "state()")
        assert set(state["errors"]) <= {WAITING}
        assert state["time"] == state["duration"]
        assert (await asyncio.to_thread(page.run, "frames"))[-1][1] >= FRAMES - CHUNK
        ready = (await api.ask("ada", "GET", f"{VIDEOS}/{video_id}")).json()
        assert (ready["status"], ready["current"], ready["progress"]) == ("ready", job_id, 100.0)
        assert all(each["segments_completed"] == each["segments_total"] == FRAMES // 30 for each in ready["qualities"])
        sources = [path.name for path in (tmp_path / "media" / "sources").iterdir()]
        assert [f"stored://{name}" for name in sources] == [ready["source"]]  # no second copy
