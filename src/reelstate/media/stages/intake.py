"""The stages before the encode: validate the request, probe the source, plan, fetch the source and cut the grid."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from reelstate.artifacts import keys
from reelstate.artifacts.stored import Stored, digest_of
from reelstate.core.outcome import Fail
from reelstate.media.ffmpeg import commands
from reelstate.media.ffmpeg.exit_cause import PASSING, ToolFailed
from reelstate.media.packaging.manifest import MANIFEST
from reelstate.media.packaging.package import why_not_beside
from reelstate.media.planning.plan import Plan, make_plan, settle_plan
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.results import Fetched, Validated
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.sources.address import StoredAddress, parse_address
from reelstate.media.sources.errors import SourceUnseekable
from reelstate.media.sources.facts import SourceFacts
from reelstate.media.sources.probe import WHOLE_FILE_LIMITS, count_frames, probe
from reelstate.media.sources.source import fetch, open_source
from reelstate.media.stages.stage import SHORT_TIMEOUT, STALL, StageGroup, handler, read_earlier
from reelstate.media.tools import report_waiting
from reelstate.worker.run import Run

WORKERS_HINT: Final = 2


class Intake(StageGroup):
    """Handlers of validate, probe, plan and fetch."""

    @handler
    async def validate(self, task: Run) -> Validated:
        """Check the request, and that its source can be opened."""
        task.note(step="check")
        request = TranscodeRequest.from_spec(task.spec)
        async with open_source(parse_address(request.source), self._tools.rules, self._storage) as reader:
            return Validated(profile=request.profile.name, size=reader.size)

    @handler
    async def probe(self, task: Run) -> SourceFacts:
        """Read the facts of the source in place, or after a download if it can't be read in parts."""
        task.note(step="probe")
        address = parse_address(TranscodeRequest.from_spec(task.spec).source)
        try:
            async with open_source(address, self._tools.rules, self._storage) as reader:
                return await probe(reader, sandbox=self._tools.sandbox)
        except SourceUnseekable as error:
            task.log(f"downloading the source before probing it: {error}")
        async with self._tools.folder(task) as folder:
            fetched = await fetch(address, folder / "source", self._tools.rules, self._storage)
            task.log(f"fetched {fetched.size:,} bytes")
            return await probe(folder / "source", sandbox=self._tools.sandbox)

    @handler
    async def plan(self, task: Run) -> Plan:
        """Plan what is made of the source."""
        task.note(step="plan")
        request = TranscodeRequest.from_spec(task.spec)
        facts = SourceFacts.from_json(await task.result("probe"))
        qualities = request.qualities
        earlier = request.reuse_from
        if earlier is not None and not await self._storage.exists(f"{keys.version(earlier)}/{MANIFEST}"):
            task.log(f"version {earlier} has no manifest, so every quality is made", level="warning")
            qualities = None
        profile = replace(request.profile, captions=request.profile.captions and request.captions)
        plan = make_plan(facts, profile, qualities=qualities, workers_hint=WORKERS_HINT)
        for warning in (*plan.warnings, *plan.degraded):
            task.log(warning, level="warning")
        return plan

    @handler
    async def fetch(self, task: Run) -> Fetched:
        """Store the source as a file that can be cut anywhere, and settle_plan the plan on its counted frames."""
        request = TranscodeRequest.from_spec(task.spec)
        plan = Plan.from_json(await task.result("plan"))
        facts = SourceFacts.from_json(await task.result("probe"))
        async with self._tools.folder(task) as folder, self._original(task, request, folder) as (path, original):
            cut = path
            async with report_waiting(task, "counting the frames of the source"):
                if not facts.indexed:
                    cut = await self._add_index(task, folder, path, facts)
                counted = await self._count_frames(cut)
                settled = settle_plan(plan, counted)
                await self._require_same_cut(request, original, settled)
                sha256 = original if cut == path else await asyncio.to_thread(digest_of, cut)
            stored = await self._store_source(task, cut, sha256)
        return Fetched.of(stored, original, counted, settled, captions=request.captions)

    @asynccontextmanager
    async def _original(self, task: Run, request: TranscodeRequest, folder: Path) -> AsyncIterator[tuple[Path, str]]:
        """Yield the path and the sha256 of the source as it was submitted; an uploaded one is stored already."""
        address = parse_address(request.source)
        if isinstance(address, StoredAddress):
            async with self._tools.source(task, address.sha256) as path:
                yield path, address.sha256
            return

        def report_download(size: int, total: int | None) -> None:
            of_total = f" of {total:,}" if total else ""
            task.note(90 * size / total if total else None, f"{size:,}{of_total} bytes")

        path = folder / "source"
        task.note(step="download")
        fetched = await fetch(address, path, self._tools.rules, on_progress=report_download)
        yield path, fetched.sha256

    async def _add_index(self, task: Run, folder: Path, source: Path, facts: SourceFacts) -> Path:
        """Return a copy of the source with an index, or the source if it can't be copied: then it is one chunk."""
        build = await self._tools.build()
        target = folder / f"indexed.{commands.remux_format(facts)}"
        argv = commands.remux(build.path, facts, str(source), str(target))
        limits = ProcessLimits(timeout=SHORT_TIMEOUT, stall=STALL)
        try:
            await self._tools.run(task, argv, folder, reads=[source], limits=limits)
        except ToolFailed as failed:
            if failed.kind in PASSING:
                raise
            task.log(f"the source can't be given an index, and is encoded in one piece: {failed}", level="warning")
            return source
        return target

    async def _count_frames(self, path: Path) -> SourceFacts:
        """Return the facts of the file that is cut, with its frames counted.

        They are read one by one if there is no index, or if the rate varies: an index has the times at which frames
        are decoded, not those at which they are shown.
        """
        facts = await probe(path, sandbox=self._tools.sandbox)
        video = facts.video
        if video is None or (video.frames is not None and not video.variable_rate):
            return facts
        counted = await count_frames(path, WHOLE_FILE_LIMITS, self._tools.sandbox)
        duration = counted.duration if video.frames is None else max(video.duration, counted.duration)
        return replace(facts, video=replace(video, **dataclasses.asdict(replace(counted, duration=duration))))

    async def _require_same_cut(self, request: TranscodeRequest, source: str, plan: Plan) -> None:
        """Refuse to reuse rungs of an earlier version of another source, or with other segments."""
        earlier = await read_earlier(self._storage, request)
        if earlier and (reason := why_not_beside(earlier, source, plan.grid)):
            raise Fail(
                f"the other qualities can't be taken from version {request.reuse_from}: {reason} "
                "(make all of them: leave out `qualities`)"
            )

    async def _store_source(self, task: Run, path: Path, sha256: str) -> Stored:
        key = keys.source(sha256)
        # The checkpoint comes first: it keeps the sweep from deleting a source that is stored already.
        await task.progress(95, "storing the source", step="store", checkpoint={"source": sha256})
        size = (await asyncio.to_thread(path.stat)).st_size
        if await self._storage.size(key) == size:
            return Stored(key, size, sha256)
        async with report_waiting(task, "storing the source"):
            return await self._storage.put_file(key, path)
