"""A video is encoded though workers are killed, everything is stopped, or a worker resumes too late."""

import contextlib
import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reelstate.artifacts.storage import open_storage
from reelstate.artifacts.stored import digest_of
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Task
from reelstate.library.publisher import Publisher
from reelstate.media.stages.adoption import RECORD
from tests.chaos.fleet import Fleet, Member, open_fleet
from tests.media.deployment import Stream
from tests.media.processes import Handles, running
from tests.media.source_videos import RATE, make_video, profile, wrap_ffmpeg

CHUNKS, FEW = 10, 6
TIMEOUT = 300.0
APP = "tests.chaos.transcode_pipeline:every"
ENCODE = "encode"


@dataclass
class TranscodeFleet:
    """A fleet whose workers share a storage, with scratch folders that the test can read."""

    fleet: Fleet
    folder: Path
    settings: dict[str, Any]

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    @property
    def storage(self) -> Path:
        return self.folder / "media"

    def worker(self, name: str, **settings: Any) -> Member:
        return self.fleet.worker(name, **{**self.settings, **settings})

    def up(self, name: str) -> Member:
        return self.fleet.up(name, workers=2, **self.settings)

    async def submit(self, source: Path) -> int:
        await self.fleet.wait_for(self._declared, "a worker declares the pipeline")
        spec = {"source": str(source), "profile": profile()}
        return (await self.fleet.engine.submit("transcode", spec)).job_id

    async def _declared(self) -> bool:
        return any(each.shown in {"idle", "busy"} for each in await self.fleet.engine.workers())

    async def stream(self, job: int) -> Stream:
        await self.fleet.wait_status(job, JobStatus.COMPLETED, TIMEOUT)
        return Stream(self.storage, await self.fleet.engine.job(job))

    async def chunks(self, job: int, *statuses: TaskStatus) -> list[Task]:
        return await self.fleet.tasks(job, *statuses, stage=ENCODE)

    async def wait_chunks(self, job: int, count: int) -> dict[int, Task]:
        """Wait until `count` chunks are done, and return them."""

        async def look() -> dict[int, Task] | None:
            found = {task.part: task for task in await self.chunks(job, TaskStatus.DONE)}
            return found if len(found) >= count else None

        return await self.fleet.wait_for(look, f"{count} chunks are done", TIMEOUT)

    def commands(self, job: int) -> list[int]:
        """Return the processes that encode chunks of a job now."""
        return running(f"{self.scratch}/reel-{job}-{ENCODE}-")

    async def encodes(self, job: int) -> list[tuple[int, int]]:
        """Return part and token of every encode that ended."""
        return await self._steps(job, "ffmpeg")

    async def adopted(self, job: int) -> list[tuple[int, int]]:
        """Return part and token of every chunk that was adopted from an earlier attempt."""
        return await self._steps(job, "adopt")

    async def _steps(self, job: int, kind: str) -> list[tuple[int, int]]:
        names = [stage.name for stage in (await self.fleet.engine.job(job)).stages]
        steps = (await self.fleet.engine.steps(job)).items
        return [(step.part, step.token) for step in steps if (names[step.stage], step.type) == (ENCODE, kind)]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("videos") / "video.mp4", CHUNKS)


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("videos") / "short.mp4", FEW)


def transcode_fleet(fleet: Fleet, folder: Path) -> TranscodeFleet:
    folders = {"storage_url": folder / "media", "scratch": folder / "scratch", "app": APP}
    return TranscodeFleet(fleet, folder, {**folders, "encode_threads": 1, "worker_concurrency": 1})


@pytest.fixture
async def transcoders(tmp_path: Path, bytecode: Path) -> AsyncIterator[TranscodeFleet]:
    async with open_fleet(f"sqlite:///{tmp_path / 'reelstate.db'}", tmp_path, bytecode) as fleet:
        yield transcode_fleet(fleet, tmp_path)


async def test_killed_workers_cost_a_chunk_each_and_the_frames_stay_the_same(
    transcoders: TranscodeFleet, source: Path
) -> None:
    await kill_and_compare(transcoders, source, kills=3)


@pytest.mark.prove
async def test_workers_killed_repeatedly_cost_a_chunk_each_on_every_store(
    fleet: Fleet, tmp_path: Path, source: Path
) -> None:
    await kill_and_compare(transcode_fleet(fleet, tmp_path), source, kills=8)


async def kill_and_compare(transcoders: TranscodeFleet, source: Path, *, kills: int) -> None:
    members = [transcoders.worker("one"), transcoders.worker("two")]
    expected = (await transcoders.stream(await transcoders.submit(source))).decode_rungs()
    assert {rung: len(frames) for rung, frames in expected.items()} == dict.fromkeys(("180p", "90p"), CHUNKS * RATE)
    done = 0
    while done < kills:  # a job may end before enough of its encodes were seen
        job = await transcoders.submit(source)
        killed = 0
        while done < kills and (victim := await kill_while_encoding(transcoders, job, members)) is not None:
            killed, done = killed + 1, done + 1
            members.remove(victim)
            members.append(transcoders.worker(f"new-{done}"))
        stream = await transcoders.stream(job)

        tokens = [task.token for task in await transcoders.chunks(job)]
        assert len(tokens) == CHUNKS
        assert sum(tokens) == CHUNKS + killed, "a kill cost another chunk than the one that was being encoded"
        assert sorted(await transcoders.encodes(job)) == [(part, token) for part, token in enumerate(tokens)]
        assert stream.decode_rungs() == expected
        assert transcoders.commands(job) == []
    assert names(transcoders.scratch) == set(), "files of killed workers are left"


async def kill_while_encoding(transcoders: TranscodeFleet, job: int, members: list[Member]) -> Member | None:
    """Kill a worker during an encode, and assert that its ffmpeg ends with it; None if the job ends before."""
    victim: Member | None = None

    async def look() -> bool:
        nonlocal victim
        for pid in transcoders.commands(job):
            found = next((each for each in members if each.pid in ancestors(pid)), None)
            if found and kill_if_encoding(transcoders, job, found):
                victim = found
                return True
        return (await transcoders.fleet.engine.job(job)).job.ended

    await transcoders.fleet.wait_for(look, "a worker is seen encoding, or the job ends", TIMEOUT)
    return victim


def kill_if_encoding(transcoders: TranscodeFleet, job: int, victim: Member) -> bool:
    """Freeze a worker and kill it if its ffmpeg runs; return whether it was killed.

    A worker whose chunk has cost two workers is spared: a third would quarantine the job. Its ffmpeg is frozen too, so
    that it can't end by itself.
    """
    victim.freeze()
    theirs = [pid for pid in transcoders.commands(job) if victim.pid in ancestors(pid) and token_of(pid) in (1, 2)]
    if not any(is_ffmpeg(pid) for pid in theirs):
        victim.send(signal.SIGCONT)
        return False
    handles = Handles(theirs)
    for pid in theirs:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    victim.kill()
    try:
        assert handles.gone(TIMEOUT), "an ffmpeg outlives its worker"
    finally:
        handles.close()
    return True


def is_ffmpeg(pid: int) -> bool:
    """Return whether a process has executed ffmpeg."""
    with contextlib.suppress(OSError):
        return "ffmpeg" in Path(f"/proc/{pid}/comm").read_text()
    return False


def token_of(pid: int) -> int:
    """Return the token of the run that a process encodes for; 0 if it has exited."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return 0
    found = re.search(rf"/reel-\d+-{ENCODE}-\d+-(\d+)-", text)
    return int(found[1]) if found else 0


def ancestors(pid: int) -> Iterator[int]:
    """Yield a process and its ancestors."""
    while pid > 1:
        yield pid
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        pid = int(text.rpartition(")")[2].split()[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_reel_up_continues_where_it_was_stopped(
    transcoders: TranscodeFleet, short: Path, number: signal.Signals
) -> None:
    """Done chunks stay done, with their tokens."""
    first = transcoders.up("first")
    job = await transcoders.submit(short)
    await transcoders.wait_chunks(job, 2)
    if number is signal.SIGKILL:
        first.send_group(number)
    else:
        first.send(number)
    await first.ended(TIMEOUT)
    await transcoders.fleet.wait_until(lambda: not transcoders.commands(job), "no ffmpeg is left")
    before = {task.part: (task.token, task.result) for task in await transcoders.chunks(job, TaskStatus.DONE)}
    assert 2 <= len(before) < FEW
    held = {task.part for task in await transcoders.chunks(job, TaskStatus.RUNNING)}
    assert number is signal.SIGKILL or not held

    transcoders.up("second")
    stream = await transcoders.stream(job)

    after = {task.part: task for task in await transcoders.chunks(job)}
    assert {part: (after[part].token, after[part].result) for part in before} == before
    assert len([part for part, _ in await transcoders.encodes(job) if part in before]) == len(before)
    # Attempts, not tokens: a chunk that was claimed ahead and released has a token of a run that never began.
    again = {task.part for task in after.values() if task.attempt > 1}
    assert again <= held, "a chunk was lost that no worker held"
    if number is signal.SIGTERM:
        assert sorted(part for part, _ in await transcoders.encodes(job)) == list(range(FEW))
    assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


@contextlib.asynccontextmanager
async def freeze_before_report(transcoders: TranscodeFleet, source: Path) -> AsyncIterator[tuple[Member, int, Path]]:
    """Yield a worker that is frozen after it stored its first chunk and before it reports it, its job and the files."""
    reached, gate = transcoders.folder / "reached", transcoders.folder / "gate"
    waiting = f": > {reached}; while [ ! -e {gate} ]; do sleep 0.02; done"
    slow = wrap_ffmpeg(transcoders.folder / "ffmpeg", f'case "$*" in *-{ENCODE}-0-1-*) {waiting};; esac')
    late = transcoders.worker("late", ffmpeg=slow, sandbox="off")
    job = await transcoders.submit(source)
    await transcoders.fleet.wait_until(reached.exists, "the first chunk is being encoded")
    left = transcoders.storage / f"versions/{job}/{ENCODE}/0/1"
    with locked(transcoders.folder / "reelstate.db"):
        gate.touch()
        await transcoders.fleet.wait_until((left / RECORD).exists, "everything of the chunk is stored")
        late.freeze()
    yield late, job, left


async def test_a_chunk_whose_worker_is_killed_before_its_report_is_not_encoded_again(
    transcoders: TranscodeFleet, short: Path
) -> None:
    async with freeze_before_report(transcoders, short) as (killed, job, left):
        killed.kill()
        transcoders.worker("other")
        stream = await transcoders.stream(job)
        assert [part for part, _ in await transcoders.encodes(job)].count(0) == 0, "the first report arrived"
        assert await transcoders.adopted(job) == [(0, 2)]
        assert [task.token for task in await transcoders.chunks(job)] == [2, *[1] * (FEW - 1)]
        for key, file in stream.manifest["files"].items():
            if key.startswith(f"versions/{job}/{ENCODE}/0/"):
                assert digest_of(transcoders.storage / key) == file["sha256"] == digest_of(left / Path(key).name)
        assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


async def test_a_worker_that_resumes_too_late_is_refused_and_its_files_are_swept(
    transcoders: TranscodeFleet, short: Path
) -> None:
    """It has encoded and stored its chunk, and is frozen just before it reports it."""
    async with freeze_before_report(transcoders, short) as (late, job, left):
        transcoders.worker("other")
        stream = await transcoders.stream(job)
        late.send(signal.SIGCONT)
        await transcoders.fleet.wait_log(late, "verdict=lost")

    assert [task.token for task in await transcoders.chunks(job)] == [2, *[1] * (FEW - 1)]
    changes = [
        (event.origin, event.target, event.actor, event.reason, event.token)
        for event in await transcoders.fleet.history(job)
        if event.token and event.part == 0 and event.stage_number == stream.stage(ENCODE)
    ]
    assert changes[1:] == [
        ("running", "ready", "keeper", "lease expired", 1),
        ("ready", "running", "worker", None, 2),
        ("running", "done", "worker", None, 2),
    ]
    prefix = f"versions/{job}/{ENCODE}/0/"
    counted = {key.split("/")[4] for key in stream.manifest["files"] if key.startswith(prefix)}
    assert counted == {"2"}
    assert names(left) == {"180p.mp4", "180p-init.mp4", "90p.mp4", "90p-init.mp4", RECORD}
    publisher = Publisher(transcoders.fleet.engine, open_storage(str(transcoders.storage)), keep=0.0)
    assert await publisher.sweep() >= 1
    assert names(left) == set()
    assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Block all other writes to the store."""
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()
