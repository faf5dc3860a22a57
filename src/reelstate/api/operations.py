"""What people do to jobs, one or many: cancel, retry, quarantine, force, reprioritise. Each keeps who and why."""

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
    Header(max_length=100, description="The ETag (version) that the job must still have, or it is left as it is."),
]
Priority = Annotated[int, Field(ge=0, le=10)] | Literal["low", "normal", "high", "critical"]
PartNumber = Annotated[int, Field(ge=0, le=LARGEST_PART)]


class OperationRequest(Input):
    reason: str | None = Field(default=None, description="Why; it is kept in the history.")


class ForceRequestBase(Input):
    model_config = ConfigDict(json_schema_extra={"example": {"reason": "writes broken files"}})

    reason: str = Field(description="Why; it is kept in the history.")


class RetryRequest(OperationRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"stage": "encode", "parts": [[3, 9], [12, 12]]}})

    stage: str | None = Field(default=None, description="From this stage on; what is unfinished, if left out.")
    parts: list[tuple[PartNumber, PartNumber]] | None = Field(
        default=None, max_length=1000, description="Only these parts of the stage: first and last of each range."
    )


class ForceRequest(ForceRequestBase):
    model_config = ConfigDict(json_schema_extra={"example": {"status": "completed", "reason": "finished by hand"}})

    status: Literal["pending", "failed", "completed"] = Field(description="What it is from now on.")


class PriorityRequest(OperationRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"priority": "high", "reason": "live tonight"}})

    priority: Priority = Field(description="0 to 10, which is most urgent; or low, normal, high, critical.")


class BulkRequest(OperationRequest):
    """All jobs of these statuses; first without `expected`, which tells how many there are, then with it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"action": "retry", "status": ["failed"], "pipeline": "transcode", "expected": 12}
        }
    )

    action: Literal["cancel", "retry", "quarantine", "reprioritise"]
    priority: Priority | None = Field(default=None, description="The new one; for `reprioritise`.")
    status: Annotated[list[StatusFilter], Field(min_length=1, max_length=20, description="`running` is every phase.")]
    pipeline: Annotated[str, Field(max_length=255)] | None = None
    user_id: Annotated[str, Field(max_length=255)] | None = Field(
        default=None, description="Only this user's; for admins."
    )
    expected: Annotated[int, Field(ge=0, le=MAX_SELECTED)] | None = Field(
        default=None, description="How many jobs the caller means to change; with any other number nothing is changed."
    )


class BulkDocument(BaseModel):
    matched: int = Field(description="How many jobs there are.")
    done: bool = Field(description="Whether anything was done to them, or they were only counted.")
    items: list[VerdictDocument]


@router.post("/bulk", response_model=BulkDocument)
async def bulk(engine: OnEngine, principal: Writer, body: BulkRequest) -> Document:
    """Cancel, retry, quarantine or reprioritise many jobs in one transaction.

    Without `expected` they are only counted.
    """
    if body.action == "quarantine" and not principal.admin:
        raise ScopeMissing("only an admin puts jobs aside", hint="cancel them, or ask an admin")
    if (body.priority is None) == (body.action == "reprioritise"):
        raise InvalidRequest("priority", "belongs to reprioritise, which needs it", hint="for example 9, or high")
    selection = Selection(
        statuses=frozenset(job_statuses(body.status) or ()),
        pipeline=body.pipeline,
        user_id=user_of(principal, body.user_id),
        expected=body.expected or 0,
    )
    if body.expected is None:
        return {"matched": await engine.count_jobs(selection), "done": False, "items": []}
    operation = Operation(actor=principal.actor, reason=body.reason, selection=selection)
    verbs: dict[str, Callable[[Operation], Awaitable[list[Operated]]]] = {
        "cancel": engine.cancel_many,
        "retry": engine.retry_many,
        "quarantine": engine.quarantine_many,
        "reprioritise": partial(engine.reprioritise_many, priority=body.priority or 0),
    }
    outcomes = await verbs[body.action](operation)
    return {"matched": len(outcomes), "done": True, "items": [_document(outcome) for outcome in outcomes]}


@router.post("/{job_id}/cancel", response_model=VerdictDocument)
async def cancel(
    engine: OnEngine, principal: Writer, job_id: JobId, body: OperationRequest | None = None, if_match: IfMatch = None
) -> Document:
    """End a job for good; its tasks are stopped, what is done stays on record."""
    return _told(job_id, await engine.cancel(job_id, **_options(principal, body, if_match)))


@router.post("/{job_id}/retry", response_model=VerdictDocument)
async def retry(
    engine: OnEngine, principal: Writer, job_id: JobId, body: RetryRequest | None = None, if_match: IfMatch = None
) -> Document:
    """Run a job again that failed: what is unfinished of it, or everything from a stage on."""
    start = _start(body) if body else None
    return _told(job_id, await engine.retry(job_id, start=start, **_options(principal, body, if_match)))


@router.post("/{job_id}/reprioritise", response_model=VerdictDocument)
async def reprioritise(
    engine: OnEngine, principal: Writer, job_id: JobId, body: PriorityRequest, if_match: IfMatch = None
) -> Document:
    """Set the priority of a job and of its tasks, those that it opens later too."""
    return _told(job_id, await engine.reprioritise(job_id, body.priority, **_options(principal, body, if_match)))


@router.post("/{job_id}/quarantine", response_model=VerdictDocument)
async def quarantine(
    engine: OnEngine, principal: Admin, job_id: JobId, body: ForceRequestBase, if_match: IfMatch = None
) -> Document:
    """Put a job aside until somebody retries or cancels it."""
    return _told(job_id, await engine.quarantine(job_id, **_options(principal, body, if_match)))


@router.post("/{job_id}/force", response_model=VerdictDocument)
async def force(
    engine: OnEngine, principal: Admin, job_id: JobId, body: ForceRequest, if_match: IfMatch = None
) -> Document:
    """Say what a job is, whatever it was; tasks that run are stopped."""
    options = _options(principal, body, if_match)
    return _told(job_id, await engine.force(job_id, JobStatus(body.status), **options))


def _options(
    principal: Principal, body: OperationRequest | ForceRequestBase | None, if_match: str | None
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
        raise InvalidRequest("if-match", "is not an ETag of ours", hint='send the one that was read, as "3"')
    return int(match[1])


def _start(body: RetryRequest) -> From | None:
    if body.stage is None:
        if body.parts is not None:
            raise InvalidRequest("parts", "of which stage?", hint="name the stage as well")
        return None
    if not body.parts:
        return From(body.stage)
    first, *others = body.parts
    return From(body.stage, first, tuple(others))


def _told(job_id: int, verdict: Verdict) -> Document:
    return {"id": job_id, "verdict": verdict}


def _document(outcome: Operated) -> Document:
    error = outcome.error
    return {
        "id": outcome.job_id,
        "verdict": outcome.verdict or "refused",
        "error": error.message if error else None,
        "hint": error.hint if error else None,
    }
