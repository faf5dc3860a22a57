"""submit: jobs are born, and the stages that wait for nothing are opened, in one transaction.

An idempotency key makes a repeated request harmless: the key, a digest of the request and the job are written together,
so the same request gets the first answer and another request under the same key is refused.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from reelstate.core.document import LIMITS, DocumentLimits, encode, plain_text
from reelstate.core.errors import IdempotencyConflict, InvalidRequest
from reelstate.core.model import Resource, Submission, Submitted, Verdict
from reelstate.core.policy import priority_number
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.extension import NO_EXTENSION, Extension, LinkedJob, NewJob
from reelstate.services.orchestrate import advance
from reelstate.services.stages import BrokenFanOut, OpeningStage, open_stages
from reelstate.stores.store import Batch, Row, Statement, Store, Transaction

USER_LIMIT = 255
LONGEST_DELAY = 10 * 365 * 86_400.0


class ResourceRow(NamedTuple):
    """The resource of a job; None for a job without one."""

    id: int
    resource_id: int | None


SUBMIT_RESOURCES = Statement("submit_resources", ResourceRow)


class _Alike(NamedTuple):
    """What many jobs have in common."""

    declared: Declared
    user_id: str
    priority: int
    delay: float
    resource_id: int | None = None

    def openings(self, job_ids: list[int]) -> list[OpeningStage]:
        """The stages that wait for nothing."""
        return [
            OpeningStage(job_ids, self.declared, opening, self.priority, self.delay)
            for opening in self.declared.graph.first.openings
        ]

    def parameters(self) -> dict[str, Any]:
        return {
            "pipeline_id": self.declared.id,
            "user_id": self.user_id,
            "phase": self.declared.graph.first_phase,
            "priority": self.priority,
            "delay": self.delay,
            "resource_id": self.resource_id,
        }


@dataclass(frozen=True, slots=True)
class _Request:
    declared: Declared
    spec: str
    priority: int
    user_id: str
    delay: float
    run_after: datetime | None
    key: str | None
    resource: Resource | None = None
    resource_id: int | None = None
    named: bool = False
    """Whether the caller has named the version of the pipeline."""

    @property
    def current(self) -> str | None:
        """The name whose current version it runs; None where the caller has named a version."""
        return None if self.named else self.declared.graph.name

    @property
    def alike(self) -> _Alike:
        return _Alike(self.declared, self.user_id, self.priority, self.delay, self.resource_id)

    @property
    def plain(self) -> _Alike | None:
        """What one statement can make: no key, no instant, no resource, one stage of one part first."""
        if self.key is not None or self.run_after is not None or self.resource is not None:
            return None
        match self.alike.openings([]):
            case [OpeningStage(plain=True)]:
                return self.alike
        return None

    @property
    def digest(self) -> str:
        """Equal for equal requests, so that a key can't stand for two of them. The order of names does not matter."""
        spec = json.dumps(json.loads(self.spec), sort_keys=True)
        when = self.delay if self.run_after is None else self.run_after.timestamp()
        parts: tuple[object, ...] = (self.declared.graph.name, spec, self.priority, when)
        if self.named:
            parts += (self.declared.graph.digest,)
        if self.resource is not None:
            parts += self.resource.identity
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def linked(self, linked: LinkedJob) -> _Request:
        return replace(self, resource_id=linked.resource_id, spec=linked.spec)

    def starting(self, now: datetime) -> _Request:
        """The same with its start as seconds from now, by the store's clock."""
        if self.run_after is None:
            return self
        delay = (self.run_after - now).total_seconds()
        if delay > LONGEST_DELAY:
            raise InvalidRequest("run_after", f"{self.run_after} is too far away", hint="at most ten years from now")
        return replace(self, delay=max(0.0, delay))


async def submit(
    store: Store,
    catalogue: Catalogue,
    submissions: Sequence[Submission],
    limits: DocumentLimits = LIMITS,
    extension: Extension = NO_EXTENSION,
) -> list[Submitted]:
    """Make a job of each submission, all or none; the answers stand in the order of the submissions.

    A job runs the version that is current when it is made: where another became current since this process looked, it
    looks again.
    """
    wanted = {(submission.pipeline, submission.digest) for submission in submissions}
    await catalogue.find(store, wanted)
    while True:
        requests = [_checked(catalogue, submission, limits) for submission in submissions]
        answers = await _made(store, catalogue, extension, requests)
        if answers is not None:
            return answers
        await catalogue.look(store, wanted)


async def _made(
    store: Store, catalogue: Catalogue, extension: Extension, requests: list[_Request]
) -> list[Submitted] | None:
    """The jobs of these requests; None when one of their pipelines is no longer current, and nothing was made."""
    if not requests:
        return []
    if len(requests) == 1 and (alike := requests[0].plain):
        return await _submit_one(store, alike, requests[0])
    return await store.write(lambda transaction: _submit(transaction, catalogue, extension, requests))


async def _submit_one(store: Store, alike: _Alike, request: _Request) -> list[Submitted] | None:
    """A job that one statement makes. By its number the request is known again when the answer has been lost."""
    (opening,) = alike.openings([])
    parameters = {**alike.parameters(), **opening.terms(), "sole": opening.sole}
    parameters |= {"spec": request.spec, "request": secrets.randbits(63), "current": request.current}

    async def one(transaction: Transaction) -> list[Submitted] | None:
        made = await transaction.run("submit_one", **parameters)
        found = made or await transaction.run("submit_found", request=parameters["request"])
        return [Submitted(int(job_id), Verdict.OK) for (job_id,) in found] or None

    return await store.write_alone(one)


async def _submit(
    transaction: Transaction, catalogue: Catalogue, extension: Extension, requests: list[_Request]
) -> list[Submitted] | None:
    expected = {request.current: request.declared.id for request in requests if request.current is not None}
    if expected and dict(await transaction.run("declare_current", names=sorted(expected))) != expected:
        return None
    job_ids = [row[0] for row in await transaction.run("submit_ids", count=len(requests))]
    answers = await _answers(transaction, requests, job_ids)
    fresh = [
        (job_id, request)
        for job_id, request, answer in zip(job_ids, requests, answers, strict=True)
        if answer.verdict is Verdict.OK
    ]
    if fresh:
        fresh = await _link(transaction, extension, await _timed(transaction, fresh))
        _check_late(catalogue, fresh)
        for alike, rows in _grouped(fresh).items():
            await _make(transaction, catalogue, alike, rows)
    return await _with_resources(transaction, requests, answers)


async def _link(
    transaction: Transaction, extension: Extension, fresh: list[tuple[int, _Request]]
) -> list[tuple[int, _Request]]:
    """Have the extension create or lock the resources of new jobs; return the requests with ids and complete specs."""
    jobs = [
        NewJob(request.resource, request.user_id, request.spec) for _, request in fresh if request.resource is not None
    ]
    if not jobs:
        return fresh
    linked = iter(await extension.link(transaction, jobs))
    return [
        (job_id, request if request.resource is None else request.linked(next(linked))) for job_id, request in fresh
    ]


def _check_late(catalogue: Catalogue, fresh: list[tuple[int, _Request]]) -> None:
    """Check specs that an extension completed, and those under a key: a repeated request is not checked."""
    for _, request in fresh:
        if request.resource is not None or request.key is not None:
            catalogue.require(request.declared, json.loads(request.spec))


async def _with_resources(
    transaction: Transaction, requests: list[_Request], answers: list[Submitted]
) -> list[Submitted]:
    if all(request.resource is None for request in requests):
        return answers
    links = await transaction.run(SUBMIT_RESOURCES, job_ids=[answer.job_id for answer in answers])
    resources = {link.id: link.resource_id for link in links}
    return [replace(answer, resource_id=resources.get(answer.job_id)) for answer in answers]


async def _make(transaction: Transaction, catalogue: Catalogue, alike: _Alike, rows: list[Row]) -> None:
    """Make jobs and open what they begin with: in one statement where that is one stage of one part."""
    job_ids = [row[0] for row in rows]
    match alike.openings(job_ids):
        case [OpeningStage(plain=True) as single] if alike.resource_id is None:
            parameters = {**alike.parameters(), **single.terms(), "sole": single.sole}
            await transaction.run("submit_single", Batch(("id", "spec"), rows), **parameters)
        case openings:
            await transaction.run("submit", Batch(("id", "spec"), rows), **alike.parameters())
            await _open_first_stages(transaction, catalogue, openings, job_ids)


async def _timed(transaction: Transaction, fresh: list[tuple[int, _Request]]) -> list[tuple[int, _Request]]:
    if all(request.run_after is None for _, request in fresh):
        return fresh
    ((now,),) = await transaction.run("submit_now")
    return [(job_id, request.starting(now)) for job_id, request in fresh]


async def _open_first_stages(
    transaction: Transaction, catalogue: Catalogue, openings: list[OpeningStage], job_ids: list[int]
) -> None:
    try:
        empty = await open_stages(transaction, openings)
    except BrokenFanOut as broken:
        raise InvalidRequest("spec", broken.message, hint="put the array that the pipeline reads there") from None
    if empty:
        await advance(transaction, catalogue, {job_id: {} for job_id in job_ids})


async def _answers(transaction: Transaction, requests: list[_Request], job_ids: list[int]) -> list[Submitted]:
    """Which requests make a job, and which have made one already under their key."""
    keyed = [(request, job_id) for request, job_id in zip(requests, job_ids, strict=True) if request.key is not None]
    if not keyed:
        return [Submitted(job_id, Verdict.OK) for job_id in job_ids]
    rows = [(request.user_id, request.key, request.digest, job_id) for request, job_id in keyed]
    await transaction.run("submit_keys", Batch(("user_id", "key", "digest", "job_id"), rows))
    found = await transaction.run("submit_keyed", Batch(("user_id", "key"), [row[:2] for row in rows]))
    holders = {(user_id, key): (digest, job_id) for user_id, key, digest, job_id in found}
    return [_answer(request, job_id, holders) for request, job_id in zip(requests, job_ids, strict=True)]


def _answer(request: _Request, job_id: int, holders: dict[tuple[str, str], tuple[str, int]]) -> Submitted:
    if request.key is None:
        return Submitted(job_id, Verdict.OK)
    digest, holder = holders[request.user_id, request.key]
    if digest != request.digest:
        raise IdempotencyConflict(request.key, holder)
    return Submitted(holder, Verdict.OK if holder == job_id else Verdict.REPEATED)


def _grouped(fresh: list[tuple[int, _Request]]) -> dict[_Alike, list[Row]]:
    """Jobs that differ in nothing but id and spec are written by one statement."""
    groups: dict[_Alike, list[Row]] = {}
    for job_id, request in fresh:
        groups.setdefault(request.alike, []).append((job_id, request.spec))
    return groups


def _checked(catalogue: Catalogue, submission: Submission, limits: DocumentLimits) -> _Request:
    key = submission.idempotency_key
    if key is not None and not 1 <= len(key) <= limits.idempotency_key:
        raise InvalidRequest(
            "idempotency_key",
            f"has {len(key)} characters, it may have 1 to {limits.idempotency_key}",
            hint="a UUID or a hash of what identifies the request does well",
        )
    if not 0 <= submission.delay <= LONGEST_DELAY:
        raise InvalidRequest("delay", f"{submission.delay!r} is not a delay", hint="seconds from now, 0 or more")
    if submission.run_after is not None and submission.run_after.tzinfo is None:
        raise InvalidRequest("run_after", "has no time zone", hint="use an aware datetime, such as datetime.now(UTC)")
    declared = catalogue.named(submission.pipeline, submission.digest)
    spec = encode("spec", submission.spec, limits.spec)
    if submission.resource is not None:
        submission.resource.check(submission.spec)
    elif key is None:
        catalogue.require(declared, submission.spec)
    return _Request(
        declared,
        spec,
        priority_number(submission.priority),
        plain_text("user_id", submission.user_id, USER_LIMIT),
        float(submission.delay),
        submission.run_after,
        None if key is None else plain_text("idempotency_key", key, 4 * limits.idempotency_key),
        submission.resource,
        named=submission.digest is not None,
    )
