"""The link of a remote worker: the engine's verbs over HTTP, so that the worker's loop is the same everywhere."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from reelstate.core.errors import PermitExpired, PermitRefused, WorkerUnknown
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import (
    Claim,
    Completion,
    Failure,
    Json,
    Page,
    Permit,
    Progress,
    Release,
    Report,
    Verdict,
)
from reelstate.remote.server import LONG_ANSWER, HttpPermit, KeyNotAccepted, ServerClient
from reelstate.remote.wire import (
    MAX_ITEMS,
    MAX_LINES,
    PROTOCOL,
    ClaimAnswer,
    CompleteRequest,
    CompletionItem,
    FailRequest,
    FailureItem,
    LeaveAnswer,
    LeaveRequest,
    ProgressItem,
    RegisterAnswer,
    RegisterRequest,
    ReleaseItem,
    ReleaseRequest,
    ReportAnswer,
    ReportRequest,
    ResultsAnswer,
    VerdictAnswer,
    WireClaimRequest,
)
from reelstate.worker.leases import Lease
from reelstate.worker.link import Connect, Link
from reelstate.worker.permit import current_permit

logger = logging.getLogger("reelstate.worker")

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of one report; what is more goes in several."""
PERMIT_SIZE: Final = 1024
PIECE: Final = 500
"""Lines of a kind that are reported of one task at a time."""
T = TypeVar("T", Completion, Failure, Release)


@dataclass(slots=True)
class LinkState:
    """What a worker holds, as its links know it: shared by that of its loop and that of its heartbeat."""

    permits: WeakValueDictionary[Lease, Permit] = field(default_factory=WeakValueDictionary)
    """Each is there as long as anybody holds its task: a heartbeat that still names one that has just ended, too."""
    worker_id: int = 0
    name: str = ""
    """Of its key, once it has registered."""
    unsure: bool = False
    """Whether a claim was sent whose answer has not come."""


class HttpLink:
    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state
        self._permits = state.permits

    async def register(self, name: str, **options: Any) -> int:  # noqa: ARG002 - the name is that of the key
        self._permits.clear()
        options["capabilities"] = sorted(options["capabilities"])
        welcome = await self._server.ask(
            "/register", lambda: RegisterRequest(protocol=PROTOCOL, **options), RegisterAnswer
        )
        self._state.worker_id, self._state.name = welcome.worker_id, welcome.name
        logger.info("registered as %s with a server of release %s", welcome.name, welcome.software)
        return welcome.worker_id

    async def claim(self, worker_id: int, limit: int = 1, **options: Any) -> Claim:
        def request() -> WireClaimRequest:
            known = self._known()
            self._state.unsure = True
            return WireClaimRequest(worker_id=worker_id, limit=limit, known=known, **options)

        with _forgotten_when_refused(worker_id):
            answer = await self._server.ask("/claim", request, ClaimAnswer)
        self._state.unsure = False
        claim = answer.claim(partial(HttpPermit, server=self._server))
        # A server that lost sight of its own claim tells all since the last, and so what another has given us.
        fresh = [task for task in claim.tasks if (task.key, task.token) not in self._permits]
        for task in fresh:
            if task.permit is not None:
                self._permits[task.key, task.token] = task.permit
        return replace(claim, tasks=fresh)

    def _known(self) -> list[tuple[int, int, int, int]] | None:
        """What we hold, told when a claim may have leased more to us than we heard of."""
        return [(*key, token) for key, token in list(self._permits)] if self._state.unsure else None

    async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
        verdicts: dict[int, Verdict] = {}
        drain = False
        for batch in _batches(items):
            answer = await self._report(worker_id, [piece for _, piece in batch], stuck)
            verdicts |= zip((number for number, _ in batch), answer.verdicts, strict=True)
            drain = answer.drain
        return Report([verdicts[number] for number in range(len(items))], drain)

    async def _report(self, worker_id: int, items: Sequence[Progress], stuck: int | None) -> Report:
        def request() -> ReportRequest:
            told = [ProgressItem.of(item, self._permit(item)) for item in items]
            return ReportRequest(worker_id=worker_id, items=told, stuck=stuck)

        silent = all(item == Progress(key=item.key, token=item.token) for item in items)
        with _forgotten_when_refused(worker_id):
            answer = await self._server.ask("/heartbeat" if silent else "/progress", request, ReportAnswer)
        for item, renewed in zip(items, answer.permits, strict=True):
            permit = self._permits.get((item.key, item.token))
            if permit is not None and renewed is not None:
                permit.text = renewed
        return Report(answer.verdicts, answer.drain)

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
        async def send(batch: Sequence[Completion]) -> VerdictAnswer:
            def told() -> CompleteRequest:
                return CompleteRequest(items=[CompletionItem.of(each, self._permit(each)) for each in batch])

            return await self._server.ask("/complete", told, VerdictAnswer, seconds=LONG_ANSWER)

        return await self._verdicts(items, send)

    async def fail(self, items: Sequence[Failure]) -> list[Verdict]:
        async def send(batch: Sequence[Failure]) -> VerdictAnswer:
            def told() -> FailRequest:
                return FailRequest(items=[FailureItem.of(each, self._permit(each)) for each in batch])

            return await self._server.ask("/fail", told, VerdictAnswer)

        return await self._verdicts(items, send)

    async def release(self, items: Sequence[Release]) -> list[Verdict]:
        async def send(batch: Sequence[Release]) -> VerdictAnswer:
            def told() -> ReleaseRequest:
                return ReleaseRequest(items=[ReleaseItem.of(each, self._permit(each)) for each in batch])

            return await self._server.ask("/release", told, VerdictAnswer)

        return await self._verdicts(items, send)

    async def results(
        self,
        job_id: int,  # noqa: ARG002 - the permit of the run that asks names it
        stage: str,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> Page[Json]:
        permit = current_permit()
        shown = "" if permit is None else permit.text
        answer = await self._server.get("/results", ResultsAnswer, permit=shown, stage=stage, limit=limit, after=after)
        return Page(answer.items, answer.after)

    async def move_worker(
        self,
        worker_id: int,
        target: WorkerStatus,  # noqa: ARG002 - all that a worker may say of itself is that it goes
        *,
        actor: str,  # noqa: ARG002 - the server knows who speaks
        reason: str | None = None,
    ) -> bool:
        answer = await self._server.ask("/leave", lambda: LeaveRequest(worker_id=worker_id, reason=reason), LeaveAnswer)
        return answer.changed

    def _permit(self, item: Progress | Completion | Failure | Release) -> str:
        permit = self._permits.get((item.key, item.token))
        return "" if permit is None else permit.text

    async def _verdicts(
        self, items: Sequence[T], send: Callable[[Sequence[T]], Awaitable[VerdictAnswer]]
    ) -> list[Verdict]:
        """Deliver a batch; permits that have ended meanwhile are renewed, and one that is refused stands alone."""
        try:
            return (await send(items)).verdicts
        except PermitExpired:
            await self.report(self._state.worker_id, [Progress(key=each.key, token=each.token) for each in items])
            return (await send(items)).verdicts
        except PermitRefused as error:
            if len(items) > 1:
                return [(await self._verdicts([each], send))[0] for each in items]
            logger.error("task %s: the server does not take its permit: %s", items[0].key, error)  # noqa: TRY400
            return [Verdict.LOST]


def _batches(items: Sequence[Progress]) -> Iterator[list[tuple[int, Progress]]]:
    """The items, each with its number, in batches that a request can hold; one without any for none."""
    batch: list[tuple[int, Progress]] = []
    room, lines = LARGEST, MAX_LINES
    for number, piece in ((number, piece) for number, item in enumerate(items) for piece in _pieces(item)):
        told = ProgressItem.of(piece, "")
        is_silent = piece == Progress(key=piece.key, token=piece.token)
        size = PERMIT_SIZE + (0 if is_silent else len(told.model_dump_json()))
        if batch and (size > room or told.lines > lines or len(batch) == MAX_ITEMS):
            yield batch
            batch, room, lines = [], LARGEST, MAX_LINES
        batch.append((number, piece))
        room, lines = room - size, lines - told.lines
    yield batch


def _pieces(item: Progress) -> Iterator[Progress]:
    """A report on one task in parts, if it has more lines than a request should hold."""
    head = replace(item, logs=item.logs[:PIECE], steps=item.steps[:PIECE], states=item.states[:PIECE])
    yield head
    for first in range(PIECE, max(len(item.logs), len(item.steps), len(item.states)), PIECE):
        rest = slice(first, first + PIECE)
        yield Progress(
            key=item.key, token=item.token, logs=item.logs[rest], steps=item.steps[rest], states=item.states[rest]
        )


@contextmanager
def _forgotten_when_refused(worker_id: int) -> Iterator[None]:
    """A worker whose key is not taken any more is as good as unknown: it stops what it runs, and asks once more."""
    try:
        yield
    except KeyNotAccepted as error:
        raise WorkerUnknown(worker_id) from error


def heartbeat_connector(server: Callable[[], ServerClient], state: LinkState) -> Connect:
    """How the heartbeat gets a link for its own loop."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        own = server()
        try:
            yield HttpLink(own, state)
        finally:
            await own.close()

    return connect
