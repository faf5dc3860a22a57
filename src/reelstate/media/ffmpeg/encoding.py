"""One chunk on its way to files, a rung each: with one decode for all, or rung by rung where that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final, TypedDict

from reelstate.core.outcome import Fail, Retry
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.arguments import FILES
from reelstate.media.ffmpeg.build import Build
from reelstate.media.ffmpeg.damage import Damage, find_damage, require_tolerable
from reelstate.media.ffmpeg.exit_cause import BadInput, ExitKind, ToolFailed
from reelstate.media.ffmpeg.progress import Advance
from reelstate.media.ffmpeg.score import NONE, measure_of, read_score
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import Fragmented
from reelstate.media.planning.grid import Chunk
from reelstate.media.planning.plan import Plan
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.tools import MediaTools, telling
from reelstate.worker.run import Run

STALL: Final = 120.0
"""Seconds without a new frame after which an encoder is given up."""
SLOWEST: Final = Fraction(1, 50)
"""How fast an encode must be at least, as a part of real time."""
LEAST_TIME: Final = 600.0
WHILE_ENCODING: Final = 98.0
"""Percent that are reached when the last frame is encoded: what was made is still to be checked and stored."""


class RungFailed(Retry):
    """A chunk has failed at one required rung; its message begins with the name of the rung."""


class ChunkScore(TypedDict):
    measure: str
    mean: float


class Encoding:
    """One chunk on its way to files, a rung each."""

    def __init__(self, studio: MediaTools, task: Run, plan: Plan, chunk: Chunk, build: Build) -> None:
        self._studio, self._task, self._plan, self._chunk, self._build = studio, task, plan, chunk, build
        self._errors = 0
        self._seeks = True
        self._damage: Damage | None = None

    async def together_or_alone(self, source: Path, folder: Path) -> tuple[dict[str, Fragmented], dict[str, str]]:
        """The rungs that were made, and why the others were not. A required one that fails is raised."""
        lacking = self._lacking()
        names = [rung.name for rung in self._plan.rungs if rung.name not in lacking]
        try:
            return await self._encoded_or_filled(names, source, folder), lacking
        except (ToolFailed, MalformedBoxes) as error:
            if len(names) == 1 and isinstance(error, MalformedBoxes):
                raise _failure(f"{names[0]}: {error}", error) from error
            if len(names) == 1 or not _of_a_rung(error):
                raise
            self._task.log(f"chunk {self._chunk.number} failed, and is made rung by rung: {error}", level="warning")
        return await self._alone(source, folder)

    def _lacking(self) -> dict[str, str]:
        """The optional rungs whose encoder the ffmpeg of this worker lacks, with the reason."""
        lacking = self._plan.wanted_encoders - self._build.encoders
        return {
            rung.name: f"no worker has {rung.encoder}"
            for rung in self._plan.rungs
            if not rung.required and rung.encoder in lacking
        }

    async def _encoded_or_filled(self, names: list[str], source: Path, folder: Path) -> dict[str, Fragmented]:
        """The rungs of a chunk; one in which nothing can be decoded shows what is before it, if so much is allowed."""
        try:
            return await self._encoded(names, source, folder)
        except BadInput as error:
            self._errors += max(1, error.finished.errors)
            if not self._chunk.number or not await self.damage(source):
                raise
            self._task.log(f"chunk {self._chunk.number} is decoded from the beginning: {error}", level="warning")
            self._seeks = False
            return await self._encoded(names, source, folder)

    async def _alone(self, source: Path, folder: Path) -> tuple[dict[str, Fragmented], dict[str, str]]:
        made: dict[str, Fragmented] = {}
        failed = self._lacking()
        for rung in self._plan.rungs:
            if rung.name in failed:
                continue
            try:
                made |= await self._encoded([rung.name], source, folder)
            except (ToolFailed, MalformedBoxes) as error:
                if not _of_a_rung(error):
                    raise (Fail if isinstance(error, BadInput) else Retry)(f"{rung.name}: {error}") from error
                if rung.required:
                    raise _failure(f"{rung.name}: {error}", error) from error
                failed[rung.name] = str(error)
                self._task.log(f"{rung.name} of chunk {self._chunk.number} failed: {error}", level="warning")
        return made, failed

    async def _encoded(self, names: list[str], source: Path, folder: Path) -> dict[str, Fragmented]:
        outputs = {name: str(folder / name) for name in names}
        argv = commands.encode_chunk(
            self._build.path, self._plan, self._chunk, str(source), outputs, threads=self._studio.threads,
            seek=self._seeks,
        )  # fmt: skip
        finished = await self._studio.run(
            self._task, argv, folder, reads=[source], on_progress=self._hear,
            limits=ProcessLimits(timeout=encode_timeout(self._chunk.frames / self._plan.grid.rate), stall=STALL),
        )  # fmt: skip
        self._errors += finished.errors
        return {name: await asyncio.to_thread(self.checked, Path(path)) for name, path in outputs.items()}

    async def damage(self, source: Path) -> Damage:
        """What of the chunk is damaged in the source; `Fail` if it alone is more than the profile allows."""
        if not self._errors:
            return Damage()
        if self._damage is not None:
            return self._damage
        grid = self._plan.grid
        start = grid.origin + grid.time(self._chunk.first_frame)
        async with telling(self._task, "looking for damage in the source"):
            found = await find_damage(
                source, self._plan.picture.index, start=start, end=start + grid.time(self._chunk.frames),
                origin=grid.origin, step=grid.time(1), sandbox=self._studio.sandbox,
            )  # fmt: skip
        require_tolerable(found, grid.duration, self._plan.profile.max_damage, "video")
        self._damage = found
        return found

    async def scores(self, source: Path, folder: Path, names: Iterable[str]) -> dict[str, ChunkScore]:
        """How close each rung is to the source, if the profile asks for it."""
        how = measure_of(self._plan.profile.measure, self._build)
        if how == NONE:
            return {}
        return {name: await self._score(how, source, folder, name) for name in names}

    async def _score(self, how: str, source: Path, folder: Path, name: str) -> ChunkScore:
        made = folder / name
        rung = self._plan.rung(name)
        argv = commands.compare(self._build.path, self._plan, self._chunk, rung, str(source), str(made), how)
        for (
            written
        ) in FILES.values():  # root owns what an earlier comparison wrote, and a confined tool can't replace it
            (folder / written).unlink(missing_ok=True)
        async with telling(self._task, f"comparing {name} with the source by {how}"):
            await self._studio.run(
                self._task, argv, folder, reads=[source],
                limits=ProcessLimits(timeout=encode_timeout(self._chunk.frames / self._plan.grid.rate), stall=STALL),
            )  # fmt: skip
        return {"measure": how, "mean": await asyncio.to_thread(read_score, how, folder)}

    async def _hear(self, advance: Advance) -> None:
        if advance.frame is not None:
            frames = self._chunk.frames
            speed = f", {advance.speed:.2g} × real time" if advance.speed else ""
            await self._task.progress(
                WHILE_ENCODING * min(advance.frame / frames, 1),
                f"{min(advance.frame, frames)} of {frames} frames{speed}",
            )

    def checked(self, path: Path) -> Fragmented:
        """What was made, if it is all of the chunk and stands in its place in the stream."""
        parsed = boxes.parse(path).with_counts(self._chunk.segments)
        grid = self._plan.grid
        expected = self._chunk.first_frame * grid.frame_ticks * parsed.track.timescale // grid.timescale
        if parsed.first_decode_time != expected:
            raise MalformedBoxes(
                f"chunk {self._chunk.number} begins at tick {parsed.first_decode_time}, not at {expected}",
                hint="the encoder did not keep to the grid",
            )
        return parsed


def _failure(message: str, error: ToolFailed | MalformedBoxes) -> Fail | RungFailed:
    """An encoder that ended well and made something else than planned found another source than was probed."""
    if isinstance(error, MalformedBoxes):
        return Fail(f"{message} (the source does not hold what its index says: see that it plays, or make it anew)")
    return RungFailed(message)


def _of_a_rung(error: ToolFailed | MalformedBoxes) -> bool:
    """Whether one rung may have caused it: a full disk or a bad source would stop all of them."""
    return isinstance(error, MalformedBoxes) or error.kind in {ExitKind.FAILED, ExitKind.CRASHED}


def encode_timeout(seconds: Fraction) -> float:
    """How long an encode of so many seconds may take."""
    return LEAST_TIME + float(seconds / SLOWEST)


def require_encoders(build: Build, plan: Plan) -> None:
    lacking = sorted(plan.encoders - build.encoders)
    if lacking:
        raise Retry(f"ffmpeg {build.version} of this worker has no {', '.join(lacking)}; another worker may have it")
