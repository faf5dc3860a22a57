"""An attempt adopts what an earlier attempt of the same task stored, if every byte of it verifies."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reelstate.artifacts.storage import open_storage
from reelstate.core.machine import JobStatus
from reelstate.core.outcome import Retry
from reelstate.library.publisher import Publisher
from reelstate.media.stages.adoption import RECORD
from reelstate.services.operate.retry import From
from reelstate.worker.run import Run
from tests.media.clips import ffmpeg
from tests.media.deployment import Deployment, Handler, start_deployment
from tests.media.source_videos import BUILD, RATE, TIMEOUT, make_video, profile

Json = Any
PICTURES = profile(thumbnails=True, sprites=True, chunk_seconds=2)
MADE = {
    "encode": {"180p.mp4", "180p-init.mp4", "90p.mp4", "90p-init.mp4"},
    "audio": {"audio.mp4", "audio-init.mp4"},
    "thumbnails": {"poster.jpg", "sprites-1.jpg"},
    "captions": {"captions.vtt"},
}
"""The files that each stage stores."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds with sound and captions."""
    folder = tmp_path_factory.mktemp("sources")
    text = folder / "text.srt"
    text.write_text("1\n00:00:00,000 --> 00:00:01,000\nhello\n")
    ffmpeg(
        BUILD, "-i", str(make_video(folder / "plain.mp4")), "-i", str(text), "-map", "0", "-map", "1",
        "-c", "copy", "-c:s", "mov_text", str(folder / "source.mp4"),
    )  # fmt: skip
    return folder / "source.mp4"


class Lost:
    """Has the first attempts of some stages stored whole, and lost before they are reported."""

    def __init__(
        self, *stages: str, attempts: int = 1, then: Callable[[Run, Path], object] = lambda task, folder: None
    ) -> None:
        self._stages, self._attempts, self._then = stages, attempts, then
        self.storage = Path()

    def __call__(self, stage: str, handler: Handler) -> Handler:
        async def run(task: Run) -> Json:
            result = await handler(task)
            if stage in self._stages and task.token <= self._attempts:
                self._then(task, self.storage / f"versions/{task.job_id}/{stage}/{task.part}/{task.token}")
                raise Retry("lost before it was reported")
            return result

        return run


async def made_by(here: Deployment, job: int) -> dict[str, list[tuple[int, str]]]:
    """The token and the type of every step of a job, by stage."""
    names = [stage.name for stage in (await here.engine.job(job)).stages]
    found: dict[str, list[tuple[int, str]]] = {}
    for step in await here.steps(job):
        found.setdefault(names[step.stage], []).append((step.token, step.type))
    return found


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_what_was_stored_before_its_report_was_lost_is_adopted(tmp_path: Path, source: Path) -> None:
    lost = Lost(*MADE)
    async with start_deployment(tmp_path, lost) as here:
        lost.storage = here.storage
        stream = await here.stream(source, profile=PICTURES)
        job = stream.detail.job.id
        steps = await made_by(here, job)
        for stage, files in MADE.items():
            ran = Counter(kind for token, kind in steps[stage] if token == 1)
            assert ran["ffmpeg"] >= 1
            assert [each for each in steps[stage] if each[0] == 2] == [(2, "adopt")], stage
            (task,) = await here.tasks(job, stage)
            assert (task.token, task.step) == (2, "adopt")
            first, second = (here.storage / f"versions/{job}/{stage}/0/{token}" for token in (1, 2))
            assert names(first) == names(second) == files | {RECORD}
            assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)
        assert {key.split("/")[4] for key in stream.manifest["files"] if key.split("/")[2] in MADE} == {"2"}
        size = sum((here.storage / f"versions/{job}/encode/0/2" / file).stat().st_size for file in MADE["encode"])
        said = f"adopted 4 files of token 1 of encode/0, {size:,} bytes"
        assert said in [line.message for line in await here.logs(job)]
        publisher = Publisher(here.engine, open_storage(str(here.storage)), keep=0.0)
        await publisher.sweep()
        assert not list(here.storage.glob(f"versions/{job}/*/0/1/{RECORD}"))
        assert {rung: len(frames) for rung, frames in stream.decode_rungs().items()} == {
            "180p": 2 * RATE,
            "90p": 2 * RATE,
        }


async def test_adopted_bytes_are_adopted_again(tmp_path: Path, source: Path) -> None:
    lost = Lost("encode", attempts=2)
    async with start_deployment(tmp_path, lost) as here:
        stream = await here.stream(source, profile=profile(chunk_seconds=2))
        steps = (await made_by(here, stream.detail.job.id))["encode"]
        assert steps == [(1, "ffmpeg"), (2, "adopt"), (3, "adopt")]


def truncated(folder: Path) -> None:
    path = folder / "90p.mp4"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-1])


def altered_byte(folder: Path) -> None:
    path = folder / "90p.mp4"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def edited(change: Callable[[Json], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        record = json.loads((folder / RECORD).read_text())
        change(record)
        (folder / RECORD).unlink()
        (folder / RECORD).write_text(json.dumps(record))

    return edit


def other_frames(record: Json) -> None:
    record["result"]["rungs"]["90p"]["frames"] -= 1


def other_segments(record: Json) -> None:
    """Make a key frame a byte shorter than the boxes of the file declare."""
    record["result"]["rungs"]["90p"]["segments"][0][3] -= 1


def outside(record: Json) -> None:
    rung = record["result"]["rungs"]["90p"]
    rung["key"] = rung["key"].replace("/90p.mp4", "/../1/90p.mp4")


SPOILED: dict[str, Callable[[Path], object]] = {
    "a file is truncated": truncated,
    "a byte is altered": altered_byte,
    "a file is gone": lambda folder: (folder / "90p.mp4").unlink(),
    "the record is gone": lambda folder: (folder / RECORD).unlink(),
    "the record is cut short": lambda folder: (folder / RECORD).write_text((folder / RECORD).read_text()[:-9]),
    "the record is no object": edited(lambda record: record.clear()),
    "another plan": edited(lambda record: record.update(plan="0" * 64)),
    "another source": edited(lambda record: record.update(source="0" * 64)),
    "another encoder build": edited(lambda record: record.update(encoder="another")),
    "another number of frames": edited(other_frames),
    "other segments than the file has": edited(other_segments),
    "a key outside of the attempt": edited(outside),
    "a record too large to read": lambda folder: (folder / RECORD).write_text(" " * (17 << 20)),
}


async def test_what_does_not_verify_is_encoded_again(tmp_path: Path) -> None:
    """Each chunk is spoiled in another way; the last is not."""
    spoilers: list[Callable[[Path], object]] = [*SPOILED.values(), lambda folder: None]
    lost = Lost("encode", then=lambda task, folder: spoilers[task.part](folder))
    async with start_deployment(tmp_path, lost) as here:
        lost.storage = here.storage
        stream = await here.stream(make_video(tmp_path / "source.mp4", len(SPOILED) + 1, sound=False))
        stage = stream.stage("encode")
        again = {
            step.part: step.type
            for step in await here.steps(stream.detail.job.id)
            if (step.stage, step.token) == (stage, 2)
        }
        names = dict(enumerate([*SPOILED, "nothing"]))
        assert {names[part]: again[part] for part in names} == {**dict.fromkeys(SPOILED, "ffmpeg"), "nothing": "adopt"}
        assert {len(frames) for frames in stream.decode_rungs().values()} == {(len(SPOILED) + 1) * RATE}


async def test_another_job_adopts_nothing(tmp_path: Path, source: Path) -> None:
    """Also where its source and its plan are the same."""
    async with start_deployment(tmp_path) as here:
        jobs = [(await here.stream(source)).detail.job.id for _ in range(2)]
        for job in jobs:
            assert {kind for _, kind in (await made_by(here, job))["encode"]} == {"ffmpeg"}


async def test_a_stage_that_an_operator_runs_again_adopts_nothing_from_before(tmp_path: Path, source: Path) -> None:
    """Attempts after that adopt again, but also then nothing from before."""
    storage = Path()

    def wrap(stage: str, handler: Handler) -> Handler:
        async def run(task: Run) -> Json:
            if stage == "verify" and task.token <= 2:
                raise Retry("a chunk can't be decoded")
            result = await handler(task)
            if stage == "encode" and task.token in (1, 3, 4):
                if task.token == 3:
                    (storage / f"versions/{task.job_id}/encode/{task.part}/3" / RECORD).unlink()
                raise Retry("lost before it was reported")
            return result

        return run

    async with start_deployment(tmp_path, wrap) as here:
        storage = here.storage
        failed = await here.transcode(source, profile=profile(chunk_seconds=2))
        assert failed.job.status is JobStatus.FAILED
        await here.engine.retry(failed.job.id, start=From("encode"), reason="a chunk can't be decoded")
        detail = await here.engine.wait(failed.job.id, timeout=TIMEOUT)
        assert detail.job.status is JobStatus.COMPLETED
        steps = (await made_by(here, failed.job.id))["encode"]
        assert steps == [(1, "ffmpeg"), (2, "adopt"), (3, "ffmpeg"), (4, "ffmpeg"), (5, "adopt")]
