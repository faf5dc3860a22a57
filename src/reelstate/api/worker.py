"""What remote workers say and ask: the verbs of the engine that a worker needs, a batch at a time.

A key registers and claims. Every word on a task needs the permit that came with its claim; the permit names the task.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json

from reelstate.api.auth import Remote
from reelstate.api.body import SMALL, JsonRoute, told_length
from reelstate.api.context import InContext, OnEngine
from reelstate.api.errors import problems
from reelstate.api.remotes import Granted, InRemotes, Remotes
from reelstate.config import Settings
from reelstate.core.document import MAX_DEPTH
from reelstate.core.errors import KeyRefused, WorkerRefused
from reelstate.core.machine import Actor, WorkerStatus
from reelstate.core.model import Claim, Release, TaskKey, Verdict
from reelstate.dispatch.dispatch import Wakeup
from reelstate.remote.wire import (
    LONGEST_WAIT,
    OLDEST_PROTOCOL,
    PREFIX,
    PROTOCOL,
    ClaimAnswer,
    CompleteRequest,
    FailRequest,
    LeaveAnswer,
    LeaveRequest,
    RegisterAnswer,
    RegisterRequest,
    ReleaseRequest,
    ReportAnswer,
    ReportRequest,
    ResultsAnswer,
    VerdictAnswer,
    WakeupsAnswer,
    WireClaimRequest,
)

LOOK_EVERY: Final = 1.0
"""How often a question that waits looks whether its asker is still there, and still may ask."""
ROOM: Final = 1024 * 1024
AROUND: Final = 4
"""How deep in a body the value of a task lies."""
FIRST_RESULTS: Final = 4
MAX_RESULTS: Final = 4 * 1024 * 1024
"""Results that are read at first, and bytes of them after which a page of them ends."""
ACCEPTED: Final = (Verdict.OK, Verdict.REPEATED)
CONFLICT: Final = 409


class WorkerRoute(JsonRoute):
    """A route whose body holds results of tasks, which are larger and deeper than what people send.

    Of the large ones a key has few at a time: they take memory for as long as they are looked at.
    """

    deepest = MAX_DEPTH + AROUND

    def largest(self, settings: Settings) -> int:
        return min(settings.limit_result, settings.remote_body_limit) + ROOM

    def turn(self, request: Request) -> AbstractAsyncContextManager[Any]:
        told = told_length(request)
        if told is not None and told <= SMALL:
            return nullcontext()
        remotes: Remotes = request.app.state.remotes
        return remotes.large_bodies(request.headers.get("authorization", ""))


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
async def register(engine: OnEngine, remotes: InRemotes, principal: Remote, body: RegisterRequest) -> RegisterAnswer:
    """Make an instance known under the name of its key. It says what it speaks, and which pipelines it has code for."""
    if not OLDEST_PROTOCOL <= body.protocol <= PROTOCOL:
        age = "old" if body.protocol < OLDEST_PROTOCOL else "new"
        raise WorkerRefused(
            f"this worker is too {age}: it speaks protocol {body.protocol}, the server {OLDEST_PROTOCOL} to {PROTOCOL}",
            hint=f"install the release of the server, {version('reelstate')}",
        )
    await engine.catalogue.find(engine.store, ((name, None) for name in body.pipelines))
    described = body.model_dump(exclude={"protocol"})
    worker_id = await engine.register(
        principal.name, kind="remote", max_instances=remotes.settings.instances_per_key, **described
    )
    return RegisterAnswer(worker_id=worker_id, name=principal.name, protocol=PROTOCOL, software=version("reelstate"))


@router.post("/claim")
async def claim(
    request: Request, context: InContext, remotes: InRemotes, principal: Remote, body: WireClaimRequest
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
        listener = remotes.engine.dispatch.listen((Wakeup.WORK,))
        try:
            while not found.tasks and time.monotonic() < end and not await request.is_disconnected():
                await listener.wait(min(LOOK_EVERY, end - time.monotonic()))
                found = await claimed()
        finally:
            listener.close()
        if found.tasks and await request.is_disconnected():
            # It may have asked another server since, which could not see these, and would never ask for them again.
            await remotes.engine.release([Release(key=task.key, token=task.token) for task in found.tasks])
            found = Claim([], isolated_waiting=False)
    await remotes.engine.publish_busy([task.key for task in found.tasks])
    permits = await remotes.permits.issue(found.tasks, principal.name)
    return Response(ClaimAnswer.of(found, permits).model_dump_json(), media_type="application/json")


async def _claimed(remotes: InRemotes, body: WireClaimRequest) -> Claim:
    engine = remotes.engine
    if body.known is not None:
        found = await engine.claimed(body.worker_id, {(TaskKey(*lease[:3]), lease[3]) for lease in body.known})
        if found.tasks:
            return found
    return await engine.claim(
        body.worker_id,
        body.limit,
        pipelines=body.pipelines,
        hints=[TaskKey(*key) for key in body.hints],
        gpu_grace=body.gpu_grace,
        max_instances=remotes.settings.instances_per_key,
    )


@router.post("/heartbeat")
async def heartbeat(remotes: InRemotes, principal: Remote, body: ReportRequest) -> ReportAnswer:
    """Renew leases; without items, a sign of life. A permit that will end is renewed with its lease."""
    await remotes.known(body.worker_id, principal.name)
    grants = await remotes.grants((item.permit for item in body.items), principal.name, expired=True)
    said = [item.progress(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    report = await remotes.engine.report(
        body.worker_id, said, body.stuck, max_instances=remotes.settings.instances_per_key
    )
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
    await remotes.engine.publish_busy([grant.key for grant in grants])
    return _answer(verdicts, response)


@router.post("/fail", responses=Answers)
async def fail(remotes: InRemotes, principal: Remote, body: FailRequest, response: Response) -> VerdictAnswer:
    """Attempts have failed."""
    grants = await remotes.grants((item.permit for item in body.items), principal.name)
    items = [item.failure(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    verdicts = await remotes.engine.fail(items)
    await remotes.clear(grants, verdicts)
    await remotes.engine.publish_busy([grant.key for grant in grants])
    return _answer(verdicts, response)


@router.post("/release", responses=Answers)
async def release(remotes: InRemotes, principal: Remote, body: ReleaseRequest, response: Response) -> VerdictAnswer:
    """Give tasks back that will not be finished; the attempt is not charged."""
    grants = await remotes.grants((item.permit for item in body.items), principal.name, expired=True)
    items = [item.release(grant.key, grant.token) for item, grant in zip(body.items, grants, strict=True)]
    verdicts = await remotes.engine.release(items)
    await remotes.clear(grants, verdicts)
    await remotes.engine.publish_busy([grant.key for grant in grants])
    return _answer(verdicts, response)


def _answer(verdicts: Sequence[Verdict], response: Response) -> VerdictAnswer:
    """A conflict where nothing of it counts; else each item has its own verdict."""
    if verdicts and not any(verdict in ACCEPTED for verdict in verdicts):
        response.status_code = CONFLICT
    return VerdictAnswer(verdicts=list(verdicts))


@router.get("/results", response_model=ResultsAnswer, responses=problems(409))
async def results(
    remotes: InRemotes,
    grant: Granted,
    stage: Annotated[str, Query(max_length=255)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """What the parts of an earlier stage of the task's own job came to, told while the lease holds.

    A page ends early where results are large.
    """
    await remotes.require_held(grant, fresh=False)
    items: list[bytes] = []
    size, step = 0, FIRST_RESULTS
    while True:
        wanted = min(step, limit - len(items))
        page = await remotes.engine.results(grant.key.job_id, stage, limit=wanted, after=after)
        items += [to_json(result) for result in page.items]
        size, after = sum(map(len, items)), page.after
        if after is None or len(items) >= limit or size > MAX_RESULTS:
            break
        step = min(step * 2, FIRST_RESULTS * max(1, MAX_RESULTS // max(1, size)))
    body = b'{"items":[%b],"after":%b}' % (b",".join(items), to_json(after))
    return Response(body, media_type="application/json")


@router.get("/wakeups")
async def wakeups(
    request: Request,
    context: InContext,
    remotes: InRemotes,
    principal: Remote,
    worker_id: Annotated[int, Query(ge=0, lt=2**63)],
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 0.0,
) -> WakeupsAnswer:
    """Answered as soon as there may be work, or something to stop. What nobody can know counts as rung."""
    known = await remotes.known(worker_id, principal.name)
    listener, is_new = remotes.listener(known)
    if is_new:
        return WakeupsAnswer(wakeups=[Wakeup.WORK, Wakeup.STOP])
    end = time.monotonic() + wait
    while not context.stopping.is_set() and not await request.is_disconnected():
        rung = await listener.wait(min(LOOK_EVERY, max(0.0, end - time.monotonic())))
        if rung or time.monotonic() >= end:
            return WakeupsAnswer(wakeups=sorted(rung))
        if not await context.keys.in_force(principal.key_id):
            raise _ended()
    return WakeupsAnswer(wakeups=[])


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
