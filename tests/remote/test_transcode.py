"""Videos transcoded by remote workers: real processes, a real ffmpeg, nothing shared but the network."""

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
    return make_video(tmp_path_factory.mktemp("videos") / "video.mp4", SECONDS)


async def test_a_video_is_transcoded_though_the_server_is_killed_and_restarted(
    remote_fleet: RemoteFleet, source: Path
) -> None:
    await transcode_with_kills(remote_fleet, source, kills=1)


@pytest.mark.prove
async def test_a_longer_video_is_transcoded_though_the_server_is_killed_repeatedly(
    remote_fleet: RemoteFleet, tmp_path: Path
) -> None:
    await transcode_with_kills(remote_fleet, make_video(tmp_path / "long.mp4", 20), kills=5, seconds=20)


async def transcode_with_kills(remote_fleet: RemoteFleet, source: Path, *, kills: int, seconds: int = SECONDS) -> None:
    server = await remote_fleet.serve()
    worker = await remote_fleet.worker("far")
    job = await remote_fleet.submit(source)
    for number in range(kills):
        await remote_fleet.wait_chunks(job, 1 + number * (seconds - 2) // kills)
        server.kill()
        done = await remote_fleet.wait_chunks(job, 0)
        await remote_fleet.fleet.wait_log(worker, "retry_seconds=")
        server = await remote_fleet.serve(f"server-{number}")
        assert {part: task.token for part, task in done.items()} == dict.fromkeys(done, 1)
    stream = await remote_fleet.stream(job)
    assert {len(frames) for frames in stream.decode_rungs().values()} == {seconds * RATE}
    assert sorted(await remote_fleet.encodes(job)) == [(part, 1) for part in range(seconds)]
    remote = await remote_fleet.fleet.find_worker("far")
    assert remote.kind == "remote"
    assert {task.last_worker for task in await remote_fleet.fleet.tasks(job)} == {remote.id}
    assert remote_fleet.keys["far"] not in worker.log + server.log
    assert not list((remote_fleet.server_folder / "scratch").glob("reel-upload-*"))


async def test_the_files_of_a_worker_that_resumes_too_late_are_deleted(remote_fleet: RemoteFleet, source: Path) -> None:
    remote_fleet.app = TRANSCODE
    server = await remote_fleet.serve()
    async with LossyProxy.to(remote_fleet.port) as proxy:
        late = await remote_fleet.worker("late", url=proxy.url)
        job = await remote_fleet.submit(source)
        await remote_fleet.fleet.wait_for(
            lambda: remote_fleet.fleet.tasks(job, TaskStatus.DONE, stage="fetch"), "fetched", TIMEOUT
        )
        proxy.hold = b"POST /api/worker/complete"
        await proxy.held.wait()
        late.freeze()
        running = await remote_fleet.fleet.tasks(job, TaskStatus.RUNNING)  # the next one may have been prefetched
        places = [
            remote_fleet.storage / f"versions/{job}/{task.stage_name}/{task.part}/{task.token}" for task in running
        ]
        ((held, staging),) = [(task, place) for task, place in zip(running, places, strict=True) if place.exists()]
        assert list(staging.iterdir())
        await remote_fleet.worker("next")
        await remote_fleet.stream(job)
        assert list(staging.iterdir())
        proxy.go.set()
        late.send(signal.SIGCONT)
        await remote_fleet.fleet.wait_log(late, "verdict=lost")
        assert not staging.exists()
        assert "/api/worker/complete 409" in server.log
        after = next(task for task in await remote_fleet.fleet.tasks(job) if task.key == held.key)
        assert (after.status, after.token) == (TaskStatus.DONE, held.token + 1)
        assert held.stage_name in {ENCODE, "audio", "thumbnails"}
    with contextlib.suppress(ProcessLookupError):
        os.kill(late.pid, signal.SIGCONT)


async def test_a_chunk_that_was_sent_before_its_worker_was_killed_is_not_encoded_again(
    remote_fleet: RemoteFleet, source: Path
) -> None:
    remote_fleet.app = TRANSCODE
    await remote_fleet.serve()
    async with LossyProxy.to(remote_fleet.port) as proxy:
        killed = await remote_fleet.worker("killed", url=proxy.url)
        job = await remote_fleet.submit(source)
        await remote_fleet.fleet.wait_for(
            lambda: remote_fleet.fleet.tasks(job, TaskStatus.DONE, stage="audio"), "sound", TIMEOUT
        )
        proxy.hold = b"POST /api/worker/complete"
        await proxy.held.wait()
        killed.kill()
        records = list(remote_fleet.storage.glob(f"versions/{job}/{ENCODE}/*/1/{RECORD}"))
        done = {task.part for task in await remote_fleet.fleet.tasks(job, TaskStatus.DONE, stage=ENCODE)}
        (stored,) = {int(path.parts[-3]) for path in records} - done
    await remote_fleet.worker("next")
    stream = await remote_fleet.stream(job)
    assert [token for part, token in await remote_fleet.encodes(job) if part == stored and token > 1] == []
    assert await remote_fleet.adopted(job) == [(stored, 2)]
    assert {len(frames) for frames in stream.decode_rungs().values()} == {SECONDS * RATE}
