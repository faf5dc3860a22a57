"""Whole films through remote workers: real processes, a real ffmpeg, nothing shared but the network."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from reelstate.core.machine import TaskStatus
from reelstate.media.stages.adoption import RECORD
from tests.media.source_videos import RATE, make_video
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_fleet import ENCODE, TIMEOUT, TRANSCODE, RemoteFleet

SECONDS = 3


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("films") / "film.mp4", SECONDS)


async def test_a_film_is_made_far_away_though_the_server_is_killed_and_started_again(
    outpost: RemoteFleet, source: Path
) -> None:
    await made_though_killed(outpost, source, kills=1)


@pytest.mark.prove
async def test_a_longer_film_is_made_though_the_server_is_killed_again_and_again(
    outpost: RemoteFleet, tmp_path: Path
) -> None:
    await made_though_killed(outpost, make_video(tmp_path / "long.mp4", 20), kills=5, seconds=20)


async def made_though_killed(outpost: RemoteFleet, source: Path, *, kills: int, seconds: int = SECONDS) -> None:
    server = await outpost.serve()
    worker = await outpost.worker("far")
    job = await outpost.submit(source)
    for number in range(kills):
        await outpost.done(job, 1 + number * (seconds - 2) // kills)
        server.kill()
        done = await outpost.done(job, 0)
        await outpost.fleet.said(worker, "retry_seconds=")
        server = await outpost.serve(f"server-{number}")
        assert {part: task.token for part, task in done.items()} == dict.fromkeys(done, 1)
    stream = await outpost.stream(job)
    assert {len(frames) for frames in stream.decode_rungs().values()} == {seconds * RATE}
    assert sorted(await outpost.encodes(job)) == [(part, 1) for part in range(seconds)]
    remote = await outpost.fleet.named("far")
    assert remote.kind == "remote"
    assert {task.last_worker for task in await outpost.fleet.tasks(job)} == {remote.id}
    assert outpost.keys["far"] not in worker.log + server.log
    assert not list((outpost.house / "scratch").glob("reel-upload-*"))


async def test_a_paused_worker_comes_back_too_late_and_what_it_made_is_gone(outpost: RemoteFleet, source: Path) -> None:
    outpost.app = TRANSCODE
    server = await outpost.serve()
    async with LossyProxy.to(outpost.port) as line:
        late = await outpost.worker("late", url=line.url)
        job = await outpost.submit(source)
        await outpost.fleet.until(lambda: outpost.fleet.tasks(job, TaskStatus.DONE, stage="fetch"), "fetched", TIMEOUT)
        line.hold = b"POST /api/worker/complete"
        await line.held.wait()
        late.freeze()
        running = await outpost.fleet.tasks(job, TaskStatus.RUNNING)  # the next one may have been fetched ahead
        places = [outpost.storage / f"versions/{job}/{task.stage_name}/{task.part}/{task.token}" for task in running]
        ((held, staging),) = [(task, place) for task, place in zip(running, places, strict=True) if place.exists()]
        assert list(staging.iterdir())
        await outpost.worker("next")
        await outpost.stream(job)
        assert list(staging.iterdir())
        line.go.set()
        late.send(signal.SIGCONT)
        await outpost.fleet.said(late, "what it came to was refused: lost")
        assert not staging.exists()
        assert "/api/worker/complete 409" in server.log
        after = next(task for task in await outpost.fleet.tasks(job) if task.key == held.key)
        assert (after.status, after.token) == (TaskStatus.DONE, held.token + 1)
        assert held.stage_name in {ENCODE, "audio", "thumbnails"}
    with contextlib.suppress(ProcessLookupError):
        os.kill(late.pid, signal.SIGCONT)


async def test_a_chunk_that_was_sent_before_its_worker_was_killed_is_not_encoded_again(
    outpost: RemoteFleet, source: Path
) -> None:
    outpost.app = TRANSCODE
    await outpost.serve()
    async with LossyProxy.to(outpost.port) as line:
        killed = await outpost.worker("killed", url=line.url)
        job = await outpost.submit(source)
        await outpost.fleet.until(lambda: outpost.fleet.tasks(job, TaskStatus.DONE, stage="audio"), "sound", TIMEOUT)
        line.hold = b"POST /api/worker/complete"
        await line.held.wait()
        killed.kill()
        records = list(outpost.storage.glob(f"versions/{job}/{ENCODE}/*/1/{RECORD}"))
        done = {task.part for task in await outpost.fleet.tasks(job, TaskStatus.DONE, stage=ENCODE)}
        (stored,) = {int(path.parts[-3]) for path in records} - done
    await outpost.worker("next")
    stream = await outpost.stream(job)
    assert [token for part, token in await outpost.encodes(job) if part == stored and token > 1] == []
    assert await outpost.adopted(job) == [(stored, 2)]
    assert {len(frames) for frames in stream.decode_rungs().values()} == {SECONDS * RATE}
