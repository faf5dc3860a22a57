"""What remote workers say and ask: the verbs of the engine that a worker needs, a batch at a time.

A key registers and claims. Every word on a task needs the permit that came with its claim; the permit names the task.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from reelstate.api.auth import Remote
from reelstate.api.body import JsonRoute
from reelstate.api.context import InContext, OnEngine
from reelstate.api.errors import problems
from reelstate.api.remotes import Granted, InRemotes
from reelstate.config import Settings
from reelstate.core.errors import KeyRefused, WorkerRefused
from reelstate.core.machine import Actor, WorkerStatus
from reelstate.core.model import Claim, Release, TaskKey, Verdict
from reelstate.dispatch.dispatch import Bell
from reelstate.remote.wire import (
    LONGEST_WAIT,
    OLDEST_PROTOCOL,
    PREFIX,
    PROTOCOL,
    BellsAnswer,
    ClaimAnswer,
    ClaimRequest,
    CompleteRequest,
    FailRequest,
    Hello,
    LeaveAnswer,
    LeaveRequest,
    ReleaseRequest,
    ReportAnswer,
    ReportRequest,
    ResultsAnswer,
    VerdictAnswer,
    Welcome,
)

LOOK_EVERY: Final = 1.0
"""How often a question that waits looks whether its asker is still there, and still may ask."""
ROOM: Final = 1024 * 1024
ACCEPTED: Final = (Verdict.OK, Verdict.REPEATED)
CONFLICT: Final = 409


class WorkerRoute(JsonRoute):
    """A route whose body holds results of tasks, which are larger than what people send, and of any shape."""

    deepest = None

    def largest(self, settings: Settings) -> int:
        return settings.limit_result + ROOM


router = APIRouter(
    prefix=PREFIX,
    tags=["worker"],
    route_class=WorkerRoute,
    responses=problems(401, 403, 404, 408, 413, 422, 429, 503),
)
Answers: Final[dict[int | str, dict[str, Any]]] = {
    CONFLICT: {"model": VerdictAnswer, "description": "None of them was accepted"}
}


@router.post("/register")
async def register(engine: OnEngine, principal: Remote, body: Hello) -> Welcome:
    """Make an instance known under the name of its key. It says what it speaks, and which pipelines it has code for."""
    if not OLDEST_PROTOCOL <= body.protocol <= PROTOCOL:
        age = "old" if body.protocol < OLDEST_PROTOCOL else "new"
        raise WorkerRefused(
            f"this worker is too {age}: it speaks protocol {body.protocol}, the server {OLDEST_PROTOCOL} to {PROTOCOL}",
            hint=f"install the release of the server, {version('reelstate')}",
        )
    await engine.catalogue.find(engine.store, body.pipelines)
    described = body.model_dump(exclude={"protocol"})
    worker_id = await engine.register(principal.name, kind="remote", **described)
    return Welcome(worker_id=worker_id, name=principal.name, protocol=PROTOCOL, software=version("reelstate"))


@router.post("/claim")
async def claim(
    request: Request, context: InContext, remotes: InRemotes, principal: Remote, body: ClaimRequest
) -> Response:
    """Lease tasks. With `wait` the answer comes when there are some, or after so many seconds."""

    async def claimed() -> Claim:
        # Asked anew each time: what a revoked worker gave back must not be leased to it again.
        if not await context.keys.in_force(principal.key_id, fresh=True):
            raise _ended()
        return await _claimed(remotes, body)

    known = await remotes.known(body.worker_id, principal.name)
    async with known.claiming:
        found = await claimed()
        end = time.monotonic() + body.wait
        listener = remotes.engine.dispatch.listen((Bell.WORK,))
        try:
            while not found.tasks and time.monotonic() < end and not await request.is_disconnected():
                await listener.wait(min(LOOK_EVERY, end - time.monotonic()))
                found = await claimed()
        finally:
            listener.close()
        if found.tasks and await request.is_disconnected():
            # It may have asked another server since, which could not see these, and would never ask for them again.
            await remotes.engine.release([Release(key=task.key, token=task.token) for task in found.tasks])
            found = Claim([], suspects_waiting=False)
    permits = await remotes.permits.give(found.tasks, principal.name)
    return Response(ClaimAnswer.of(found, permits).model_dump_json(), media_type="application/json")


async def _claimed(remotes: InRemotes, body: ClaimRequest) -> Claim:
    engine = remotes.engine
    if body.known is not None:
        found = await engine.claimed(body.worker_id, {(TaskKey(*lease[:3]), lease[3]) for lease in body.known})
        if found.tasks:
            return found
    options = {"pipelines": body.pipelines, "hints": [TaskKey(*key) for key in body.hints]}
    return await engine.claim(body.worker_id, body.limit, gpu_grace=body.gpu_grace, **options)


@router.post("/heartbeat")
async def heartbeat(remotes: InRemotes, principal: Remote, body: ReportRequest) -> ReportAnswer:
    """Renew leases; without items, a sign of life. A permit that will end is renewed with its lease."""
    await remotes.known(body.worker_id, principal.name)
    grants = await remotes.grants((item.permit for item in body.items), principal.name, expired=True)
    said = [item.progress(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    report = await remotes.engine.report(body.worker_id, said)
    await remotes.clear(grants, report.verdicts)
    renewed = [
        await remotes.permits.renew(grant) if verdict is Verdict.OK and remotes.permits.is_ending(grant) else None
        for grant, verdict in zip(grants, report.verdicts, strict=True)
    ]
    return ReportAnswer(verdicts=report.verdicts, drain=report.drain, permits=renewed)


@router.post("/progress")
async def progress(remotes: InRemotes, principal: Remote, body: ReportRequest) -> ReportAnswer:
    """Say how far tasks are: progress, checkpoints, log lines, commands, states. It renews their leases, too."""
    return await heartbeat(remotes, principal, body)


@router.post("/complete", responses=Answers)
async def complete(remotes: InRemotes, principal: Remote, body: CompleteRequest, response: Response) -> VerdictAnswer:
    """Tasks are done. What a film was made of is looked at before it counts, which may take a while."""
    grants = await remotes.grants((item.permit for item in body.items), principal.name)
    items = [item.completion(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    verdicts = await remotes.completed(grants, items)
    await remotes.clear(grants, verdicts)
    return _answer(verdicts, response)


@router.post("/fail", responses=Answers)
async def fail(remotes: InRemotes, principal: Remote, body: FailRequest, response: Response) -> VerdictAnswer:
    """Attempts have failed."""
    grants = await remotes.grants((item.permit for item in body.items), principal.name)
    items = [item.failure(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    verdicts = await remotes.engine.fail(items)
    await remotes.clear(grants, verdicts)
    return _answer(verdicts, response)


@router.post("/release", responses=Answers)
async def release(remotes: InRemotes, principal: Remote, body: ReleaseRequest, response: Response) -> VerdictAnswer:
    """Give tasks back that will not be finished; the attempt is not charged."""
    grants = await remotes.grants((item.permit for item in body.items), principal.name, expired=True)
    items = [item.release(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    verdicts = await remotes.engine.release(items)
    await remotes.clear(grants, verdicts)
    return _answer(verdicts, response)


def _answer(verdicts: Sequence[Verdict], response: Response) -> VerdictAnswer:
    """A conflict where nothing of it counts; else each item has its own verdict."""
    if verdicts and not any(verdict in ACCEPTED for verdict in verdicts):
        response.status_code = CONFLICT
    return VerdictAnswer(verdicts=list(verdicts))


@router.get("/results", responses=problems(409))
async def results(
    remotes: InRemotes,
    grant: Granted,
    stage: Annotated[str, Query(max_length=255)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[str | None, Query(max_length=200)] = None,
) -> ResultsAnswer:
    """What the parts of an earlier stage of the task's own job came to, told while the lease holds."""
    await remotes.require_held(grant, fresh=False)
    page = await remotes.engine.results(grant.key.job_id, stage, limit=limit, after=after)
    return ResultsAnswer(items=page.items, after=page.after)


@router.get("/bells")
async def bells(
    request: Request,
    context: InContext,
    remotes: InRemotes,
    principal: Remote,
    worker_id: Annotated[int, Query(ge=0, lt=2**63)],
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 0.0,
) -> BellsAnswer:
    """Answered as soon as there may be work, or something to stop. What nobody can know counts as rung."""
    known = await remotes.known(worker_id, principal.name)
    listener, is_new = remotes.listener(known)
    if is_new:
        return BellsAnswer(bells=[Bell.WORK, Bell.STOP])
    end = time.monotonic() + wait
    while not context.stopping.is_set() and not await request.is_disconnected():
        rung = await listener.wait(min(LOOK_EVERY, max(0.0, end - time.monotonic())))
        if rung or time.monotonic() >= end:
            return BellsAnswer(bells=sorted(rung))
        if not await context.keys.in_force(principal.key_id):
            raise _ended()
    return BellsAnswer(bells=[])


def _ended() -> KeyRefused:
    return KeyRefused("the key is not in force any more", hint="`reel workers register` makes another")


@router.post("/leave")
async def leave(remotes: InRemotes, principal: Remote, body: LeaveRequest) -> LeaveAnswer:
    """A worker ends; it holds nothing any more."""
    await remotes.known(body.worker_id, principal.name)
    changed = await remotes.engine.move_worker(
        body.worker_id, WorkerStatus.OFFLINE, actor=Actor.WORKER, reason=body.reason
    )
    remotes.forget(body.worker_id)
    return LeaveAnswer(changed=changed)
