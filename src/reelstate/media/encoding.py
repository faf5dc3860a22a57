"""One chunk on its way to files, a rung each: with one decode for all, or rung by rung where that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final, TypedDict

from reelstate.core.outcome import Retry
from reelstate.media import boxes, commands
from reelstate.media.advance import Advance
from reelstate.media.box import MalformedBoxes
from reelstate.media.boxes import Fragmented
from reelstate.media.ending import Kind, ToolFailed
from reelstate.media.ffmpeg import Build
from reelstate.media.grid import Chunk
from reelstate.media.limits import Limits
from reelstate.media.plan import Plan
from reelstate.media.score import NONE, measure_of, read_score
from reelstate.media.studio import Studio, telling
from reelstate.worker.run import Run

STALL: Final = 120.0
"""Seconds without a new frame after which an encoder is given up."""
SLOWEST: Final = Fraction(1, 50)
"""How fast an encode must be at least, as a part of real time."""
LEAST_TIME: Final = 600.0
WHILE_ENCODING: Final = 98.0
"""Percent that are reached when the last frame is encoded: what was made is still to be checked and stored."""


class Score(TypedDict):
    measure: str
    mean: float


class Encoding:
    """One chunk on its way to files, a rung each."""

    def __init__(self, studio: Studio, task: Run, plan: Plan, chunk: Chunk, build: Build) -> None:
        self._studio, self._task, self._plan, self._chunk, self._build = studio, task, plan, chunk, build

    async def together_or_alone(self, source: Path, folder: Path) -> tuple[dict[str, Fragmented], dict[str, str]]:
        """The rungs that were made, and why the others were not. A required one that fails is raised."""
        names = [rung.name for rung in self._plan.rungs]
        try:
            return await self._encoded(names, source, folder), {}
        except (ToolFailed, MalformedBoxes) as error:
            if len(names) == 1 or not _of_a_rung(error):
                raise
            self._task.log(f"chunk {self._chunk.number} failed, and is made rung by rung: {error}", level="warning")
        return await self._alone(source, folder)

    async def _alone(self, source: Path, folder: Path) -> tuple[dict[str, Fragmented], dict[str, str]]:
        made: dict[str, Fragmented] = {}
        failed: dict[str, str] = {}
        for rung in self._plan.rungs:
            try:
                made |= await self._encoded([rung.name], source, folder)
            except (ToolFailed, MalformedBoxes) as error:
                if rung.required or not _of_a_rung(error):
                    raise Retry(f"{rung.name}: {error}") from error
                failed[rung.name] = str(error)
                self._task.log(f"{rung.name} of chunk {self._chunk.number} failed: {error}", level="warning")
        return made, failed

    async def _encoded(self, names: list[str], source: Path, folder: Path) -> dict[str, Fragmented]:
        outputs = {name: str(folder / name) for name in names}
        argv = commands.encode_chunk(
            self._build.path, self._plan, self._chunk, str(source), outputs, threads=self._studio.threads
        )
        await self._studio.run(
            self._task, argv, folder, reads=[source], on_progress=self._hear,
            limits=Limits(timeout=patience(self._chunk.frames / self._plan.grid.rate), stall=STALL),
        )  # fmt: skip
        return {name: await asyncio.to_thread(self._checked, Path(path)) for name, path in outputs.items()}

    async def scores(self, source: Path, folder: Path, names: Iterable[str]) -> dict[str, Score]:
        """How close each rung is to the source, if the profile asks for it."""
        how = measure_of(self._plan.profile.measure, self._build)
        if how == NONE:
            return {}
        return {name: await self._score(how, source, folder, name) for name in names}

    async def _score(self, how: str, source: Path, folder: Path, name: str) -> Score:
        made = folder / name
        rung = self._plan.rung(name)
        argv = commands.compare(self._build.path, self._plan, self._chunk, rung, str(source), str(made), how)
        async with telling(self._task, f"comparing {name} with the source by {how}"):
            await self._studio.run(
                self._task, argv, folder, reads=[source],
                limits=Limits(timeout=patience(self._chunk.frames / self._plan.grid.rate), stall=STALL),
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

    def _checked(self, path: Path) -> Fragmented:
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


def _of_a_rung(error: ToolFailed | MalformedBoxes) -> bool:
    """Whether one rung may have caused it: a full disk or a bad source would stop all of them."""
    return isinstance(error, MalformedBoxes) or error.kind in {Kind.FAILED, Kind.CRASHED}


def patience(seconds: Fraction) -> float:
    """How long an encode of so many seconds may take."""
    return LEAST_TIME + float(seconds / SLOWEST)


def require_encoders(build: Build, plan: Plan) -> None:
    lacking = sorted(plan.encoders - build.encoders)
    if lacking:
        raise Retry(f"ffmpeg {build.version} of this worker has no {', '.join(lacking)}; another worker may have it")
