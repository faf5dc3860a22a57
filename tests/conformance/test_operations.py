"""What the operators' verbs share: versions, reasons, unknown jobs, batches, audit."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition, NotFound, TooLarge, VersionConflict
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.engine import Engine
from reelstate.services.operate.operation import Operation
from tests.conformance.scenarios import (
    a_running_task,
    fail_for_good,
    job_events,
    job_path,
    status_of,
    submitted,
    task_statuses,
)

Verb = Callable[..., Awaitable[Verdict]]


def _cancel(engine: Engine, job_id: int, **options: Any) -> Awaitable[Verdict]:
    return engine.cancel(job_id, **options)


def _retry(engine: Engine, job_id: int, **options: Any) -> Awaitable[Verdict]:
    return engine.retry(job_id, **options)


def _quarantine(engine: Engine, job_id: int, **options: Any) -> Awaitable[Verdict]:
    return engine.quarantine(job_id, **options)


def _force(engine: Engine, job_id: int, **options: Any) -> Awaitable[Verdict]:
    return engine.force(job_id, JobStatus.COMPLETED, **options)


every_verb = pytest.mark.parametrize(
    "verb", [_cancel, _retry, _quarantine, _force], ids=["cancel", "retry", "quarantine", "force"]
)


async def a_failed_job(engine: Engine) -> int:
    task = await a_running_task(engine)
    await fail_for_good(engine, task)
    return task.key.job_id


@every_verb
async def test_an_unknown_job_is_not_found(engine: Engine, verb: Verb) -> None:
    with pytest.raises(NotFound, match="no job 404"):
        await verb(engine, 404, reason="why")


@every_verb
async def test_a_job_that_was_changed_since_it_was_read_is_left_alone(engine: Engine, verb: Verb) -> None:
    job_id = await a_failed_job(engine)
    before = (await engine.job(job_id)).job
    with pytest.raises(VersionConflict) as refused:
        await verb(engine, job_id, reason="why", version=before.version - 1)
    assert (refused.value.expected, refused.value.found) == (before.version - 1, before.version)
    assert (await engine.job(job_id)).job == before
    assert await task_statuses(engine, job_id) == [TaskStatus.ERROR]
    assert await verb(engine, job_id, reason="why", version=before.version) is Verdict.OK


@every_verb
async def test_the_event_has_the_actor_and_the_reason(engine: Engine, verb: Verb) -> None:
    job_id = await a_failed_job(engine)
    await verb(engine, job_id, reason="because", actor="operator:ada")
    event = (await job_events(engine, job_id))[-1]
    assert (event.origin, event.actor, event.reason) == ("failed", "operator:ada", "because")
    job = (await engine.job(job_id)).job
    assert (job.actor, job.reason, job.version) == ("operator:ada", "because", event.version)


@every_verb
@pytest.mark.parametrize("reason", ["x" * 1001, "a\x00b", "\ud800"], ids=["long", "nul", "surrogate"])
async def test_a_reason_that_can_not_be_kept_is_refused(engine: Engine, verb: Verb, reason: str) -> None:
    job_id = await a_failed_job(engine)
    with pytest.raises((InvalidRequest, TooLarge)) as refused:
        await verb(engine, job_id, reason=reason)
    assert refused.value.field == "reason"
    assert await status_of(engine, job_id) is JobStatus.FAILED


@every_verb
@pytest.mark.parametrize("actor", ["worker", "orchestrator", "keeper:1", "nobody", ""])
async def test_only_people_operate(engine: Engine, verb: Verb, actor: str) -> None:
    job_id = await a_failed_job(engine)
    with pytest.raises(InvalidTransition):
        await verb(engine, job_id, reason="why", actor=actor)
    assert await status_of(engine, job_id) is JobStatus.FAILED


async def test_a_batch_gets_an_outcome_a_job_and_does_what_it_can(engine: Engine) -> None:
    pending, done = await submitted(engine), await submitted(engine)
    await engine.force(done, JobStatus.COMPLETED, reason="forced")
    gone = await submitted(engine)
    await engine.cancel(gone)
    outcomes = await engine.cancel_many(Operation(job_ids=[done, 404, pending, gone], actor="operator"))
    assert [outcome.job_id for outcome in outcomes] == [done, 404, pending, gone]
    assert [outcome.verdict for outcome in outcomes] == [None, Verdict.UNKNOWN, Verdict.OK, Verdict.REPEATED]
    assert [type(outcome.error) for outcome in outcomes] == [
        InvalidTransition,
        NotFound,
        type(None),
        type(None),
    ]
    assert await status_of(engine, pending) is JobStatus.CANCELLED


async def test_a_job_twice_in_one_batch_is_changed_once(engine: Engine) -> None:
    job_id = await submitted(engine)
    operation = Operation(job_ids=[job_id, job_id], actor="operator", reason="why")
    assert {outcome.error for outcome in await engine.cancel_many(operation)} == {None}
    assert [status for status, _ in await job_path(engine, job_id)] == ["pending", "cancelled"]


async def test_an_empty_batch_does_nothing(engine: Engine) -> None:
    nothing = Operation(job_ids=[], actor="operator", reason="why")
    assert await engine.cancel_many(nothing) == []
    assert await engine.retry_many(nothing) == []
    assert await engine.quarantine_many(nothing) == []
    assert await engine.force_many(nothing, JobStatus.FAILED) == []
