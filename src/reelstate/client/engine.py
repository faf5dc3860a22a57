"""The verbs of the engine that commands use, over HTTP.

Names, arguments, results and errors are those of `Engine`. The key of the client decides who acts and whose jobs it
sees, and settings of the deployment are those of the server: `actor`, `gpu_grace` and the like are not sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, TypeVar, Unpack

from reelstate.client.archive import HttpArchive
from reelstate.client.feed import Feed, Message
from reelstate.client.keys import HttpKeys
from reelstate.client.limits import HttpLimits
from reelstate.client.records import (
    detail_of,
    event_of,
    explanation_of,
    items_of,
    job_of,
    log_of,
    object_of,
    parser_of,
    pause_of,
    paused_of,
    record_of,
    states_of,
    step_of,
    submitted_of,
    task_of,
    version_of,
    worker_of,
)
from reelstate.client.requests import Requests, given, known_id, segment
from reelstate.client.schedules import HttpSchedules
from reelstate.client.transport import ServerAddress, Transport
from reelstate.client.videos import HttpVideos
from reelstate.client.webhooks import HttpWebhooks
from reelstate.core.errors import (
    JobArchived,
    NotFound,
    ReelstateError,
)
from reelstate.core.group import GroupDetail
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import (
    Entity,
    Event,
    Job,
    JobDetail,
    LogEntry,
    Page,
    PipelineVersion,
    StepEntry,
    Submission,
    Submitted,
    Task,
    TaskKey,
    Verdict,
    Worker,
)
from reelstate.core.pause import Pause, TargetOptions
from reelstate.core.policy import PriorityName
from reelstate.core.state import State, stage_job
from reelstate.core.why import Explanation
from reelstate.library.model import NewVideo
from reelstate.services.operate.operation import Operated, Operation, Selection
from reelstate.services.operate.retry import From
from reelstate.services.paging import every
from reelstate.services.pause import Paused
from reelstate.services.states import States
from reelstate.services.subscribe import BEGINNING
from reelstate.services.watch import follow_events

PAGE: Final = 500
EVENTS: Final[tuple[Entity, ...]] = ("job", "stage", "task", "worker", "finding")
STATES: Final[tuple[Entity, ...]] = ("state",)
T = TypeVar("T")


@asynccontextmanager
async def connect_server(server: ServerAddress, *, longest_outage: float) -> AsyncIterator[HttpEngine]:
    """Open a client of a server. A command that follows something outlives an outage of so many seconds."""
    transport = Transport(server, longest_outage=longest_outage)
    try:
        yield HttpEngine(transport)
    finally:
        await transport.close()


class HttpEngine:
    """The verbs of a deployment behind a server. Belongs to one event loop."""

    def __init__(self, transport: Transport) -> None:
        self._requests = Requests(transport)
        self._feed = Feed(transport)
        self._stages: dict[int, tuple[str, ...]] = {}
        """Names of the stages of jobs, which never change."""
        self.schedules = HttpSchedules(self._requests)
        self.webhooks = HttpWebhooks(self._requests)
        self.limits = HttpLimits(self._requests)
        self.videos = HttpVideos(self._requests)
        self.keys = HttpKeys(self._requests)
        self.archive = HttpArchive(self._requests)

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Create one job. Several would need one transaction, which commands do not ask for."""
        (submission,) = submissions
        if isinstance(submission.resource, NewVideo):
            return [await self.videos.submit_new(submission, submission.resource)]
        body = {
            "pipeline": submission.pipeline,
            "spec": submission.spec,
            "priority": submission.priority,
            "delay": submission.delay,
            **given(
                digest=submission.digest,
                idempotency_key=submission.idempotency_key,
                callback=submission.callback,
                group=submission.group,
                group_callback=submission.group_callback,
                after=[each if isinstance(each, int) else str(each) for each in submission.after] or None,
                after_failure=submission.after_failure if submission.after else None,
                user_id=submission.user_id or None,
            ),
        }
        return [await self._requests.post("/jobs", submitted_of, body)]

    async def pipelines(self) -> list[PipelineVersion]:
        return await self._requests.get("/pipelines", lambda found: items_of(found, version_of))

    async def use_pipeline(self, name: str, digest: str | None) -> PipelineVersion:
        return await self._requests.post(
            f"/pipelines/{segment(name, 'pipeline')}/use", version_of, given(digest=digest)
        )

    async def jobs(
        self,
        *,
        statuses: Collection[JobStatus] | None = None,
        pipeline: str | None = None,
        user_id: str | None = None,
        flagged: bool = False,
        archived: bool = False,
        search: str | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Job]:
        return await self._requests.pages(
            "/jobs",
            job_of,
            limit,
            after,
            status=list(statuses or ()),
            pipeline=pipeline,
            user_id=user_id,
            flagged=flagged,
            archived=archived,
            q=search,
        )

    async def groups(
        self, *, user_id: str | None = None, limit: int = 50, after: str | None = None
    ) -> Page[GroupDetail]:
        return await self._requests.pages("/groups", parser_of(GroupDetail), limit, after, user_id=user_id)

    async def group(self, name: str, *, user_id: str | None = None) -> GroupDetail:
        return await self._requests.get(f"/groups/{segment(name, 'group')}", parser_of(GroupDetail), user_id=user_id)

    async def job(self, job_id: int) -> JobDetail:
        detail = await self._requests.get(_job(job_id), detail_of)
        self._stages[job_id] = tuple(stage.name for stage in detail.stages)
        return detail

    async def stage_names(self, job_id: int) -> tuple[str, ...]:
        if job_id not in self._stages:
            await self.job(job_id)
        return self._stages[job_id]

    async def tasks(
        self,
        job_id: int,
        *,
        statuses: Collection[TaskStatus] | None = None,
        limit: int = PAGE,
        after: str | None = None,
    ) -> Page[Task]:
        names = await self.stage_names(job_id)
        return await self._requests.pages(
            f"{_job(job_id)}/tasks", lambda found: task_of(found, names), limit, after, status=list(statuses or ())
        )

    async def why(
        self,
        job_id: int,
        *,
        stage: str | None = None,
        part: int | None = None,
        gpu_grace: float = 60.0,
        stale_after: float = 45.0,
    ) -> Explanation:
        """Return why a job, a stage or a task does not run, by the settings of the server."""
        del gpu_grace, stale_after
        return await self._requests.get(f"{_job(job_id)}/why", explanation_of, stage=stage, part=part)

    async def history(self, job_id: int, *, limit: int = PAGE, after: str | None = None) -> Page[Event]:
        return await self._requests.pages(f"{_job(job_id)}/events", event_of, limit, after)

    async def logs(
        self,
        job_id: int,
        *,
        key: TaskKey | None = None,
        limit: int = PAGE,
        after: str | None = None,
        settled: bool = False,
    ) -> Page[LogEntry]:
        names = await self.stage_names(job_id)
        return await self._requests.pages(
            f"{_job(job_id)}/logs",
            lambda found: log_of(found, names),
            limit,
            after,
            settled=settled,
            **_task(key, names),
        )

    async def steps(
        self, job_id: int, *, key: TaskKey | None = None, limit: int = PAGE, after: str | None = None
    ) -> Page[StepEntry]:
        names = await self.stage_names(job_id)
        return await self._requests.pages(
            f"{_job(job_id)}/steps", lambda found: step_of(found, names), limit, after, **_task(key, names)
        )

    async def states(self, job_id: int | str, stage: str | None = None) -> States:
        return await self._requests.get(f"/states/{segment(str(job_id), 'states of job')}", states_of, stage=stage)

    async def state_versions(self, name: str) -> AsyncGenerator[State, None]:
        """Yield every version of the states of a job of the state manager, and then new ones."""
        await self.states(name)  # raises NotFound
        number, _, stage = name.partition(".")
        job_id = int(number) if stage and number.isdecimal() and name == stage_job(int(number), stage) else None
        async with aclosing(self.subscribe(job_id, after=BEGINNING, only=STATES)) as messages:
            async for message in messages:
                if isinstance(message.item, State) and message.item.job_id == name:
                    yield message.item

    def subscribe(
        self,
        job_id: int | None = None,
        *,
        after: str | None = None,
        only: Collection[Entity] | None = None,
        progress: bool | None = None,
        settle: bool = False,
    ) -> AsyncGenerator[Message, None]:
        """Follow events and states; without end, whatever happens to the connection. Progress is only announced."""
        query = {
            "job": None if job_id is None else known_id(job_id, "job"),
            "only": None if only is None else list(only),
            "progress": progress,
            "bookmarks": settle,
        }
        return self._feed.follow(query, after)

    async def watch(self, job_id: int | None = None) -> AsyncGenerator[Event, None]:
        """Yield events, each after its causes: of a job until it is inactive, of everything from now on."""
        if job_id is not None and (await self.job(job_id)).job.archived:
            async for event in every(lambda cursor: self.history(job_id, after=cursor)):
                yield event
            return

        def follow(cursor: str | None) -> AsyncGenerator[Message, None]:
            return self.subscribe(job_id, after=cursor, only=EVENTS, progress=False, settle=True)

        async with aclosing(follow_events(follow, job_id)) as events:
            async for event in events:
                yield event

    async def workers(self) -> list[Worker]:
        return await self._requests.get("/workers", lambda found: items_of(found, worker_of))

    async def worker_names(self) -> list[str]:
        return await self._requests.get("/workers/names", lambda found: record_of(list[str], found))

    async def drain(self, name: str, *, actor: str = "", reason: str | None = None) -> list[int]:
        del actor
        return await self._worker(name, "drain", "changed", list[int], reason)

    async def enable(self, name: str, *, actor: str = "", reason: str | None = None) -> list[int]:
        del actor
        return await self._worker(name, "enable", "changed", list[int], reason)

    async def disable(self, name: str, *, actor: str = "", reason: str | None = None) -> int:
        del actor
        return await self._worker(name, "disable", "released", int, reason)

    async def revoke(self, name: str, *, actor: str = "") -> tuple[int, int]:
        del actor
        return await self._requests.post(
            f"/workers/{segment(name, 'worker')}/revoke",
            lambda found: (record_of(int, object_of(found).get("revoked")), record_of(int, found.get("released"))),
        )

    async def pause(
        self,
        /,
        *,
        actor: str = "",
        reason: str | None = None,
        release_running: bool = False,
        **target: Unpack[TargetOptions],
    ) -> Paused:
        del actor
        return await self._requests.post("/pauses", paused_of, {**target, "reason": reason, "now": release_running})

    async def resume(self, /, *, actor: str = "", reason: str | None = None, **target: Unpack[TargetOptions]) -> Pause:
        del actor
        return await self._requests.post("/pauses/resume", pause_of, {**target, "reason": reason})

    async def pauses(self, *, lifted: bool = False) -> list[Pause]:
        return await self._requests.get("/pauses", lambda found: items_of(found, pause_of), lifted=lifted)

    async def count_jobs(self, selection: Selection) -> int:
        body = {"action": "cancel", **_selected(selection)}
        return await self._requests.post(
            "/jobs/bulk", lambda found: record_of(int, object_of(found).get("matched")), body
        )

    async def cancel_many(self, operation: Operation) -> list[Operated]:
        return await self._operate(operation, "cancel")

    async def retry_many(self, operation: Operation, start: From | None = None) -> list[Operated]:
        fields = {} if start is None else {"stage": start.stage, "parts": [list(each) for each in start.ranges]}
        return await self._operate(operation, "retry", **fields)

    async def quarantine_many(self, operation: Operation) -> list[Operated]:
        return await self._operate(operation, "quarantine")

    async def force_many(self, operation: Operation, target: JobStatus) -> list[Operated]:
        return await self._operate(operation, "force", status=target)

    async def reprioritise_many(self, operation: Operation, priority: int | PriorityName) -> list[Operated]:
        return await self._operate(operation, "reprioritise", priority=priority)

    async def _operate(self, operation: Operation, verb: str, **fields: Any) -> list[Operated]:
        body = given(reason=operation.reason, **fields)
        if operation.selection is None:
            return [await self._operate_one(job_id, verb, body) for job_id in operation.job_ids]
        selected = {**_selected(operation.selection), "expected": operation.selection.expected}
        return await self._requests.post("/jobs/bulk", _outcomes, {**body, **selected, "action": verb})

    async def _operate_one(self, job_id: int, verb: str, body: dict[str, Any]) -> Operated:
        try:
            return await self._requests.post(f"{_job(job_id)}/{verb}", _outcome, body)
        except (NotFound, JobArchived) as error:
            return Operated(job_id, Verdict.UNKNOWN, error)

    async def _worker(self, name: str, verb: str, field: str, kind: type[T], reason: str | None) -> T:
        return await self._requests.post(
            f"/workers/{segment(name, 'worker')}/{verb}",
            lambda found: record_of(kind, object_of(found).get(field)),
            given(reason=reason),
        )


def _job(job_id: int) -> str:
    return f"/jobs/{known_id(job_id, 'job')}"


def _task(key: TaskKey | None, names: Sequence[str]) -> dict[str, Any]:
    return {} if key is None else {"stage": names[key.stage], "part": key.part}


def _selected(selection: Selection) -> dict[str, Any]:
    return {
        "status": sorted(selection.statuses),
        **given(pipeline=selection.pipeline, user_id=selection.user_id, group=selection.group),
    }


def _outcomes(document: Any) -> list[Operated]:
    return items_of(object_of(document).get("items"), _outcome)


def _outcome(document: Any) -> Operated:
    found = object_of(document)
    job_id, verdict = record_of(int, found.get("id")), record_of(str, found.get("verdict"))
    message, hint = (record_of(str, found.get(name) or "") for name in ("error", "hint"))
    error = ReelstateError(message, hint=hint) if message else None
    return Operated(job_id, Verdict(verdict) if verdict in list(Verdict) else None, error)
