"""ingest: which files are submitted, when, and that each is submitted once."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, UnknownPipeline
from reelstate.core.model import Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.library import ingest as module
from reelstate.library.ingest import (
    PATTERNS,
    Identity,
    Ingest,
    IngestedFile,
    Settling,
    idempotency_key,
    identity_of,
    ingest,
    is_wanted,
)
from reelstate.library.inotify import Inotify
from reelstate.library.videos import Videos
from tests.engines import engine_at

TRANSCODE = Graph.of("transcode", built_in=True, stages=[StageSpec(name="main")])
A, B = Path("/in/a.mp4"), Path("/in/b.mp4")
ONE, TWO = Identity(1, 1), Identity(2, 2)
SETTLE = 0.05
TIMEOUT = 300.0


@pytest.mark.parametrize("name", ["a.mp4", "A.MKV", "deep/er/b.mov", "c.part.webm", "d..ts", "-i.mp4"])
def test_video_files_are_selected(name: str) -> None:
    assert is_wanted(Path(name), PATTERNS)


@pytest.mark.parametrize(
    "name",
    [
        *(".a.mp4", ".hidden/a.mp4", "x/.tmp/y/a.mp4", "a.mp4.part", "a.mp4.crdownload", "a.mp4.tmp", "a.mp4~"),
        *("a.txt", "mp4", "a.srt"),
    ],
)
def test_hidden_partial_and_other_files_are_not_selected(name: str) -> None:
    assert not is_wanted(Path(name), PATTERNS)


def test_partial_files_are_not_selected_with_any_pattern() -> None:
    assert is_wanted(Path("a.txt"), ["*"])
    assert not is_wanted(Path("a.tmp"), ["*"])


def test_a_key_changes_with_path_size_and_time() -> None:
    keys = {idempotency_key(path, identity) for path in (A, B) for identity in (ONE, Identity(1, 2), Identity(2, 1))}
    assert len(keys) == 6
    assert idempotency_key(A, ONE) == idempotency_key(Path("/in/a.mp4"), Identity(1, 1))
    assert len(idempotency_key(A, ONE)) < 255


def test_a_file_is_complete_when_it_has_not_changed() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 10.0)
    assert files.complete(12.9) == []
    files.see(A, TWO, 12.9)
    assert files.next_due() == 15.9
    assert files.complete(15.8) == []
    assert files.complete(15.9) == [(A, TWO)]
    assert (files.complete(99.0), files.next_due(), files.waiting) == ([], None, False)


def test_a_file_is_returned_again_only_if_it_has_changed() -> None:
    files = Settling(3.0)
    files.see_all({A: ONE, B: ONE}, 0.0)
    assert files.complete(3.0) == [(A, ONE), (B, ONE)]
    files.see_all({A: TWO, B: ONE}, 10.0)
    assert files.complete(13.0) == [(A, TWO)]


def test_a_file_that_reappears_settles_again() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.see(A, None, 1.0)
    files.see_all({A: ONE, B: ONE}, 2.0)
    files.see_all({A: ONE}, 4.0)
    assert files.complete(4.9) == []
    assert files.complete(5.0) == [(A, ONE)]


def test_a_file_open_for_writing_is_not_complete() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.set_writing(A, writing=True)
    files.see(A, TWO, 1.0)
    assert (files.complete(1000.0), files.next_due(), files.waiting) == ([], None, True)
    files.set_writing(A, writing=False)
    assert files.complete(1000.0) == [(A, TWO)]


def test_after_lost_notifications_no_file_counts_as_open() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.set_writing(A, writing=True)
    files.forget_writers()
    assert files.complete(3.0) == [(A, ONE)]


@dataclass
class IngestRun:
    """A running ingest, and the files it reported."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    ingested: list[IngestedFile] = field(default_factory=list)
    reported: asyncio.Event = field(default_factory=asyncio.Event)

    def report(self, one: IngestedFile) -> None:
        self.ingested.append(one)
        self.reported.set()

    async def until(self, count: int) -> list[str]:
        """Return the names of the files when there are `count`."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.ingested) < count:
                self.reported.clear()
                await self.reported.wait()
        return [one.path.name for one in self.ingested]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_at(f"sqlite:///{tmp_path / 'reelstate.db'}", graphs=[TRANSCODE]) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


async def ingested(engine: Engine, folder: Path, **terms: Any) -> list[IngestedFile]:
    """Ingest a folder once; return the reported files."""
    run = IngestRun()
    async with asyncio.timeout(TIMEOUT):
        await ingest(
            engine, Ingest(**{"folder": folder, "settle": SETTLE, "poll": SETTLE, **terms}), run.report, run.stop
        )
    return run.ingested


@asynccontextmanager
async def watching(engine: Engine, folder: Path, **terms: Any) -> AsyncIterator[IngestRun]:
    run = IngestRun()
    given = Ingest(**{"folder": folder, "settle": SETTLE, "poll": SETTLE, "rescan": 3600.0, "watch": True, **terms})
    running = asyncio.create_task(ingest(engine, given, run.report, run.stop))
    try:
        yield run
    finally:
        run.stop.set()
        await asyncio.wait_for(running, TIMEOUT)


async def titles(engine: Engine) -> list[str]:
    return sorted(video.title for video in (await Videos(engine).list()).items)


async def test_every_video_file_of_a_folder_is_submitted(engine: Engine, folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("a.mp4", "deep/er/b.MKV", ".c.mp4", "d.mp4.part", "e.txt"):
        (folder / name).write_bytes(b"video")
    (folder / "deep" / "round").symlink_to(folder)
    found = await ingested(engine, folder, spec={"profile": "small"}, priority=8, user_id="ada")
    assert [(one.path, one.verdict) for one in found] == [
        (folder / "a.mp4", Verdict.OK),
        (folder / "deep" / "er" / "b.MKV", Verdict.OK),
    ]
    job = (await engine.job(found[0].job_id or 0)).job
    assert job.spec == {"source": str(folder / "a.mp4"), "profile": "small", "video_id": found[0].video_id}
    assert (job.priority, job.user_id, await titles(engine)) == (8, "ada", ["a", "b"])


async def test_a_file_is_submitted_once_across_restarts_with_other_options(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"video")
    (first,) = await ingested(engine, folder)
    (again,) = await ingested(engine, folder)
    (other,) = await ingested(engine, folder, spec={"profile": "other"})
    (spelled,) = await ingested(engine, folder / ".." / "in")
    for one in (again, other, spelled):
        assert one == IngestedFile(first.path, Verdict.REPEATED, first.video_id, first.job_id)
    assert len((await engine.jobs()).items) == 1


async def test_a_replaced_file_is_submitted_again(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"video")
    await ingested(engine, folder)
    (folder / "a.mp4").write_bytes(b"another video")
    (second,) = await ingested(engine, folder)
    assert second.verdict is Verdict.OK
    assert await titles(engine) == ["a", "a"]


async def test_two_concurrent_ingests_submit_each_file_once(engine: Engine, folder: Path) -> None:
    for number in range(20):
        (folder / f"{number}.mp4").write_bytes(b"video")
    both = await asyncio.gather(ingested(engine, folder), ingested(engine, folder))
    verdicts = [one.verdict for each in both for one in each]
    assert (verdicts.count(Verdict.OK), verdicts.count(Verdict.REPEATED)) == (20, 20)
    assert len((await Videos(engine).list()).items) == 20


async def test_a_file_that_can_not_be_submitted_is_reported_and_delays_no_other(engine: Engine, folder: Path) -> None:
    (folder / "empty.mp4").touch()
    (folder / "video.mp4").write_bytes(b"video")
    (folder / os.fsdecode(b"\xff.mp4")).write_bytes(b"video")
    found = {one.path.name: one for one in await ingested(engine, folder)}
    assert found["empty.mp4"].reason == "is empty"
    assert found["video.mp4"].verdict is Verdict.OK
    (odd,) = [one for one in found.values() if one.path.name not in {"empty.mp4", "video.mp4"}]
    assert "not valid Unicode" in odd.reason
    assert await titles(engine) == ["video"]


async def test_a_path_that_is_not_a_folder_is_refused(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"video")
    with pytest.raises(InvalidRequest, match="does not exist"):
        await ingested(engine, folder / "nowhere")
    with pytest.raises(InvalidRequest, match="is not a folder"):
        await ingested(engine, folder / "a.mp4")


async def test_without_the_pipeline_nothing_is_submitted(tmp_path: Path, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"video")
    async with engine_at(f"sqlite:///{tmp_path / 'other.db'}") as engine:
        with pytest.raises(UnknownPipeline):
            await ingested(engine, folder)


def require_inotify() -> None:
    opened = Inotify.open()
    if opened is None:
        pytest.skip("this system has no inotify")
    opened.close()


@pytest.fixture(params=["inotify", "polling"])
def eyes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to watch a folder."""
    if request.param == "polling":
        monkeypatch.setattr(Inotify, "open", classmethod(lambda _: None))
    else:
        require_inotify()
    return str(request.param)


@pytest.mark.usefixtures("eyes")
async def test_files_are_submitted_as_they_appear(engine: Engine, folder: Path, tmp_path: Path) -> None:
    (folder / "before.mp4").write_bytes(b"video")
    async with watching(engine, folder) as run:
        assert await run.until(1) == ["before.mp4"]
        (folder / "written.mp4").write_bytes(b"video")
        assert (await run.until(2))[1:] == ["written.mp4"]
        (tmp_path / "made elsewhere.mp4").write_bytes(b"video")
        (tmp_path / "made elsewhere.mp4").rename(folder / "moved.mp4")
        assert (await run.until(3))[2:] == ["moved.mp4"]
        (folder / "download.mp4.part").write_bytes(b"video")
        (folder / "download.mp4.part").rename(folder / "download.mp4")
        assert (await run.until(4))[3:] == ["download.mp4"]
        (folder / "new" / "er").mkdir(parents=True)
        (folder / "new" / "er" / "deep.mp4").write_bytes(b"video")
        assert (await run.until(5))[4:] == ["deep.mp4"]
        (folder / "new" / "er" / "later.mp4").write_bytes(b"video")
        assert (await run.until(6))[5:] == ["later.mp4"]
        (folder / "last.mp4").write_bytes(b"video")
        assert (await run.until(7))[6:] == ["last.mp4"]
    assert {one.verdict for one in run.ingested} == {Verdict.OK}


async def test_an_open_file_is_submitted_when_it_is_closed(engine: Engine, folder: Path) -> None:
    require_inotify()
    (folder / "first.mp4").write_bytes(b"video")
    async with watching(engine, folder) as run:
        await run.until(1)
        with (folder / "slow.mp4").open("wb", buffering=0) as file:
            file.write(b"half of it")
            (folder / "other.mp4").write_bytes(b"video")
            assert (await run.until(2))[1:] == ["other.mp4"]
            (folder / "another.mp4").write_bytes(b"video")
            assert (await run.until(3))[2:] == ["another.mp4"]
            file.write(b"the rest")
        assert (await run.until(4))[3:] == ["slow.mp4"]
    assert {one.verdict for one in run.ingested} == {Verdict.OK}


async def test_a_growing_file_is_submitted_when_it_stops_growing(engine: Engine, folder: Path) -> None:
    steps = iter([b"1", b"2", b"3"])
    grown: list[int] = []
    look: Callable[[Path], Identity | None] = identity_of

    def growing(path: Path) -> Identity | None:
        """Each of the first three reads finds that the file has grown."""
        for piece in steps:
            with path.open("ab") as file:
                file.write(piece)
            break
        found = look(path)
        grown.append(found.size if found else -1)
        return found

    (folder / "a.mp4").write_bytes(b"video")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "identity_of", growing)
        (one,) = await ingested(engine, folder, poll=3600.0)
    assert (grown[:3], one.verdict) == ([6, 7, 8], Verdict.OK)
    assert [each.verdict for each in await ingested(engine, folder)] == [Verdict.REPEATED]


async def test_without_free_inotify_watches_the_folder_is_polled(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Inotify, "add", full)
    async with watching(engine, folder) as run:
        (folder / "a.mp4").write_bytes(b"video")
        assert await run.until(1) == ["a.mp4"]
