"""What the word of a remote worker on a film is worth: the server looks for itself before a task counts as done.

Every result is read as a record first: types, ranges, lengths, words. What the server can compute, it computes: stages
without ffmpeg are run again and compared, the plan follows from the facts, and what becomes public is written by the
server alone. Of what takes an encoder it checks that the files are the run's own and as planned; before anything is
published it reads back every byte.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
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
from reelstate.media.packaging.package import DASH, MANIFEST, MASTER
from reelstate.media.packaging.verify import verify
from reelstate.media.pipeline import Stages, fetch_result
from reelstate.media.planning.plan import Plan, settle
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.result_checks import Made, require_header, require_planned, tracks_of
from reelstate.media.results import RESULTS, Fetched, Validated, Verified, read_result
from reelstate.media.sources.address import STORED
from reelstate.media.tools import MediaTools
from reelstate.services.permits import Grant
from reelstate.worker.run import Results, Run

FRONT: Final = (MASTER, DASH, MANIFEST)
MAY_SKIP: Final = ("thumbnails", "captions")
MAX_REPORTED: Final = 5
AT_ONCE: Final = 4
"""Results that are looked at at the same time: each takes memory, and a thread for what it computes."""
READ_AT_ONCE: Final = 2
"""Packages that are read back at the same time."""
MAX_REMEMBERED: Final = 1000


class Inspector:
    """Knows what a run of `transcode` may read and write, and whether what it says of itself is so."""

    def __init__(self, engine: Engine, studio: MediaTools) -> None:
        self._engine = engine
        self._studio = studio
        self._storage = studio.storage
        self._inputs: dict[int, frozenset[str]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._readings = asyncio.Semaphore(READ_AT_ONCE)

    def concerns(self, grant: Grant) -> bool:
        """Whether there is anything to look at."""
        return grant.pipeline == TRANSCODE

    async def may_read(self, grant: Grant, key: str) -> bool:
        """Files of its own job; of a film also its source, and what an earlier version lends it."""
        if key.startswith(f"{keys.version(grant.key.job_id)}/"):
            return True
        if grant.pipeline != TRANSCODE:
            return False
        if self.is_source(grant, key):  # one that it saw there it would not bring, and then could not name
            uploaded = _uploaded((await self._engine.job(grant.key.job_id)).job.spec)
            return uploaded is not None and key == keys.source(uploaded)
        if key not in self._inputs.get(grant.key.job_id, ()):
            self._remember(grant.key.job_id, await self._found_inputs(grant.key.job_id))
        return key in self._inputs[grant.key.job_id]

    def may_write(self, grant: Grant, key: str) -> bool:
        return key.startswith(f"{grant.prefix}/") or self.is_source(grant, key)

    def is_source(self, grant: Grant, key: str) -> bool:
        """Whether it is a source that the run may bring; its name is its content, so it can't be a wrong one."""
        return grant.pipeline == TRANSCODE and grant.stage == "fetch" and key.startswith(f"{keys.SOURCES}/")

    def is_front(self, grant: Grant, key: str) -> bool:
        """Whether it is of the front page of the version, which the server writes itself when the run is done."""
        root = keys.version(grant.key.job_id)
        return grant.pipeline == TRANSCODE and grant.stage == "publish" and key in {f"{root}/{name}" for name in FRONT}

    async def brought(self, grant: Grant, sha256: str) -> None:
        """Note that a run has shown all bytes of a source: to know its name alone gives no right to it."""
        await self._storage.put_bytes(f"{grant.prefix}/{sha256}", b"brought\n")

    async def fault(self, grant: Grant, said: Completion) -> str | None:
        """What is wrong with what a run says it has done; None where it may count. A storage that is away raises."""
        if grant.pipeline != TRANSCODE:
            return None
        try:
            async with self._readings if grant.stage == "verify" else self._turns:
                return await self._fault(grant, said)
        except (Fail, Retry) as error:
            return str(error)
        except StorageError as error:
            if isinstance(error, StorageConflict | StorageMissing):
                return error.message
            raise
        except (ReelstateError, LookupError, TypeError, ValueError, AttributeError) as error:
            return f"it can't be understood: {type(error).__name__}: {error}"

    async def _fault(self, grant: Grant, said: Completion) -> str | None:
        if said.skipped:
            return None if grant.stage in MAY_SKIP else "it can't be skipped"
        made: Any = None
        if grant.stage in RESULTS:
            made = await asyncio.to_thread(read_result, grant.stage, said.result)
        match grant.stage:
            case "validate":
                return await self._validate_fault(grant, made)
            case "probe":
                return None
            case "plan":
                return await self._differs(grant, said, lambda stages, task: stages.plan(task))
            case "fetch":
                return await self._fetch_fault(grant, made, said.result)
            case "package":
                return await self._differs(grant, said, lambda stages, task: stages.package(task), _Compared)
            case "verify":
                return await self._package_fault(grant, made)
            case "publish":
                return await self._differs(grant, said, lambda stages, task: stages.publish(task))
            case "encode" | "audio" | "captions" | "thumbnails":
                return await self._made_fault(grant, made)
            case _:
                return f"the server does not know the stage {grant.stage}"

    async def _differs(
        self,
        grant: Grant,
        said: Completion,
        work: Callable[[Stages, Run], Any],
        storage: Callable[[Storage], Storage] = lambda storage: storage,
    ) -> str | None:
        """Do the work of a stage here, and compare."""
        stages = Stages(replace(self._studio, storage=storage(self._storage)))
        result = json.loads(json.dumps(await work(stages, await self._run(grant))))
        return None if result == said.result else f"{grant.stage} comes to something else when it is done again"

    async def _run(self, grant: Grant) -> Run:
        spec = (await self._engine.job(grant.key.job_id)).job.spec
        task = ClaimedTask(grant.key, grant.token, 1, 1, 0, 0.0, None, None, grant.pipeline, grant.stage, spec)
        return Run(task, _Listener(self._engine, grant.key.job_id))

    async def _validate_fault(self, grant: Grant, made: Validated) -> str | None:
        wanted = TranscodeRequest.of((await self._run(grant)).spec).profile.name
        return None if made.profile == wanted else f"the profile is {wanted}, not {made.profile}"

    async def _fetch_fault(self, grant: Grant, made: Fetched, result: Json) -> str | None:
        """Only the file and its facts are the worker's word: the plan that follows from them is computed here."""
        spec = (await self._run(grant)).spec
        uploaded = _uploaded(spec)
        if made.source != uploaded and not await self._storage.exists(f"{grant.prefix}/{made.source}"):
            return f"the source {made.source} was not brought by this run"
        if await self._storage.size(keys.source(made.source)) != made.size:
            return f"the source {made.source} was not sent as it is told"
        if uploaded is not None and made.original != uploaded:
            return "it was made of another source than the one that was uploaded"
        settled = settle(Plan.from_json(await self._run_result(grant, "plan")), made.facts)
        kept = Stored(keys.source(made.source), made.size, made.source)
        expected = await asyncio.to_thread(fetch_result, spec, kept, made.original, made.facts, settled)
        return None if result == expected else "its plan is not the one that was made"

    async def _package_fault(self, grant: Grant, made: Verified) -> str | None:
        packed = await self._run_result(grant, "package")
        manifest = json.loads(await self._storage.get_bytes(packed["manifest"]["key"]))
        report = await verify(self._storage.get_bytes, manifest)
        if report.faults:
            return "; ".join(report.faults[:MAX_REPORTED])
        return None if made == Verified(files=report.files, bytes=report.size) else "it was not verified as it is told"

    async def _run_result(self, grant: Grant, stage: str) -> Json:
        return await (await self._run(grant)).result(stage)

    async def _made_fault(self, grant: Grant, made: Made) -> str | None:
        """Files must be the run's own, as the plan wants them, sent with the size that is told."""
        plan = Plan.from_json((await self._run_result(grant, "fetch"))["plan"])
        for each in await asyncio.to_thread(require_planned, plan, grant.key.part, grant.prefix, made):
            if await self._storage.size(each.key) != each.size:
                return f"{each.key} was not sent as it is told"
        for track, wanted in tracks_of(plan, made):
            if track.init is not None:
                header = await read_header(self._storage, track.init.key)
                await asyncio.to_thread(require_header, header, track, wanted)
        return None

    async def _found_inputs(self, job_id: int) -> frozenset[str]:
        detail = await self._engine.job(job_id)
        fetched, earlier = detail.plan.get("fetch"), detail.job.spec.get("reuse_from")
        found = {keys.source(fetched["source"])} if fetched else set()
        if uploaded := _uploaded(detail.job.spec):
            found.add(keys.source(uploaded))
        if isinstance(earlier, int):
            manifest = f"{keys.version(earlier)}/{MANIFEST}"
            try:
                found |= {manifest, *json.loads(await self._storage.get_bytes(manifest))["files"]}
            except StorageMissing:
                found.add(manifest)
        return frozenset(found)

    def _remember(self, job_id: int, inputs: frozenset[str]) -> None:
        self._inputs.pop(job_id, None)
        self._inputs[job_id] = inputs
        if len(self._inputs) > MAX_REMEMBERED:
            del self._inputs[next(iter(self._inputs))]


def _uploaded(spec: Json) -> str | None:
    """The source of a job that was uploaded; who may name one was asked when the job was made."""
    source = spec.get("source") if isinstance(spec, Mapping) else None
    return source.removeprefix(STORED) if isinstance(source, str) and source.startswith(STORED) else None


class _Compared:
    """A storage that is not written to: what would be written must be there already, byte for byte."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        size = await self._storage.size(key)
        if size is not None and size != len(data):  # one of another size is not read: it may be as large as it likes
            raise StorageConflict(f"{key} has {size:,} bytes, not {len(data):,}", hint="it was not made of these tasks")
        return unchanged(stored(key, data), stored(key, await self._storage.get_bytes(key)))


class _Listener:
    """The desk of a run that only looks: nothing that is said there is kept."""

    def __init__(self, engine: Engine, job_id: int) -> None:
        self._engine = engine
        self._job_id = job_id
        self._loop = asyncio.get_running_loop()

    def note(self, percent: float | None, message: str | None, step: str | None) -> None: ...

    def log(self, line: LogLine) -> None: ...

    def step(self, step: Step) -> None: ...

    def state(self, state: TaskState) -> None: ...

    def save(self, checkpoint: Json) -> Future[None]:  # noqa: ARG002 - it is not
        saved: Future[None] = Future()
        saved.set_result(None)
        return saved

    def results(self, stage: str, after: str | None) -> Future[Results]:
        return asyncio.run_coroutine_threadsafe(self._page(stage, after), self._loop)

    async def _page(self, stage: str, after: str | None) -> Results:
        page = await self._engine.results(self._job_id, stage, after=after)
        return Results(page.items, page.after)
