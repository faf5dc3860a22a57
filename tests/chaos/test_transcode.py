"""A film is encoded though workers are killed, everything is stopped, or one comes back too late."""

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
class Studios:
    """A fleet whose workers share a storage, and keep their scratch where it can be looked at."""

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
        await self.fleet.until(self._declared, "a worker says how films are made")
        spec = {"source": str(source), "profile": profile()}
        return (await self.fleet.engine.submit("transcode", spec)).job_id

    async def _declared(self) -> bool:
        return any(each.shown in {"idle", "busy"} for each in await self.fleet.engine.workers())

    async def stream(self, job: int) -> Stream:
        await self.fleet.rests(job, JobStatus.COMPLETED, TIMEOUT)
        return Stream(self.storage, await self.fleet.engine.job(job))

    async def chunks(self, job: int, *statuses: TaskStatus) -> list[Task]:
        return await self.fleet.tasks(job, *statuses, stage=ENCODE)

    async def done(self, job: int, count: int) -> dict[int, Task]:
        """The chunks that are done, once there are so many."""

        async def look() -> dict[int, Task] | None:
            found = {task.part: task for task in await self.chunks(job, TaskStatus.DONE)}
            return found if len(found) >= count else None

        return await self.fleet.until(look, f"{count} chunks are done", TIMEOUT)

    def commands(self, job: int) -> list[int]:
        """The processes that encode chunks of a job at this moment."""
        return running(f"{self.scratch}/reel-{job}-{ENCODE}-")

    async def encodes(self, job: int) -> list[tuple[int, int]]:
        """The part and token of every encode that came to its end."""
        return await self._steps(job, "ffmpeg")

    async def adopted(self, job: int) -> list[tuple[int, int]]:
        """The part and token of every chunk that was adopted from an earlier attempt."""
        return await self._steps(job, "adopt")

    async def _steps(self, job: int, kind: str) -> list[tuple[int, int]]:
        names = [stage.name for stage in (await self.fleet.engine.job(job)).stages]
        steps = (await self.fleet.engine.steps(job)).items
        return [(step.part, step.token) for step in steps if (names[step.stage], step.type) == (ENCODE, kind)]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("films") / "film.mp4", CHUNKS)


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("films") / "short.mp4", FEW)


def studios_of(fleet: Fleet, folder: Path) -> Studios:
    places = {"storage_url": folder / "media", "scratch": folder / "scratch", "app": APP}
    return Studios(fleet, folder, {**places, "encode_threads": 1, "worker_concurrency": 1})


@pytest.fixture
async def studios(tmp_path: Path, bytecode: Path) -> AsyncIterator[Studios]:
    async with open_fleet(f"sqlite:///{tmp_path / 'reelstate.db'}", tmp_path, bytecode) as fleet:
        yield studios_of(fleet, tmp_path)


async def test_killed_workers_cost_a_chunk_each_and_the_frames_stay_the_same(studios: Studios, source: Path) -> None:
    await kill_and_compare(studios, source, kills=3)


@pytest.mark.prove
async def test_workers_killed_again_and_again_cost_a_chunk_each_on_every_store(
    fleet: Fleet, tmp_path: Path, source: Path
) -> None:
    await kill_and_compare(studios_of(fleet, tmp_path), source, kills=8)


async def kill_and_compare(studios: Studios, source: Path, *, kills: int) -> None:
    members = [studios.worker("one"), studios.worker("two")]
    unhurt = (await studios.stream(await studios.submit(source))).decode_rungs()
    job = await studios.submit(source)
    for number in range(kills):
        victim = await caught_encoding(studios, job, members)
        members.remove(victim)
        members.append(studios.worker(f"new-{number}"))
    stream = await studios.stream(job)

    tokens = [task.token for task in await studios.chunks(job)]
    assert len(tokens) == CHUNKS
    assert sum(tokens) == CHUNKS + kills, "every kill costs the chunk that was being encoded, and no other"
    assert sorted(await studios.encodes(job)) == [(part, token) for part, token in enumerate(tokens)]
    assert stream.decode_rungs() == unhurt
    assert {rung: len(frames) for rung, frames in unhurt.items()} == dict.fromkeys(("180p", "90p"), CHUNKS * RATE)
    assert studios.commands(job) == []
    assert names(studios.scratch) == set(), "what the killed ones left is gone"


async def caught_encoding(studios: Studios, job: int, members: list[Member]) -> Member:
    """Kill a worker in the middle of an encode, and see its ffmpeg end with it."""

    async def look() -> Member | None:
        for pid in studios.commands(job):
            victim = next((each for each in members if each.pid in ancestors(pid)), None)
            if victim and killed_encoding(studios, job, victim):
                return victim
        return None

    return await studios.fleet.until(look, "a worker is seen encoding", TIMEOUT)


def killed_encoding(studios: Studios, job: int, victim: Member) -> bool:
    """Whether it was killed: it is held first, and left alone unless its ffmpeg runs.

    Also where its chunk has cost two workers: with a third the job would be quarantined. Its ffmpeg is held too, so
    that it can't come to an end of its own.
    """
    victim.freeze()
    theirs = [pid for pid in studios.commands(job) if victim.pid in ancestors(pid) and token_of(pid) in (1, 2)]
    if not any(is_ffmpeg(pid) for pid in theirs):
        victim.send(signal.SIGCONT)
        return False
    handles = Handles(theirs)
    for pid in theirs:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    victim.kill()
    try:
        assert handles.gone(10), "an ffmpeg outlives its worker"
    finally:
        handles.close()
    return True


def is_ffmpeg(pid: int) -> bool:
    """Whether a process has become what it was started for."""
    with contextlib.suppress(OSError):
        return "ffmpeg" in Path(f"/proc/{pid}/comm").read_text()
    return False


def token_of(pid: int) -> int:
    """The token for which a process encodes; 0 if it is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return 0
    found = re.search(rf"/reel-\d+-{ENCODE}-\d+-(\d+)-", words)
    return int(found[1]) if found else 0


def ancestors(pid: int) -> Iterator[int]:
    """A process and all that it comes from."""
    while pid > 1:
        yield pid
        try:
            words = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        pid = int(words.rpartition(")")[2].split()[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_house_that_was_stopped_goes_on_where_it_was(
    studios: Studios, short: Path, number: signal.Signals
) -> None:
    """Workers and keeper alike: what is done stays done, under the token that did it."""
    first = studios.up("first")
    job = await studios.submit(short)
    await studios.done(job, 2)
    if number is signal.SIGKILL:
        first.send_group(number)
    else:
        first.send(number)
    await first.ended(TIMEOUT)
    await studios.fleet.sees(lambda: not studios.commands(job), "no ffmpeg is left")
    before = {task.part: (task.token, task.result) for task in await studios.chunks(job, TaskStatus.DONE)}
    assert 2 <= len(before) < FEW

    studios.up("second")
    stream = await studios.stream(job)

    after = {task.part: (task.token, task.result) for task in await studios.chunks(job)}
    assert {part: after[part] for part in before} == before
    assert len([part for part, _ in await studios.encodes(job) if part in before]) == len(before)
    again = sum(token for token, _ in after.values()) - FEW
    assert again <= (0 if number is signal.SIGTERM else 2), "a worker loses at most the chunk that it was encoding"
    assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


@contextlib.asynccontextmanager
async def stopped_before_its_report(studios: Studios, source: Path) -> AsyncIterator[tuple[Member, int, Path]]:
    """A worker that has stored its first chunk and is stopped before it reports it; its job, and what it stored."""
    reached, gate = studios.folder / "reached", studios.folder / "gate"
    waiting = f": > {reached}; while [ ! -e {gate} ]; do sleep 0.02; done"
    slow = wrap_ffmpeg(studios.folder / "ffmpeg", f'case "$*" in *-{ENCODE}-0-1-*) {waiting};; esac')
    late = studios.worker("late", ffmpeg=slow, sandbox="off")
    job = await studios.submit(source)
    await studios.fleet.sees(reached.exists, "the first chunk is being encoded")
    left = studios.storage / f"versions/{job}/{ENCODE}/0/1"
    with locked(studios.folder / "reelstate.db"):
        gate.touch()
        await studios.fleet.sees((left / RECORD).exists, "everything of the chunk is stored")
        late.freeze()
    yield late, job, left


async def test_a_chunk_whose_worker_is_killed_before_its_report_is_not_encoded_again(
    studios: Studios, short: Path
) -> None:
    async with stopped_before_its_report(studios, short) as (killed, job, left):
        killed.kill()
        studios.worker("other")
        stream = await studios.stream(job)
        assert [part for part, _ in await studios.encodes(job)].count(0) == 0, "the first report was lost as well"
        assert await studios.adopted(job) == [(0, 2)]
        assert [task.token for task in await studios.chunks(job)] == [2, *[1] * (FEW - 1)]
        for key, file in stream.manifest["files"].items():
            if key.startswith(f"versions/{job}/{ENCODE}/0/"):
                assert digest_of(studios.storage / key) == file["sha256"] == digest_of(left / Path(key).name)
        assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


async def test_a_worker_that_comes_back_too_late_is_refused_and_what_it_left_is_swept(
    studios: Studios, short: Path
) -> None:
    """It has encoded and stored its chunk, and is frozen just before it says so."""
    async with stopped_before_its_report(studios, short) as (late, job, left):
        studios.worker("other")
        stream = await studios.stream(job)
        late.send(signal.SIGCONT)
        await studios.fleet.said(late, "was refused: lost")

    assert [task.token for task in await studios.chunks(job)] == [2, *[1] * (FEW - 1)]
    told = [
        (event.origin, event.target, event.actor, event.reason, event.token)
        for event in await studios.fleet.history(job)
        if event.token and event.part == 0 and event.stage_number == stream.stage(ENCODE)
    ]
    assert told[1:] == [
        ("running", "ready", "keeper", "lease expired", 1),
        ("ready", "running", "worker", None, 2),
        ("running", "done", "worker", None, 2),
    ]
    prefix = f"versions/{job}/{ENCODE}/0/"
    counted = {key.split("/")[4] for key in stream.manifest["files"] if key.startswith(prefix)}
    assert counted == {"2"}
    assert names(left) == {"180p.mp4", "180p-init.mp4", "90p.mp4", "90p-init.mp4", RECORD}
    publisher = Publisher(studios.fleet.engine, open_storage(str(studios.storage)), keep=0.0)
    assert await publisher.sweep() >= 1
    assert names(left) == set()
    assert {len(frames) for frames in stream.decode_rungs().values()} == {FEW * RATE}


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Nobody else writes to the store meanwhile."""
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()
