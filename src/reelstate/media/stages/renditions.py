"""The stages that make files of the source: encoded chunks, audio tracks, pictures and captions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

from reelstate.core.document import shorten
from reelstate.core.outcome import Fail, Skip
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.command_run import OnProgress
from reelstate.media.ffmpeg.damage import Damage, find_damage, require_tolerable
from reelstate.media.ffmpeg.exit_cause import PASSING, ExitKind, ToolFailed
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats import webvtt
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.tracks import PlannedAudio, PlannedCaptions, Poster, Sprites
from reelstate.media.results import (
    MAX_REASON,
    Encoded,
    Fetched,
    MadeAudio,
    MadeCaptions,
    MadeFile,
    MadeRung,
    MadeSprites,
    Pictures,
    track_fields,
)
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.stages.adoption import Attempt
from reelstate.media.stages.encoding import Encoding, encode_timeout, require_encoders
from reelstate.media.stages.stage import SHORT_TIMEOUT, STALL, EncodeProgress, StageGroup, handler
from reelstate.media.tools import report_waiting
from reelstate.worker.run import Run

CAPTIONS_CPU_SECONDS: Final = 30
"""CPU seconds for a captions track, and one more for each `CAPTIONS_BYTES` of its source."""
CAPTIONS_BYTES: Final = 20_000_000
AUDIO_FRAME: Final = 1024
"""Samples in a packet of audio, if its codec does not say."""


class Renditions(StageGroup):
    """Handlers of encode, audio, thumbnails and captions."""

    @handler
    async def encode(self, task: Run) -> Encoded:
        """Encode one chunk in all rungs at once; if that fails, each rung alone, so that only the bad one fails."""
        fetched = await _fetched(task)
        chunk = fetched.chunks[task.part]
        build = await self._tools.build()
        require_encoders(build, fetched.plan)
        work = Encoding(self._tools, task, fetched.plan, chunk, build)
        attempt = Attempt(self._tools, task, fetched, build.id, Encoded)
        if (adopted := await attempt.adopt(work.parse)) is not None:
            return adopted
        async with self._tools.source(task, fetched.source) as source, self._tools.folder(task) as folder:
            made, failed = await work.encode(source, folder)
            damage = await work.damage(source)
            scores = await work.scores(source, folder, made)
            await task.progress(99, "storing")
            rungs = {}
            for name, parsed in made.items():
                stored = await self._tools.store(task, folder / name, f"{name}.mp4")
                init = await self._store_header(task, parsed, name) if chunk.number == 0 else None
                rungs[name] = MadeRung.of(stored, **track_fields(parsed), init=init, score=scores.get(name))
        return await attempt.record(
            Encoded(
                chunk=chunk.number,
                rungs=rungs,
                failed={name: shorten(reason, MAX_REASON) for name, reason in failed.items()},
                encoder=build.id,
                damage=damage or None,
            )
        )

    async def _store_header(self, task: Run, parsed: FragmentedMp4, name: str) -> MadeFile:
        """Store what a decoder needs before the first segment as a file."""
        return MadeFile.of(await self._tools.store_bytes(task, parsed.init, f"{name}-init.mp4"))

    @handler
    async def audio(self, task: Run) -> MadeAudio:
        """Encode an audio track in one piece: cut into chunks it would click at every join."""
        fetched = await _fetched(task)
        plan, planned = fetched.plan, fetched.audio[task.part]
        build = await self._tools.build()
        attempt = Attempt(self._tools, task, fetched, build.id, MadeAudio)
        if (adopted := await attempt.adopt(partial(_parse_audio, plan=plan))) is not None:
            return adopted
        async with self._tools.source(task, fetched.source) as source, self._tools.folder(task) as folder:
            path = folder / "audio"
            argv = commands.encode_audio(build.path, plan, planned, str(source), str(path))
            finished = await self._tools.run(
                task, argv, folder, reads=[source], on_progress=EncodeProgress(task, plan).report,
                limits=ProcessLimits(timeout=encode_timeout(plan.grid.duration), stall=STALL),
            )  # fmt: skip
            damage = await self._audio_damage(task, plan, planned, source) if finished.errors else None
            parsed = await asyncio.to_thread(_parse_audio, path, plan)
            stored = await self._tools.store(task, path, "audio.mp4")
            init = await self._store_header(task, parsed, path.name)
        return await attempt.record(
            MadeAudio.of(
                stored,
                **track_fields(parsed),
                init=init,
                number=planned.number,
                language=planned.language,
                title=planned.title,
                default=planned.default,
                samples=planned.samples,
                damage=damage or None,
            )
        )

    async def _audio_damage(self, task: Run, plan: Plan, track: PlannedAudio, source: Path) -> Damage:
        """Find what of an audio track is damaged in the source; raise `Fail` if it is more than the profile allows."""
        grid = plan.grid
        async with report_waiting(task, "looking for damage in the source"):
            found = await find_damage(
                source, track.index, start=grid.origin, end=grid.origin + grid.duration, origin=grid.origin,
                step=Fraction(AUDIO_FRAME, track.sample_rate), sandbox=self._tools.sandbox,
            )  # fmt: skip
        require_tolerable(found, grid.duration, plan.profile.max_damage, f"audio {track.number}")
        return found

    @handler
    async def thumbnails(self, task: Run) -> Pictures:
        """Make a poster, and sheets of preview pictures for seeking."""
        fetched = await _fetched(task)
        plan = fetched.plan
        if plan.poster is None and plan.sprites is None:
            raise Skip("the profile has no thumbnails")
        attempt = Attempt(self._tools, task, fetched, (await self._tools.build()).id, Pictures)
        if (adopted := await attempt.adopt()) is not None:
            return adopted
        async with self._tools.source(task, fetched.source) as source, self._tools.folder(task) as folder:
            poster = await self._make_poster(task, plan, plan.poster, source, folder) if plan.poster else None
            await task.progress(50)
            sprites = await self._make_sprites(task, plan, plan.sprites, source, folder) if plan.sprites else None
        return await attempt.record(Pictures(poster=poster, sprites=sprites))

    async def _make_poster(self, task: Run, plan: Plan, poster: Poster, source: Path, folder: Path) -> MadeFile:
        build, path = await self._tools.build(), folder / "poster.jpg"
        quick, thorough = (
            commands.poster(build.path, plan, poster, str(source), str(path), seek=seek) for seek in (True, False)
        )
        await self._draw(task, folder, source, path, quick, thorough)
        return MadeFile.of(await self._tools.store(task, path, path.name))

    async def _make_sprites(self, task: Run, plan: Plan, sprites: Sprites, source: Path, folder: Path) -> MadeSprites:
        build = await self._tools.build()
        quick, thorough = (
            commands.sprite_sheets(build.path, plan, sprites, str(source), str(folder), key_frames_only=only)
            for only in (True, False)
        )
        names = [f"sprites-{number}.jpg" for number in range(1, sprites.sheets + 1)]
        progress = EncodeProgress(task, plan)
        await self._draw(task, folder, source, folder / names[-1], quick, thorough, progress.report)
        return MadeSprites(
            sheets=tuple([MadeFile.of(await self._tools.store(task, folder / name, name)) for name in names]),
            every=sprites.every,
            width=sprites.width,
            height=sprites.height,
            columns=sprites.columns,
            rows=sprites.rows,
            count=sprites.count,
        )

    async def _draw(
        self, task: Run, folder: Path, source: Path, made: Path, quick: Sequence[str], thorough: Sequence[str],
        on_progress: OnProgress | None = None,
    ) -> None:  # fmt: skip
        """Run the quick command; if it makes no picture, as after an odd edit, run the one that decodes everything."""
        limits = ProcessLimits(timeout=SHORT_TIMEOUT, stall=STALL if on_progress else None)
        try:
            await self._tools.run(task, quick, folder, reads=[source], limits=limits, on_progress=on_progress)
        except ToolFailed as failed:
            if failed.kind in PASSING:
                raise
        if not await asyncio.to_thread(made.exists):
            await self._tools.run(task, thorough, folder, reads=[source], limits=limits, on_progress=on_progress)

    @handler
    async def captions(self, task: Run) -> MadeCaptions:
        """Convert a text track to WebVTT, without markup and cues that players can't show."""
        fetched = await _fetched(task)
        planned = fetched.captions[task.part]
        attempt = Attempt(self._tools, task, fetched, (await self._tools.build()).id, MadeCaptions)
        if (adopted := await attempt.adopt()) is not None:
            return adopted
        async with self._tools.source(task, fetched.source) as source, self._tools.folder(task) as folder:
            raw = await self._extract_text(task, fetched.plan, planned, source, folder)
            cleaned = await asyncio.to_thread(lambda: webvtt.clean_captions(raw.read_bytes()))
            path = folder / "captions.vtt"
            await asyncio.to_thread(path.write_text, cleaned.text, encoding="utf-8")
            stored = await self._tools.store(task, path, path.name)
        return await attempt.record(
            MadeCaptions.of(
                stored,
                number=planned.number,
                language=planned.language,
                title=planned.title,
                default=planned.default,
                forced=planned.forced,
                cues=cleaned.cues,
                left_out=cleaned.left_out,
            )
        )

    async def _extract_text(self, task: Run, plan: Plan, planned: PlannedCaptions, source: Path, folder: Path) -> Path:
        """Return the path of a text track as ffmpeg converts it.

        Its size is limited because it is read into memory, and its CPU time because one giant cue takes hours.
        """
        build, path = await self._tools.build(), folder / "raw.vtt"
        argv = commands.captions(build.path, plan, planned, str(source), str(path))
        cpu_seconds = CAPTIONS_CPU_SECONDS + (await asyncio.to_thread(source.stat)).st_size // CAPTIONS_BYTES
        limits = ProcessLimits(timeout=SHORT_TIMEOUT, file_size=webvtt.MAX_BYTES, cpu_seconds=cpu_seconds)
        try:
            async with report_waiting(task, "converting text"):
                await self._tools.run(task, argv, folder, reads=[source], limits=limits)
        except ToolFailed as failed:
            if failed.kind is ExitKind.FILE_TOO_LARGE:
                raise Fail(f"the text is longer than {webvtt.MAX_BYTES:,} bytes") from failed
            if failed.kind is ExitKind.CPU_LIMIT:
                raise Fail(f"the text takes more than {cpu_seconds} s to convert: is one cue very long?") from failed
            raise
        return path


async def _fetched(task: Run) -> Fetched:
    return Fetched.from_json(await task.result("fetch"))


def _parse_audio(path: Path, plan: Plan) -> FragmentedMp4:
    """Return the segments that begin before the picture ends: a player does not request later ones."""
    return boxes.parse_mp4(path).merge_after(plan.grid.duration)
