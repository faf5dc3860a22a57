"""Jobs: submit and list them, and read their stages, tasks, logs and steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from reelstate.api.auth import Principal, Reader, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import Context, InContext, OnEngine
from reelstate.api.dashboard import prefix_of
from reelstate.api.schemas import (
    LARGEST_ID,
    LARGEST_PART,
    After,
    ExplanationDocument,
    Input,
    JobDetailDocument,
    JobDocument,
    Json,
    Limit,
    LogDocument,
    PageDocument,
    StageDocument,
    StatusFilter,
    StepDocument,
    SubmittedDocument,
    TaskDocument,
    like,
)
from reelstate.api.sources import require_spec
from reelstate.api.video_documents import QualityDocument
from reelstate.core.errors import InvalidRequest, ScopeMissing
from reelstate.core.group import MAX_AFTER, MAX_NAME, AfterFailure, parse_after
from reelstate.core.machine import ACTIVE_JOBS, TaskStatus, job_statuses
from reelstate.core.model import Page, Submission, Submitted, Task, TaskKey, Verdict
from reelstate.core.search import MAX_LENGTH, Suggestion
from reelstate.documents import (
    Document,
    detail_document,
    explanation_document,
    fields_document,
    job_document,
    log_document,
    stage_document,
    step_document,
    task_document,
)
from reelstate.library.documents import quality_document
from reelstate.library.ladder import read_qualities
from reelstate.services.webhooks.address import MAX_URL
from reelstate.services.why import WhyOptions

T = TypeVar("T")
router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], route_class=JsonRoute)
LARGEST_BATCH: Final = 1000
MAX_CURRENT: Final = 100
Lines = Callable[..., Awaitable[Document]]
JobId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The job's id.")]
JobNumber = Annotated[int, Field(ge=0, le=LARGEST_ID)]
StageName = Annotated[str | None, Query(max_length=255, description="Only this stage, by name.")]
Part = Annotated[int | None, Query(ge=0, le=LARGEST_PART, description="Only this part of the stage.")]
IdempotencyKey = Annotated[
    str | None,
    Header(max_length=255, description="A repeated request with the same key returns the first answer."),
]


class NewJob(Input):
    """A job to submit."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"pipeline": "transcode", "spec": {"source": "https://example.com/video.mov"}, "priority": 5}
        }
    )

    pipeline: str
    digest: str | None = Field(
        default=None,
        description="The version of the pipeline, by the beginning of its digest; left out: the one that new jobs run.",
    )
    spec: Json = Field(default_factory=dict, description="What the pipeline asks for; 256 KiB at most.")
    priority: Annotated[int, Field(ge=0, le=10)] | Literal["low", "normal", "high", "critical"] = 5
    delay: Annotated[float, Field(ge=0, description="Seconds until its first tasks may run.")] = 0.0
    run_after: AwareDatetime | None = Field(default=None, description="The same as an instant; it wins over `delay`.")
    idempotency_key: str | None = Field(default=None, description="As the header Idempotency-Key, for this job.")
    callback: str | None = Field(
        default=None, max_length=MAX_URL, description="A URL that gets the events of the job: https://…"
    )
    group: str | None = Field(default=None, max_length=MAX_NAME, description="The group that it joins, by name.")
    group_callback: str | None = Field(
        default=None, max_length=MAX_URL, description="A URL that gets an event when the whole group has finished."
    )
    after: list[JobNumber | str] = Field(
        default_factory=list,
        max_length=MAX_AFTER,
        description="Ids of jobs, and groups as `group:NAME`, that must complete before it starts.",
    )
    after_failure: AfterFailure = Field(
        default=AfterFailure.WAIT,
        description="When one of them fails: it waits for a retry, is cancelled, or starts when all have ended.",
    )
    user_id: str | None = Field(default=None, description="For whom; only an admin may name another than its own user.")


class NewJobs(Input):
    """Jobs that are made together, all or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"jobs": [{"pipeline": "transcode", "spec": {"source": "https://example.com/video.mov"}}]}
        }
    )

    jobs: Annotated[list[NewJob], Field(min_length=1, max_length=LARGEST_BATCH)]


@like(Suggestion)
class SuggestionDocument(BaseModel):
    """How the last term of a search may go on."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"text": "user:ada status:", "shown": "status:", "example": "status:failed,quarantined"}
        }
    )

    text: str = Field(description="The whole search with it.")
    shown: str = Field(description="Its last term: a field that a value must follow, or a field with a value.")
    example: str = Field(description="A whole term of this field.")


class Answers(Input):
    items: list[SubmittedDocument] = Field(description="In the order of the jobs.")


@router.post(
    "",
    status_code=201,
    response_model=SubmittedDocument,
    responses={200: {"model": SubmittedDocument, "description": "It was made before, under the same key"}},
)
async def submit(
    context: InContext, principal: Writer, body: NewJob, response: Response, idempotency_key: IdempotencyKey = None
) -> Document:
    """Submit a job. The same idempotency key and body return the first answer; another body is refused."""
    (answer,) = await context.engine.submit_many([_submission(context, principal, body, idempotency_key)])
    if answer.verdict is Verdict.REPEATED:
        response.status_code = 200
    response.headers["Location"] = f"{router.prefix}/{answer.job_id}"
    return _submitted(answer)


@router.post("/batch", status_code=201, response_model=Answers)
async def submit_many(
    context: InContext, principal: Writer, body: NewJobs, idempotency_key: IdempotencyKey = None
) -> Document:
    """Submit many jobs in one transaction, all or none."""
    keys = [None if idempotency_key is None else f"{idempotency_key}/{number}" for number in range(len(body.jobs))]
    made = [_submission(context, principal, job, key) for job, key in zip(body.jobs, keys, strict=True)]
    return {"items": [_submitted(answer) for answer in await context.engine.submit_many(made)]}


@router.get("", response_model=PageDocument[JobDocument])
async def jobs(
    engine: OnEngine,
    principal: Reader,
    request: Request,
    response: Response,
    status: Annotated[list[StatusFilter] | None, Query(description="Only these; `running` is every phase.")] = None,
    pipeline: Annotated[str | None, Query(max_length=255, description="Only jobs of this pipeline.")] = None,
    user_id: Annotated[str | None, Query(max_length=255, description="Only this user's; for admins.")] = None,
    flagged: Annotated[bool, Query(description="Only jobs that are flagged for an operator.")] = False,
    q: Annotated[
        str | None,
        Query(max_length=MAX_LENGTH, description='A search: `status:failed created:<7d error~"out of memory"`.'),
    ] = None,
    archived: Annotated[bool, Query(description="Jobs in the archive, which can only be read.")] = False,
    limit: Limit = 50,
    after: After = None,
) -> Document:
    """List jobs, newest first. A page of a search may have fewer jobs than `limit`; the last one has no `after`."""
    page = await engine.jobs(
        statuses=job_statuses(status),
        pipeline=pipeline,
        user_id=user_of(principal, user_id),
        flagged=flagged,
        archived=archived,
        search=q,
        limit=limit,
        after=after,
    )
    return paged(page, [job_document(job) for job in page.items], request, response)


@router.get("/suggestions", response_model=list[SuggestionDocument])
async def suggestions(
    engine: OnEngine,
    _: Reader,
    q: Annotated[str, Query(max_length=MAX_LENGTH, description="The beginning of a search: `user:ada st`.")] = "",
) -> list[Document]:
    """List how the last term of a search may go on: the fields, the statuses and the names of pipelines."""
    return [fields_document(each) for each in await engine.suggestions(q)]


@router.get("/{job_id}", response_model=JobDetailDocument)
async def job(engine: OnEngine, principal: Reader, job_id: JobId, response: Response) -> Document:
    """Get a job with its stages and running tasks. Its version is the ETag."""
    detail = await engine.job(job_id, owner=principal.owner)
    current: list[Task] = []
    if detail.job.status in ACTIVE_JOBS:
        wanted = [TaskStatus.RUNNING, TaskStatus.ERROR]
        found = await engine.tasks(job_id, statuses=wanted, limit=MAX_CURRENT, owner=principal.owner)
        current = found.items
    response.headers["ETag"] = f'"{detail.job.version}"'
    return detail_document(detail, current)


@router.get("/{job_id}/why", response_model=ExplanationDocument)
async def why(
    context: InContext,
    principal: Reader,
    job_id: JobId,
    stage: StageName = None,
    part: Part = None,
) -> Document:
    """Get the exact reasons why a job, a stage or a task does not run now, or that it runs.

    Workers are named to admins; others see their number.
    """
    settings = context.settings
    terms: WhyOptions = {"gpu_grace": settings.gpu_grace, "stale_after": settings.stale_after}
    explained = await context.engine.why(job_id, stage=stage, part=part, owner=principal.owner, **terms)
    return explanation_document(explained)


@router.get("/{job_id}/qualities", response_model=list[QualityDocument])
async def qualities(engine: OnEngine, principal: Reader, job_id: JobId) -> list[Document]:
    """List the qualities that a transcode job encodes, with their progress; none for other pipelines."""
    detail = await engine.job(job_id, owner=principal.owner)
    return [quality_document(each) for each in await read_qualities(engine, detail)]


@router.get("/{job_id}/stages", response_model=list[StageDocument])
async def stages(engine: OnEngine, principal: Reader, job_id: JobId) -> list[Document]:
    """List the stages of a job with their progress."""
    detail = await engine.job(job_id, owner=principal.owner)
    return [stage_document(stage) for stage in detail.stages]


@router.get("/{job_id}/tasks", response_model=PageDocument[TaskDocument])
async def tasks(
    engine: OnEngine,
    principal: Reader,
    job_id: JobId,
    request: Request,
    response: Response,
    stage: StageName = None,
    status: Annotated[list[TaskStatus] | None, Query(description="Only these.")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Document:
    """List the tasks of a job by stage and part."""
    page = await engine.tasks(job_id, stage=stage, statuses=status, limit=limit, after=after, owner=principal.owner)
    return paged(page, [task_document(task) for task in page.items], request, response)


async def lines_of_runs(
    engine: OnEngine,
    principal: Reader,
    job_id: JobId,
    request: Request,
    response: Response,
    stage: StageName = None,
    part: Part = None,
    limit: Limit = 100,
    after: After = None,
) -> Lines:
    """Return a route handler for a kind of entries that the attempts of a job wrote: logs or steps."""
    names = await engine.stage_names(job_id, owner=principal.owner)
    key = _key(job_id, names, stage, part)

    async def answer(
        read: Callable[..., Awaitable[Page[T]]], document: Callable[[T, Sequence[str]], Document]
    ) -> Document:
        page = await read(job_id, key=key, limit=limit, after=after, owner=principal.owner)
        return paged(page, [document(entry, names) for entry in page.items], request, response)

    return answer


@router.get("/{job_id}/logs", response_model=PageDocument[LogDocument])
async def logs(
    engine: OnEngine,
    lines: Annotated[Lines, Depends(lines_of_runs)],
    settled: Annotated[
        bool,
        Query(description="Leave out lines before which another can still appear, so that a follower misses none."),
    ] = False,
) -> Document:
    """List the log lines of a job, oldest first. `stage` and `part` together select one task."""
    return await lines(partial(engine.logs, settled=settled), log_document)


@router.get("/{job_id}/steps", response_model=PageDocument[StepDocument])
async def steps(engine: OnEngine, lines: Annotated[Lines, Depends(lines_of_runs)]) -> Document:
    """List the commands that a job has run. `stage` and `part` together select one task."""
    return await lines(engine.steps, step_document)


def user_of(principal: Principal, wanted: str | None) -> str | None:
    """Whose jobs are meant: an admin may name anybody or nobody, others have their own."""
    if principal.admin:
        return wanted
    if wanted not in (None, principal.user_id):
        raise ScopeMissing("only an admin sees the jobs of another user", hint="leave user_id out")
    return principal.user_id


def paged(page: Page[Any], items: Sequence[Document], request: Request, response: Response) -> Document:
    """A page as a document; the next one is linked."""
    if page.after is not None:
        following = request.url.include_query_params(after=page.after)
        response.headers["Link"] = f'<{prefix_of(request)}{following.path}?{following.query}>; rel="next"'
    return {"items": items, "after": page.after}


def _key(job_id: int, names: Sequence[str], stage: str | None, part: int | None) -> TaskKey | None:
    if stage is None and part is None:
        return None
    if stage not in names:
        raise InvalidRequest("stage", f"there is no stage {stage!r}", hint=f"stages: {', '.join(names)}")
    if part is None:
        raise InvalidRequest("part", "a task is named by its stage and part", hint="name both, or neither")
    return TaskKey(job_id, names.index(stage), part)


def _submission(context: Context, principal: Principal, body: NewJob, key: str | None) -> Submission:
    user_id = principal.user_id if body.user_id is None else body.user_id
    if user_id != principal.user_id and not principal.admin:
        raise ScopeMissing("only an admin submits for another user", hint="leave user_id out")
    require_spec(principal, context.settings, body.pipeline, body.spec)
    return Submission(
        pipeline=body.pipeline,
        digest=body.digest,
        spec={} if body.spec is None else body.spec,
        priority=body.priority,
        delay=body.delay,
        run_after=body.run_after,
        user_id=user_id,
        callback=body.callback,
        group=body.group,
        group_callback=body.group_callback,
        after=[parse_after(each) if isinstance(each, str) else each for each in body.after],
        after_failure=body.after_failure.value,
        idempotency_key=key if body.idempotency_key is None else body.idempotency_key,
    )


def _submitted(answer: Submitted) -> Document:
    return {"id": answer.job_id, "verdict": answer.verdict, "resource_id": answer.resource_id}
