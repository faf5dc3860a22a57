"""Encodes one chunk into a file per rung: with one decode for all rungs, or each rung alone if that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Final

from reelstate.core.outcome import Fail, Retry
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.arguments import FILES
from reelstate.media.ffmpeg.build import Build
from reelstate.media.ffmpeg.damage import Damage, find_damage, require_tolerable
from reelstate.media.ffmpeg.exit_cause import BadInput, ExitKind, ToolFailed
from reelstate.media.ffmpeg.progress import Advance
from reelstate.media.ffmpeg.score import NONE, available_measure, read_score
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4
from reelstate.media.planning.grid import Chunk
from reelstate.media.planning.plan import Plan
from reelstate.media.results import Score
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.stages.stage import ENCODED_PERCENT, STALL
from reelstate.media.tools import MediaTools, report_waiting
from reelstate.telemetry.facts import Encoded, emit
from reelstate.worker.run import Run

MIN_SPEED: Final = Fraction(1, 50)
"""The slowest encode that is allowed, relative to real time."""
MIN_TIMEOUT: Final = 600.0


class RungFailed(Retry):
    """A required rung of a chunk failed; the message begins with the name of the rung."""


class Encoding:
    """The encode of one chunk."""

    def __init__(self, tools: MediaTools, task: Run, plan: Plan, chunk: Chunk, build: Build) -> None:
        self._tools, self._task, self._plan, self._chunk, self._build = tools, task, plan, chunk, build
        self._errors = 0
        self._seeks = True
        self._damage: Damage | None = None

    async def encode(self, source: Path, folder: Path) -> tuple[dict[str, FragmentedMp4], dict[str, str]]:
        """Return the rungs that were made, and why the others were not; raise if a required one fails."""
        lacking = self._lacking()
        names = [rung.name for rung in self._plan.rungs if rung.name not in lacking]
        try:
            return await self._encode_or_conceal(names, source, folder), lacking
        except (ToolFailed, MalformedBoxes) as error:
            if len(names) == 1 and isinstance(error, MalformedBoxes):
                raise _failure(f"{names[0]}: {error}", error) from error
            if len(names) == 1 or not _is_of_one_rung(error):
                raise
            self._task.log(f"chunk {self._chunk.number} failed, encoding each rung alone: {error}", level="warning")
        return await self._encode_alone(source, folder)

    def _lacking(self) -> dict[str, str]:
        """Return the optional rungs whose encoder the ffmpeg of this worker lacks, with the reason."""
        lacking = self._plan.wanted_encoders - self._build.encoders
        return {
            rung.name: f"no worker has {rung.encoder}"
            for rung in self._plan.rungs
            if not rung.required and rung.encoder in lacking
        }

    async def _encode_or_conceal(self, names: list[str], source: Path, folder: Path) -> dict[str, FragmentedMp4]:
        """Encode rungs; if nothing of the chunk can be decoded, fill it with the picture before it."""
        try:
            return await self._encode_rungs(names, source, folder)
        except BadInput as error:
            self._errors += max(1, error.finished.errors)
            if not self._chunk.number or not await self.damage(source):
                raise
            self._task.log(f"chunk {self._chunk.number} is decoded from the start: {error}", level="warning")
            self._seeks = False
            return await self._encode_rungs(names, source, folder)

    async def _encode_alone(self, source: Path, folder: Path) -> tuple[dict[str, FragmentedMp4], dict[str, str]]:
        made: dict[str, FragmentedMp4] = {}
        failed = self._lacking()
        for rung in self._plan.rungs:
            if rung.name in failed:
                continue
            try:
                made |= await self._encode_rungs([rung.name], source, folder)
            except (ToolFailed, MalformedBoxes) as error:
                if not _is_of_one_rung(error):
                    raise (Fail if isinstance(error, BadInput) else Retry)(f"{rung.name}: {error}") from error
                if rung.required:
                    raise _failure(f"{rung.name}: {error}", error) from error
                failed[rung.name] = str(error)
                self._task.log(f"{rung.name} of chunk {self._chunk.number} failed: {error}", level="warning")
        return made, failed

    async def _encode_rungs(self, names: list[str], source: Path, folder: Path) -> dict[str, FragmentedMp4]:
        outputs = {name: str(folder / name) for name in names}
        argv = commands.encode_chunk(
            self._build.path, self._plan, self._chunk, str(source), outputs, threads=self._tools.threads,
            seek=self._seeks,
        )  # fmt: skip
        finished = await self._tools.run(
            self._task, argv, folder, reads=[source], on_progress=self._report,
            limits=ProcessLimits(timeout=encode_timeout(self._chunk.frames / self._plan.grid.rate), stall=STALL),
        )  # fmt: skip
        self._errors += finished.errors
        for name in names:
            emit(Encoded(name, float(self._chunk.frames / self._plan.grid.rate), finished.seconds))
        return {name: await asyncio.to_thread(self.parse, Path(path)) for name, path in outputs.items()}

    async def damage(self, source: Path) -> Damage:
        """Return the damage of the chunk in the source; raise `Fail` if it alone is more than the profile allows."""
        if not self._errors:
            return Damage()
        if self._damage is not None:
            return self._damage
        grid = self._plan.grid
        start = grid.origin + grid.time(self._chunk.first_frame)
        async with report_waiting(self._task, "looking for damage in the source"):
            found = await find_damage(
                source, self._plan.picture.index, start=start, end=start + grid.time(self._chunk.frames),
                origin=grid.origin, step=grid.time(1), sandbox=self._tools.sandbox,
            )  # fmt: skip
        require_tolerable(found, grid.duration, self._plan.profile.max_damage, "video")
        self._damage = found
        return found

    async def scores(self, source: Path, folder: Path, names: Iterable[str]) -> dict[str, Score]:
        """Compare each rung with the source, if the profile has a measure."""
        how = available_measure(self._plan.profile.measure, self._build)
        if how == NONE:
            return {}
        return {name: await self._score(how, source, folder, name) for name in names}

    async def _score(self, how: str, source: Path, folder: Path, name: str) -> Score:
        made = folder / name
        rung = self._plan.rung(name)
        argv = commands.compare(self._build.path, self._plan, self._chunk, rung, str(source), str(made), how)
        for report in FILES.values():  # a confined tool can't replace the report of an earlier comparison
            (folder / report).unlink(missing_ok=True)
        async with report_waiting(self._task, f"comparing {name} with the source by {how}"):
            await self._tools.run(
                self._task, argv, folder, reads=[source],
                limits=ProcessLimits(timeout=encode_timeout(self._chunk.frames / self._plan.grid.rate), stall=STALL),
            )  # fmt: skip
        return Score(measure=how, mean=await asyncio.to_thread(read_score, how, folder))

    async def _report(self, advance: Advance) -> None:
        if advance.frame is not None:
            frames = self._chunk.frames
            speed = f", {advance.speed:.2g} × real time" if advance.speed else ""
            await self._task.progress(
                ENCODED_PERCENT * min(advance.frame / frames, 1),
                f"{min(advance.frame, frames)} of {frames} frames{speed}",
            )

    def parse(self, path: Path) -> FragmentedMp4:
        """Return the boxes of an encoded file; raise `MalformedBoxes` if frames or times are not those of the chunk."""
        parsed = boxes.parse_mp4(path).with_counts(self._chunk.segments)
        grid = self._plan.grid
        expected = self._chunk.first_frame * grid.frame_ticks * parsed.track.timescale // grid.timescale
        if parsed.first_decode_time != expected:
            raise MalformedBoxes(
                f"chunk {self._chunk.number} begins at tick {parsed.first_decode_time}, not at {expected}",
                hint="the encoder did not keep to the grid",
            )
        return parsed


def _failure(message: str, error: ToolFailed | MalformedBoxes) -> Fail | RungFailed:
    """Return the error of a failed rung; wrong boxes are final, for the source is not what was probed."""
    if isinstance(error, MalformedBoxes):
        return Fail(f"{message} (the source differs from its index: check that it plays, or export it again)")
    return RungFailed(message)


def _is_of_one_rung(error: ToolFailed | MalformedBoxes) -> bool:
    """Whether one rung may be the cause: a full disk or a bad source would stop all of them."""
    return isinstance(error, MalformedBoxes) or error.kind in {ExitKind.FAILED, ExitKind.CRASHED}


def encode_timeout(seconds: Fraction) -> float:
    """Return the timeout of an encode of some seconds of video."""
    return MIN_TIMEOUT + float(seconds / MIN_SPEED)


def require_encoders(build: Build, plan: Plan) -> None:
    """Raise `Retry` if the ffmpeg of this worker lacks an encoder of a required rung."""
    lacking = sorted(plan.encoders - build.encoders)
    if lacking:
        raise Retry(f"ffmpeg {build.version} of this worker has no {', '.join(lacking)}; another worker may have it")
