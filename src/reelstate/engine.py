"""The engine: every verb, bound to one store. Workers, the keeper and the edges speak to this and to nothing below."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar, Unpack

from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
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
    NewVideo,
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
    VersionOptions,
    Video,
    VideoDetail,
    VideoStatus,
    Worker,
)
from reelstate.core.pipeline import Graph
from reelstate.core.policy import PriorityName
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.dispatch.hints import ClaimFilter
from reelstate.dispatch.poll import PollDispatch
from reelstate.feed.subscriber import FeedMessage
from reelstate.pipelines.declaration import Pipeline
from reelstate.services import keep, observe, videos, workers
from reelstate.services.catalogue import Catalogue
from reelstate.services.claim import ClaimOptions, ClaimRequest, Claims, claim, claimed
from reelstate.services.complete import complete
from reelstate.services.doctor import Diagnosis, doctor, quick_check, report_findings
from reelstate.services.fail import fail
from reelstate.services.feed import FeedItem, engine_feed
from reelstate.services.flag import flag_stalled
from reelstate.services.isolation import Isolation
from reelstate.services.keep import Keepers, Lead
from reelstate.services.mirror import WORKERS, claim_hinted, newly_ready, source_of
from reelstate.services.observe import JobFilter, Queue
from reelstate.services.operate.cancel import cancel
from reelstate.services.operate.force import force
from reelstate.services.operate.operation import Operated, Operation, OperationOptions, Selection, matching, one
from reelstate.services.operate.quarantine import quarantine
from reelstate.services.operate.reprioritise import reprioritise
from reelstate.services.operate.retry import From, retry
from reelstate.services.orchestrate import Orchestrated, orchestrate
from reelstate.services.pipelines import pipeline_versions, use_pipeline
from reelstate.services.reclaim import reclaim, reclaim_workers
from reelstate.services.relax import relax
from reelstate.services.release import release
from reelstate.services.repair import Finding
from reelstate.services.report import report
from reelstate.services.states import States, states
from reelstate.services.submit import submit
from reelstate.services.subscribe import Subscription, subscribe
from reelstate.services.videos import Change, VideoFilter
from reelstate.services.watch import wait, watch
from reelstate.services.workers import RegisterOptions, Registration
from reelstate.states.manager import StateManager
from reelstate.states.sql import SqlStateStore
from reelstate.stores.store import Store

T = TypeVar("T")
OPERATOR = "operator"


class Engine:
    """The verbs in the order of the data's way: submit, orchestrate, claim, report, complete … observe.

    Where a verb takes further options, `/` keeps the name `self` out of them, as the blocking façade needs it.
    """

    def __init__(self, store: Store, *, dispatch: Dispatch | None = None, limits: DocumentLimits = LIMITS) -> None:
        self.store = store
        self.dispatch = dispatch or PollDispatch()
        self.limits = limits
        self.catalogue = Catalogue()
        self.state_store = SqlStateStore(store, self.dispatch)
        self.feed = engine_feed(store, self.dispatch, self.catalogue)
        self._claims = Claims()
        self._published: dict[int, str] = {}
        """What was published last of remote workers, by their ids."""
        self._isolation = Isolation()
        self.dispatch.set_source(source_of(store, self.catalogue))

    async def close(self) -> None:
        """End what subscribers are told from; the store and the dispatch belong to whoever made them."""
        await self.feed.close()
        await self.state_store.close()

    async def declare(self, *pipelines: Pipeline | Graph) -> None:
        """Make pipelines known to the store; new jobs of their names run these graphs."""
        for each in pipelines:
            graph, check = (each.graph, each.check) if isinstance(each, Pipeline) else (each, None)
            await self.catalogue.declare(self.store, graph, check)

    async def pipelines(self) -> list[PipelineVersion]:
        """Every version of every pipeline, the newest of a name first, with the workers that have its code."""
        return await pipeline_versions(self.store)

    async def use_pipeline(self, name: str, digest: str | None) -> PipelineVersion:
        """Pin the version that new jobs of a pipeline run, by its digest or the beginning of it; None for the newest.

        Returns the version that new jobs run from now on. Raises `UnknownPipeline` and `InvalidRequest`.
        """
        return await use_pipeline(self.store, name, digest)

    async def submit(self, /, pipeline: str, spec: Json = None, **options: Unpack[SubmitOptions]) -> Submitted:
        """Make one job; options are those of `Submission`."""
        (answer,) = await self.submit_many(
            [Submission(pipeline=pipeline, spec={} if spec is None else spec, **options)]
        )
        return answer

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Make many jobs in one transaction, all or none. Their pipelines may be declared here or by any process."""
        answers = await submit(self.store, self.catalogue, submissions, self.limits)
        made = zip(answers, submissions, strict=True)
        begun = [(each.job_id, asked) for each, asked in made if each.verdict is Verdict.OK and _starts_now(asked)]
        if begun:
            self.dispatch.tasks_ready(*newly_ready(self.catalogue, begun) if self.dispatch.mirrors else ())
        return answers

    async def submit_video(
        self,
        /,
        source: str,
        *,
        title: str = "",
        pipeline: str = videos.TRANSCODE,
        spec: Json = None,
        **options: Unpack[VersionOptions],
    ) -> Submitted:
        """Make a video and its first version in one transaction; options are those of `Submission`."""
        video = NewVideo(source=source, title=title)
        return await self.submit(pipeline, spec, video=video, **options)

    async def retranscode(
        self,
        /,
        video_id: int,
        *,
        pipeline: str = videos.TRANSCODE,
        spec: Json = None,
        **options: Unpack[VersionOptions],
    ) -> Submitted:
        """Submit a further version: what the spec leaves out is as in the one before. The old one plays meanwhile."""
        return await self.submit(pipeline, spec, video=video_id, **options)

    async def relax(self, *, older: float = 60.0, limit: int = 100) -> int:
        """Give up what stages want, where tasks have been ready for so long and no worker has it.

        Returns how many stages of jobs go on without.
        """
        jobs = await relax(self.store, self.catalogue, older=older, limit=limit)
        return self._rung((len(jobs), [Wakeup.WORK] if jobs else []), frozenset(jobs))

    async def orchestrate(self, *, limit: int = 1000, stuck_after: float = 60.0) -> Orchestrated:
        """Make ready what is due, and move on what was missed."""
        done, bells = await orchestrate(
            self.store, self.catalogue, limit=limit, stuck_after=stuck_after, isolation=self._isolation
        )
        return self._rung((done, bells), done.jobs)

    async def claim(self, /, worker_id: int, limit: int = 1, **options: Unpack[ClaimOptions]) -> Claim:
        """Lease tasks to a worker; options are those of `Claiming`."""
        claiming = ClaimRequest(worker_id=worker_id, limit=limit, **options)

        async def some(count: int, hints: Sequence[TaskKey]) -> Claim:
            return await claim(self.store, self.catalogue, self._claims, replace(claiming, limit=count, hints=hints))

        if claiming.hints or limit < 1:
            return await some(limit, claiming.hints)
        return await claim_hinted(self.dispatch, self._who_asks(claiming), limit, some)

    async def claimed(self, worker_id: int, known: Collection[tuple[TaskKey, int]]) -> Claim:
        """What is leased to a worker beyond the tasks and tokens that it knows of: an answer to it was lost."""
        return await claimed(self.store, self.catalogue, worker_id, known)

    async def report(
        self,
        worker_id: int,
        items: Sequence[Progress] = (),
        stuck: int | None = None,
        *,
        max_instances: int | None = None,
    ) -> Report:
        """Renew leases and note progress; with no items, only a sign of life.

        `stuck` is how many handlers of the worker do not stop; None: as many as before.
        """
        answer = await report(self.store, worker_id, items, self.limits, stuck=stuck, max_instances=max_instances)
        accepted = zip(items, answer.verdicts, strict=True)
        heard = [item for item, verdict in accepted if verdict is Verdict.OK]
        self.dispatch.jobs_changed({item.key.job_id for item in heard if item.percent is not None})
        return self._rung((answer, [Wakeup.STATE] if any(item.states for item in heard) else []))

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
        """Record the results of tasks; returns a verdict per item."""
        return self._ended(await complete(self.store, self.catalogue, items, self.limits), items)

    async def fail(self, items: Sequence[Failure]) -> list[Verdict]:
        """Record failed attempts of tasks; returns a verdict per item."""
        return self._ended(await fail(self.store, self.catalogue, items, self.limits), items)

    async def release(self, items: Sequence[Release]) -> list[Verdict]:
        """Give tasks back without counting an attempt; returns a verdict per item."""
        verdicts = await release(self.store, items)
        released = {item.key.job_id for item in items}
        return self._rung((verdicts, [Wakeup.WORK] if Verdict.OK in verdicts else []), released)

    async def reclaim(
        self,
        *,
        limit: int = 500,
        expired: bool = True,
        dead: Collection[int] = (),
        gap: float | None = None,
        stall_after: float | None = None,
    ) -> Reclaimed:
        """Take back expired leases, and those of workers that are dead for certain.

        `stall_after` is the deployment's limit of seconds without progress, for stages that set none.
        """
        answered = await reclaim(
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
        return self._rung(answered)

    async def flag_stalled(self, *, stall_after: float | None = None, limit: int = 500) -> list[Flag]:
        """Flag jobs whose runs report no progress for too long, clear the flags of the others; returns the changes.

        `stall_after` is the deployment's limit, for stages that set none.
        """
        changed = await flag_stalled(self.store, stall_after=stall_after, limit=limit, isolation=self._isolation)
        self.dispatch.jobs_changed({flag.job_id for flag in changed})
        return changed

    async def reclaim_workers(self, *, stale_after: float = 45.0) -> list[int]:
        """Mark workers offline that have not been seen for so long, and publish that; gives them."""
        gone = await reclaim_workers(self.store, stale_after=stale_after)
        self._publish_offline(gone)
        return gone

    async def lead(self, /, keeper: str, **terms: Any) -> Lead:
        """Say that a keeper is here, and whether it leads; terms are those of `keep_lead`."""
        return await keep.keep_lead(self.store, keeper, **terms)

    async def leave(self, keeper: str) -> None:
        """Give the lead of the keepers up."""
        await keep.keep_leave(self.store, keeper)

    async def keepers(self) -> Keepers:
        """Who leads the keepers, when one was last seen, and whether a grace holds."""
        return await keep.observe_keepers(self.store)

    async def neighbours(self, machine: str) -> list[tuple[int, Json]]:
        """The workers of a machine that may hold something, each with the identity of its process."""
        return await keep.keep_neighbours(self.store, machine)

    async def prune_states(self, *, older: float) -> tuple[list[str], int]:
        """Delete states of jobs that finished `older` seconds ago, and versions of that age that a newer one follows.

        Returns the names of the jobs and the number of versions. Subscribers with an older cursor get a reset.
        """
        return await self.state_store.forget(older=older), await self.state_store.prune(older=older)

    async def prune_workers(self, *, older: float) -> list[int]:
        """Forget worker instances that have been offline for so long."""
        pruned = await keep.keep_prune(self.store, older=older)
        self._claims.forget(pruned)
        return pruned

    async def check(self) -> list[Finding]:
        """Run the quick checks; what was not found before is logged, and told as an event."""
        found = await keep.keep_findings(self.store, await quick_check(self.store))
        report_findings(found)
        return found

    async def cancel(self, /, job_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """End a job; options (here and below) are `reason`, `version` and `owner`."""
        return one(await self.cancel_many(Operation(job_ids=[job_id], actor=actor, **options)))

    async def cancel_many(self, operation: Operation) -> list[Operated]:
        """Cancel the jobs of an operation; returns an outcome per job."""
        return self._operated(await cancel(self.store, self.catalogue, operation), Wakeup.STOP, Wakeup.JOB_INACTIVE)

    async def retry(
        self,
        /,
        job_id: int,
        *,
        start: From | None = None,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Run a job again: what is unfinished, or from a stage on."""
        return one(await self.retry_many(Operation(job_ids=[job_id], actor=actor, **options), start))

    async def retry_many(self, operation: Operation, start: From | None = None) -> list[Operated]:
        """Retry the jobs of an operation; returns an outcome per job."""
        return self._operated(await retry(self.store, self.catalogue, operation, start), Wakeup.WORK)

    async def quarantine(
        self,
        /,
        job_id: int,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Put a job aside until an operator decides."""
        return one(await self.quarantine_many(Operation(job_ids=[job_id], actor=actor, **options)))

    async def quarantine_many(self, operation: Operation) -> list[Operated]:
        """Quarantine the jobs of an operation; returns an outcome per job."""
        return self._operated(await quarantine(self.store, self.catalogue, operation), Wakeup.STOP, Wakeup.JOB_INACTIVE)

    async def force(
        self,
        /,
        job_id: int,
        target: JobStatus,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Say what a job is, whatever it was: pending, failed or completed."""
        return one(await self.force_many(Operation(job_ids=[job_id], actor=actor, **options), target))

    async def force_many(self, operation: Operation, target: JobStatus) -> list[Operated]:
        """Force the jobs of an operation to a status; returns an outcome per job."""
        follows = Wakeup.WORK if target is JobStatus.PENDING else Wakeup.JOB_INACTIVE
        return self._operated(await force(self.store, self.catalogue, operation, target), Wakeup.STOP, follows)

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
        return self._operated(await reprioritise(self.store, self.catalogue, operation, priority), Wakeup.WORK)

    async def pin(
        self,
        /,
        video_id: int,
        job_id: int,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Have a video play one completed version; options (here and below) are `reason`, `owner` and `version`."""
        return await videos.pin(self.store, Change(video_id=video_id, actor=actor, **options), job_id)

    async def unpin(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """Have a video play its newest completed version again."""
        return await videos.unpin(self.store, Change(video_id=video_id, actor=actor, **options))

    async def rollback(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> int:
        """Pin a video to the version before the one that plays; gives its job."""
        return await videos.rollback(self.store, Change(video_id=video_id, actor=actor, **options))

    async def delete_video(
        self,
        /,
        video_id: int,
        *,
        actor: str = OPERATOR,
        **options: Unpack[OperationOptions],
    ) -> Verdict:
        """Take a video out of the library and end its unfinished jobs; its versions are removed later."""
        change = Change(video_id=video_id, actor=actor, **options)
        verdict = await videos.delete_video(self.store, self.catalogue, change)
        return self._rung((verdict, [Wakeup.STOP, Wakeup.JOB_INACTIVE] if verdict is Verdict.OK else []))

    async def remove_versions(self, *, keep: float, limit: int = 100) -> list[int]:
        """Remove versions superseded for so many seconds; gives the jobs whose bytes are still to be deleted."""
        return await videos.remove_versions(self.store, keep=keep, limit=limit)

    async def swept_versions(self, job_ids: Collection[int]) -> None:
        """Note that the bytes of removed versions are gone."""
        await videos.swept(self.store, job_ids)

    async def needed_sources(self) -> frozenset[str]:
        """The sources, by their sha256, that jobs which may still run read or are about to."""
        return await videos.needed_sources(self.store)

    async def unpublished(
        self, since: datetime | None = None, *, limit: int = 100
    ) -> tuple[datetime, list[videos.UnpublishedVersion]]:
        """Videos whose public place is out of date, of those changed since then, and the time to ask with again."""
        return await videos.unpublished(self.store, since, limit=limit)

    async def published(self, shown: videos.UnpublishedVersion) -> bool:
        """Note that the public place of a video has been brought up to date."""
        return await videos.published(self.store, shown)

    async def video(self, video_id: int, *, owner: str | None = None) -> VideoDetail:
        """A video with its versions, the newest first; with an owner, only one of theirs."""
        return await videos.show_video(self.store, self.catalogue, video_id, owner)

    async def videos(
        self,
        *,
        statuses: Collection[VideoStatus] | None = None,
        user_id: str | None = None,
        deleted: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Video]:
        """Videos, the newest first: of these statuses, of a user; deleted ones only when asked for."""
        wanted = VideoFilter(statuses=statuses, user_id=user_id, deleted=deleted)
        return await videos.list_videos(self.store, wanted, limit=limit, after=after)

    async def job(self, job_id: int, *, owner: str | None = None) -> JobDetail:
        """A job with its stages; with an owner (here and below), there are no jobs but theirs."""
        return await observe.observe_job(self.store, self.catalogue, job_id, owner)

    async def stage_names(self, job_id: int, *, owner: str | None = None) -> tuple[str, ...]:
        """What the stages of a job are called, by their numbers."""
        return await observe.observe_stage_names(self.store, self.catalogue, job_id, owner)

    async def graph(self, job_id: int, *, owner: str | None = None) -> Graph:
        """The pipeline that a job was submitted with, as a graph of stages."""
        return await observe.observe_graph(self.store, self.catalogue, job_id, owner)

    async def count_jobs(self, selection: Selection) -> int:
        """How many jobs a selection stands for: what a verb on all of them must be told."""
        return len(await self.store.read(lambda transaction: matching(transaction, selection)))

    async def queue(self, *, owner: str | None = None) -> Queue:
        """How many jobs are in each status, and what waits and runs of each pipeline."""
        return await observe.observe_queue(self.store, owner)

    async def jobs(
        self,
        *,
        statuses: Collection[JobStatus] | None = None,
        pipeline: str | None = None,
        user_id: str | None = None,
        flagged: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Job]:
        """Jobs, the newest first: of these statuses, of a pipeline, of a user; only those that are flagged."""
        wanted = JobFilter(statuses=statuses, pipeline=pipeline, user_id=user_id, flagged=flagged)
        return await observe.observe_jobs(self.store, wanted, limit=limit, after=after)

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

    async def results(self, job_id: int, stage: str, *, limit: int = 100, after: str | None = None) -> Page[Json]:
        """What the finished parts of a stage came to, in their order."""
        page = await self.tasks(job_id, stage=stage, statuses=[TaskStatus.DONE], limit=limit, after=after)
        return Page([task.result for task in page.items], page.after)

    async def events(self, *, limit: int = 500, after: str | None = None) -> Page[Event]:
        """Everything that happened, in the order of commit."""
        return await observe.observe_events(self.store, self.catalogue, limit=limit, after=after)

    async def ready(self) -> None:
        """Raise unless the database answers and has the schema that this code needs."""
        await observe.observe_schema(self.store)

    async def head(self) -> str:
        """The cursor of now: `events(after=…)` from there on gives what has yet to happen."""
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
        """What happened to a job and all in it; `owner` narrows it to their jobs, `stage` and `part` to one entity.

        A stage is given by its name or its number; -1 stands for the job itself.
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
        """What happens, with what tasks say: of a job, of one owner's jobs, or all; replayed from a cursor, then live.

        Without a cursor a job is told from its beginning, everything else from now on; "0" is the beginning of all.
        `only` narrows it to some of job, stage, task, worker, finding, state. `progress` also tells how far running
        tasks are, as it does for a single job unless told otherwise. With `settle`, a bookmark follows whenever
        everything that can be read by now was given.
        """
        wanted = Subscription(job_id=job_id, user_id=user_id, only=only, progress=progress)
        return subscribe(self.feed, self.store, wanted, after, settle=settle)

    def watch(self, job_id: int | None = None, after: str | None = None) -> AsyncGenerator[Event, None]:
        """What happens to a job, from its beginning or after an event's cursor, as it happens, until the job rests.

        Without a job: everything, from now on or after a cursor, for ever.
        """
        return watch(self.feed, self.store, self.catalogue, job_id, after)

    async def wait(self, job_id: int, timeout: float | None = None) -> JobDetail:  # noqa: ASYNC109 - ours to raise
        """The job when it rests; raises `WaitTimeout` when that takes longer than so many seconds."""
        return await wait(self.store, self.catalogue, self.dispatch, job_id, timeout)

    async def worker_history(self, worker_id: int, *, limit: int = 500, after: int = 0) -> list[Event]:
        """What happened to one worker instance after a version."""
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
        """What the tasks of a job logged; `settled` are lines before which no other can appear, for who follows."""
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
        """The commands that its runs have started: arguments, exit code, time taken, output."""
        return await observe.observe_steps(self.store, job_id, key=key, limit=limit, after=after, owner=owner)

    async def states(self, job_id: int | str, stage: str | None = None, *, owner: str | None = None) -> States:
        """What the tasks of a job say of themselves: a grid a stage, and the state that stands for all."""
        return await states(self.store, self.catalogue, self.state_store, job_id, stage, owner)

    async def state_manager(
        self,
        job_id: str,
        task_index: int | None = None,
        num_tasks: int | None = None,
        *,
        tags: Iterable[str] = (),
    ) -> StateManager:
        """A manager of states in this engine's database: of a job of your own, or a monitor of a stage's."""
        return await StateManager.open(
            job_id, task_index, num_tasks, self.state_store, tags=tuple(tags), limits=self.limits
        )

    async def register(self, /, name: str, **options: Unpack[RegisterOptions]) -> int:
        """Make a worker instance known; options are those of `Registration`."""
        options.setdefault("pipelines", self.catalogue.names)
        worker_id = await workers.register(self.store, Registration(name=name, **options), self.limits)
        asking = ClaimFilter(frozenset(options["pipelines"]), frozenset(options.get("capabilities", ())))
        self._claims.born(worker_id, asking)
        self._tell_of_worker("idle", id=worker_id, name=name)
        return worker_id

    async def workers(self) -> list[Worker]:
        """List every worker instance."""
        return await observe.observe_workers(self.store, self.catalogue)

    async def worker_names(self) -> list[str]:
        """Every name that a worker was ever registered under, sorted."""
        return await workers.worker_names(self.store)

    async def move_worker(self, worker_id: int, target: WorkerStatus, *, actor: str, reason: str | None = None) -> bool:
        """Move one worker instance to another lifecycle status; returns whether that changed it."""
        moved = await workers.move_worker(self.store, worker_id, target, actor=actor, reason=reason)
        if target is WorkerStatus.OFFLINE:
            self._claims.forget([worker_id])
        if moved:
            self._tell_of_worker(target, id=worker_id)
        return moved

    async def drain(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> list[int]:
        """Have the workers of this name finish what they run and take nothing new; gives their ids."""
        drained = await workers.drain(self.store, name, actor=actor, reason=reason)
        self._tell_of_worker("draining", name=name)
        return self._rung((drained, [Wakeup.STOP] if drained else []))

    async def enable(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> list[int]:
        """Let workers of this name claim again; gives those that were draining and go on."""
        resumed = await workers.enable(self.store, name, actor=actor, reason=reason)
        self._tell_of_worker("enabled", name=name)
        self.dispatch.notify(Wakeup.WORK)
        return resumed

    async def disable(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> int:
        """Refuse claims under this name and give back what its workers run; gives how many tasks."""
        returned = await workers.disable(self.store, name, actor=actor, reason=reason)
        self._tell_of_worker("disabled", name=name)
        return self._rung((returned, [Wakeup.STOP, Wakeup.WORK] if returned else []))

    async def revoke(self, name: str, *, actor: str = OPERATOR) -> tuple[int, int]:
        """End the keys of a worker's name and give back what its workers run; gives how many keys and tasks."""
        answer = await workers.revoke(self.store, name, actor=actor)
        return self._rung((answer, [Wakeup.STOP, Wakeup.WORK]))

    async def doctor(self, *, repair: bool = False) -> Diagnosis:
        """Check the stored state against every invariant, and mend it when told to."""
        diagnosis = await doctor(self.store, self.catalogue, mend=repair)
        return self._rung((diagnosis, Wakeup if diagnosis.repaired else []))

    async def mirror(self) -> None:
        """Compare the hints of the dispatch with what is ready, and mend them both ways."""
        await self.dispatch.reconcile()

    def _rung(self, answered: tuple[T, Iterable[Wakeup]], jobs: Collection[int] | None = None) -> T:
        """Tell everybody of what is committed by now; `jobs` are those that may have become ready, if that is known."""
        answer, bells = answered
        for bell in bells:
            if bell is Wakeup.WORK:
                self.dispatch.tasks_ready(jobs)
            else:
                self.dispatch.notify(bell)
        return answer

    def _ended(self, answered: tuple[T, Iterable[Wakeup]], items: Sequence[Completion] | Sequence[Failure]) -> T:
        jobs = {item.key.job_id for item in items}
        self.dispatch.jobs_changed(jobs)
        return self._rung(answered, jobs)

    def _operated(self, outcomes: list[Operated], *bells: Wakeup) -> list[Operated]:
        changed = {outcome.job_id for outcome in outcomes if outcome.verdict is Verdict.OK}
        self.dispatch.jobs_changed(changed)
        return self._rung((outcomes, bells if changed else ()), changed)

    def _who_asks(self, claiming: ClaimRequest) -> ClaimFilter | None:
        """What a worker has code for and can do; None where another process has registered it."""
        known = self._claims.asking(claiming.worker_id)
        pipelines = known.pipelines if known and claiming.pipelines is None else claiming.pipelines
        capabilities = known.capabilities if known and claiming.capabilities is None else claiming.capabilities
        if pipelines is None or capabilities is None:
            return None
        return ClaimFilter(frozenset(pipelines), frozenset(capabilities))

    async def publish_busy(self, keys: Collection[TaskKey]) -> None:
        """Publish whether the workers of these tasks are busy or idle, for workers that cannot do it themselves."""
        if not keys or not self.dispatch.mirrors:
            return
        for worker_id, name, busy in await workers.busy_workers(self.store, keys):
            status = "busy" if busy else "idle"
            if self._published.get(worker_id) != status:
                self._published[worker_id] = status
                self._tell_of_worker(status, id=worker_id, name=name)

    def _publish_offline(self, worker_ids: Iterable[int]) -> None:
        for worker_id in worker_ids:
            self._published.pop(worker_id, None)
            self._tell_of_worker(WorkerStatus.OFFLINE, id=worker_id)

    def _tell_of_worker(self, status: str, **who: Any) -> None:
        self.dispatch.publish(WORKERS, who.get("id") or who["name"], {"status": str(status), **who})


def _starts_now(submission: Submission) -> bool:
    if submission.run_after is not None:
        return submission.run_after <= datetime.now(UTC)
    return not submission.delay
