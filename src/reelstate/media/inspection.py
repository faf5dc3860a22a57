"""What the word of a remote worker on a film is worth: the server looks for itself before a task counts as done.

Stages without ffmpeg are cheap and always come to the same: the server runs them again and compares, and what becomes
public is written by the server alone. Of what takes an encoder it checks that the files are the run's own and as told;
before anything is published it reads back every byte.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.stored import Stored, stored, unchanged
from reelstate.core.errors import ReelstateError, StorageConflict, StorageError, StorageMissing
from reelstate.core.model import ClaimedTask, Completion, Json, LogLine, Step, TaskState
from reelstate.core.outcome import Fail, Retry
from reelstate.media.address import STORED
from reelstate.media.package import DASH, MANIFEST, MASTER
from reelstate.media.pipeline import Stages
from reelstate.media.plan import Plan
from reelstate.media.quality import ENCODE
from reelstate.media.studio import Studio
from reelstate.media.verify import verify
from reelstate.services.engine import Engine
from reelstate.services.permits import Grant
from reelstate.services.videos import TRANSCODE
from reelstate.worker.run import Results, Run

FRONT: Final = (MASTER, DASH, MANIFEST)
MAY_SKIP: Final = ("thumbnails", "captions")
MOST_TOLD: Final = 5
MOST_REMEMBERED: Final = 1000


class Inspector:
    """Knows what a run of `transcode` may read and write, and whether what it says of itself is so."""

    def __init__(self, engine: Engine, studio: Studio) -> None:
        self._engine = engine
        self._studio = studio
        self._storage = studio.storage
        self._inputs: dict[int, frozenset[str]] = {}

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
        match grant.stage:
            case "plan":
                return await self._differs(grant, said, lambda stages, task: stages.plan(task))
            case "fetch":
                return await self._fetch_fault(grant, said.result)
            case "package":
                return await self._differs(grant, said, lambda stages, task: stages.package(task), _Compared)
            case "verify":
                return await self._package_fault(grant)
            case "publish":
                return await self._differs(grant, said, lambda stages, task: stages.publish(task))
            case _:
                return await self._files_fault(grant, said.result)

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

    async def _fetch_fault(self, grant: Grant, result: Json) -> str | None:
        plan = Plan.from_json(await self._run_result(grant, "plan"))
        settled = Plan.from_json(result["plan"])
        uploaded = _uploaded((await self._run(grant)).spec) == result["source"]
        if not uploaded and not await self._storage.exists(f"{grant.prefix}/{result['source']}"):
            return f"the source {result['source']} was not brought by this run"
        if (settled.profile, settled.rungs, settled.grid.rate) != (plan.profile, plan.rungs, plan.grid.rate):
            return "its plan is not the one that was made"
        if result["chunks"] != [chunk.to_json() for chunk in settled.grid.chunks()]:
            return "its chunks are not those of its grid"
        return None

    async def _package_fault(self, grant: Grant) -> str | None:
        packed = await self._run_result(grant, "package")
        manifest = json.loads(await self._storage.get_bytes(packed["manifest"]["key"]))
        report = await verify(self._storage.get_bytes, manifest)
        return "; ".join(report.faults[:MOST_TOLD]) or None

    async def _run_result(self, grant: Grant, stage: str) -> Json:
        return await (await self._run(grant)).result(stage)

    async def _files_fault(self, grant: Grant, result: Json) -> str | None:
        """Every file that a result names must be one that this run has sent, of the size that it says."""
        if grant.stage == ENCODE and result["chunk"] != grant.key.part:
            return f"it is chunk {grant.key.part}, not {result['chunk']}"
        for each in _files(result):
            if not each["key"].startswith(f"{grant.prefix}/"):
                return f"{each['key']} is not a file of this run"
            if await self._storage.size(keys.checked(each["key"])) != each["size"]:
                return f"{each['key']} was not sent as it is told"
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
        if len(self._inputs) > MOST_REMEMBERED:
            del self._inputs[next(iter(self._inputs))]


def _uploaded(spec: Json) -> str | None:
    """The source of a job that was uploaded; who may name one was asked when the job was made."""
    source = spec.get("source") if isinstance(spec, Mapping) else None
    return source.removeprefix(STORED) if isinstance(source, str) and source.startswith(STORED) else None


def _files(value: Json) -> Iterator[Mapping[str, Any]]:
    """The records of files anywhere in a result."""
    if isinstance(value, Mapping):
        if "key" in value:
            yield value
        for each in value.values():
            yield from _files(each)
    elif isinstance(value, list):
        for each in value:
            yield from _files(each)


class _Compared:
    """A storage that is not written to: what would be written must be there already, byte for byte."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def put_bytes(self, key: str, data: bytes) -> Stored:
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
