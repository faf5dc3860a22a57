"""Engine: every verb on one store. Workers, the keeper, the HTTP API and the CLI call it and nothing below it.

Programs that submit and operate jobs use `rs.open`, which groups these verbs by noun; those that run tasks or keep the
store (claim, report, complete, reclaim, …) use this class.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar, Unpack

from reelstate.artifacts.storage import Storage
from reelstate.core.alert import AlertType
from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.errors import InvalidSearch
from reelstate.core.group import GroupDetail
from reelstate.core.machine import ACTIVE_JOBS, STOPPED_JOBS, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import (
    Claim,
    Completion,
    Entity,
    Event,
    Failure,
    Flag,
    Job,
    JobDetail,
    Json,
    LogEntry,
    Page,
    PipelineVersion,
    Progress,
    Reclaimed,
    Release,
    Report,
    StepEntry,
    Submission,
    SubmitOptions,
    Submitted,
    Task,
    TaskKey,
    Verdict,
    Worker,
)
from reelstate.core.pause import Pause, Target, TargetOptions
from reelstate.core.pipeline import Graph
from reelstate.core.policy import PriorityName
from reelstate.core.search import Suggestion
from reelstate.core.why import Explanation
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.dispatch.hints import ClaimFilter
from reelstate.dispatch.poll import PollDispatch
from reelstate.feed.subscriber import FeedMessage
from reelstate.pipelines.declaration import Pipeline
from reelstate.services import keep, observe, pause, workers
from reelstate.services.alerts import add_alert
from reelstate.services.archive import Archived, ArchiveMonth, OnBatch, archive, archive_months, refuse_archived
from reelstate.services.catalogue import Catalogue
from reelstate.services.claim import ClaimOptions, ClaimRequest, Claims, recover_claims
from reelstate.services.complete import complete
from reelstate.services.doctor import Diagnosis, doctor, quick_check, report_findings
from reelstate.services.extension import NO_EXTENSION, Extension
from reelstate.services.fail import fail
from reelstate.services.feed import FeedItem, engine_feed
from reelstate.services.flag import flag_stalled
from reelstate.services.grid import Runs, TaskGrid, task_grid, task_runs
from reelstate.services.groups.groups import get_group, group_jobs, list_groups
from reelstate.services.groups.settle import WaitSearch, settle
from reelstate.services.isolation import Isolation
from reelstate.services.keep import Keepers, Lead
from reelstate.services.limits.admission import Admission
from reelstate.services.limits.claiming import claim_admitted
from reelstate.services.limits.limits import Limits
from reelstate.services.measure import Measured, measure
from reelstate.services.mirror import WORKERS, claim_hinted, newly_ready, source_of
from reelstate.services.observe import JobFilter, Queue
from reelstate.services.operate.cancel import cancel
from reelstate.services.operate.force import force
from reelstate.services.operate.operation import (
    GroupOptions,
    Operated,
    Operation,
    OperationOptions,
    Selection,
    matching,
    one,
)
from reelstate.services.operate.quarantine import quarantine
from reelstate.services.operate.reprioritise import reprioritise
from reelstate.services.operate.retry import From, retry
from reelstate.services.orchestrate import Orchestrated, StuckSearch, orchestrate
from reelstate.services.pause import Paused
from reelstate.services.pipelines import pipeline_versions, use_pipeline
from reelstate.services.reclaim import reclaim, reclaim_workers
from reelstate.services.relax import relax
from reelstate.services.release import release
from reelstate.services.repair import Finding
from reelstate.services.report import report
from reelstate.services.retention import Ages, Retained, drop_month, drop_months, retain, vacuum
from reelstate.services.schedules.schedules import Schedules
from reelstate.services.schedules.ticks import Submitter, Ticked
from reelstate.services.search import search_jobs, suggest
from reelstate.services.spans import JobSpans, task_spans
from reelstate.services.states import States, states
from reelstate.services.submit import submit
from reelstate.services.subscribe import Subscription, subscribe
from reelstate.services.watch import wait, watch
from reelstate.services.webhooks.address import NO_PRIVATE_HOSTS, AddressRules
from reelstate.services.webhooks.event_types import event_types
from reelstate.services.webhooks.subscriptions import Webhooks
from reelstate.services.why import WhyOptions, why
from reelstate.services.workers import RegisterOptions, Registration
from reelstate.states.manager import StateManager
from reelstate.states.sql import SqlStateStore
from reelstate.stores.store import Store

T = TypeVar("T")
OPERATOR = "operator"
ARCHIVE_AFTER = 30 * 86_400.0
ARCHIVE_FAILED_AFTER = 180 * 86_400.0


class Engine:
    """Every verb on one store, in the order that a job meets them: submit, orchestrate, claim, report, complete.

    Verbs with `**options` take `self` by position only, so that `Verb` can copy their signatures.
    """

    def __init__(
        self,
        store: Store,
        *,
        dispatch: Dispatch | None = None,
        limits: DocumentLimits = LIMITS,
        extension: Extension = NO_EXTENSION,
        callbacks: AddressRules = NO_PRIVATE_HOSTS,
    ) -> None:
        self.store = store
        self.dispatch = dispatch or PollDispatch()
        self.document_limits = limits
        self.extension = extension
        self.callbacks = callbacks
        """The addresses that webhooks and callbacks may have."""
        self.webhooks = Webhooks(store, event_types(extension), callbacks)
        self.catalogue = Catalogue()
        submitter = Submitter(
            store=store, catalogue=self.catalogue, limits=limits, extension=extension, rules=callbacks
        )
        self.schedules = Schedules(submitter, self._on_ticked)
        self.limits = Limits(store, self._on_admitted)
        self.state_store = SqlStateStore(store, self.dispatch)
        self.feed = engine_feed(store, self.dispatch, self.catalogue)
        self._claims = Claims()
        self._published: dict[int, str] = {}
        """The status last published of each remote worker."""
        self._isolation = Isolation()
        self._search = StuckSearch()
        self._wait_search = WaitSearch()
        self.dispatch.set_source(source_of(store, self.catalogue, extension))

    async def close(self) -> None:
        """Close the feed and the state store; the caller closes the store and the dispatch."""
        await self.feed.close()
        await self.state_store.close()

    async def declare(self, *pipelines: Pipeline | Graph) -> None:
        """Store the graphs of pipelines; new jobs of their names run them, and their specs are checked.

        The limits that come with them are set, but for those that an operator has changed.
        """
        for each in pipelines:
            graph, check = (each.graph, each.check) if isinstance(each, Pipeline) else (each, None)
            await self.catalogue.declare(self.store, graph, check)
            if isinstance(each, Pipeline) and each.limits:
                await self.limits.declare(each.limits)

    async def pipelines(self) -> list[PipelineVersion]:
        """List every version of every pipeline, newest first, with the workers that have its code."""
        return await pipeline_versions(self.store)

    async def use_pipeline(self, name: str, digest: str | None) -> PipelineVersion:
        """Pin the version that new jobs of a pipeline run, by a prefix of its digest; None unpins it.

        Returns the version that new jobs run. Raises `UnknownPipeline` and `InvalidRequest`.
        """
        return await use_pipeline(self.store, name, digest)

    async def submit(self, /, pipeline: str, spec: Json = None, **options: Unpack[SubmitOptions]) -> Submitted:
        """Create a job; the options are the fields of `Submission`."""
        submission = Submission(pipeline=pipeline, spec={} if spec is None else spec, **options)
        (submitted,) = await self.submit_many([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Create jobs in one transaction, all or none. Any process may have declared their pipelines."""
        submitted = await submit(
            self.store, self.catalogue, submissions, self.document_limits, self.extension, self.callbacks
        )
        now = datetime.now(UTC)
        started = [
            (each.job_id, submission)
            for each, submission in zip(submitted, submissions, strict=True)
            if each.verdict is Verdict.OK
            and not submission.after
            and (not submission.delay if submission.run_after is None else submission.run_after <= now)
        ]
        self._on_started(started)
        return submitted

    def _on_started(self, started: Sequence[tuple[int, Submission]]) -> None:
        """Wake workers for new jobs whose tasks are ready."""
        if started and self.dispatch.mirrors:
            self.dispatch.tasks_ready(*newly_ready(self.catalogue, started))
        elif started:
            self.dispatch.notify(Wakeup.WORK)

    def _on_ticked(self, ticked: Ticked) -> None:
        """Wake workers for the jobs that schedules have submitted, and stop those that they have cancelled."""
        self._on_started(ticked.created)
        if ticked.cancelled:
            self._notify((None, [Wakeup.STOP, Wakeup.JOB_INACTIVE]), ticked.cancelled, changed=True)

    async def relax(self, *, older: float = 60.0, limit: int = 100) -> int:
        """Drop what stages only want, where tasks have been ready for `older` seconds and no worker has it.

        Returns the number of stages that were relaxed.
        """
        jobs = await relax(self.store, self.catalogue, older=older, limit=limit)
        return self._notify((len(jobs), [Wakeup.WORK] if jobs else []), frozenset(jobs))

    async def orchestrate(self, *, limit: int = 1000, stuck_after: float = 60.0) -> Orchestrated:
        """Make due tasks ready, finish groups and start jobs whose dependencies have completed.

        Jobs whose next step was missed `stuck_after` seconds ago take it.
        """
        settled = await settle(
            self.store, self.catalogue, limit=limit, isolation=self._isolation, search=self._wait_search
        )
        self._notify((None, settled.wakeups), settled.started)
        self._notify((None, ()), settled.cancelled, changed=True)
        done, wakeups = await orchestrate(
            self.store,
            self.catalogue,
            limit=limit,
            stuck_after=stuck_after,
            isolation=self._isolation,
            search=self._search,
        )
        return self._notify((done, wakeups), done.jobs)

    async def claim(self, /, worker_id: int, limit: int = 1, **options: Unpack[ClaimOptions]) -> Claim:
        """Lease up to `limit` tasks to a worker, most urgent first; the options are the fields of `ClaimRequest`."""
        request = ClaimRequest(worker_id=worker_id, limit=limit, **options)
        if request.hints or limit < 1 or not self.dispatch.mirrors:
            return await self._claim(request)

        async def claim_some(count: int, hints: Sequence[TaskKey]) -> Claim:
            return await self._claim(replace(request, limit=count, hints=hints))

        return await claim_hinted(self.dispatch, self._claims.filter_for(request), limit, claim_some)

    async def _claim(self, request: ClaimRequest) -> Claim:
        claimed, admission = await claim_admitted(self.store, self.catalogue, self._claims, request)
        if admission.tasks:
            self._on_admitted(admission)
        return claimed

    async def claimed(self, worker_id: int, known: Collection[tuple[TaskKey, int]]) -> Claim:
        """Return the leases of a worker that are not in `known`, for a response to a claim that was lost."""
        return await recover_claims(self.store, self.catalogue, worker_id, known)

    async def report(
        self,
        worker_id: int,
        items: Sequence[Progress] = (),
        stuck: int | None = None,
        *,
        max_instances: int | None = None,
    ) -> Report:
        """Renew leases and store progress, checkpoints, logs and states; without items, record a heartbeat.

        `stuck` is the number of the worker's handlers that do not stop; None leaves it as it is.
        """
        answer = await report(
            self.store, worker_id, items, self.document_limits, stuck=stuck, max_instances=max_instances
        )
        accepted = zip(items, answer.verdicts, strict=True)
        stored = [item for item, verdict in accepted if verdict is Verdict.OK]
        self.dispatch.jobs_changed({item.key.job_id for item in stored if item.percent is not None})
        return self._notify((answer, [Wakeup.STATE] if any(item.states for item in stored) else []))

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
        """Record the results of tasks; returns a verdict per item."""
        committed = await complete(self.store, self.catalogue, items, self.document_limits)
        return self._notify(committed, {item.key.job_id for item in items}, changed=True)

    async def fail(self, items: Sequence[Failure]) -> list[Verdict]:
        """Record failed attempts of tasks; returns a verdict per item."""
        committed = await fail(self.store, self.catalogue, items, self.document_limits)
        return self._notify(committed, {item.key.job_id for item in items}, changed=True)

    async def release(self, items: Sequence[Release]) -> list[Verdict]:
        """Give tasks back without counting an attempt; returns a verdict per item."""
        verdicts = await release(self.store, items)
        released = {item.key.job_id for item in items}
        return self._notify((verdicts, [Wakeup.WORK] if Verdict.OK in verdicts else []), released)

    async def reclaim(
        self,
        *,
        limit: int = 500,
        expired: bool = True,
        dead: Collection[int] = (),
        gap: float | None = None,
        stall_after: float | None = None,
    ) -> Reclaimed:
        """Take back expired leases, and the leases of the workers in `dead`, whose processes have ended.

        `stall_after` limits the seconds without progress in stages that set no limit.
        """
        reclaimed = await reclaim(
            self.store,
            self.catalogue,
            limit=limit,
            expired=expired,
            dead=dead,
            gap=gap,
            stall_after=stall_after,
            isolation=self._isolation,
        )
        self._publish_offline(dead)
        return self._notify(reclaimed)

    async def flag_stalled(self, *, stall_after: float | None = None, limit: int = 500) -> list[Flag]:
        """Flag jobs whose runs report no progress for too long and clear the flags of others; returns the changes.

        `stall_after` limits the seconds without progress in stages that set no limit.
        """
        changed = await flag_stalled(self.store, stall_after=stall_after, limit=limit, isolation=self._isolation)
        self.dispatch.jobs_changed({flag.job_id for flag in changed})
        return changed

    async def reclaim_workers(self, *, stale_after: float = 45.0) -> list[int]:
        """Mark workers offline that have not been seen for `stale_after` seconds; returns their ids."""
        gone = await reclaim_workers(self.store, stale_after=stale_after)
        self._publish_offline(gone)
        return gone

    async def lead(self, /, keeper: str, **terms: Any) -> Lead:
        """Record that a keeper is alive; returns whether it leads. The terms are those of `keep_lead`."""
        return await keep.keep_lead(self.store, keeper, **terms)

    async def leave(self, keeper: str) -> None:
        """Give up the lead of the keepers."""
        await keep.keep_leave(self.store, keeper)

    async def keepers(self) -> Keepers:
        """Return which keeper leads, when one was last seen, and until when expired leases are left alone."""
        return await keep.observe_keepers(self.store)

    async def neighbours(self, machine: str) -> list[tuple[int, Json]]:
        """List the workers of a machine that may hold leases, each with the identity of its process."""
        return await keep.keep_neighbours(self.store, machine)

    async def alert(self, kind: AlertType, subject: str, message: str) -> None:
        """Note an alert for operators; a keeper that has an alert URL sends it."""
        await add_alert(self.store, kind, subject, message)

    async def prune_states(self, *, older: float) -> tuple[list[str], int]:
        """Delete states of jobs that finished `older` seconds ago, and versions of that age that a newer one follows.

        Returns the names of the jobs and the number of versions. Subscribers with an older cursor get a reset.
        """
        return await self.state_store.forget(older=older), await self.state_store.prune(older=older)

    async def archive(
        self,
        *,
        older: float | None = ARCHIVE_AFTER,
        failed_older: float | None = ARCHIVE_FAILED_AFTER,
        before: datetime | None = None,
        failed_before: datetime | None = None,
        dry_run: bool = False,
        on_batch: OnBatch | None = None,
    ) -> Archived:
        """Move jobs that finished `older` seconds ago, and that failed `failed_older` seconds ago, to the archive.

        None leaves such jobs where they are; `before` and `failed_before` are times in place of these ages. With
        `dry_run` nothing is moved. Returns the number of jobs by month; `on_batch` is called with it after every batch.
        """
        return await archive(
            self.store,
            self.extension,
            older=older,
            failed_older=failed_older,
            before=before,
            failed_before=failed_before,
            dry_run=dry_run,
            on_batch=on_batch,
        )

    async def archive_months(self) -> list[ArchiveMonth]:
        """List the months of the archive with the number of their jobs, the oldest first."""
        return await archive_months(self.store)

    async def drop_months(self, *, older: float, storage: Storage | None = None) -> list[str]:
        """Delete the months of the archive whose last job finished `older` seconds ago; returns them.

        With a storage they are exported to it first.
        """
        return await drop_months(self.store, older=older, storage=storage)

    async def drop_month(self, month: str, *, storage: Storage | None = None) -> bool:
        """Delete one month of the archive, such as 2026-11; returns whether it existed."""
        return await drop_month(self.store, month, storage)

    async def retain(self, ages: Ages) -> Retained:
        """Delete idempotency keys, log lines, steps and events of workers that are older than these ages."""
        return await retain(self.store, ages)

    async def vacuum(self) -> None:
        """Give free space back to the file system, where the database does not do so by itself."""
        await vacuum(self.store)

    async def prune_workers(self, *, older: float) -> list[int]:
        """Delete worker instances that have been offline for `older` seconds; returns their ids."""
        pruned = await keep.keep_prune(self.store, older=older)
        self._claims.forget(pruned)
        return pruned

    async def check(self) -> list[Finding]:
        """Run the quick invariant checks; a new finding is logged and recorded as an event."""
        found = await keep.keep_findings(self.store, await quick_check(self.store))
        report_findings(found)
        return found

    async def cancel(self, /, job_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """Cancel a job. Options of this and the next verbs: `reason`, `version`, `owner`."""
        return one(await self.cancel_many(Operation(job_ids=[job_id], actor=actor, **options)))

    async def cancel_many(self, operation: Operation) -> list[Operated]:
        """Cancel the jobs of an operation; returns an outcome per job."""
        return await self._on_operated(
            operation, await cancel(self.store, self.catalogue, operation), Wakeup.STOP, Wakeup.JOB_INACTIVE
        )

    async def retry(
        self,
        /,
        job_id: int,
        *,
        start: From | None = None,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Run the unfinished tasks of a job again, or those from a stage on."""
        return one(await self.retry_many(Operation(job_ids=[job_id], actor=actor, **options), start))

    async def retry_many(self, operation: Operation, start: From | None = None) -> list[Operated]:
        """Retry the jobs of an operation; returns an outcome per job."""
        return await self._on_operated(
            operation, await retry(self.store, self.catalogue, operation, start), Wakeup.WORK
        )

    async def quarantine(
        self,
        /,
        job_id: int,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Stop a job until an operator retries, cancels or forces it; requires a reason."""
        return one(await self.quarantine_many(Operation(job_ids=[job_id], actor=actor, **options)))

    async def quarantine_many(self, operation: Operation) -> list[Operated]:
        """Quarantine the jobs of an operation; returns an outcome per job."""
        return await self._on_operated(
            operation, await quarantine(self.store, self.catalogue, operation), Wakeup.STOP, Wakeup.JOB_INACTIVE
        )

    async def force(
        self,
        /,
        job_id: int,
        target: JobStatus,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Set the status of an unfinished job to pending, failed or completed; requires a reason."""
        return one(await self.force_many(Operation(job_ids=[job_id], actor=actor, **options), target))

    async def force_many(self, operation: Operation, target: JobStatus) -> list[Operated]:
        """Force the jobs of an operation to a status; returns an outcome per job."""
        follows = Wakeup.WORK if target is JobStatus.PENDING else Wakeup.JOB_INACTIVE
        forced = await force(self.store, self.catalogue, operation, target, self.extension)
        return await self._on_operated(operation, forced, Wakeup.STOP, follows)

    async def reprioritise(
        self,
        /,
        job_id: int,
        priority: int | PriorityName,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Set the priority of a job and of its tasks: 0 to 10, or low, normal, high, critical."""
        return one(await self.reprioritise_many(Operation(job_ids=[job_id], actor=actor, **options), priority))

    async def reprioritise_many(self, operation: Operation, priority: int | PriorityName) -> list[Operated]:
        """Set the priority of the jobs of an operation; returns an outcome per job."""
        return await self._on_operated(
            operation, await reprioritise(self.store, self.catalogue, operation, priority), Wakeup.WORK
        )

    async def job(self, job_id: int, *, owner: str | None = None) -> JobDetail:
        """Return a job with its stages, plan, outputs and progress. Raises `NotFound`."""
        return await observe.observe_job(self.store, self.catalogue, job_id, owner)

    async def stage_names(self, job_id: int, *, owner: str | None = None) -> tuple[str, ...]:
        """Return the names of a job's stages, in the order of their numbers."""
        return await observe.observe_stage_names(self.store, self.catalogue, job_id, owner)

    async def graph(self, job_id: int, *, owner: str | None = None) -> Graph:
        """Return the graph of the pipeline that a job was submitted with."""
        return await observe.observe_graph(self.store, self.catalogue, job_id, owner)

    async def why(
        self,
        job_id: int,
        *,
        stage: str | None = None,
        part: int | None = None,
        owner: str | None = None,
        gpu_grace: float = 60.0,
        stale_after: float = 45.0,
    ) -> Explanation:
        """Return the exact reasons why a job, or a stage or task of it, does not run now, or that it runs.

        `gpu_grace` and `stale_after` are the settings of the deployment's workers and keepers. Raises `NotFound` and
        `InvalidRequest`.
        """
        terms: WhyOptions = {"gpu_grace": gpu_grace, "stale_after": stale_after}
        return await why(self.store, self.catalogue, job_id, stage=stage, part=part, owner=owner, **terms)

    async def groups(
        self, *, user_id: str | None = None, limit: int = 50, after: str | None = None
    ) -> Page[GroupDetail]:
        """List groups, newest first, with the status, the counts and the progress of their jobs."""
        return await list_groups(self.store, user_id=user_id, limit=limit, after=after)

    async def group(self, name: str, *, user_id: str | None = None) -> GroupDetail:
        """Return a group with the status, the counts and the progress of its jobs.

        Raises `NotFound`, and `InvalidRequest` where several users have a group of this name and none is named.
        """
        return await get_group(self.store, name, user_id=user_id)

    async def cancel_group(
        self, /, name: str, *, user_id: str | None = None, actor: str = OPERATOR, reason: str | None = None
    ) -> list[Operated]:
        """Cancel the active jobs of a group, in transactions of a bounded size; returns an outcome per job."""
        return await self._operate_group(name, user_id, ACTIVE_JOBS, self.cancel_many, actor=actor, reason=reason)

    async def retry_group(
        self, /, name: str, *, user_id: str | None = None, actor: str = OPERATOR, reason: str | None = None
    ) -> list[Operated]:
        """Retry the failed jobs of a group, and for an operator the quarantined ones; returns an outcome per job."""
        statuses = STOPPED_JOBS if actor.partition(":")[0] == OPERATOR else (JobStatus.FAILED,)
        return await self._operate_group(name, user_id, statuses, self.retry_many, actor=actor, reason=reason)

    async def _operate_group(
        self,
        name: str,
        user_id: str | None,
        statuses: Collection[JobStatus],
        verb: Callable[[Operation], Awaitable[list[Operated]]],
        **options: Unpack[GroupOptions],
    ) -> list[Operated]:
        """Apply a verb to the jobs of a group with these statuses; each is tried once."""
        group = await self.group(name, user_id=user_id)
        outcomes: dict[int, Operated] = {}
        after = -1
        while job_ids := await group_jobs(self.store, group, statuses, after=after):
            outcomes |= {each.job_id: each for each in await verb(Operation(job_ids=job_ids, **options))}
            after = job_ids[-1]
        return list(outcomes.values())

    async def count_jobs(self, selection: Selection) -> int:
        """Count the jobs of a selection, for the number that an operation on it must name."""
        return len(await self.store.read(lambda transaction: matching(transaction, selection)))

    async def queue(self, *, owner: str | None = None) -> Queue:
        """Count the jobs per status, and the ready, running and waiting tasks per pipeline."""
        return await observe.observe_queue(self.store, owner)

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
        """List jobs, newest first, by status, pipeline, user or flag; with `archived`, those in the archive.

        `search` selects by more fields, such as `status:failed created:<7d error~"out of memory"`. Its pages may have
        fewer jobs than `limit`, even none; the last one has no `after`. Raises `InvalidSearch`.
        """
        wanted = JobFilter(statuses=statuses, pipeline=pipeline, user_id=user_id, flagged=flagged)
        if search is not None and search.strip():
            if archived:
                raise InvalidSearch("the archive is not searched", hint="list its jobs by status, pipeline or user")
            return await search_jobs(self.store, search, wanted, limit=limit, after=after)
        return await observe.observe_jobs(self.store, wanted, limit=limit, after=after, archived=archived)

    async def suggestions(self, search: str) -> list[Suggestion]:
        """List how the last term of a search may go on: fields, statuses and names of pipelines."""
        return await suggest(self.store, search)

    async def tasks(
        self,
        job_id: int,
        *,
        stage: str | None = None,
        statuses: Collection[TaskStatus] | None = None,
        limit: int = 500,
        after: str | None = None,
        owner: str | None = None,
    ) -> Page[Task]:
        """List the tasks of a job by stage and part."""
        return await observe.observe_tasks(
            self.store, self.catalogue, job_id, stage=stage, statuses=statuses, limit=limit, after=after, owner=owner
        )

    async def spans(self, job_id: int, *, owner: str | None = None) -> JobSpans:
        """Return the state of every task of a job, neighbours in the same state as one span. Raises `NotFound`."""
        return await task_spans(self.store, self.catalogue, job_id, owner=owner)

    async def grid(
        self,
        job_id: int,
        *,
        stage: str | None = None,
        parts: tuple[int, int] | None = None,
        owner: str | None = None,
    ) -> TaskGrid:
        """Return every task of a job, of one stage, or some parts of a stage, as short values. Raises `NotFound`."""
        return await task_grid(self.store, self.catalogue, job_id, stage=stage, parts=parts, owner=owner)

    async def runs(
        self,
        job_id: int,
        *,
        stage: str | None = None,
        limit: int = 10_000,
        after: str | None = None,
        owner: str | None = None,
    ) -> Runs:
        """List the runs of a job's tasks, with the worker, the times and the outcome of each."""
        return await task_runs(self.store, self.catalogue, job_id, stage=stage, limit=limit, after=after, owner=owner)

    async def results(self, job_id: int, stage: str, *, limit: int = 100, after: str | None = None) -> Page[Json]:
        """List the results of the finished parts of a stage, by part."""
        page = await self.tasks(job_id, stage=stage, statuses=[TaskStatus.DONE], limit=limit, after=after)
        return Page([task.result for task in page.items], page.after)

    async def events(self, *, limit: int = 500, after: str | None = None) -> Page[Event]:
        """List events in the order of commit. The page always has `after`, because more may come."""
        return await observe.observe_events(self.store, self.catalogue, limit=limit, after=after)

    async def measure(self) -> Measured:
        """Read the gauges of the cluster for metrics: queues, running tasks, workers, the last sweep."""
        return await measure(self.store)

    async def ready(self) -> None:
        """Raise unless the database answers and has the schema that this code needs."""
        await observe.observe_schema(self.store)

    async def head(self) -> str:
        """Return the cursor of the newest event; events after it are yet to happen."""
        return await observe.observe_head(self.store)

    async def history(
        self,
        job_id: int,
        *,
        stage: str | int | None = None,
        part: int | None = None,
        limit: int = 500,
        after: str | None = None,
        owner: str | None = None,
    ) -> Page[Event]:
        """List the events of a job and its stages and tasks; `stage` and `part` select one of them.

        `stage` is a name or a number; -1 selects the job itself.
        """
        return await observe.observe_history(
            self.store, self.catalogue, job_id, stage=stage, part=part, limit=limit, after=after, owner=owner
        )

    def subscribe(
        self,
        job_id: int | None = None,
        *,
        user_id: str | None = None,
        after: str | None = None,
        only: Collection[Entity] | None = None,
        progress: bool | None = None,
        settle: bool = False,
    ) -> AsyncGenerator[FeedMessage[FeedItem], None]:
        """Follow events, states and progress of a job, of a user's jobs or of all: replayed from a cursor, then live.

        Without a cursor a job is replayed from its submission and everything else starts now; "0" replays all.
        `only` selects entities: job, stage, task, worker, finding, state. `progress` adds the progress of running
        tasks, by default for a single job. With `settle`, a bookmark follows whenever the reader has caught up.
        """
        wanted = Subscription(job_id=job_id, user_id=user_id, only=only, progress=progress)
        return subscribe(self.feed, self.store, wanted, after, settle=settle)

    def watch(self, job_id: int | None = None, after: str | None = None) -> AsyncGenerator[Event, None]:
        """Yield the events of a job from its submission, or after a cursor, until the job finishes or stops.

        Without a job: every event, from now on or after a cursor, without end.
        """
        return watch(self.feed, self.store, self.catalogue, job_id, after)

    async def wait(self, job_id: int, timeout: float | None = None) -> JobDetail:  # noqa: ASYNC109 - ours to raise
        """Return a job once it has finished or stopped; raises `WaitTimeout` after `timeout` seconds."""
        return await wait(self.store, self.catalogue, self.dispatch, job_id, timeout)

    async def worker_history(self, worker_id: int, *, limit: int = 500, after: int = 0) -> list[Event]:
        """List the events of one worker instance after a version."""
        return await observe.observe_worker_history(self.store, worker_id, limit=limit, after=after)

    async def logs(
        self,
        job_id: int,
        *,
        key: TaskKey | None = None,
        limit: int = 500,
        after: str | None = None,
        owner: str | None = None,
        settled: bool = False,
    ) -> Page[LogEntry]:
        """List the log lines of a job's tasks, oldest first.

        `settled` leaves out lines before which another can still appear, so that a follower misses none.
        """
        return await observe.observe_logs(
            self.store, job_id, key=key, limit=limit, after=after, owner=owner, settled=settled
        )

    async def steps(
        self,
        job_id: int,
        *,
        key: TaskKey | None = None,
        limit: int = 500,
        after: str | None = None,
        owner: str | None = None,
    ) -> Page[StepEntry]:
        """List the commands that the runs of a job have started, with exit code, duration and output."""
        return await observe.observe_steps(self.store, job_id, key=key, limit=limit, after=after, owner=owner)

    async def states(self, job_id: int | str, stage: str | None = None, *, owner: str | None = None) -> States:
        """Return the states of a job's tasks: a grid per stage, and the lowest state of all.

        `job_id` is the number of a job, `job.stage`, or the name of a job of the state manager.
        """
        return await states(self.store, self.catalogue, self.state_store, job_id, stage, owner)

    async def state_manager(
        self,
        job_id: str,
        task_index: int | None = None,
        num_tasks: int | None = None,
        *,
        tags: Iterable[str] = (),
    ) -> StateManager:
        """Open a state manager on this store: for one task of a job outside the engine, or to read any job."""
        return await StateManager.open(
            job_id, task_index, num_tasks, self.state_store, tags=tuple(tags), limits=self.document_limits
        )

    async def register(self, /, name: str, **options: Unpack[RegisterOptions]) -> int:
        """Register a worker instance and return its id; the options are the fields of `Registration`."""
        options.setdefault("pipelines", self.catalogue.names)
        worker_id = await workers.register(self.store, Registration(name=name, **options), self.document_limits)
        accepted = ClaimFilter(frozenset(options["pipelines"]), frozenset(options.get("capabilities", ())))
        self._claims.add_worker(worker_id, accepted)
        self._publish_worker("idle", id=worker_id, name=name)
        return worker_id

    async def workers(self) -> list[Worker]:
        """List every worker instance."""
        return await observe.observe_workers(self.store, self.catalogue)

    async def worker_names(self) -> list[str]:
        """List every name that a worker was ever registered under, sorted."""
        return await workers.worker_names(self.store)

    async def move_worker(self, worker_id: int, target: WorkerStatus, *, actor: str, reason: str | None = None) -> bool:
        """Move one worker instance to another lifecycle status; returns whether that changed it."""
        moved = await workers.move_worker(self.store, worker_id, target, actor=actor, reason=reason)
        if target is WorkerStatus.OFFLINE:
            self._claims.forget([worker_id])
        if moved:
            self._publish_worker(target, id=worker_id)
        return moved

    async def drain(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> list[int]:
        """Let the workers of a name finish their tasks and claim no more; returns their ids."""
        drained = await workers.drain(self.store, name, actor=actor, reason=reason)
        self._publish_worker("draining", name=name)
        return self._notify((drained, [Wakeup.STOP] if drained else []))

    async def enable(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> list[int]:
        """Let the workers of a name claim again; returns the ids of those that were draining."""
        resumed = await workers.enable(self.store, name, actor=actor, reason=reason)
        self._publish_worker("enabled", name=name)
        self.dispatch.notify(Wakeup.WORK)
        return resumed

    async def disable(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> int:
        """Refuse claims under a name and release its tasks; returns their number. Its keys stay in force."""
        returned = await workers.disable(self.store, name, actor=actor, reason=reason)
        self._publish_worker("disabled", name=name)
        return self._notify((returned, [Wakeup.STOP, Wakeup.WORK] if returned else []))

    async def revoke(self, name: str, *, actor: str = OPERATOR) -> tuple[int, int]:
        """Revoke the keys of a name and release its tasks; returns the number of keys and of tasks."""
        answer = await workers.revoke(self.store, name, actor=actor)
        return self._notify((answer, [Wakeup.STOP, Wakeup.WORK]))

    async def pause(
        self,
        /,
        *,
        actor: str = OPERATOR,
        reason: str | None = None,
        release_running: bool = False,
        **target: Unpack[TargetOptions],
    ) -> Paused:
        """Keep workers from claiming tasks of a target: everything, a pipeline, a stage of one, a user or a worker.

        New work is accepted and waits. Running tasks finish, or with `release_running` are released, which does not
        count as an attempt. A target that is paused already keeps its pause.
        """
        paused = await pause.pause(
            self.store, Target.of(**target), actor=actor, reason=reason, release_running=release_running
        )
        return self._notify((paused, [Wakeup.STOP, Wakeup.WORK] if paused.released else []))

    async def resume(
        self, /, *, actor: str = OPERATOR, reason: str | None = None, **target: Unpack[TargetOptions]
    ) -> Pause:
        """Lift the pause of a target; its tasks can be claimed at once. Raises `NotFound` where it is not paused."""
        lifted = await pause.resume(self.store, Target.of(**target), actor=actor, reason=reason)
        return self._notify((lifted, [Wakeup.WORK]))

    async def pauses(self, *, lifted: bool = False, limit: int = 1000) -> list[Pause]:
        """List the pauses in force, newest first; with `lifted`, the record of earlier ones too."""
        return await pause.pauses(self.store, lifted=lifted, limit=limit)

    async def settle_pauses(self) -> int:
        """Return tasks that nothing pauses any more to their lanes, after a resume; returns their number."""
        returned = await pause.settle(self.store)
        return self._notify((returned, [Wakeup.WORK] if returned else []))

    async def doctor(self, *, repair: bool = False) -> Diagnosis:
        """Check the stored state against every invariant; with `repair`, repair it."""
        diagnosis = await doctor(self.store, self.catalogue, repair=repair)
        return self._notify((diagnosis, Wakeup if diagnosis.repaired else []))

    async def mirror(self) -> None:
        """Compare the hints of the dispatch with the ready tasks, and correct the hints."""
        await self.dispatch.reconcile()

    def _notify(
        self, committed: tuple[T, Iterable[Wakeup]], jobs: Collection[int] | None = None, *, changed: bool = False
    ) -> T:
        """Send wake-ups after a commit; `jobs` may have become ready or, with `changed`, have changed otherwise."""
        result, wakeups = committed
        mirrors = self.dispatch.mirrors
        if changed and jobs and mirrors:
            self.dispatch.jobs_changed(jobs)
        for wakeup in wakeups:
            if wakeup is Wakeup.WORK and mirrors:
                self.dispatch.tasks_ready(jobs)
            else:
                self.dispatch.notify(wakeup)
        return result

    def _on_admitted(self, admission: Admission) -> None:
        self._notify((None, [Wakeup.WORK]), admission.job_ids)

    async def _on_operated(self, operation: Operation, outcomes: list[Operated], *wakeups: Wakeup) -> list[Operated]:
        changed = {outcome.job_id for outcome in outcomes if outcome.verdict is Verdict.OK}
        self._notify((None, wakeups if changed else ()), changed, changed=True)
        return await refuse_archived(self.store, outcomes, operation.owner)

    async def publish_busy(self, keys: Collection[TaskKey]) -> None:
        """Publish whether the remote workers of these tasks are busy or idle, where that has changed."""
        if not keys or not self.dispatch.mirrors:
            return
        for worker_id, name, busy in await workers.busy_workers(self.store, keys):
            status = "busy" if busy else "idle"
            if self._published.get(worker_id) != status:
                self._published[worker_id] = status
                self._publish_worker(status, id=worker_id, name=name)

    def _publish_offline(self, worker_ids: Iterable[int]) -> None:
        for worker_id in worker_ids:
            self._published.pop(worker_id, None)
            self._publish_worker(WorkerStatus.OFFLINE, id=worker_id)

    def _publish_worker(self, status: str, **who: Any) -> None:
        self.dispatch.publish(WORKERS, who.get("id") or who["name"], {"status": str(status), **who})
