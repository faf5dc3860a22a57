"""submit: create jobs and open the stages that wait for nothing, in one transaction.

An idempotency key makes a repeated request harmless: the key, a digest of the request and the job are written together,
so the same request gets the first answer, and another request under the same key is refused.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from reelstate.core.document import LIMITS, DocumentLimits, encode, plain_text
from reelstate.core.errors import IdempotencyConflict, InvalidRequest, UnknownPipeline
from reelstate.core.group import AfterFailure, check_after, check_after_failure, check_group_name
from reelstate.core.model import Resource, Submission, Submitted, Verdict
from reelstate.core.policy import priority_number
from reelstate.services.catalogue import CURRENT_VERSIONS, Catalogue, Declared
from reelstate.services.extension import NO_EXTENSION, Extension, NewJob
from reelstate.services.groups.join import archived_targets, join
from reelstate.services.jobs import NEW_IDS, NOW, NewId
from reelstate.services.orchestrate import advance
from reelstate.services.stages import BrokenFanOut, OpeningStage, check_openings, open_stages
from reelstate.services.webhooks.address import NO_PRIVATE_HOSTS, AddressRules
from reelstate.services.webhooks.callbacks import Callback, add_callbacks
from reelstate.services.webhooks.event_types import event_types
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction
from reelstate.telemetry.facts import JobCreated, JobsSent, TracedJob, emit, listening
from reelstate.telemetry.tracing import Sending, start_sending

USER_LIMIT = 255
MAX_DELAY = 10 * 365 * 86_400.0
JOB_COLUMNS = ("id", "spec", "trace")
NO_JOBS: Mapping[int, str] = MappingProxyType({})


class _KeyedJob(NamedTuple):
    """The request that holds an idempotency key, and its job."""

    user_id: str
    key: str
    digest: str
    job_id: int


class ResourceRow(NamedTuple):
    """The resource of a job; None for a job without one."""

    id: int
    resource_id: int | None


ADD_JOBS = Statement("submit", NoRow)
ADD_SINGLE_TASK_JOBS = Statement("submit_single", NoRow)
ADD_ONE_JOB = Statement("submit_one", NewId)
FIND_REQUEST = Statement("submit_found", NewId)
ADD_KEYS = Statement("submit_keys", NoRow)
KEYED_JOBS = Statement("submit_keyed", _KeyedJob)
SUBMIT_RESOURCES = Statement("submit_resources", ResourceRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRequest:
    """A checked submission."""

    declared: Declared
    spec: str
    priority: int
    user_id: str
    delay: float
    run_after: datetime | None
    key: str | None
    callback: str | None = None
    group: str | None = None
    group_callback: str | None = None
    after_jobs: tuple[int, ...] = ()
    after_groups: tuple[str, ...] = ()
    after_failure: AfterFailure = AfterFailure.WAIT
    resource: Resource | None = None
    resource_id: int | None = None
    named: bool = False
    """Whether the caller has named the version of the pipeline."""
    trace: str | None = None
    """The trace context that the job keeps; a repeated request with another one is the same request."""

    @property
    def waits(self) -> bool:
        """Whether its job waits for other jobs or groups."""
        return bool(self.after_jobs or self.after_groups)

    def openings(self, job_ids: list[int]) -> list[OpeningStage]:
        """Return the stages that wait for nothing."""
        return [
            OpeningStage(job_ids, self.declared, opening, self.priority, self.delay)
            for opening in self.declared.graph.first.openings
        ]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the statements that insert jobs; `current` is None where a version is named."""
        return {
            "pipeline_id": self.declared.id,
            "user_id": self.user_id,
            "phase": self.declared.graph.first_phase,
            "priority": self.priority,
            "delay": self.delay,
            "resource_id": self.resource_id,
            "request": None,
            "current": None if self.named else self.declared.graph.name,
        }

    @property
    def digest(self) -> str:
        """A hash that is equal for equal requests; an idempotency key with another one is refused.

        What has a default is added only when it is set: digests of earlier releases stay equal.
        """
        spec = json.dumps(json.loads(self.spec), sort_keys=True)
        when = self.delay if self.run_after is None else self.run_after.timestamp()
        parts: tuple[object, ...] = (self.declared.graph.name, spec, self.priority, when)
        if self.named:
            parts += (self.declared.graph.digest,)
        if self.resource is not None:
            parts += self.resource.identity
        if self.callback is not None:
            parts += ("callback", self.callback)
        if self.group is not None:
            parts += ("group", self.group, self.group_callback)
        if self.waits:
            parts += ("after", self.after_jobs, self.after_groups, str(self.after_failure))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def start_at(self, now: datetime) -> CheckedRequest:
        """Return the request with its start as seconds from now, by the store's clock."""
        if self.run_after is None:
            return self
        delay = (self.run_after - now).total_seconds()
        if delay > MAX_DELAY:
            raise InvalidRequest("run_after", f"{self.run_after} is too far ahead", hint="at most ten years from now")
        return replace(self, delay=max(0.0, delay))


_NewJobs = list[tuple[int, CheckedRequest]]
"""The ids of jobs to be created, and their requests."""


async def submit(
    store: Store,
    catalogue: Catalogue,
    submissions: Sequence[Submission],
    limits: DocumentLimits = LIMITS,
    extension: Extension = NO_EXTENSION,
    rules: AddressRules = NO_PRIVATE_HOSTS,
) -> list[Submitted]:
    """Create a job of each submission, all or none; return the answers in the order of the submissions.

    A job runs the version that is current when it is created: if another has become current since this process looked,
    it looks again. Raises `InvalidRequest`, `UnknownPipeline` and `IdempotencyConflict`.
    """
    sending = start_sending(len(submissions))
    created: list[Submitted] | None = None
    refresh = False
    while created is None:
        requests = await check(store, catalogue, submissions, limits, rules, refresh=refresh)
        if sending is not None:
            requests = [
                replace(request, trace=None if context is None else context.text)
                for request, context in zip(requests, sending.jobs, strict=True)
            ]
        match requests:
            case []:
                created = []
            case [CheckedRequest(key=None, run_after=None, callback=None, group=None, resource=None) as request] if (
                not request.waits and len(openings := request.openings([])) == 1 and openings[0].plain
            ):
                created = await _submit_one(store, request, openings[0])
            case _:
                created = await _submit_many(store, catalogue, extension, requests)
        refresh = True
    if listening():
        for submission, answer in zip(submissions, created, strict=True):
            if answer.verdict is Verdict.OK:
                emit(JobCreated(submission.pipeline))
    if sending is not None and sending.span is not None and created:
        emit(JobsSent(sending.span, sending.parent, _traced(submissions, created, sending), sending.seconds))
    return created


def _traced(submissions: Sequence[Submission], created: Sequence[Submitted], sending: Sending) -> tuple[TracedJob, ...]:
    return tuple(
        TracedJob(answer.job_id, "" if context is None else context.text, submission.pipeline)
        for submission, answer, context in zip(submissions, created, sending.jobs, strict=True)
    )


async def check(
    store: Store,
    catalogue: Catalogue,
    submissions: Sequence[Submission],
    limits: DocumentLimits = LIMITS,
    rules: AddressRules = NO_PRIVATE_HOSTS,
    *,
    refresh: bool = False,
) -> list[CheckedRequest]:
    """Check submissions against the versions of their pipelines; with `refresh`, look these up again.

    Raises `InvalidRequest` and `UnknownPipeline`.
    """
    wanted = {(submission.pipeline, submission.digest) for submission in submissions}
    versions = await catalogue.find(store, wanted, refresh=refresh)
    requests = []
    for submission in submissions:
        declared = versions.get((submission.pipeline, submission.digest))
        if declared is None:
            raise UnknownPipeline(submission.pipeline, catalogue.names)
        requests.append(_check(catalogue, declared, submission, limits, rules))
    return requests


async def _submit_one(store: Store, request: CheckedRequest, opening: OpeningStage) -> list[Submitted] | None:
    """Create a job with one statement. Its random number identifies the request when the answer was lost.

    Returns None, and creates nothing, when the pipeline is no longer current.
    """
    number = secrets.randbits(63)
    parameters = {
        **request.parameters(),
        **opening.parameters(),
        "spec": request.spec,
        "trace": request.trace,
        "request": number,
    }

    async def flow(transaction: Transaction) -> list[Submitted] | None:
        created = await transaction.run(ADD_ONE_JOB, **parameters)
        found = created or await transaction.run(FIND_REQUEST, request=number)
        return [Submitted(row.id, Verdict.OK) for row in found] or None

    return await store.write_alone(flow)


async def _submit_many(
    store: Store, catalogue: Catalogue, extension: Extension, requests: list[CheckedRequest]
) -> list[Submitted] | None:
    """Create jobs in one transaction; None, and nothing is created, when a pipeline is no longer current."""
    archived = await archived_targets(store, requests)
    return await store.write(lambda transaction: submit_in(transaction, catalogue, extension, requests, archived))


async def submit_in(
    transaction: Transaction,
    catalogue: Catalogue,
    extension: Extension,
    requests: list[CheckedRequest],
    archived: Mapping[int, str] = NO_JOBS,
) -> list[Submitted] | None:
    """Create jobs as part of a larger transaction; None, and nothing is created, when a pipeline is not current.

    `archived` has the statuses of the archived jobs that the new ones wait for.
    """
    expected = {request.declared.graph.name: request.declared.id for request in requests if not request.named}
    current = await transaction.run(CURRENT_VERSIONS, names=sorted(expected)) if expected else []
    if {row.name: row.id for row in current} != expected:
        return None
    job_ids = [row.id for row in await transaction.run(NEW_IDS, count=len(requests))]
    answers = await _resolve_keys(transaction, requests, job_ids)
    new = [
        (job_id, request)
        for job_id, request, answer in zip(job_ids, requests, answers, strict=True)
        if answer.verdict is Verdict.OK
    ]
    if new:
        if any(request.group is not None or request.waits for _, request in new):
            await join(transaction, event_types(extension), new, archived)
        await _create(transaction, catalogue, extension, new)
        await _add_callbacks(transaction, extension, new)
    return await _add_resources(transaction, requests, answers)


async def _resolve_keys(
    transaction: Transaction, requests: list[CheckedRequest], job_ids: list[int]
) -> list[Submitted]:
    """Answer which requests create a job, and which have created one already under their key."""
    rows = [
        (request.user_id, request.key, request.digest, job_id)
        for request, job_id in zip(requests, job_ids, strict=True)
        if request.key is not None
    ]
    holders: dict[tuple[str, str | None], _KeyedJob] = {}
    if rows:
        await transaction.run(ADD_KEYS, Batch(("user_id", "key", "digest", "job_id"), rows))
        keys = [(user_id, key) for user_id, key, _, _ in rows]
        found = await transaction.run(KEYED_JOBS, Batch(("user_id", "key"), keys))
        holders = {(row.user_id, row.key): row for row in found}
    answers = []
    for request, job_id in zip(requests, job_ids, strict=True):
        holder_id = job_id
        if request.key is not None:
            holder = holders[request.user_id, request.key]
            if holder.digest != request.digest:
                raise IdempotencyConflict(request.key, holder.job_id)
            holder_id = holder.job_id
        answers.append(Submitted(holder_id, Verdict.OK if holder_id == job_id else Verdict.REPEATED))
    return answers


async def _create(transaction: Transaction, catalogue: Catalogue, extension: Extension, new: _NewJobs) -> None:
    """Create jobs; those that differ in their id, spec and trace only are written by one statement."""
    if any(request.run_after is not None for _, request in new):
        (store_time,) = await transaction.run(NOW)
        new = [(job_id, request.start_at(store_time.at)) for job_id, request in new]
    new = await _link(transaction, extension, new)
    batches: dict[tuple[object, ...], _NewJobs] = {}
    for job_id, request in new:
        if request.resource is not None or request.key is not None:
            # An extension has completed these specs, and a repeated request gets its answer unchecked.
            catalogue.require_valid(request.declared, json.loads(request.spec))
        batches.setdefault((request.waits, *request.parameters().values()), []).append((job_id, request))
    for batch in batches.values():
        await _create_batch(transaction, catalogue, batch)


async def _create_batch(transaction: Transaction, catalogue: Catalogue, batch: _NewJobs) -> None:
    """Create jobs and open their first stages: with one statement where that is one stage of one part.

    Jobs that wait for others are only created; the keeper opens their stages.
    """
    job_ids = [job_id for job_id, _ in batch]
    rows: list[Row] = [(job_id, request.spec, request.trace) for job_id, request in batch]
    request = batch[0][1]
    openings = request.openings(job_ids)
    parameters = request.parameters()
    if not request.waits and request.resource_id is None and len(openings) == 1 and openings[0].plain:
        parameters |= openings[0].parameters()
        await transaction.run(ADD_SINGLE_TASK_JOBS, Batch(JOB_COLUMNS, rows), **parameters)
        return
    await transaction.run(ADD_JOBS, Batch(JOB_COLUMNS, rows), **parameters)
    try:
        empty = False
        if request.waits:
            await check_openings(transaction, openings)
        else:
            empty = await open_stages(transaction, openings)
    except BrokenFanOut as broken:
        raise InvalidRequest("spec", broken.message, hint="put the array that the pipeline reads there") from None
    if empty:
        await advance(transaction, catalogue, {job_id: {} for job_id in job_ids})


async def _add_callbacks(transaction: Transaction, extension: Extension, new: _NewJobs) -> None:
    callbacks = [
        Callback(job_id, request.user_id, request.callback) for job_id, request in new if request.callback is not None
    ]
    if callbacks:
        await add_callbacks(transaction, event_types(extension), callbacks)


def _check(
    catalogue: Catalogue, declared: Declared, submission: Submission, limits: DocumentLimits, rules: AddressRules
) -> CheckedRequest:
    key = submission.idempotency_key
    if key is not None and not 1 <= len(key) <= limits.idempotency_key:
        raise InvalidRequest(
            "idempotency_key",
            f"has {len(key)} characters, it may have 1 to {limits.idempotency_key}",
            hint="use a UUID or a hash of what identifies the request",
        )
    if not 0 <= submission.delay <= MAX_DELAY:
        raise InvalidRequest("delay", f"{submission.delay!r} is not a delay", hint="seconds from now, 0 or more")
    if submission.run_after is not None and submission.run_after.tzinfo is None:
        raise InvalidRequest("run_after", "has no time zone", hint="use an aware datetime, such as datetime.now(UTC)")
    if submission.group_callback is not None and submission.group is None:
        raise InvalidRequest("group_callback", "is given without a group", hint="name the group as well")
    after_jobs, after_groups = check_after(submission.after)
    spec = encode("spec", submission.spec, limits.spec)
    if submission.resource is not None:
        submission.resource.check(submission.spec)
    elif key is None:
        catalogue.require_valid(declared, submission.spec)
    return CheckedRequest(
        declared=declared,
        spec=spec,
        priority=priority_number(submission.priority),
        user_id=plain_text("user_id", submission.user_id, USER_LIMIT),
        delay=float(submission.delay),
        run_after=submission.run_after,
        key=None if key is None else plain_text("idempotency_key", key, 4 * limits.idempotency_key),
        callback=None if submission.callback is None else rules.require("callback", submission.callback),
        group=None if submission.group is None else check_group_name(submission.group),
        group_callback=None
        if submission.group_callback is None
        else rules.require("group_callback", submission.group_callback),
        after_jobs=after_jobs,
        after_groups=after_groups,
        after_failure=check_after_failure(submission.after_failure),
        resource=submission.resource,
        named=submission.digest is not None,
    )


async def _link(transaction: Transaction, extension: Extension, new: _NewJobs) -> _NewJobs:
    """Let the extension create or lock the resources of new jobs, and complete their specs."""
    jobs = [
        NewJob(request.resource, request.user_id, request.spec) for _, request in new if request.resource is not None
    ]
    if not jobs:
        return new
    linked = iter(await extension.link(transaction, jobs))
    completed = []
    for job_id, request in new:
        if request.resource is None:
            completed.append((job_id, request))
        else:
            job = next(linked)
            completed.append((job_id, replace(request, resource_id=job.resource_id, spec=job.spec)))
    return completed


async def _add_resources(
    transaction: Transaction, requests: list[CheckedRequest], answers: list[Submitted]
) -> list[Submitted]:
    if all(request.resource is None for request in requests):
        return answers
    rows = await transaction.run(SUBMIT_RESOURCES, job_ids=[answer.job_id for answer in answers])
    resources = {row.id: row.resource_id for row in rows}
    return [replace(answer, resource_id=resources.get(answer.job_id)) for answer in answers]
