"""The pipeline `transcode`: from the address of a film to an adaptive stream, in stages that any worker can run.

```text
 validate ─▶ probe ─▶ plan ─▶ fetch ─┬─▶ audio (each track) ──────┐
                                     ├─▶ encode (each chunk) ─────┼─▶ package ─▶ verify ─▶ publish
                                     ├─▶ thumbnails ──────────────┤
                                     └─▶ captions (each track) ───┘
```

What crosses a stage is JSON in the results of tasks: keys of files with their sizes and hashes. A file lies under the
token of the run that made it, so whatever a stopped run leaves behind is never mistaken for work that counts.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.stored import Stored, digest_of
from reelstate.core.declaration import Pipeline
from reelstate.core.errors import InvalidRequest, StorageError, StorageMissing
from reelstate.core.outcome import Fail, Retry, Skip
from reelstate.media import boxes, commands, webvtt
from reelstate.media.address import StoredAddress, parse_address
from reelstate.media.advance import Advance
from reelstate.media.boxes import Fragmented
from reelstate.media.encoding import STALL, WHILE_ENCODING, Encoding, patience, require_encoders
from reelstate.media.ending import PASSING, BadInput, Kind, ToolFailed
from reelstate.media.errors import SourceError, SourceUnseekable
from reelstate.media.facts import SourceFacts
from reelstate.media.grid import Chunk
from reelstate.media.limits import Limits
from reelstate.media.manifest import ChunkEntry, Manifest
from reelstate.media.move import moved
from reelstate.media.order import Order
from reelstate.media.package import (
    DASH,
    MANIFEST,
    MASTER,
    Film,
    IncompleteRung,
    package,
    wanted_headers,
    why_not_beside,
)
from reelstate.media.plan import Plan, PlannedAudio, PlannedCaptions, make_plan, settle
from reelstate.media.probe import ProbeLimits, count, probe
from reelstate.media.quality import ENCODE
from reelstate.media.score import mean
from reelstate.media.source import fetch, reading
from reelstate.media.studio import Studio, telling
from reelstate.media.verify import verify
from reelstate.services.videos import TRANSCODE
from reelstate.worker.run import Run

Json = Any
WORKERS_HINT: Final = 2
SMALL_WORK: Final = 3600.0
"""Seconds that anything but an encode may take."""
DECODED_AT_ONCE: Final = 8
"""Files that one command decodes the key frames of: a process each would take longer to start than to decode."""
WHOLE_FILE: Final = ProbeLimits(cpu_seconds=1800, wall_seconds=SMALL_WORK)


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

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._storage = studio.storage

    async def validate(self, task: Run) -> Json:
        """Whether the order can be understood and its source is there."""
        async with judged():
            order = Order.of(task.spec)
            async with reading(parse_address(order.source), self._studio.rules, self._storage) as reader:
                return {"profile": order.profile.name, "size": reader.size}

    async def probe(self, task: Run) -> Json:
        """What the source is made of, read where it lies; nothing where it can't be read in parts."""
        async with judged():
            try:
                async with reading(parse_address(task.spec["source"]), self._studio.rules, self._storage) as reader:
                    return (await probe(reader)).to_json()
            except SourceUnseekable as error:
                task.log(f"it is fetched before it is looked at: {error}")
        async with judged(), self._studio.folder(task) as folder:
            address = parse_address(task.spec["source"])
            fetched = await fetch(address, folder / "source", self._studio.rules, self._storage)
            task.log(f"fetched {fetched.size:,} bytes")
            return (await probe(folder / "source")).to_json()

    async def plan(self, task: Run) -> Json:
        """What to make of it."""
        async with judged():
            order = Order.of(task.spec)
            facts = SourceFacts.from_json(await task.result("probe"))
            qualities = order.qualities
            if order.reuse_from is not None and not await self._reusable(order.reuse_from):
                task.log("nothing of the earlier version can be reused, so every quality is made", level="warning")
                qualities = None
            plan = make_plan(facts, order.profile, qualities=qualities, workers_hint=WORKERS_HINT)
        for warning in plan.warnings:
            task.log(warning, level="warning")
        document = plan.to_json()
        return document if order.captions else {**document, "captions": []}

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
                    settled = settle(plan, await self._counted(cut))
                    await self._require_same_cut(task, original, settled)
                    sha256 = original if cut == path else await asyncio.to_thread(digest_of, cut)
                kept = await self._keep_source(task, cut, sha256)
        captions = [] if task.spec.get("captions") == "drop" else settled.to_json()["captions"]
        document = settled.to_json()
        return {
            "source": kept.sha256,
            "original": original,
            "size": kept.size,
            "plan": document,
            "chunks": [chunk.to_json() for chunk in settled.grid.chunks()],
            "audio": document["audio"],
            "captions": captions,
        }

    @asynccontextmanager
    async def _original(self, task: Run, folder: Path) -> AsyncIterator[tuple[Path, str]]:
        """The source as it was submitted, and its sha256; one that was uploaded is there already."""
        address = parse_address(task.spec["source"])
        if isinstance(address, StoredAddress):
            async with self._studio.source(task, address.sha256) as path:
                yield path, address.sha256
            return
        path = folder / "source"
        fetched = await fetch(address, path, self._studio.rules, on_progress=_Downloading(task).hear)
        yield path, fetched.sha256

    async def _indexed(self, task: Run, folder: Path, source: Path, facts: SourceFacts) -> Path:
        """The source with an index; where it can't be given one, as it is: then it is encoded in one piece."""
        build = await self._studio.build()
        target = folder / f"indexed.{commands.remux_format(facts)}"
        argv = commands.remux(build.path, facts, str(source), str(target))
        limits = Limits(timeout=SMALL_WORK, stall=STALL)
        try:
            await self._studio.run(task, argv, folder, reads=[source], limits=limits)
        except ToolFailed as failed:
            if failed.kind in PASSING:
                raise
            task.log(f"it can't be given an index, and is encoded in one piece: {failed}", level="warning")
            return source
        return target

    async def _counted(self, path: Path) -> SourceFacts:
        """The facts of the file that is cut, its frames counted: one by one where no index tells."""
        facts = await probe(path)
        if facts.video is None or facts.video.frames is not None:
            return facts
        counted = await count(path, WHOLE_FILE)
        return replace(facts, video=replace(facts.video, **dataclasses.asdict(counted)))

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
        await task.progress(95, "storing the source", checkpoint={"source": sha256})
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
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            made, failed = await work.together_or_alone(source, folder)
            scores = await work.scores(source, folder, made)
            await task.progress(99, "storing")
            rungs = {name: await self._kept_track(task, parsed, folder / name) for name, parsed in made.items()}
            if chunk.number == 0:
                for name, parsed in made.items():
                    rungs[name]["init"] = await self._kept_header(task, parsed, folder / name)
        for name, score in scores.items():
            rungs[name]["score"] = score
        return {"chunk": chunk.number, "rungs": rungs, "failed": failed, "encoder": build.id}

    async def _kept_track(self, task: Run, parsed: Fragmented, path: Path) -> Json:
        kept = await self._studio.keep(task, path, f"{path.name}.mp4")
        return {
            "key": kept.key,
            "size": kept.size,
            "sha256": kept.sha256,
            "init_hash": parsed.init_hash,
            "timescale": parsed.track.timescale,
            "frames": parsed.samples,
            "segments": [[each.offset, each.size, each.duration, each.key_size] for each in parsed.segments],
        }

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
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            path = folder / "audio"
            argv = commands.encode_audio(build.path, plan, track, str(source), str(path))
            await self._studio.run(
                task, argv, folder, reads=[source], on_progress=_Listening(task, plan).hear,
                limits=Limits(timeout=patience(plan.grid.duration), stall=STALL),
            )  # fmt: skip
            parsed = await asyncio.to_thread(_parsed_audio, path, plan)
            kept = await self._kept_track(task, parsed, path)
            kept["init"] = await self._kept_header(task, parsed, path)
        return {**kept, **_words(track), "samples": track.samples}

    @judged()
    async def thumbnails(self, task: Run) -> Json:
        """A poster, and sheets of small pictures for whoever seeks."""
        fetched = await task.result("fetch")
        plan = Plan.from_json(fetched["plan"])
        if plan.poster is None and plan.sprites is None:
            raise Skip("the profile asks for none")
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            poster = await self._poster(task, plan, source, folder) if plan.poster else None
            await task.progress(50)
            sprites = await self._sprites(task, plan, source, folder) if plan.sprites else None
        return {"poster": poster, "sprites": sprites}

    async def _poster(self, task: Run, plan: Plan, source: Path, folder: Path) -> Json:
        build, path = await self._studio.build(), folder / "poster.jpg"
        assert plan.poster is not None  # noqa: S101 - asked before
        argv = commands.poster(build.path, plan, plan.poster, str(source), str(path))
        await self._studio.run(task, argv, folder, reads=[source], limits=Limits(timeout=SMALL_WORK))
        return _document(await self._studio.keep(task, path, path.name))

    async def _sprites(self, task: Run, plan: Plan, source: Path, folder: Path) -> Json:
        build, sprites = await self._studio.build(), plan.sprites
        assert sprites is not None  # noqa: S101 - asked before
        argv = commands.sprite_sheets(build.path, plan, sprites, str(source), str(folder))
        await self._studio.run(
            task, argv, folder, reads=[source], on_progress=_Listening(task, plan).hear,
            limits=Limits(timeout=SMALL_WORK, stall=STALL),
        )  # fmt: skip
        names = [f"sprites-{number}.jpg" for number in range(1, sprites.sheets + 1)]
        sheets = [_document(await self._studio.keep(task, folder / name, name)) for name in names]
        shape = {name: getattr(sprites, name) for name in ("every", "width", "height", "columns", "rows", "count")}
        return {"sheets": sheets, **shape}

    @judged()
    async def captions(self, task: Run) -> Json:
        """A text track as WebVTT, without what a player should not be given."""
        fetched = await task.result("fetch")
        plan = Plan.from_json(fetched["plan"])
        track = next(each for each in plan.captions if each.number == task.input["number"])
        build = await self._studio.build()
        async with self._studio.source(task, fetched["source"]) as source, self._studio.folder(task) as folder:
            path = folder / "raw.vtt"
            argv = commands.captions(build.path, plan, track, str(source), str(path))
            # What comes is read into memory, and a source may hold gigabytes of it.
            limits = Limits(timeout=SMALL_WORK, file_size=webvtt.MOST_BYTES)
            try:
                await self._studio.run(task, argv, folder, reads=[source], limits=limits)
            except ToolFailed as failed:
                if failed.kind is Kind.FILE_TOO_LARGE:
                    raise Fail(f"the text is longer than {webvtt.MOST_BYTES:,} bytes") from failed
                raise
            cleaned = await asyncio.to_thread(_cleaned, path)
            made = folder / "captions.vtt"
            await asyncio.to_thread(made.write_text, cleaned.text, encoding="utf-8")
            kept = await self._studio.keep(task, made, made.name)
        return {**_document(kept), **_words(track), "forced": track.forced, "cues": cleaned.cues}

    @judged()
    async def package(self, task: Run) -> Json:
        """Playlists and manifests over what was made; only small files are written."""
        film = await self._film(task)
        film = replace(film, headers={key: await self._storage.get_bytes(key) for key in wanted_headers(film)})

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
        if packed.degraded:
            result["degraded"] = list(packed.degraded)
        return result

    async def _film(self, task: Run) -> Film:
        fetched = await task.result("fetch")
        chunks = [each async for each in task.results(ENCODE)]
        audio = [each async for each in task.results("audio") if each]
        captions = [each async for each in task.results("captions") if each and "key" in each]
        pictures = [each async for each in task.results("thumbnails") if each and "poster" in each]
        return Film(
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
                frames[path] = len(chunk["segments"]) + 1
            files = {str(path): most for path, most in frames.items()}
            argv = commands.decode_check(build.path, files, key_frames_only=True)
            await self._studio.run(task, argv, folder, reads=list(frames), limits=Limits(timeout=SMALL_WORK))

    @judged()
    async def publish(self, task: Run) -> Json:
        """Give the version its front page: a manifest and playlists at a place that needs no token to be known."""
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


def _cleaned(path: Path) -> webvtt.Captions:
    return webvtt.clean(path.read_bytes())


def _parsed_audio(path: Path, plan: Plan) -> Fragmented:
    return boxes.parse(path).with_shortest(plan.grid.time(plan.grid.segment_frames) / 2)


def _words(track: PlannedAudio | PlannedCaptions) -> Json:
    return {name: getattr(track, name) for name in ("number", "language", "title", "default")}


def _scores(film: Film) -> dict[str, dict[str, float]]:
    """How close each rung is to the source, by what it was measured with: workers may have measured differently."""
    found: dict[str, dict[str, list[tuple[float, int]]]] = {}
    for chunk in film.chunks:
        for name, rung in chunk["rungs"].items():
            if score := rung.get("score"):
                found.setdefault(name, {}).setdefault(score["measure"], []).append((score["mean"], rung["frames"]))
    return {name: {how: round(mean(pairs), 6) for how, pairs in scores.items()} for name, scores in found.items()}


def _document(kept: Stored) -> Json:
    return {"key": kept.key, "size": kept.size, "sha256": kept.sha256}


def transcode_pipeline(studio: Studio) -> Pipeline:
    """The pipeline, its stages run in this studio."""
    pipeline, stages = Pipeline(TRANSCODE, check=Order.check), Stages(studio)
    ffmpeg: dict[str, Any] = {"needs": {"ffmpeg"}, "lease": 60.0, "stall_after": STALL}
    pipeline.stage(phase="validating", weight=0.1)(stages.validate)
    pipeline.stage(after="validate", phase="validating", weight=0.2)(stages.probe)
    pipeline.stage(after="probe", phase="planning", weight=0.1)(stages.plan)
    pipeline.stage(after="plan", phase="downloading_inputs", weight=2, needs={"ffmpeg"}, stall_after=STALL)(
        stages.fetch
    )
    # The sound comes before the chunks: a stream can be watched once it and the first chunk are there.
    pipeline.stage(after="fetch", each="fetch.audio", weight=2, **ffmpeg)(stages.audio)
    pipeline.stage(after="fetch", each="fetch.chunks", weight=40, **ffmpeg)(stages.encode)
    pipeline.stage(after="fetch", weight=1, required=False, **ffmpeg)(stages.thumbnails)
    pipeline.stage(after="fetch", each="fetch.captions", weight=0.2, required=False, **ffmpeg)(stages.captions)
    making = ("audio", "encode", "thumbnails", "captions")
    pipeline.stage(after=making, phase="uploading_outputs", weight=0.5)(stages.package)
    pipeline.stage(after="package", phase="uploading_outputs", weight=2, attempts=2, needs={"ffmpeg"})(stages.verify)
    pipeline.stage(after=("verify", "package"), phase="uploading_outputs", weight=0.2)(stages.publish)
    return pipeline
