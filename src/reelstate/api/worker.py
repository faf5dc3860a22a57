"""Routes for remote workers: the verbs of the engine that a worker calls, in batches.

A key permits to register and to claim. Every other request about a task needs the permit that came with its claim.
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
from reelstate.api.body import SMALL_BODY, JsonRoute, declared_length
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
    MAX_WAIT,
    MIN_PROTOCOL,
    PREFIX,
    PROTOCOL,
    ClaimAnswer,
    CompleteRequest,
    FailRequest,
    Item,
    LeaveAnswer,
    LeaveRequest,
    Outcome,
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
from reelstate.services.permits import Grant

CLIENT_CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks of a waiting request: is its client connected, is its key valid?"""
BODY_OVERHEAD: Final = 1024 * 1024
"""Bytes of a body beyond those of a result."""
VALUE_DEPTH: Final = 4
"""How deep in a body the result of a task is nested."""
FIRST_RESULTS: Final = 4
"""Results that the first read of a page loads."""
MAX_PAGE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of results after which a page ends."""
ACCEPTED: Final = (Verdict.OK, Verdict.REPEATED)
CONFLICT: Final = 409


class WorkerRoute(JsonRoute):
    """A route whose bodies contain results, which are larger and deeper than those of other routes.

    Few large bodies of one key are handled at a time, because each of them occupies memory meanwhile.
    """

    max_depth = MAX_DEPTH + VALUE_DEPTH

    def max_bytes(self, settings: Settings) -> int:
        return min(settings.limit_result, settings.remote_body_limit) + BODY_OVERHEAD

    def turn(self, request: Request) -> AbstractAsyncContextManager[Any]:
        length = declared_length(request)
        if length is not None and length <= SMALL_BODY:
            return nullcontext()
        remotes: Remotes = request.app.state.remotes
        return remotes.large_bodies(request.headers.get("authorization", ""))


router = APIRouter(
    prefix=PREFIX,
    tags=["worker"],
    route_class=WorkerRoute,
    responses=problems(401, 403, 404, 408, 413, 422, 429, 503),
)
ConflictResponse: Final[dict[int | str, dict[str, Any]]] = {
    CONFLICT: {"model": VerdictAnswer, "description": "No item was accepted."}
}


@router.post("/register")
async def register(engine: OnEngine, remotes: InRemotes, principal: Remote, body: RegisterRequest) -> RegisterAnswer:
    """Register an instance under the name of its key, with its protocol and the pipelines that it runs."""
    if not MIN_PROTOCOL <= body.protocol <= PROTOCOL:
        age = "old" if body.protocol < MIN_PROTOCOL else "new"
        raise WorkerRefused(
            f"this worker is too {age}: it speaks protocol {body.protocol}, the server {MIN_PROTOCOL} to {PROTOCOL}",
            hint=f"install release {version('reelstate')} on the worker",
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
    """Lease tasks to a worker. With `wait`, answer when there are some or after `wait` seconds."""

    async def claim_once() -> Claim:
        # Checked each time: tasks that a revoked worker released must not be leased to it again.
        if not await context.keys.in_force(principal.key_id, fresh=True):
            raise _key_refused()
        return await _claim_or_resend(remotes, body)

    instance = await remotes.require_instance(body.worker_id, principal.name)
    async with instance.claiming:
        found = await claim_once()
        deadline = time.monotonic() + body.wait
        listener = remotes.engine.dispatch.listen((Wakeup.WORK,))
        try:
            while not found.tasks and time.monotonic() < deadline and not await request.is_disconnected():
                await listener.wait(min(CLIENT_CHECK_INTERVAL, deadline - time.monotonic()))
                found = await claim_once()
        finally:
            listener.close()
        if found.tasks and await request.is_disconnected():
            # The worker may have claimed from another server since, which does not know these leases.
            await remotes.engine.release([Release(key=task.key, token=task.token) for task in found.tasks])
            found = Claim([], isolated_waiting=False)
    await remotes.engine.publish_busy([task.key for task in found.tasks])
    permits = await remotes.permits.issue(found.tasks, principal.name)
    return Response(ClaimAnswer.of(found, permits).model_dump_json(), media_type="application/json")


async def _claim_or_resend(remotes: InRemotes, body: WireClaimRequest) -> Claim:
    """Return leased tasks that the worker does not know of, after a lost answer; without any, claim."""
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
    """Renew leases, and permits that expire soon. Without items, only record that the worker is alive."""
    await remotes.require_instance(body.worker_id, principal.name)
    grants = await remotes.read_grants((item.permit for item in body.items), principal.name, expired=True)
    report = await remotes.engine.report(
        body.worker_id,
        _records(body.items, grants),
        body.stuck,
        max_instances=remotes.settings.instances_per_key,
    )
    await remotes.discard_fenced(grants, report.verdicts)
    renewed = [
        await remotes.permits.renew(grant) if verdict is Verdict.OK and remotes.permits.is_ending(grant) else None
        for grant, verdict in zip(grants, report.verdicts, strict=True)
    ]
    return ReportAnswer(verdicts=report.verdicts, drain=report.drain, permits=renewed)


@router.post("/progress")
async def progress(remotes: InRemotes, principal: Remote, body: ReportRequest) -> ReportAnswer:
    """Store progress, checkpoints, log lines, commands and states of tasks, and renew their leases."""
    return await heartbeat(remotes, principal, body)


@router.post("/complete", responses=ConflictResponse)
async def complete(remotes: InRemotes, principal: Remote, body: CompleteRequest, response: Response) -> VerdictAnswer:
    """Complete tasks. Files of video tasks are inspected first, which may take minutes."""
    grants = await remotes.read_grants((item.permit for item in body.items), principal.name)
    return await _conclude(remotes, grants, await remotes.complete(grants, _records(body.items, grants)), response)


@router.post("/fail", responses=ConflictResponse)
async def fail(remotes: InRemotes, principal: Remote, body: FailRequest, response: Response) -> VerdictAnswer:
    """Record failed attempts."""
    grants = await remotes.read_grants((item.permit for item in body.items), principal.name)
    return await _conclude(remotes, grants, await remotes.engine.fail(_records(body.items, grants)), response)


@router.post("/release", responses=ConflictResponse)
async def release(remotes: InRemotes, principal: Remote, body: ReleaseRequest, response: Response) -> VerdictAnswer:
    """Release tasks that will not be finished. A release does not count as an attempt."""
    grants = await remotes.read_grants((item.permit for item in body.items), principal.name, expired=True)
    return await _conclude(remotes, grants, await remotes.engine.release(_records(body.items, grants)), response)


def _records(items: Sequence[Item[Outcome]], grants: Sequence[Grant]) -> list[Outcome]:
    return [item.record(grant.key, grant.token) for item, grant in zip(items, grants, strict=True)]


async def _conclude(
    remotes: Remotes, grants: Sequence[Grant], verdicts: Sequence[Verdict], response: Response
) -> VerdictAnswer:
    """Discard the files of refused items and return the verdicts; with status 409 if no item was accepted."""
    await remotes.discard_fenced(grants, verdicts)
    await remotes.engine.publish_busy([grant.key for grant in grants])
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
    """List the results of an earlier stage of the job while the lease is held. Large results end a page early."""
    await remotes.require_held(grant, fresh=False)
    items: list[bytes] = []
    size, step = 0, FIRST_RESULTS
    while True:
        wanted = min(step, limit - len(items))
        page = await remotes.engine.results(grant.key.job_id, stage, limit=wanted, after=after)
        items += [to_json(result) for result in page.items]
        size, after = sum(map(len, items)), page.after
        if after is None or len(items) >= limit or size > MAX_PAGE_BYTES:
            break
        step = min(step * 2, FIRST_RESULTS * max(1, MAX_PAGE_BYTES // max(1, size)))
    body = b'{"items":[%b],"after":%b}' % (b",".join(items), to_json(after))
    return Response(body, media_type="application/json")


@router.get("/wakeups")
async def wakeups(
    request: Request,
    context: InContext,
    remotes: InRemotes,
    principal: Remote,
    worker_id: Annotated[int, Query(ge=0, lt=2**63)],
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT)] = 0.0,
) -> WakeupsAnswer:
    """Answer when there may be work or tasks to stop. A new listener gets every wake-up, as it may have missed some."""
    instance = await remotes.require_instance(worker_id, principal.name)
    listener, is_new = remotes.listener(instance)
    if is_new:
        return WakeupsAnswer(wakeups=[Wakeup.WORK, Wakeup.STOP])
    deadline = time.monotonic() + wait
    while not context.stopping.is_set() and not await request.is_disconnected():
        received = await listener.wait(min(CLIENT_CHECK_INTERVAL, max(0.0, deadline - time.monotonic())))
        if received or time.monotonic() >= deadline:
            return WakeupsAnswer(wakeups=sorted(received))
        if not await context.keys.in_force(principal.key_id):
            raise _key_refused()
    return WakeupsAnswer(wakeups=[])


def _key_refused() -> KeyRefused:
    return KeyRefused("the key is revoked or expired", hint="create a new one with `reel workers register`")


@router.post("/leave")
async def leave(remotes: InRemotes, principal: Remote, body: LeaveRequest) -> LeaveAnswer:
    """Mark a worker that has released its tasks offline."""
    await remotes.require_instance(body.worker_id, principal.name)
    changed = await remotes.engine.move_worker(
        body.worker_id, WorkerStatus.OFFLINE, actor=Actor.WORKER, reason=body.reason
    )
    remotes.forget(body.worker_id)
    return LeaveAnswer(changed=changed)
