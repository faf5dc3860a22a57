"""The library over time: what public addresses serve while versions complete, fail, are pinned, deleted and removed."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reelstate.artifacts.folder import Folder
from reelstate.core.machine import JobStatus
from reelstate.library.ladder import read_qualities
from reelstate.library.publisher import Publisher
from reelstate.library.videos import Videos
from reelstate.media.packaging import package
from reelstate.media.packaging.manifest import MANIFEST
from reelstate.media.planning.quality import QualityStatus
from tests.library.local_library import Gate, Library, Slow, encoded, front, library, read_whole
from tests.media.clips import ffmpeg
from tests.media.deployment import decode_frames
from tests.media.source_videos import BUILD, RATE, SOUND, X264, make_video, profile

Json = Any
CHUNKS = 3
HOUR = timedelta(hours=1)
WORDS = "1\n00:00:00,200 --> 00:00:01,000\nHello\n"


async def test_a_live_stream_only_grows(tmp_path: Path) -> None:
    gate = Gate()
    async with library(tmp_path, gate=gate, keep=86_400) as made:
        answer = await made.submit(make_video(tmp_path / "video.mp4", CHUNKS))
        video, job = answer.resource_id or 0, answer.job_id
        before: dict[str, str] = {}
        for chunk in (1, 2):
            assert await made.publisher.update_live() == 0, "there is nothing new"
            gate.open()
            await encoded(made.engine, job, chunk)
            assert await made.publisher.update_live() == 1
            now = await growing(made, video, job)
            assert len(now) == 3
            assert all(now[key].startswith(text) for key, text in before.items())
            before = now
            assert await asyncio.to_thread(frames_so_far, tmp_path / "media", video, job) == chunk * RATE
            assert await read_whole(made.storage, front(video)) > len(now)
        view = await asyncio.to_thread(shown, tmp_path, video)
        assert [(each["segments_completed"], each["segments_total"]) for each in view["qualities"]] == [(2, CHUNKS)] * 2
        assert {each["status"] for each in view["qualities"]} == {"in_progress"}
        gate.open()
        await made.completed(job)
        assert f"live/{job}" in await made.text(front(video))
        await made.publisher.publish()
        await check_its_end(made, tmp_path, video, job, before)


async def check_its_end(made: Library, folder: Path, video: int, job: int, before: dict[str, str]) -> None:
    """The public address serves the version itself; the live playlists stay, with their end, for a while."""
    assert f"live/{job}" not in await made.text(front(video))
    ended = await growing(made, video, job)
    for key, text in before.items():
        assert ended[key].startswith(text)
        assert ended[key].count("#EXTINF") >= CHUNKS
        assert ended[key].endswith("#EXT-X-ENDLIST\n")
    assert len(decode_frames(BUILD, folder / "media" / front(video), "0:v:0")) == CHUNKS * RATE
    view = await asyncio.to_thread(shown, folder, video)
    assert [(each["status"], each["progress_percent"]) for each in view["qualities"]] == [("completed", 100.0)] * 2
    await made.publisher.sweep()
    assert await growing(made, video, job) == ended
    made.later = 2 * HOUR
    await made.publisher.sweep()
    assert await made.files(f"videos/{video}") == {front(video), f"videos/{video}/manifest.mpd"}
    assert await read_whole(made.storage, front(video))


async def test_a_video_without_audio_grows_and_its_public_address_is_removed_on_delete(tmp_path: Path) -> None:
    gate = Gate()
    async with library(tmp_path, gate=gate) as made:
        answer = await made.submit(make_video(tmp_path / "video.mp4", 2, sound=False))
        video, job = answer.resource_id or 0, answer.job_id
        gate.open()
        await encoded(made.engine, job, 1)
        assert await made.publisher.update_live() == 1
        assert "AUDIO" not in await made.text(front(video))
        assert await asyncio.to_thread(frames_so_far, tmp_path / "media", video, job) == RATE
        (fetch,) = (await made.engine.tasks(job, stage="fetch")).items
        assert fetch.checkpoint == {"source": fetch.result["source"]}, "it is said before it is stored"
        await Videos(made.engine).delete(video)
        await made.publisher.update_live()
        assert await made.files(f"videos/{video}") == set()


async def test_the_live_stream_of_a_failed_job_is_removed_after_a_while(tmp_path: Path) -> None:
    gate = Gate()
    async with library(tmp_path, gate=gate, keep=86_400) as made:
        answer = await made.submit(make_video(tmp_path / "video.mp4", 2, sound=False))
        video = answer.resource_id or 0
        gate.open()
        await encoded(made.engine, answer.job_id, 1)
        await made.publisher.update_live()
        await made.engine.force(answer.job_id, JobStatus.FAILED, reason="it has had its chance")
        await made.publisher.update_live()
        await made.publisher.sweep()
        assert await made.files(f"videos/{video}")
        made.later = 2 * HOUR
        await made.publisher.sweep()
        assert await made.files(f"videos/{video}") == set()
        assert await made.files(f"versions/{answer.job_id}/encode/0"), "a retry would begin with them"


async def test_a_slowly_written_live_stream_delays_no_other_and_is_written_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The playlists of twelve hours take four seconds."""
    gate, threads = Gate(), []

    def seen(*arguments: Any) -> dict[str, bytes]:
        threads.append(threading.current_thread())
        return package.growing(*arguments)

    monkeypatch.setattr("reelstate.library.publisher.growing", seen)
    async with library(tmp_path, gate=gate) as made:
        made.publisher = Publisher(made.engine, made.storage, keep=0.0, live_every=0.0, backoff=1e6)
        answer = await made.submit(make_video(tmp_path / "video.mp4", 2, sound=False))
        gate.open()
        await encoded(made.engine, answer.job_id, 1)
        assert await made.publisher.update_live() == 1
        gate.open()
        await encoded(made.engine, answer.job_id, 2)
        assert await made.publisher.update_live() == 0
        await made.completed(answer.job_id)
        await made.publisher.publish()
        assert "#EXT-X-ENDLIST" in await made.text(f"videos/{answer.resource_id}/live/{answer.job_id}/video/90p.m3u8")
    assert len(threads) == 2
    assert threading.main_thread() not in threads


class Interrupted(Folder):
    """A folder that runs a callback before its first deletion."""

    def __init__(self, root: Path, happens: Callable[[], Awaitable[object]]) -> None:
        super().__init__(root)
        self._happens: Callable[[], Awaitable[object]] | None = happens

    async def delete(self, prefix: str) -> int:
        happens, self._happens = self._happens, None
        if happens:
            await happens()
        return await super().delete(prefix)


async def test_a_job_that_completes_during_the_sweep_is_not_swept(tmp_path: Path) -> None:
    gate = Gate()
    async with library(tmp_path, gate=gate, keep=86_400) as made:
        answer = await made.submit(make_video(tmp_path / "video.mp4", 2, sound=False))
        video, job = answer.resource_id or 0, answer.job_id
        gate.open()
        await encoded(made.engine, job, 1)
        await made.publisher.update_live()
        await made.engine.force(job, JobStatus.FAILED, reason="it has had its chance")

        async def retried() -> None:
            gate.open(9)
            await made.engine.retry(job, reason="another chance")
            await made.completed(job)
            await made.publisher.publish()

        storage = Interrupted(tmp_path / "media", retried)
        later = datetime.now(UTC) + 2 * HOUR
        await Publisher(made.engine, storage, keep=86_400, clock=lambda: later).sweep()
        assert await read_whole(made.storage, front(video))


async def test_a_live_stream_never_replaces_the_finished_version(tmp_path: Path) -> None:
    gate = Gate()
    async with library(tmp_path, gate=gate) as made:
        answer = await made.submit(make_video(tmp_path / "video.mp4", 2, sound=False))
        video, job = answer.resource_id or 0, answer.job_id
        gate.open()
        await encoded(made.engine, job, 1)
        slow = Slow(tmp_path / "media", front(video))
        late = asyncio.create_task(Publisher(made.engine, slow, keep=0).update_live())
        await slow.asked.wait()
        gate.open()
        await made.completed(job)
        await made.publisher.publish()
        slow.may.set()
        assert await late == 1
        assert f"versions/{job}/" in await made.text(front(video))


async def test_a_reader_sees_no_gap_while_versions_change(tmp_path: Path) -> None:
    source = make_video(tmp_path / "video.mp4", 2)
    async with library(tmp_path) as made:
        first = await made.made(source)
        video = first.resource_id or 0
        old = await made.files(f"versions/{first.id}")
        async with reader(made, video) as rounds:
            second = await made.remade(video, profile=profile(name="better"))
            assert second.job.status is JobStatus.COMPLETED
            assert await made.publisher.publish() == 1
            await rounds.more()
            assert f"versions/{second.job.id}/" in await made.text(front(video))
            assert await made.files(f"versions/{first.id}") == old

            source.write_bytes(b"no video at all")
            assert (await made.remade(video)).job.status is JobStatus.FAILED
            assert await made.publisher.publish() == 0
            assert f"versions/{second.job.id}/" in await made.text(front(video))

            assert await Videos(made.engine).rollback(video) == first.id
            assert await made.publisher.publish() == 1
            assert f"versions/{first.id}/" in await made.text(front(video))
            await made.publisher.sweep()
            assert await made.files(f"versions/{first.id}") == old, "it plays"
            await rounds.more()

            await Videos(made.engine).unpin(video)
            await made.publisher.publish()
            assert f"versions/{second.job.id}/" in await made.text(front(video))
            await rounds.more()
        await made.publisher.sweep()
        assert await made.files(f"versions/{first.id}") == set()
        assert await read_whole(made.storage, front(video))
        await Videos(made.engine).delete(video)
        await made.publisher.publish()
        assert await made.files(f"videos/{video}") == set()
        await made.publisher.sweep()
        assert await made.files(f"versions/{second.job.id}") == set()


async def test_added_renditions_are_published_with_those_of_the_active_version(tmp_path: Path) -> None:
    source = spoken(tmp_path / "video.mkv", "testsrc2")
    async with library(tmp_path) as made:
        first = await made.made(source)
        video = first.resource_id or 0
        assert "SUBTITLES" in await made.text(front(video))
        second = await made.remade(video, qualities=["90p"], captions="drop")
        assert second.job.status is JobStatus.COMPLETED, second.job.error
        await made.publisher.publish()
        manifest = json.loads(await made.text(f"versions/{second.job.id}/{MANIFEST}"))
        makers = {rung["name"]: {chunk["key"].split("/")[1] for chunk in rung["chunks"]} for rung in manifest["rungs"]}
        assert makers == {"180p": {str(first.id)}, "90p": {str(second.job.id)}}
        shown = {each.quality: each for each in await read_qualities(made.engine, second)}
        assert {name: (each.status, each.reused_from) for name, each in shown.items()} == {
            "90p": (QualityStatus.COMPLETED, None), "180p": (QualityStatus.COMPLETED, first.id),
        }  # fmt: skip
        assert "SUBTITLES" not in await made.text(front(video))

        await made.publisher.sweep()
        assert await read_whole(made.storage, front(video)), "the first version is still used"
        for rung in manifest["rungs"]:
            assert len(decode_frames(BUILD, tmp_path / "media" / rung["playlist"], "0:v:0")) == 2 * RATE

        await check_what_does_not_fit(made, source, video)
        assert f"versions/{second.job.id}/" in await made.text(front(video))


async def check_what_does_not_fit(made: Library, source: Path, video: int) -> None:
    """Renditions of another cut or another video are not mixed with the published ones."""
    other = await made.remade(video, qualities=["90p"], profile=profile(segment_seconds=2, chunk_seconds=2))
    assert other.job.status is JobStatus.FAILED
    assert "its segments have another length" in str(other.job.error)
    unmade = {each.quality: each.reused_from for each in await read_qualities(made.engine, other)}
    assert unmade == {"90p": None, "180p": other.job.spec["reuse_from"]}
    spoken(source, "testsrc")
    other = await made.remade(video, qualities=["90p"], profile=profile())
    assert other.job.status is JobStatus.FAILED
    assert "another source, which has changed" in str(other.job.error)
    await made.publisher.publish()


def spoken(path: Path, picture: str) -> Path:
    """Create a video with audio and subtitles."""
    text = path.with_suffix(".srt")
    text.write_text(WORDS)
    ffmpeg(
        BUILD, "-f", "lavfi", "-i", f"{picture}=size=320x180:rate={RATE}", *SOUND, "-i", str(text),
        *X264.split(), "-c:a", "aac", "-c:s", "srt", "-t", "2", str(path),
    )  # fmt: skip
    return path


def frames_so_far(media: Path, video: int, job: int) -> int:
    """Return the number of frames that a live stream has so far."""
    copy = media / f"videos/{video}/copy/{job}"
    shutil.copytree(media / f"videos/{video}/live/{job}", copy)
    for path in copy.rglob("*.m3u8"):
        if path.name != "master.m3u8" and "#EXT-X-ENDLIST" not in path.read_text():
            path.write_text(path.read_text() + "#EXT-X-ENDLIST\n")
    frames = len(decode_frames(BUILD, copy / "master.m3u8", "0:v:0"))
    shutil.rmtree(copy.parent)
    return frames


async def growing(made: Library, video_id: int, job_id: int) -> dict[str, str]:
    """Return the media playlists of a live stream."""
    found = await made.files(f"videos/{video_id}/live/{job_id}")
    return {key: await made.text(key) for key in found if not key.endswith("/master.m3u8")}


def shown(folder: Path, video_id: int) -> Json:
    """Return the document of `reel videos show`."""
    environment = {**os.environ, "REEL_STORAGE_URL": str(folder / "media")}
    database = f"sqlite:///{folder / 'library.db'}"
    command = [sys.executable, "-m", "reelstate", "videos", "show", str(video_id), "--json", "--database", database]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


class Rounds:
    """Counts the complete reads of a stream."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = asyncio.Condition()

    async def add(self) -> None:
        async with self.changed:
            self.count += 1
            self.changed.notify_all()

    async def more(self) -> None:
        """Wait for a round that begins and ends after this call."""
        async with self.changed, asyncio.timeout(300):
            wanted = self.count + 2
            await self.changed.wait_for(lambda: self.count >= wanted)


@asynccontextmanager
async def reader(made: Library, video_id: int) -> AsyncIterator[Rounds]:
    """Play all renditions of a video in a loop; an unreadable file fails the test."""
    rounds = Rounds()

    async def read() -> None:
        while True:
            await read_whole(made.storage, front(video_id))
            await rounds.add()

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        try:
            yield rounds
        finally:
            reading.cancel()
