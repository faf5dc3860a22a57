"""Jobs: submit, list, look at."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import ConfigDict, Field

from reelstate.api.auth import Principal, Reader, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.schemas import (
    LARGEST_ID,
    After,
    Input,
    JobDocument,
    Json,
    Limit,
    PageDocument,
    SubmittedDocument,
)
from reelstate.core.errors import ScopeMissing
from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission, Submitted, Verdict
from reelstate.documents import Document, job_document

router = APIRouter(
    prefix="/api/v1/jobs", tags=["jobs"], route_class=JsonRoute, responses=problems(401, 403, 404, 413, 422, 429, 503)
)
JobId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The job's id.")]


class NewJob(Input):
    """A job to be made."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"pipeline": "transcode", "spec": {"source": "https://example.com/film.mov"}, "priority": 5}
        },
    )

    pipeline: str
    spec: dict[str, Json] = Field(default_factory=dict)
    priority: Annotated[int, Field(ge=0, le=10)] = 5
    delay: Annotated[float, Field(ge=0, description="Seconds until its first tasks may run.")] = 0.0
    idempotency_key: str | None = Field(default=None, description="In a batch; alone, the header Idempotency-Key does.")
    user_id: str | None = Field(default=None, description="For whom; only an admin may name another than its own user.")


@router.post("", status_code=201, responses={200: {"model": SubmittedDocument, "description": "It was made before"}})
async def submit(
    engine: OnEngine,
    principal: Writer,
    body: NewJob,
    response: Response,
    idempotency_key: Annotated[str | None, Header(description="Makes a repeated request harmless.")] = None,
) -> SubmittedDocument:
    """Submit a job. The same key with the same body gives the first answer, with another body it is refused."""
    (answer,) = await engine.submit_many([_submission(principal, body, idempotency_key)])
    if answer.verdict is Verdict.REPEATED:
        response.status_code = 200
    response.headers["Location"] = f"{router.prefix}/{answer.job_id}"
    return SubmittedDocument(**_submitted(answer))


@router.get("")
async def jobs(
    engine: OnEngine,
    principal: Reader,
    status: Annotated[list[JobStatus] | None, Query(description="Only these.")] = None,
    pipeline: Annotated[str | None, Query(max_length=255)] = None,
    limit: Limit = 50,
    after: After = None,
) -> PageDocument[JobDocument]:
    """Jobs, the newest first."""
    page = await engine.jobs(limit=limit, after=after, statuses=status, pipeline=pipeline, user_id=principal.owner)
    return PageDocument(items=[_document(job_document(job)) for job in page.items], after=page.after)


def _document(document: Document) -> Any:
    return JobDocument(**document)


def _submission(principal: Principal, body: NewJob, idempotency_key: str | None = None) -> Submission:
    user_id = principal.user_id if body.user_id is None else body.user_id
    if user_id != principal.user_id and not principal.admin:
        raise ScopeMissing("only an admin submits for another user", hint="leave user_id out")
    return Submission(
        pipeline=body.pipeline,
        spec=body.spec,
        priority=body.priority,
        delay=body.delay,
        user_id=user_id,
        idempotency_key=idempotency_key or body.idempotency_key,
    )


def _submitted(answer: Submitted) -> Document:
    return {"id": answer.job_id, "verdict": answer.verdict, "video_id": answer.video_id}
