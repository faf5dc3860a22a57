"""The pipeline `transcode`: from the address of a film to an adaptive stream, in stages that any worker can run.

```text
 validate ─▶ probe ─▶ plan ─▶ fetch ─┬─▶ audio (each track) ──────┐
                                     ├─▶ encode (each chunk) ─────┼─▶ package ─▶ verify ─▶ publish
                                     ├─▶ thumbnails ──────────────┤
                                     └─▶ captions (each track) ───┘
```

What crosses a stage is JSON in the results of tasks: keys of files with their sizes and hashes. A file lies under the
token of the run that made it, so whatever a stopped run leaves behind is never mistaken for work that counts. A later
run of the same task adopts it by copying it, after every byte was verified (`adoption`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.stored import Stored, digest_of
from reelstate.core.document import shorten
from reelstate.core.errors import InvalidRequest, StorageError, StorageMissing
from reelstate.core.outcome import Fail, Retry, Skip
from reelstate.media import TRANSCODE
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.command_run import OnProgress
from reelstate.media.ffmpeg.damage import Damage, described, find_damage, require_tolerable, total
from reelstate.media.ffmpeg.encoding import STALL, WHILE_ENCODING, Encoding, encode_timeout, require_encoders
from reelstate.media.ffmpeg.exit_cause import PASSING, BadInput, ExitKind, ToolFailed
from reelstate.media.ffmpeg.progress import Advance
from reelstate.media.ffmpeg.score import mean
from reelstate.media.formats import fragmented_mp4 as boxes
from reelstate.media.formats import webvtt
from reelstate.media.formats.fragmented_mp4 import Fragmented
from reelstate.media.formats.relocate import moved
from reelstate.media.packaging.adoption import Attempt
from reelstate.media.packaging.init_segments import read_headers
from reelstate.media.packaging.manifest import ChunkEntry, Manifest
from reelstate.media.packaging.package import (
    DASH,
    MANIFEST,
    MASTER,
    IncompleteRung,
    StreamContents,
    package,
    why_not_beside,
)
from reelstate.media.packaging.verify import verify
from reelstate.media.planning.grid import Chunk
from reelstate.media.planning.plan import Plan, PlannedAudio, PlannedCaptions, make_plan, settle
from reelstate.media.planning.quality import ENCODE
from reelstate.media.planning.request import SPEC, TranscodeRequest
from reelstate.media.results import MAX_REASON, read_result, track_fields
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.sandbox.sandbox import AUTO, REQUIRE
from reelstate.media.sources.address import StoredAddress, parse_address
from reelstate.media.sources.errors import SourceError, SourceUnseekable
from reelstate.media.sources.facts import SourceFacts
from reelstate.media.sources.probe import WHOLE_FILE_LIMITS, count_frames, probe
from reelstate.media.sources.source import fetch, open_source
from reelstate.media.tools import MediaTools, telling
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.run import Run

Json = Any
WORKERS_HINT: Final = 2
SMALL_WORK: Final = 3600.0
"""Seconds that anything but an encode may take."""
CAPTIONS_CPU: Final = 30
"""CPU seconds that a track of text may take, and one more for so many bytes of the source that it is read from."""
CAPTIONS_BYTES: Final = 20_000_000
SOUND_FRAME: Final = 1024
"""Samples that a packet of sound is taken to hold where its codec does not say."""
DECODED_AT_ONCE: Final = 8
"""Files that one command decodes the key frames of: a process each would take longer to start than to decode."""


@asynccontextmanager
async def judged() -> AsyncIterator[None]:
    """What is wrong with the source or the request is final; what may pass, as where bytes are kept, is tried again."""
    try:
        yield
    except SourceError as error:
        raise (Retry if error.retryable else Fail)(str(error)) from error
    except StorageError as error:
        raise (Retry if error.retryable else Fail)(str(error)) from error
    except InvalidRequest as error:
        raise Fail(str(error)) from error


class Stages:
    """The handlers of the pipeline, which share a studio."""

    def __init__(self, studio: MediaTools) -> None:
        self._studio = studio
        self._storage = studio.storage

    def require_sandbox(self) -> None:
        """Run no tool without a sandbox from now on, unless the settings say that there is none."""
        if self._studio.sandbox.mode == AUTO:
            self._studio = replace(self._studio, sandbox=replace(self._studio.sandbox, mode=REQUIRE))

    async def validate(self, task: Run) -> Json:
        """Whether the order can be understood and its source is there."""
        task.note(step="check")
        async with judged():
            order = TranscodeRequest.of(task.spec)
            async with open_source(parse_address(order.source), self._studio.rules, self._storage) as reader:
                return {"profile": order.profile.name, "size": reader.size}

    async def probe(self, task: Run) -> Json:
        """What the source is made of, read where it lies; nothing where it can't be read in parts."""
        task.note(step="probe")
        async with judged():
            try:
                async with open_source(parse_address(task.spec["source"]), self._studio.rules, self._storage) as reader:
                    return (await probe(reader, sandbox=self._studio.sandbox)).to_json()
            except SourceUnseekable as error:
                task.log(f"it is fetched before it is looked at: {error}")
        async with judged(), self._studio.folder(task) as folder:
            address = parse_address(task.spec["source"])
            fetched = await fetch(address, folder / "source", self._studio.rules, self._storage)
            task.log(f"fetched {fetched.size:,} bytes")
            return (await probe(folder / "source", sandbox=self._studio.sandbox)).to_json()

    async def plan(self, task: Run) -> Json:
        """What to make of it."""
        task.note(step="plan")
        async with judged():
            order = TranscodeRequest.of(task.spec)
            facts = SourceFacts.from_json(await task.result("probe"))
            qualities = order.qualities
            if order.reuse_from is not None and not await self._reusable(order.reuse_from):
                task.log("nothing of the earlier version can be reused, so every quality is made", level="warning")
                qualities = None
            profile = replace(order.profile, captions=order.profile.captions and order.captions)
            plan = make_plan(facts, profile, qualities=qualities, workers_hint=WORKERS_HINT)
        for warning in (*plan.warnings, *plan.degraded):
            task.log(warning, level="warning")
        return plan.to_json()

    async def _reusable(self, job_id: int) -> bool:
        return await self._storage.exists(f"{keys.version(job_id)}/{MANIFEST}")

    async def fetch(self, task: Run) -> Json:
        """The source as a file of ours that can be cut anywhere, and the grid that it is cut on."""
        async with judged(), self._studio.folder(task) as folder:
            plan = Plan.from_json(await task.result("plan"))
            facts = SourceFacts.from_json(await task.result("probe"))
            async with self._original(task, folder) as (path, original):
                cut = path
                async with telling(task, "looking through the source"):
                    if not facts.indexed:
                        cut = await self._indexed(task, folder, path, facts)
                    counted = await self._counted(cut)
                    settled = settle(plan, counted)
                    await self._require_same_cut(task, original, settled)
                    sha256 = original if cut == path else await asyncio.to_thread(digest_of, cut)
                kept = await self._keep_source(task, cut, sha256)
        return fetch_result(task.spec, kept, original, counted, settled)

    @asynccontextmanager
    async def _original(self, task: Run, folder: Path) -> AsyncIterator[tuple[Path, str]]:
        """The source as it was submitted, and its sha256; one that was uploaded is there already."""
        address = parse_address(task.spec["source"])
        if isinstance(address, StoredAddress):
            async with self._studio.source(task, address.sha256) as path:
                yield path, address.sha256
            return
        path = folder / "source"
        task.note(step="download")
        fetched = await fetch(address, path, self._studio.rules, on_progress=_Downloading(task).hear)
        yield path, fetched.sha256

    async def _indexed(self, task: Run, folder: Path, source: Path, facts: SourceFacts) -> Path:
        """The source with an index; where it can't be given one, as it is: then it is encoded in one piece."""
        build = await self._studio.build()
        target = folder / f"indexed.{commands.remux_format(facts)}"
        argv = commands.remux(build.path, facts, str(source), str(target))
        limits = ProcessLimits(timeout=SMALL_WORK, stall=STALL)
        try:
            await self._studio.run(task, argv, folder, reads=[source], limits=limits)
        except ToolFailed as failed:
            if failed.kind in PASSING:
                raise
            task.log(f"it can't be given an index, and is encoded in one piece: {failed}", level="warning")
            return source
        return target

    async def _counted(self, path: Path) -> SourceFacts:
        """The facts of the file that is cut, its frames counted.

        They are read one by one where there is no index, and where the rate varies: an index has the times at which
        frames are decoded, not those at which they are shown.
        """
        facts = await probe(path, sandbox=self._studio.sandbox)
        video = facts.video
        if video is None or (video.frames is not None and not video.variable_rate):
            return facts
        counted = await count_frames(path, WHOLE_FILE_LIMITS, self._studio.sandbox)
        duration = counted.duration if video.frames is None else max(video.duration, counted.duration)
        return replace(facts, video=replace(video, **dataclasses.asdict(replace(counted, duration=duration))))

    async def _require_same_cut(self, task: Run, source: str, plan: Plan) -> None:
        """Where qualities of an earlier version are reused, they must be of the same film, cut at the same places."""
        earlier = await self._earlier(task)
        if earlier and (reason := why_not_beside(earlier, source, plan.grid)):
            raise Fail(
                f"the other qualities can't be taken from version {task.spec['reuse_from']}: {reason} "
                "(make all of them: leave out `qualities`)"
            )

    async def _keep_source(self, task: Run, path: Path, sha256: str) -> Stored:
        key = keys.source(sha256)
        # Said before we look: a source that was there all along must not be swept as one that nobody needs.
        await task.progress(95, "storing the source", step="store", checkpoint={"source": sha256})
        size = (await asyncio.to_thread(path.stat)).st_size
        if await self._storage.size(key) == size:
            return Stored(key, size, sha256)
        async with telling(task, "storing the source"):
            return await self._storage.put_file(key, path)

    @judged()
    async def encode(self, task: Run) -> Json:
        """One chunk, in all rungs at once; where that fails, rung by rung, so that one that fails fails alone."""
        fetched = await task.result("fetch")
        plan, chunk = Plan.from_json(fetched["plan"]), Chunk.from_json(task.input)
        build = await self._studio.build()
        require_encoders(build, plan)
        work = Encoding(self._studio, task, plan, chunk, build)
        attempt = Attempt(self._studio, task, plan, fetched["source"], build.id)
        if (adopted := await attempt.adopted(work.checked)) is not None:
            return adopted
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            made, failed = await work.together_or_alone(source, folder)
            damage = await work.damage(source)
            scores = await work.scores(source, folder, made)
            await task.progress(99, "storing")
            rungs = {name: await self._kept_track(task, parsed, folder / name) for name, parsed in made.items()}
            if chunk.number == 0:
                for name, parsed in made.items():
                    rungs[name]["init"] = await self._kept_header(task, parsed, folder / name)
        for name, score in scores.items():
            rungs[name]["score"] = score
        return await attempt.record(
            {
                "chunk": chunk.number,
                "rungs": rungs,
                "failed": {name: shorten(reason, MAX_REASON) for name, reason in failed.items()},
                "encoder": build.id,
                **({"damage": damage.to_json()} if damage else {}),
            }
        )

    async def _kept_track(self, task: Run, parsed: Fragmented, path: Path) -> Json:
        kept = await self._studio.keep(task, path, f"{path.name}.mp4")
        return {**_document(kept), **track_fields(parsed)}

    async def _kept_header(self, task: Run, parsed: Fragmented, path: Path) -> Json:
        """What a decoder needs before the first segment, as a file of its own."""
        key = keys.made(task.job_id, task.stage, task.part, task.token, f"{path.name}-init.mp4")
        return _document(await self._storage.put_bytes(key, parsed.init))

    @judged()
    async def audio(self, task: Run) -> Json:
        """A sound track, whole: cut in pieces it would click at every join."""
        fetched = await task.result("fetch")
        plan = Plan.from_json(fetched["plan"])
        track = next(each for each in plan.audio if each.number == task.input["number"])
        build = await self._studio.build()
        attempt = Attempt(self._studio, task, plan, fetched["source"], build.id)
        if (adopted := await attempt.adopted(partial(_parsed_audio, plan=plan))) is not None:
            return adopted
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            path = folder / "audio"
            argv = commands.encode_audio(build.path, plan, track, str(source), str(path))
            finished = await self._studio.run(
                task, argv, folder, reads=[source], on_progress=_Listening(task, plan).hear,
                limits=ProcessLimits(timeout=encode_timeout(plan.grid.duration), stall=STALL),
            )  # fmt: skip
            damage = await _sound_damage(self._studio, task, plan, track, source) if finished.errors else Damage()
            parsed = await asyncio.to_thread(_parsed_audio, path, plan)
            kept = await self._kept_track(task, parsed, path)
            kept["init"] = await self._kept_header(task, parsed, path)
        return await attempt.record(
            {
                **kept,
                **_words(track),
                "samples": track.samples,
                **({"damage": damage.to_json()} if damage else {}),
            }
        )

    @judged()
    async def thumbnails(self, task: Run) -> Json:
        """A poster, and sheets of small pictures for whoever seeks."""
        fetched = await task.result("fetch")
        plan = Plan.from_json(fetched["plan"])
        if plan.poster is None and plan.sprites is None:
            raise Skip("the profile asks for none")
        attempt = Attempt(self._studio, task, plan, fetched["source"], (await self._studio.build()).id)
        if (adopted := await attempt.adopted()) is not None:
            return adopted
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            poster = await self._poster(task, plan, source, folder) if plan.poster else None
            await task.progress(50)
            sprites = await self._sprites(task, plan, source, folder) if plan.sprites else None
        return await attempt.record({"poster": poster, "sprites": sprites})

    async def _poster(self, task: Run, plan: Plan, source: Path, folder: Path) -> Json:
        build, path = await self._studio.build(), folder / "poster.jpg"
        assert plan.poster is not None  # noqa: S101 - asked before
        quick, thorough = (
            commands.poster(build.path, plan, plan.poster, str(source), str(path), seek=seek) for seek in (True, False)
        )
        await self._draw(task, folder, source, path, quick, thorough)
        return _document(await self._studio.keep(task, path, path.name))

    async def _sprites(self, task: Run, plan: Plan, source: Path, folder: Path) -> Json:
        build, sprites = await self._studio.build(), plan.sprites
        assert sprites is not None  # noqa: S101 - asked before
        quick, thorough = (
            commands.sprite_sheets(build.path, plan, sprites, str(source), str(folder), key_frames_only=only)
            for only in (True, False)
        )
        names = [f"sprites-{number}.jpg" for number in range(1, sprites.sheets + 1)]
        await self._draw(task, folder, source, folder / names[-1], quick, thorough, _Listening(task, plan).hear)
        sheets = [_document(await self._studio.keep(task, folder / name, name)) for name in names]
        shape = {name: getattr(sprites, name) for name in ("every", "width", "height", "columns", "rows", "count")}
        return {"sheets": sheets, **shape}

    async def _draw(
        self, task: Run, folder: Path, source: Path, made: Path, quick: Sequence[str], thorough: Sequence[str],
        on_progress: OnProgress | None = None,
    ) -> None:  # fmt: skip
        """Make pictures by a quick command; where that shows nothing, as after an odd edit, by one that decodes all."""
        limits = ProcessLimits(timeout=SMALL_WORK, stall=STALL if on_progress else None)
        try:
            await self._studio.run(task, quick, folder, reads=[source], limits=limits, on_progress=on_progress)
        except ToolFailed as failed:
            if failed.kind in PASSING:
                raise
        if not await asyncio.to_thread(made.exists):
            await self._studio.run(task, thorough, folder, reads=[source], limits=limits, on_progress=on_progress)

    @judged()
    async def captions(self, task: Run) -> Json:
        """A text track as WebVTT, without what a player should not be given."""
        fetched = await task.result("fetch")
        plan = Plan.from_json(fetched["plan"])
        track = next(each for each in plan.captions if each.number == task.input["number"])
        build = await self._studio.build()
        attempt = Attempt(self._studio, task, plan, fetched["source"], build.id)
        if (adopted := await attempt.adopted()) is not None:
            return adopted
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            path = folder / "raw.vtt"
            argv = commands.captions(build.path, plan, track, str(source), str(path))
            # What comes is read into memory, and a source may hold gigabytes of it. One giant cue takes ffmpeg hours.
            cpu_seconds = CAPTIONS_CPU + (await asyncio.to_thread(source.stat)).st_size // CAPTIONS_BYTES
            limits = ProcessLimits(timeout=SMALL_WORK, file_size=webvtt.MAX_BYTES, cpu_seconds=cpu_seconds)
            try:
                async with telling(task, "converting text"):
                    await self._studio.run(task, argv, folder, reads=[source], limits=limits)
            except ToolFailed as failed:
                if failed.kind is ExitKind.FILE_TOO_LARGE:
                    raise Fail(f"the text is longer than {webvtt.MAX_BYTES:,} bytes") from failed
                if failed.kind is ExitKind.CPU_LIMIT:
                    raise Fail(
                        f"the text takes more than {cpu_seconds} s to convert: is one cue very long?"
                    ) from failed
                raise
            cleaned = await asyncio.to_thread(_cleaned, path)
            made = folder / "captions.vtt"
            await asyncio.to_thread(made.write_text, cleaned.text, encoding="utf-8")
            kept = await self._studio.keep(task, made, made.name)
        return await attempt.record({**_document(kept), **_words(track), "forced": track.forced, **_counts(cleaned)})

    @judged()
    async def package(self, task: Run) -> Json:
        """Playlists and manifests over what was made; only small files are written."""
        task.note(step="package")
        film = await self._film(task)
        film = replace(film, headers=await read_headers(self._storage, film))

        def place(file: str) -> str:
            return keys.made(task.job_id, task.stage, task.part, task.token, file)

        try:
            packed = await asyncio.to_thread(package, film, place)
        except IncompleteRung as error:
            raise Fail(str(error)) from error
        kept = [await self._storage.put_bytes(key, data) for key, data in packed.files.items()]
        result = {
            "manifest": next(_document(each) for each in kept if each.key == place(MANIFEST)),
            "master": place(MASTER),
            "dash": place(DASH),
            "rungs": [rung["name"] for rung in packed.manifest["rungs"]],
            "frames": film.plan.grid.frames,
            "duration": float(film.plan.grid.duration),
        }
        if scores := _scores(film):
            result["scores"] = scores
        if degraded := [*film.plan.degraded, *packed.degraded, *_incomplete_captions(film), *_damaged(film)]:
            result["degraded"] = degraded
        return result

    async def _film(self, task: Run) -> StreamContents:
        fetched = await task.result("fetch")
        chunks = [each async for each in task.results(ENCODE)]
        audio = [each async for each in task.results("audio") if each]
        captions = [each async for each in task.results("captions") if each and "key" in each]
        pictures = [each async for each in task.results("thumbnails") if each and "poster" in each]
        made = {ENCODE: chunks, "audio": audio, "captions": captions, "thumbnails": pictures}
        await asyncio.to_thread(_require_records, made)
        return StreamContents(
            plan=Plan.from_json(fetched["plan"]),
            source=fetched["original"],
            chunks=sorted(chunks, key=lambda each: int(each["chunk"])),
            audio=sorted(audio, key=lambda each: int(each["number"])),
            captions=sorted(captions, key=lambda each: int(each["number"])),
            pictures=pictures[0] if pictures else None,
            reused=await self._earlier(task),
        )

    async def _earlier(self, task: Run) -> Manifest | None:
        job_id = task.spec.get("reuse_from")
        if job_id is None:
            return None
        try:
            found: Manifest = json.loads(await self._storage.get_bytes(f"{keys.version(job_id)}/{MANIFEST}"))
        except StorageMissing:
            return None
        return found

    @judged()
    async def verify(self, task: Run) -> Json:
        """Read back every byte that a player may ask for, and decode the key frames, before anybody is let see it."""
        task.note(step="read back")
        packed = await task.result("package")
        manifest: Manifest = json.loads(await self._verified(packed["manifest"]))
        report = await verify(self._storage.get_bytes, manifest)
        if not report.good:
            shown = "; ".join(report.faults[:5])
            raise Retry(f"{len(report.faults)} faults in the package: {shown}")
        await task.progress(50, f"{report.files} files, {report.size:,} bytes are as recorded")
        await self._decode(task, manifest)
        return {"files": report.files, "bytes": report.size}

    async def _verified(self, made: Json) -> bytes:
        data = await self._storage.get_bytes(made["key"])
        if hashlib.sha256(data).hexdigest() != made["sha256"]:
            raise Retry(f"{made['key']} is not as it was written")
        return data

    async def _decode(self, task: Run, manifest: Manifest) -> None:
        chunks = [(rung["name"], chunk) for rung in manifest["rungs"] for chunk in rung["chunks"]]
        for done in range(0, len(chunks), DECODED_AT_ONCE):
            await self._decode_some(task, manifest, chunks[done : done + DECODED_AT_ONCE])
            await task.progress(50 + 49 * done / len(chunks), f"{chunks[done][0]} decodes")

    async def _decode_some(self, task: Run, manifest: Manifest, chunks: Sequence[tuple[str, ChunkEntry]]) -> None:
        """With one command; if it fails, with one each, so that the chunk that is bad is named."""
        try:
            await self._decode_key_frames(task, manifest, [chunk for _, chunk in chunks])
        except BadInput as failed:
            if len(chunks) > 1:
                for each in chunks:
                    await self._decode_some(task, manifest, [each])
            names = ", ".join(f"{name}: {chunk['key']}" for name, chunk in chunks)
            raise Retry(f"{names} can't be decoded: {failed}") from failed

    async def _decode_key_frames(self, task: Run, manifest: Manifest, chunks: Sequence[ChunkEntry]) -> None:
        build, frames = await self._studio.build(), {}
        async with self._studio.folder(task) as folder:
            for number, chunk in enumerate(chunks):
                path = self._storage.local_path(chunk["key"])
                if path is None:
                    path = folder / f"{number}.mp4"
                    await self._storage.download(chunk["key"], path, sha256=manifest["files"][chunk["key"]]["sha256"])
                frames[path] = manifest["frames"]
            files = {str(path): most for path, most in frames.items()}
            argv = commands.decode_check(build.path, files, key_frames_only=True)
            await self._studio.run(task, argv, folder, reads=list(frames), limits=ProcessLimits(timeout=SMALL_WORK))

    @judged()
    async def publish(self, task: Run) -> Json:
        """Give the version its front page: a manifest and playlists at a place that needs no token to be known."""
        task.note(step="publish")
        packed = await task.result("package")
        root = keys.version(task.job_id)
        data = await self._verified(packed["manifest"])
        manifest: Manifest = json.loads(data)
        for name, key in ((MASTER, manifest["master"]), (DASH, manifest["dash"])):
            if key:
                text = (await self._storage.get_bytes(key)).decode()
                await self._storage.put_bytes(f"{root}/{name}", moved(text, key, f"{root}/{name}").encode())
        await self._storage.put_bytes(f"{root}/{MANIFEST}", data)
        pictures = [each async for each in task.results("thumbnails") if each]
        return {
            "master": f"{root}/{MASTER}",
            "dash": f"{root}/{DASH}",
            "manifest": f"{root}/{MANIFEST}",
            "poster": next((each["poster"]["key"] for each in pictures if each.get("poster")), None),
            "rungs": packed["rungs"],
            "duration": packed["duration"],
            "scores": packed.get("scores", {}),
            "degraded": packed.get("degraded", []),
        }


def fetch_result(spec: Json, source: Stored, original: str, counted: SourceFacts, settled: Plan) -> Json:
    """What `fetch` comes to; all but the file itself follows from the plan and the counted facts."""
    document = settled.to_json()
    return {
        "source": source.sha256,
        "original": original,
        "size": source.size,
        "facts": counted.to_json(),
        "plan": document,
        **settled.capabilities(),
        "chunks": [chunk.to_json() for chunk in settled.grid.chunks()],
        "audio": document["audio"],
        "captions": [] if spec.get("captions") == "drop" else document["captions"],
    }


class _Downloading:
    """Tells how far a download is, from whatever thread hears of it."""

    def __init__(self, task: Run) -> None:
        self._task = task

    def hear(self, size: int, total: int | None) -> None:
        part = f" of {total:,}" if total else ""
        self._task.note(90 * size / total if total else None, f"{size:,}{part} bytes")


class _Listening:
    """Tells how far a sound track is."""

    def __init__(self, task: Run, plan: Plan) -> None:
        self._task = task
        self._microseconds = float(plan.grid.duration) * 1e6

    async def hear(self, advance: Advance) -> None:
        if advance.out_time_us:
            await self._task.progress(WHILE_ENCODING * min(advance.out_time_us / self._microseconds, 1))


def _require_records(made: Mapping[str, Sequence[Json]]) -> None:
    """Refuse what is not as a stage makes it, whoever has stored it."""
    for stage, results in made.items():
        for result in results:
            read_result(stage, result)


def _counts(cleaned: webvtt.Captions) -> Json:
    return {"cues": cleaned.cues, **({"left_out": cleaned.left_out} if cleaned.left_out else {})}


def _incomplete_captions(film: StreamContents) -> Iterator[str]:
    for track in film.captions:
        if left_out := track.get("left_out"):
            count = f"{left_out:,} of {left_out + track['cues']:,} cues are left out"
            reason = f"they have no time or text, or more than {webvtt.MAX_CUE:,} characters"
            yield f"captions {track['number']}: {count}: {reason}"


def _cleaned(path: Path) -> webvtt.Captions:
    return webvtt.clean(path.read_bytes())


def _parsed_audio(path: Path, plan: Plan) -> Fragmented:
    """What was made, in segments that begin before the picture ends: a player does not ask for later ones."""
    return boxes.parse(path).ending_by(plan.grid.duration)


def _words(track: PlannedAudio | PlannedCaptions) -> Json:
    return {name: getattr(track, name) for name in ("number", "language", "title", "default")}


async def _sound_damage(studio: MediaTools, task: Run, plan: Plan, track: PlannedAudio, source: Path) -> Damage:
    """What of a sound track is damaged in the source; `Fail` if it is more than the profile allows."""
    grid = plan.grid
    async with telling(task, "looking for damage in the source"):
        found = await find_damage(
            source, track.index, start=grid.origin, end=grid.origin + grid.duration, origin=grid.origin,
            step=Fraction(SOUND_FRAME, track.sample_rate), sandbox=studio.sandbox,
        )  # fmt: skip
    require_tolerable(found, grid.duration, plan.profile.max_damage, f"audio {track.number}")
    return found


def _damaged(film: StreamContents) -> Iterator[str]:
    """What of the source was damaged, a sentence for the picture and for each sound track; `Fail` if it is too much."""
    duration, max_damage = film.plan.grid.duration, film.plan.profile.max_damage
    parts = [Damage.from_json(chunk["damage"]) for chunk in film.chunks if "damage" in chunk]
    found = {"video": total(parts)}
    found |= {f"audio {each['number']}": Damage.from_json(each["damage"]) for each in film.audio if "damage" in each}
    for what, damage in found.items():
        require_tolerable(damage, duration, max_damage, what)
        if damage:
            yield described(damage, duration, what)


def _scores(film: StreamContents) -> dict[str, dict[str, float]]:
    """How close each rung is to the source, by what it was measured with: workers may have measured differently."""
    found: dict[str, dict[str, list[tuple[float, int]]]] = {}
    for chunk in film.chunks:
        for name, rung in chunk["rungs"].items():
            if score := rung.get("score"):
                found.setdefault(name, {}).setdefault(score["measure"], []).append((score["mean"], rung["frames"]))
    return {name: {how: round(mean(pairs), 6) for how, pairs in scores.items()} for name, scores in found.items()}


def _document(kept: Stored) -> Json:
    return {"key": kept.key, "size": kept.size, "sha256": kept.sha256}


def require_sandbox(pipeline: Pipeline) -> None:
    """Have a pipeline of ours run no tool without a sandbox; one of another's has its own rules."""
    for handler in pipeline.handlers.values():
        stages = getattr(handler.call, "__self__", None)
        if isinstance(stages, Stages):
            stages.require_sandbox()


def transcode_pipeline(studio: MediaTools) -> Pipeline:
    """The pipeline, its stages run in this studio."""
    pipeline, stages = Pipeline(TRANSCODE, spec=SPEC, check=TranscodeRequest.check, built_in=True), Stages(studio)
    ffmpeg: dict[str, Any] = {"needs": {"ffmpeg"}, "lease": 60.0, "stall_after": STALL}
    pipeline.stage(phase="validating", weight=0.1)(stages.validate)
    pipeline.stage(after="validate", phase="validating", weight=0.2)(stages.probe)
    pipeline.stage(after="probe", phase="planning", weight=0.1)(stages.plan)
    pipeline.stage(after="plan", phase="downloading_inputs", weight=2, needs={"ffmpeg"}, stall_after=STALL)(
        stages.fetch
    )
    # The sound comes before the chunks: a stream can be watched once it and the first chunk are there.
    pipeline.stage(after="fetch", each="fetch.audio", weight=2, **ffmpeg)(stages.audio)
    pipeline.stage(
        after="fetch", each="fetch.chunks", needs_from="fetch.needs", wants_from="fetch.wants", weight=40, **ffmpeg
    )(stages.encode)
    pipeline.stage(after="fetch", weight=1, required=False, **ffmpeg)(stages.thumbnails)
    pipeline.stage(after="fetch", each="fetch.captions", weight=0.2, required=False, **ffmpeg)(stages.captions)
    making = ("audio", "encode", "thumbnails", "captions")
    pipeline.stage(after=making, phase="uploading_outputs", weight=0.5)(stages.package)
    pipeline.stage(after="package", phase="uploading_outputs", weight=2, attempts=2, needs={"ffmpeg"})(stages.verify)
    pipeline.stage(after=("verify", "package"), phase="uploading_outputs", weight=0.2)(stages.publish)
    return pipeline
