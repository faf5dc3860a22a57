"""The stages after the encode: package what was made, verify the package, publish it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from reelstate.artifacts import keys
from reelstate.core.outcome import Fail, Retry
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.damage import describe, require_tolerable, total
from reelstate.media.ffmpeg.exit_cause import BadInput
from reelstate.media.ffmpeg.score import mean
from reelstate.media.formats import webvtt
from reelstate.media.formats.relocate import relocate
from reelstate.media.packaging.init_segments import read_headers
from reelstate.media.packaging.manifest import DASH, MANIFEST, MASTER, ChunkEntry, Manifest, read_manifest
from reelstate.media.packaging.package import IncompleteRung, StreamContents, package
from reelstate.media.packaging.verify import verify
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.results import (
    Encoded,
    Fetched,
    MadeAudio,
    MadeCaptions,
    MadeFile,
    Packaged,
    Pictures,
    Published,
    Verified,
)
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.stages.stage import SHORT_TIMEOUT, StageGroup, handler, read_earlier, read_results
from reelstate.worker.run import Run

DECODE_BATCH: Final = 8
"""Files whose key frames one command decodes: a process each would take longer to start than to decode."""
MAX_REPORTED: Final = 5
"""Faults that an error names."""


class Delivery(StageGroup):
    """Handlers of package, verify and publish."""

    @handler
    async def package(self, task: Run) -> Packaged:
        """Write playlists and manifests over what was made; only small files are written."""
        task.note(step="package")

        def key_of(file: str) -> str:
            return keys.made(task.job_id, task.stage, task.part, task.token, file)

        try:
            contents = await self._contents(task)
            packed = await asyncio.to_thread(package, contents, key_of)
        except IncompleteRung as error:
            raise Fail(str(error)) from error
        stored = {key: await self._storage.put_bytes(key, data) for key, data in packed.files.items()}
        left_out = (*contents.plan.degraded, *packed.degraded, *_incomplete_captions(contents), *_damaged(contents))
        return Packaged(
            manifest=MadeFile.of(stored[key_of(MANIFEST)]),
            master=key_of(MASTER),
            dash=key_of(DASH),
            rungs=tuple(rung.name for rung in packed.manifest.rungs),
            frames=contents.plan.grid.frames,
            duration=float(contents.plan.grid.duration),
            scores=_scores(contents),
            degraded=left_out,
        )

    async def _contents(self, task: Run) -> StreamContents:
        fetched = Fetched.from_json(await task.result("fetch"))
        chunks = await read_results(task, "encode", Encoded)
        audio = await read_results(task, "audio", MadeAudio)
        captions = await read_results(task, "captions", MadeCaptions)
        contents = StreamContents(
            plan=fetched.plan,
            source=fetched.original,
            chunks=sorted(chunks, key=lambda each: each.chunk),
            audio=sorted(audio, key=lambda each: each.number),
            captions=sorted(captions, key=lambda each: each.number),
            pictures=next(iter(await read_results(task, "thumbnails", Pictures)), None),
            reused=await read_earlier(self._storage, TranscodeRequest.from_spec(task.spec)),
        )
        return replace(contents, headers=await read_headers(self._storage, contents))

    @handler
    async def verify(self, task: Run) -> Verified:
        """Read back every byte that a player may request, and decode the key frames."""
        task.note(step="read back")
        manifest = await asyncio.to_thread(read_manifest, await self._read_manifest(task))
        report = await verify(self._storage.get_bytes, manifest)
        if not report.good:
            shown = "; ".join(report.faults[:MAX_REPORTED])
            raise Retry(f"{len(report.faults)} faults in the package: {shown}")
        await task.progress(50, f"{report.files} files, {report.size:,} bytes are as recorded")
        chunks = [(rung.name, chunk) for rung in manifest.rungs for chunk in rung.chunks]
        for done in range(0, len(chunks), DECODE_BATCH):
            await self._decode_batch(task, manifest, chunks[done : done + DECODE_BATCH])
            await task.progress(50 + 49 * done / len(chunks), f"{chunks[done][0]} decodes")
        return Verified(files=report.files, bytes=report.size)

    async def _read_manifest(self, task: Run) -> bytes:
        """Return manifest.json of the package, if it has the recorded bytes."""
        made = Packaged.from_json(await task.result("package")).manifest
        data = await self._storage.get_bytes(made.key)
        if hashlib.sha256(data).hexdigest() != made.sha256:
            raise Retry(f"{made.key} has other bytes than were recorded")
        return data

    async def _decode_batch(self, task: Run, manifest: Manifest, chunks: Sequence[tuple[str, ChunkEntry]]) -> None:
        """Decode chunks with one command; if it fails, with one each, so that the error names the bad chunk."""
        try:
            await self._decode_key_frames(task, manifest, [chunk for _, chunk in chunks])
        except BadInput as failed:
            if len(chunks) > 1:
                for each in chunks:
                    await self._decode_batch(task, manifest, [each])
            names = ", ".join(f"{name}: {chunk.key}" for name, chunk in chunks)
            raise Retry(f"{names} can't be decoded: {failed}") from failed

    async def _decode_key_frames(self, task: Run, manifest: Manifest, chunks: Sequence[ChunkEntry]) -> None:
        build = await self._tools.build()
        async with self._tools.folder(task) as folder:
            paths = []
            for number, chunk in enumerate(chunks):
                path = self._storage.local_path(chunk.key)
                if path is None:
                    path = folder / f"{number}.mp4"
                    await self._storage.download(chunk.key, path, sha256=manifest.files[chunk.key].sha256)
                paths.append(path)
            files = {str(path): manifest.frames for path in paths}
            argv = commands.decode_check(build.path, files, key_frames_only=True)
            await self._tools.run(task, argv, folder, reads=paths, limits=ProcessLimits(timeout=SHORT_TIMEOUT))

    @handler
    async def publish(self, task: Run) -> Published:
        """Write the manifest and the playlists of the version to keys that contain no token."""
        task.note(step="publish")
        packed = Packaged.from_json(await task.result("package"))
        root = keys.version(task.job_id)
        data = await self._read_manifest(task)
        manifest = await asyncio.to_thread(read_manifest, data)
        for name, key in ((MASTER, manifest.master), (DASH, manifest.dash)):
            if key:
                text = (await self._storage.get_bytes(key)).decode()
                await self._storage.put_bytes(f"{root}/{name}", relocate(text, key, f"{root}/{name}").encode())
        await self._storage.put_bytes(f"{root}/{MANIFEST}", data)
        pictures = next(iter(await read_results(task, "thumbnails", Pictures)), None)
        return Published(
            master=f"{root}/{MASTER}",
            dash=f"{root}/{DASH}",
            manifest=f"{root}/{MANIFEST}",
            poster=pictures.poster.key if pictures and pictures.poster else None,
            rungs=packed.rungs,
            duration=packed.duration,
            scores=packed.scores,
            degraded=packed.degraded,
        )


def _incomplete_captions(contents: StreamContents) -> Iterator[str]:
    for track in contents.captions:
        if track.left_out:
            count = f"{track.left_out:,} of {track.left_out + track.cues:,} cues are left out"
            reason = f"they have no time or text, or more than {webvtt.MAX_CUE:,} characters"
            yield f"captions {track.number}: {count}: {reason}"


def _damaged(contents: StreamContents) -> Iterator[str]:
    """Yield a sentence for each damaged track of the source; raise `Fail` if one has more damage than allowed."""
    duration, max_damage = contents.plan.grid.duration, contents.plan.profile.max_damage
    found = {"video": total(chunk.damage for chunk in contents.chunks if chunk.damage)}
    found |= {f"audio {each.number}": each.damage for each in contents.audio if each.damage}
    for track, damage in found.items():
        require_tolerable(damage, duration, max_damage, track)
        if damage:
            yield describe(damage, duration, track)


def _scores(contents: StreamContents) -> dict[str, dict[str, float]]:
    """Return the mean score of each rung by measure; workers may have used different measures."""
    found: dict[str, dict[str, list[tuple[float, int]]]] = {}
    for chunk in contents.chunks:
        for name, rung in chunk.rungs.items():
            if rung.score:
                by_measure = found.setdefault(name, {})
                by_measure.setdefault(rung.score.measure, []).append((rung.score.mean, rung.frames))
    return {name: {how: round(mean(pairs), 6) for how, pairs in scores.items()} for name, scores in found.items()}
