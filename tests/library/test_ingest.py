"""ingest: which files are taken, when, and that each is taken once."""

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
def test_films_are_wanted(name: str) -> None:
    assert is_wanted(Path(name), PATTERNS)


@pytest.mark.parametrize(
    "name",
    [
        *(".a.mp4", ".hidden/a.mp4", "x/.tmp/y/a.mp4", "a.mp4.part", "a.mp4.crdownload", "a.mp4.tmp", "a.mp4~"),
        *("a.txt", "mp4", "a.srt"),
    ],
)
def test_hidden_partial_and_other_files_are_not(name: str) -> None:
    assert not is_wanted(Path(name), PATTERNS)


def test_partial_files_are_not_wanted_whatever_the_pattern() -> None:
    assert is_wanted(Path("a.txt"), ["*"])
    assert not is_wanted(Path("a.tmp"), ["*"])


def test_a_key_changes_with_path_size_and_time() -> None:
    keys = {idempotency_key(path, identity) for path in (A, B) for identity in (ONE, Identity(1, 2), Identity(2, 1))}
    assert len(keys) == 6
    assert idempotency_key(A, ONE) == idempotency_key(Path("/in/a.mp4"), Identity(1, 1))
    assert len(idempotency_key(A, ONE)) < 255


def test_a_file_is_complete_when_it_stays_as_it_is() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 10.0)
    assert files.complete(12.9) == []
    files.see(A, TWO, 12.9)
    assert files.next_due() == 15.9
    assert files.complete(15.8) == []
    assert files.complete(15.9) == [(A, TWO)]
    assert (files.complete(99.0), files.next_due(), files.waiting) == ([], None, False)


def test_a_file_that_changes_afterwards_is_given_again_and_one_that_does_not_is_not() -> None:
    files = Settling(3.0)
    files.see_all({A: ONE, B: ONE}, 0.0)
    assert files.complete(3.0) == [(A, ONE), (B, ONE)]
    files.see_all({A: TWO, B: ONE}, 10.0)
    assert files.complete(13.0) == [(A, TWO)]


def test_a_file_that_went_and_came_settles_anew() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.see(A, None, 1.0)
    files.see_all({A: ONE, B: ONE}, 2.0)
    files.see_all({A: ONE}, 4.0)
    assert files.complete(4.9) == []
    assert files.complete(5.0) == [(A, ONE)]


def test_a_file_that_somebody_writes_is_not_complete_however_long_he_pauses() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.set_writing(A, writing=True)
    files.see(A, TWO, 1.0)
    assert (files.complete(1000.0), files.next_due(), files.waiting) == ([], None, True)
    files.set_writing(A, writing=False)
    assert files.complete(1000.0) == [(A, TWO)]


def test_when_words_were_lost_nobody_counts_as_writing() -> None:
    files = Settling(3.0)
    files.see(A, ONE, 0.0)
    files.set_writing(A, writing=True)
    files.forget_writers()
    assert files.complete(3.0) == [(A, ONE)]


@dataclass
class Desk:
    """An ingest that runs, and what it told."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    taken: list[IngestedFile] = field(default_factory=list)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, one: IngestedFile) -> None:
        self.taken.append(one)
        self.told.set()

    async def until(self, count: int) -> list[str]:
        """The names of the files, when there are so many."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.taken) < count:
                self.told.clear()
                await self.told.wait()
        return [one.path.name for one in self.taken]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_at(f"sqlite:///{tmp_path / 'reelstate.db'}", graphs=[TRANSCODE]) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


async def taken(engine: Engine, folder: Path, **terms: Any) -> list[IngestedFile]:
    """What an ingest makes of a folder as it is."""
    desk = Desk()
    async with asyncio.timeout(TIMEOUT):
        await ingest(
            engine, Ingest(**{"folder": folder, "settle": SETTLE, "poll": SETTLE, **terms}), desk.tell, desk.stop
        )
    return desk.taken


@asynccontextmanager
async def watching(engine: Engine, folder: Path, **terms: Any) -> AsyncIterator[Desk]:
    desk = Desk()
    given = Ingest(**{"folder": folder, "settle": SETTLE, "poll": SETTLE, "watch": True, **terms})
    running = asyncio.create_task(ingest(engine, given, desk.tell, desk.stop))
    try:
        yield desk
    finally:
        desk.stop.set()
        await asyncio.wait_for(running, TIMEOUT)


async def titles(engine: Engine) -> list[str]:
    return sorted(video.title for video in (await Videos(engine).list()).items)


async def test_every_film_of_a_folder_becomes_a_video(engine: Engine, folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("a.mp4", "deep/er/b.MKV", ".c.mp4", "d.mp4.part", "e.txt"):
        (folder / name).write_bytes(b"film")
    (folder / "deep" / "round").symlink_to(folder)
    found = await taken(engine, folder, spec={"profile": "small"}, priority=8, user_id="ada")
    assert [(one.path, one.verdict) for one in found] == [
        (folder / "a.mp4", Verdict.OK),
        (folder / "deep" / "er" / "b.MKV", Verdict.OK),
    ]
    job = (await engine.job(found[0].job_id or 0)).job
    assert job.spec == {"source": str(folder / "a.mp4"), "profile": "small", "video_id": found[0].video_id}
    assert (job.priority, job.user_id, await titles(engine)) == (8, "ada", ["a", "b"])


async def test_a_file_is_taken_once_over_restarts_though_the_options_changed(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"film")
    (first,) = await taken(engine, folder)
    (again,) = await taken(engine, folder)
    (other,) = await taken(engine, folder, spec={"profile": "other"})
    (spelled,) = await taken(engine, folder / ".." / "in")
    for one in (again, other, spelled):
        assert one == IngestedFile(first.path, Verdict.REPEATED, first.video_id, first.job_id)
    assert len((await engine.jobs()).items) == 1


async def test_a_file_that_was_replaced_is_another_film(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"film")
    await taken(engine, folder)
    (folder / "a.mp4").write_bytes(b"another film")
    (second,) = await taken(engine, folder)
    assert second.verdict is Verdict.OK
    assert await titles(engine) == ["a", "a"]


async def test_two_ingests_at_once_take_each_file_once(engine: Engine, folder: Path) -> None:
    for number in range(20):
        (folder / f"{number}.mp4").write_bytes(b"film")
    both = await asyncio.gather(taken(engine, folder), taken(engine, folder))
    verdicts = [one.verdict for each in both for one in each]
    assert (verdicts.count(Verdict.OK), verdicts.count(Verdict.REPEATED)) == (20, 20)
    assert len((await Videos(engine).list()).items) == 20


async def test_what_can_not_be_taken_is_told_and_holds_up_nothing(engine: Engine, folder: Path) -> None:
    (folder / "empty.mp4").touch()
    (folder / "film.mp4").write_bytes(b"film")
    (folder / os.fsdecode(b"\xff.mp4")).write_bytes(b"film")
    found = {one.path.name: one for one in await taken(engine, folder)}
    assert found["empty.mp4"].reason == "is empty"
    assert found["film.mp4"].verdict is Verdict.OK
    (odd,) = [one for one in found.values() if one.path.name not in {"empty.mp4", "film.mp4"}]
    assert "not valid Unicode" in odd.reason
    assert await titles(engine) == ["film"]


async def test_a_folder_that_is_none_is_refused(engine: Engine, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"film")
    with pytest.raises(InvalidRequest, match="does not exist"):
        await taken(engine, folder / "nowhere")
    with pytest.raises(InvalidRequest, match="is not a folder"):
        await taken(engine, folder / "a.mp4")


async def test_without_the_pipeline_nothing_is_taken(tmp_path: Path, folder: Path) -> None:
    (folder / "a.mp4").write_bytes(b"film")
    async with engine_at(f"sqlite:///{tmp_path / 'other.db'}") as engine:
        with pytest.raises(UnknownPipeline):
            await taken(engine, folder)


def require_inotify() -> None:
    opened = Inotify.open()
    if opened is None:
        pytest.skip("this system has no inotify")
    opened.close()


@pytest.fixture(params=["inotify", "polling"])
def eyes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to see a folder change."""
    if request.param == "polling":
        monkeypatch.setattr(Inotify, "open", classmethod(lambda _: None))
    else:
        require_inotify()
        monkeypatch.setattr(module, "RESCAN_EVERY", 3600.0)
    return str(request.param)


@pytest.mark.usefixtures("eyes")
async def test_files_are_taken_as_they_come(engine: Engine, folder: Path, tmp_path: Path) -> None:
    (folder / "before.mp4").write_bytes(b"film")
    async with watching(engine, folder) as desk:
        assert await desk.until(1) == ["before.mp4"]
        (folder / "written.mp4").write_bytes(b"film")
        assert (await desk.until(2))[1:] == ["written.mp4"]
        (tmp_path / "made elsewhere.mp4").write_bytes(b"film")
        (tmp_path / "made elsewhere.mp4").rename(folder / "moved.mp4")
        assert (await desk.until(3))[2:] == ["moved.mp4"]
        (folder / "download.mp4.part").write_bytes(b"film")
        (folder / "download.mp4.part").rename(folder / "download.mp4")
        assert (await desk.until(4))[3:] == ["download.mp4"]
        (folder / "new" / "er").mkdir(parents=True)
        (folder / "new" / "er" / "deep.mp4").write_bytes(b"film")
        assert (await desk.until(5))[4:] == ["deep.mp4"]
        (folder / "new" / "er" / "later.mp4").write_bytes(b"film")
        assert (await desk.until(6))[5:] == ["later.mp4"]
        (folder / "last.mp4").write_bytes(b"film")
        assert (await desk.until(7))[6:] == ["last.mp4"]
    assert {one.verdict for one in desk.taken} == {Verdict.OK}


async def test_a_file_in_the_hands_of_a_writer_waits_until_it_is_closed(engine: Engine, folder: Path) -> None:
    require_inotify()
    (folder / "first.mp4").write_bytes(b"film")
    async with watching(engine, folder) as desk:
        await desk.until(1)
        with (folder / "slow.mp4").open("wb", buffering=0) as file:
            file.write(b"half of it")
            (folder / "other.mp4").write_bytes(b"film")
            assert (await desk.until(2))[1:] == ["other.mp4"]
            (folder / "another.mp4").write_bytes(b"film")
            assert (await desk.until(3))[2:] == ["another.mp4"]
            file.write(b"the rest")
        assert (await desk.until(4))[3:] == ["slow.mp4"]
    assert {one.verdict for one in desk.taken} == {Verdict.OK}


async def test_a_file_that_grows_is_taken_when_it_has_stopped(engine: Engine, folder: Path) -> None:
    steps = iter([b"1", b"2", b"3"])
    grown: list[int] = []
    look: Callable[[Path], Identity | None] = identity_of

    def growing(path: Path) -> Identity | None:
        """Whoever looks finds that the file has grown since, three times."""
        for piece in steps:
            with path.open("ab") as file:
                file.write(piece)
            break
        found = look(path)
        grown.append(found.size if found else -1)
        return found

    (folder / "a.mp4").write_bytes(b"film")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "identity_of", growing)
        (one,) = await taken(engine, folder, poll=3600.0)
    assert (grown[:3], one.verdict) == ([5, 6, 7], Verdict.OK)
    assert [each.verdict for each in await taken(engine, folder)] == [Verdict.REPEATED]


async def test_a_full_table_of_watches_makes_it_look_instead(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Inotify, "add", full)
    async with watching(engine, folder) as desk:
        (folder / "a.mp4").write_bytes(b"film")
        assert await desk.until(1) == ["a.mp4"]
