"""Checks the results of remote workers: the server inspects each before its task counts as done.

Every result is first read as a record, which checks types, ranges and lengths. Stages without ffmpeg are run again on
the server and their results compared, and only the server writes public files. Results that take an encoder must name
files of their own run, as planned; before anything is published, the server reads back every byte.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.stored import Stored, stored, unchanged
from reelstate.core.errors import ReelstateError, StorageConflict, StorageError, StorageMissing
from reelstate.core.model import ClaimedTask, Completion, Json, LogLine, Step, TaskState
from reelstate.core.outcome import Fail, Retry
from reelstate.engine import Engine
from reelstate.media import TRANSCODE
from reelstate.media.packaging.init_segments import read_header
from reelstate.media.packaging.manifest import MANIFEST, PUBLISHED, read_manifest
from reelstate.media.packaging.verify import verify
from reelstate.media.pipeline import transcode_pipeline
from reelstate.media.planning.plan import Plan, settle_plan
from reelstate.media.planning.request import TranscodeRequest, earlier_version, uploaded_source
from reelstate.media.result_checks import Made, require_header, require_planned, tracks_of
from reelstate.media.results import RESULTS, Fetched, Packaged, Validated, Verified, read_result
from reelstate.media.tools import MediaTools
from reelstate.services.permits import Grant
from reelstate.worker.run import Results, Run

MAY_SKIP: Final = ("thumbnails", "captions")
MAX_REPORTED: Final = 5
"""Faults that a message names."""
CONCURRENT_CHECKS: Final = 4
"""Each check takes memory, and a thread."""
CONCURRENT_READS: Final = 2
"""Packages that are read back at the same time."""
MAX_CACHED_JOBS: Final = 1000


class Inspector:
    """Decides what a run of `transcode` may read and write, and whether its result counts."""

    def __init__(self, engine: Engine, tools: MediaTools) -> None:
        self._engine = engine
        self._tools = tools
        self._storage = tools.storage
        self._inputs: dict[int, frozenset[str]] = {}
        self._checks = asyncio.Semaphore(CONCURRENT_CHECKS)
        self._reads = asyncio.Semaphore(CONCURRENT_READS)

    def concerns(self, grant: Grant) -> bool:
        """Whether results of this pipeline are inspected."""
        return grant.pipeline == TRANSCODE

    async def may_read(self, grant: Grant, key: str) -> bool:
        """Whether a run may read a file: of its own job, its source, or of the earlier version that it reuses."""
        if key.startswith(f"{keys.version(grant.key.job_id)}/"):
            return True
        if grant.pipeline != TRANSCODE:
            return False
        if self.is_source(grant, key):  # a run must send the source itself: see source_sent
            uploaded = uploaded_source((await self._engine.job(grant.key.job_id)).job.spec)
            return uploaded is not None and key == keys.source(uploaded)
        if key not in self._inputs.get(grant.key.job_id, ()):
            self._cache_inputs(grant.key.job_id, await self._find_inputs(grant.key.job_id))
        return key in self._inputs[grant.key.job_id]

    def may_write(self, grant: Grant, key: str) -> bool:
        """Whether a run may write a file: under its token, or a source that it fetched."""
        return key.startswith(f"{grant.prefix}/") or self.is_source(grant, key)

    def is_source(self, grant: Grant, key: str) -> bool:
        """Whether a file is a source that the run may send; its key is its sha256, so its bytes can't be wrong."""
        return grant.pipeline == TRANSCODE and grant.stage == "fetch" and key.startswith(f"{keys.SOURCES}/")

    def is_public(self, grant: Grant, key: str) -> bool:
        """Whether a file is public, and so written by the server itself when `publish` completes."""
        public = {f"{keys.version(grant.key.job_id)}/{name}" for name in PUBLISHED}
        return grant.pipeline == TRANSCODE and grant.stage == "publish" and key in public

    async def source_sent(self, grant: Grant, sha256: str) -> None:
        """Record that a run has sent all bytes of a source: a run that knows only its sha256 may not use it."""
        await self._storage.put_bytes(f"{grant.prefix}/{sha256}", b"sent\n")

    async def fault(self, grant: Grant, completion: Completion) -> str | None:
        """Return what is wrong with a result, or None if it counts; raise `StorageError` if the storage fails."""
        if grant.pipeline != TRANSCODE:
            return None
        try:
            async with self._reads if grant.stage == "verify" else self._checks:
                return await self._fault(grant, completion)
        except (Fail, Retry) as error:
            return str(error)
        except StorageError as error:
            if isinstance(error, StorageConflict | StorageMissing):
                return error.message
            raise
        except (ReelstateError, LookupError, TypeError, ValueError, AttributeError) as error:
            return f"invalid result: {type(error).__name__}: {error}"

    async def _fault(self, grant: Grant, completion: Completion) -> str | None:
        if grant.stage not in RESULTS:
            return f"unknown stage {grant.stage}"
        if completion.skipped:
            return None if grant.stage in MAY_SKIP else f"{grant.stage} can't be skipped"
        made = await asyncio.to_thread(read_result, grant.stage, completion.result)
        match grant.stage:
            case "validate":
                return await self._validate_fault(grant, made)
            case "probe":
                return None
            case "fetch":
                return await self._fetch_fault(grant, made, completion.result)
            case "encode" | "audio" | "captions" | "thumbnails":
                return await self._made_fault(grant, made)
            case "verify":
                return await self._verify_fault(grant, made)
            case "publish":
                return await self._differs(grant, completion, self._storage)
            case _:
                return await self._differs(grant, completion, _UnchangedStorage(self._storage))

    async def _differs(self, grant: Grant, completion: Completion, storage: Any) -> str | None:
        """Run a stage on the server with a storage, and compare the results."""
        tools = replace(self._tools, storage=storage)
        handler = transcode_pipeline(tools).handlers[grant.stage].call
        result = json.loads(json.dumps(await handler(await self._run(grant))))
        return None if result == completion.result else f"{grant.stage} has another result on the server"

    async def _run(self, grant: Grant) -> Run:
        spec = (await self._engine.job(grant.key.job_id)).job.spec
        task = ClaimedTask(grant.key, grant.token, 1, 1, 0, 0.0, None, None, grant.pipeline, grant.stage, spec)
        return Run(task, _SilentReporter(self._engine, grant.key.job_id))

    async def _validate_fault(self, grant: Grant, made: Validated) -> str | None:
        expected = (await self._request(grant)).profile.name
        return None if made.profile == expected else f"the profile is {made.profile}, not {expected}"

    async def _fetch_fault(self, grant: Grant, made: Fetched, result: Json) -> str | None:
        """Check a fetched source: the file and its facts come from the worker, the plan is computed from them here."""
        request = await self._request(grant)
        uploaded = uploaded_source((await self._run(grant)).spec)
        if made.source != uploaded and not await self._storage.exists(f"{grant.prefix}/{made.source}"):
            return f"the source {made.source} was not sent by this run"
        if await self._storage.size(keys.source(made.source)) != made.size:
            return f"the source {made.source} does not have {made.size:,} bytes"
        if uploaded is not None and made.original != uploaded:
            return "it was made of another source than the uploaded one"
        settled = settle_plan(Plan.from_json(await self._stage_result(grant, "plan")), made.facts)
        stored = Stored(keys.source(made.source), made.size, made.source)
        expected = Fetched.of(stored, made.original, made.facts, settled, captions=request.captions)
        document = await asyncio.to_thread(expected.to_json)
        return None if result == document else "its plan does not follow from its facts"

    async def _verify_fault(self, grant: Grant, made: Verified) -> str | None:
        packed = Packaged.from_json(await self._stage_result(grant, "package"))
        manifest = await asyncio.to_thread(read_manifest, await self._storage.get_bytes(packed.manifest.key))
        report = await verify(self._storage.get_bytes, manifest)
        if report.faults:
            return "; ".join(report.faults[:MAX_REPORTED])
        expected = Verified(files=report.files, bytes=report.size)
        return None if made == expected else f"the package has {report.files} files, {report.size:,} bytes"

    async def _request(self, grant: Grant) -> TranscodeRequest:
        return TranscodeRequest.from_spec((await self._run(grant)).spec)

    async def _stage_result(self, grant: Grant, stage: str) -> Json:
        return await (await self._run(grant)).result(stage)

    async def _made_fault(self, grant: Grant, made: Made) -> str | None:
        """Check files: they must be of this run, as planned, and stored with the reported size."""
        plan = Fetched.from_json(await self._stage_result(grant, "fetch")).plan
        for each in await asyncio.to_thread(require_planned, plan, grant.key.part, grant.prefix, made):
            if await self._storage.size(each.key) != each.size:
                return f"{each.key} does not have {each.size:,} bytes"
        for track, planned in tracks_of(plan, made):
            if track.init is not None:
                header = await read_header(self._storage, track.init.key)
                await asyncio.to_thread(require_header, header, track, planned)
        return None

    async def _find_inputs(self, job_id: int) -> frozenset[str]:
        detail = await self._engine.job(job_id)
        found = set()
        if (fetched := detail.plan.get("fetch")) is not None:
            found.add(keys.source(Fetched.from_json(fetched).source))
        if uploaded := uploaded_source(detail.job.spec):
            found.add(keys.source(uploaded))
        if (earlier := earlier_version(detail.job.spec)) is not None:
            manifest = f"{keys.version(earlier)}/{MANIFEST}"
            found.add(manifest)
            with suppress(StorageMissing):
                found |= read_manifest(await self._storage.get_bytes(manifest)).files.keys()
        return frozenset(found)

    def _cache_inputs(self, job_id: int, inputs: frozenset[str]) -> None:
        self._inputs.pop(job_id, None)
        self._inputs[job_id] = inputs
        if len(self._inputs) > MAX_CACHED_JOBS:
            del self._inputs[next(iter(self._inputs))]


class _UnchangedStorage:
    """A storage that writes nothing: what a stage would write must be stored already, byte for byte."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        size = await self._storage.size(key)
        if size is not None and size != len(data):  # not read, for it may be very large
            raise StorageConflict(
                f"{key} has {size:,} bytes, not {len(data):,}", hint="it does not follow from the results of the tasks"
            )
        return unchanged(stored(key, data), stored(key, await self._storage.get_bytes(key)))


class _SilentReporter:
    """A reporter that stores nothing, for stages that the server runs again."""

    def __init__(self, engine: Engine, job_id: int) -> None:
        self._engine = engine
        self._job_id = job_id
        self._loop = asyncio.get_running_loop()

    def note(self, percent: float | None, message: str | None, step: str | None) -> None: ...

    def log(self, line: LogLine) -> None: ...

    def step(self, step: Step) -> None: ...

    def state(self, state: TaskState) -> None: ...

    def save(self, checkpoint: Json) -> Future[None]:  # noqa: ARG002 - not stored
        saved: Future[None] = Future()
        saved.set_result(None)
        return saved

    def results(self, stage: str, after: str | None) -> Future[Results]:
        return asyncio.run_coroutine_threadsafe(self._page(stage, after), self._loop)

    async def _page(self, stage: str, after: str | None) -> Results:
        page = await self._engine.results(self._job_id, stage, after=after)
        return Results(page.items, page.after)
