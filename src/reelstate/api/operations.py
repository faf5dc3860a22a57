"""Operations on one or many jobs: cancel, retry, quarantine, force, reprioritise. Each records actor and reason."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Admin, Principal, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.jobs import JobId, user_of
from reelstate.api.schemas import LARGEST_PART, Input, StatusFilter, VerdictDocument
from reelstate.core.errors import InvalidRequest, ScopeMissing
from reelstate.core.group import MAX_NAME
from reelstate.core.machine import JobStatus, job_statuses
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.services.operate.operation import MAX_SELECTED, Operated, Operation, Selection
from reelstate.services.operate.retry import From

router = APIRouter(
    prefix="/api/v1/jobs",
    tags=["operations"],
    route_class=JsonRoute,
    responses=problems(409, 412),
)
_ETAG: Final = re.compile(r'(?:W/)?"?(\d{1,9})"?', re.ASCII)
IfMatch = Annotated[
    str | None,
    Header(max_length=100, description="The ETag (version) that the job must have, or nothing is changed."),
]
Priority = Annotated[int, Field(ge=0, le=10)] | Literal["low", "normal", "high", "critical"]
PartNumber = Annotated[int, Field(ge=0, le=LARGEST_PART)]


class OperationRequest(Input):
    reason: str | None = Field(default=None, description="Why; the history records it.")


class ReasonedRequest(Input):
    model_config = ConfigDict(json_schema_extra={"example": {"reason": "writes broken files"}})

    reason: str = Field(description="Why; the history records it.")


RetryStage = Annotated[
    str | None, Field(default=None, description="Retry from this stage on; by default, what is unfinished.")
]
RetryParts = Annotated[
    list[tuple[PartNumber, PartNumber]] | None,
    Field(default=None, max_length=1000, description="Only these parts of the stage: first and last of each range."),
]


class RetryRequest(OperationRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"stage": "encode", "parts": [[3, 9], [12, 12]]}})

    stage: RetryStage
    parts: RetryParts


class ForceRequest(ReasonedRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"status": "completed", "reason": "finished manually"}})

    status: Literal["pending", "failed", "completed"] = Field(description="The new status.")


class PriorityRequest(OperationRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"priority": "high", "reason": "live tonight"}})

    priority: Priority = Field(description="0 to 10, which is most urgent; or low, normal, high, critical.")


class BulkRequest(OperationRequest):
    """All jobs of these statuses. A request without `expected` counts them; one with the count changes them."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"action": "retry", "status": ["failed"], "pipeline": "transcode", "expected": 12}
        }
    )

    action: Literal["cancel", "retry", "quarantine", "reprioritise"]
    priority: Priority | None = Field(default=None, description="The new priority; for `reprioritise`.")
    stage: RetryStage
    parts: RetryParts
    status: Annotated[list[StatusFilter], Field(min_length=1, max_length=20, description="`running` is every phase.")]
    pipeline: Annotated[str, Field(max_length=255)] | None = None
    user_id: Annotated[str, Field(max_length=255)] | None = Field(
        default=None, description="Only this user's; for admins."
    )
    group: Annotated[str, Field(max_length=MAX_NAME)] | None = Field(default=None, description="Only of this group.")
    expected: Annotated[int, Field(ge=0, le=MAX_SELECTED)] | None = Field(
        default=None, description="The count that the caller expects; with another count nothing is changed."
    )


class BulkDocument(BaseModel):
    matched: int = Field(description="How many jobs match.")
    done: bool = Field(description="Whether the jobs were changed, or only counted.")
    items: list[VerdictDocument]


@router.post("/bulk", response_model=BulkDocument)
async def bulk(engine: OnEngine, principal: Writer, body: BulkRequest) -> Document:
    """Cancel, retry, quarantine or reprioritise many jobs in one transaction.

    Without `expected` the jobs are only counted.
    """
    if body.action == "quarantine" and not principal.admin:
        raise ScopeMissing("only an admin may quarantine jobs", hint="cancel them, or ask an admin")
    if (body.priority is None) == (body.action == "reprioritise"):
        raise InvalidRequest(
            "priority", "is required for reprioritise and invalid for other actions", hint="for example 9, or high"
        )
    start = _start(body)
    if start is not None and body.action != "retry":
        raise InvalidRequest("stage", "is only for retry", hint="leave it out")
    selection = Selection(
        statuses=frozenset(job_statuses(body.status) or ()),
        pipeline=body.pipeline,
        user_id=user_of(principal, body.user_id),
        group=body.group,
        expected=body.expected or 0,
    )
    if body.expected is None:
        return {"matched": await engine.count_jobs(selection), "done": False, "items": []}
    operation = Operation(actor=principal.actor, reason=body.reason, selection=selection)
    verbs: dict[str, Callable[[Operation], Awaitable[list[Operated]]]] = {
        "cancel": engine.cancel_many,
        "retry": partial(engine.retry_many, start=start),
        "quarantine": engine.quarantine_many,
        "reprioritise": partial(engine.reprioritise_many, priority=body.priority or 0),
    }
    outcomes = await verbs[body.action](operation)
    return {"matched": len(outcomes), "done": True, "items": [_document(outcome) for outcome in outcomes]}


@router.post("/{job_id}/cancel", response_model=VerdictDocument)
async def cancel(
    engine: OnEngine, principal: Writer, job_id: JobId, body: OperationRequest | None = None, if_match: IfMatch = None
) -> Document:
    """Cancel a job. Its running tasks are stopped; finished results stay on record."""
    return _verdict_document(job_id, await engine.cancel(job_id, **_options(principal, body, if_match)))


@router.post("/{job_id}/retry", response_model=VerdictDocument)
async def retry(
    engine: OnEngine, principal: Writer, job_id: JobId, body: RetryRequest | None = None, if_match: IfMatch = None
) -> Document:
    """Retry a failed job. Runs what is unfinished, or everything from a stage on."""
    start = _start(body) if body else None
    return _verdict_document(job_id, await engine.retry(job_id, start=start, **_options(principal, body, if_match)))


@router.post("/{job_id}/reprioritise", response_model=VerdictDocument)
async def reprioritise(
    engine: OnEngine, principal: Writer, job_id: JobId, body: PriorityRequest, if_match: IfMatch = None
) -> Document:
    """Change the priority of a job. It applies to all its tasks, also those opened later."""
    return _verdict_document(
        job_id, await engine.reprioritise(job_id, body.priority, **_options(principal, body, if_match))
    )


@router.post("/{job_id}/quarantine", response_model=VerdictDocument)
async def quarantine(
    engine: OnEngine, principal: Admin, job_id: JobId, body: ReasonedRequest, if_match: IfMatch = None
) -> Document:
    """Quarantine a job until an operator retries or cancels it."""
    return _verdict_document(job_id, await engine.quarantine(job_id, **_options(principal, body, if_match)))


@router.post("/{job_id}/force", response_model=VerdictDocument)
async def force(
    engine: OnEngine, principal: Admin, job_id: JobId, body: ForceRequest, if_match: IfMatch = None
) -> Document:
    """Force the status of a job. Running tasks are stopped."""
    options = _options(principal, body, if_match)
    return _verdict_document(job_id, await engine.force(job_id, JobStatus(body.status), **options))


def _options(
    principal: Principal, body: OperationRequest | ReasonedRequest | None, if_match: str | None
) -> dict[str, Any]:
    return {
        "actor": principal.actor,
        "owner": principal.owner,
        "reason": body.reason if body else None,
        "version": version_in(if_match),
    }


def version_in(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise InvalidRequest("if-match", "is not an ETag of a job", hint='send the ETag of a GET, such as "3"')
    return int(match[1])


def _start(body: RetryRequest | BulkRequest) -> From | None:
    if body.stage is None:
        if body.parts is not None:
            raise InvalidRequest("parts", "needs a stage", hint="name the stage as well")
        return None
    if not body.parts:
        return From(body.stage)
    first, *others = body.parts
    return From(body.stage, first, tuple(others))


def _verdict_document(job_id: int, verdict: Verdict) -> Document:
    return {"id": job_id, "verdict": verdict}


def _document(outcome: Operated) -> Document:
    error = outcome.error
    return {
        "id": outcome.job_id,
        "verdict": outcome.verdict or "refused",
        "error": error.message if error else None,
        "hint": error.hint if error else None,
    }
