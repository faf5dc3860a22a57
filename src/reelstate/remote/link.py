"""The link of a remote worker: the verbs of the engine over HTTP."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
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
from reelstate.remote.server import LONG_REQUEST_TIMEOUT, REQUEST_TIMEOUT, HttpPermit, KeyNotAccepted, ServerClient
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
    WireMessage,
)
from reelstate.worker.leases import Lease, lease_fields
from reelstate.worker.link import Connect, Link
from reelstate.worker.permit import current_permit

logger = logging.getLogger("reelstate.worker")

MAX_REPORT_BYTES: Final = 4 * 1024 * 1024
"""A larger report is split into several requests."""
MAX_PERMIT_BYTES: Final = 1024
LINES_PER_PIECE: Final = 500
"""Log lines, steps or states of one task in one item."""
T = TypeVar("T", Completion, Failure, Release)


@dataclass(slots=True)
class LinkState:
    """What the links of a worker's loop and of its heartbeat share."""

    permits: WeakValueDictionary[Lease, Permit] = field(default_factory=WeakValueDictionary)
    """The permits of held tasks. Weak: a permit lives as long as a run or a report refers to it."""
    worker_id: int = 0
    name: str = ""
    """The name of its key, after registration."""
    claim_unanswered: bool = False
    """Whether the answer to the last claim was lost."""


class HttpLink:
    """Implements `Link` with requests to a server."""

    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state
        self._permits = state.permits

    async def register(self, name: str, **options: Any) -> int:  # noqa: ARG002 - the key determines the name
        self._permits.clear()
        options["capabilities"] = sorted(options["capabilities"])
        answer = await self._server.post(
            "/register", lambda: RegisterRequest(protocol=PROTOCOL, **options), RegisterAnswer
        )
        self._state.worker_id, self._state.name = answer.worker_id, answer.name
        logger.info("registered name=%s server=%s", answer.name, answer.software)
        return answer.worker_id

    async def claim(self, worker_id: int, limit: int = 1, **options: Any) -> Claim:
        def request() -> WireClaimRequest:
            known = self._known_leases()
            self._state.claim_unanswered = True
            return WireClaimRequest(worker_id=worker_id, limit=limit, known=known, **options)

        with _unknown_if_key_rejected(worker_id):
            answer = await self._server.post("/claim", request, ClaimAnswer)
        self._state.claim_unanswered = False
        claim = answer.claim(partial(HttpPermit, server=self._server))
        # After a lost answer the server returns all tasks it leased since, also those that are known here.
        fresh = [task for task in claim.tasks if (task.key, task.token) not in self._permits]
        for task in fresh:
            if task.permit is not None:
                self._permits[task.key, task.token] = task.permit
        return replace(claim, tasks=fresh)

    def _known_leases(self) -> list[tuple[int, int, int, int]] | None:
        """Return the held leases if the last claim may have leased tasks that are unknown here."""
        return [(*key, token) for key, token in list(self._permits)] if self._state.claim_unanswered else None

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
            with_permits = [ProgressItem.of(item, self._permit(item)) for item in items]
            return ReportRequest(worker_id=worker_id, items=with_permits, stuck=stuck)

        is_empty = all(item == Progress(key=item.key, token=item.token) for item in items)
        with _unknown_if_key_rejected(worker_id):
            answer = await self._server.post("/heartbeat" if is_empty else "/progress", request, ReportAnswer)
        for item, renewed in zip(items, answer.permits, strict=True):
            permit = self._permits.get((item.key, item.token))
            if permit is not None and renewed is not None:
                permit.text = renewed
        return Report(answer.verdicts, answer.drain)

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
        def request(batch: Sequence[Completion]) -> CompleteRequest:
            return CompleteRequest(items=[CompletionItem.of(each, self._permit(each)) for each in batch])

        return await self._deliver("/complete", items, request, seconds=LONG_REQUEST_TIMEOUT)

    async def fail(self, items: Sequence[Failure]) -> list[Verdict]:
        def request(batch: Sequence[Failure]) -> FailRequest:
            return FailRequest(items=[FailureItem.of(each, self._permit(each)) for each in batch])

        return await self._deliver("/fail", items, request)

    async def release(self, items: Sequence[Release]) -> list[Verdict]:
        def request(batch: Sequence[Release]) -> ReleaseRequest:
            return ReleaseRequest(items=[ReleaseItem.of(each, self._permit(each)) for each in batch])

        return await self._deliver("/release", items, request)

    async def results(
        self,
        job_id: int,  # noqa: ARG002 - the permit names it
        stage: str,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> Page[Json]:
        permit = current_permit.get()
        text = "" if permit is None else permit.text
        answer = await self._server.get("/results", ResultsAnswer, permit=text, stage=stage, limit=limit, after=after)
        return Page(answer.items, answer.after)

    async def move_worker(
        self,
        worker_id: int,
        target: WorkerStatus,  # noqa: ARG002 - a worker can only go offline
        *,
        actor: str,  # noqa: ARG002 - the server sets it
        reason: str | None = None,
    ) -> bool:
        answer = await self._server.post(
            "/leave", lambda: LeaveRequest(worker_id=worker_id, reason=reason), LeaveAnswer
        )
        return answer.changed

    def _permit(self, item: Progress | Completion | Failure | Release) -> str:
        permit = self._permits.get((item.key, item.token))
        return "" if permit is None else permit.text

    async def _deliver(
        self,
        path: str,
        items: Sequence[T],
        request: Callable[[Sequence[T]], WireMessage],
        *,
        seconds: float = REQUEST_TIMEOUT,
    ) -> list[Verdict]:
        """Send a batch. Renew expired permits first; if a permit is refused, send each item alone."""

        async def send(batch: Sequence[T]) -> list[Verdict]:
            answer = await self._server.post(path, lambda: request(batch), VerdictAnswer, seconds=seconds)
            return answer.verdicts

        try:
            return await send(items)
        except PermitExpired:
            await self.report(self._state.worker_id, [Progress(key=each.key, token=each.token) for each in items])
            return await send(items)
        except PermitRefused as error:
            if len(items) > 1:
                return [(await self._deliver(path, [each], request, seconds=seconds))[0] for each in items]
            fields = lease_fields((items[0].key, items[0].token))
            logger.error("permit refused %s error=%s", fields, error)  # noqa: TRY400
            return [Verdict.LOST]


def _batches(items: Sequence[Progress]) -> Iterator[list[tuple[int, Progress]]]:
    """Yield the items with their indexes in batches that fit into a request; one empty batch for no items."""
    batch: list[tuple[int, Progress]] = []
    bytes_left, lines_left = MAX_REPORT_BYTES, MAX_LINES
    for number, piece in ((number, piece) for number, item in enumerate(items) for piece in _pieces(item)):
        message = ProgressItem.of(piece, "")
        is_empty = piece == Progress(key=piece.key, token=piece.token)
        size = MAX_PERMIT_BYTES + (0 if is_empty else len(message.model_dump_json()))
        if batch and (size > bytes_left or message.lines > lines_left or len(batch) == MAX_ITEMS):
            yield batch
            batch, bytes_left, lines_left = [], MAX_REPORT_BYTES, MAX_LINES
        batch.append((number, piece))
        bytes_left, lines_left = bytes_left - size, lines_left - message.lines
    yield batch


def _pieces(item: Progress) -> Iterator[Progress]:
    """Split a report of one task that has more lines than an item may have."""
    head = replace(
        item, logs=item.logs[:LINES_PER_PIECE], steps=item.steps[:LINES_PER_PIECE], states=item.states[:LINES_PER_PIECE]
    )
    yield head
    for first in range(LINES_PER_PIECE, max(len(item.logs), len(item.steps), len(item.states)), LINES_PER_PIECE):
        rest = slice(first, first + LINES_PER_PIECE)
        yield Progress(
            key=item.key, token=item.token, logs=item.logs[rest], steps=item.steps[rest], states=item.states[rest]
        )


@contextmanager
def _unknown_if_key_rejected(worker_id: int) -> Iterator[None]:
    """Raise WorkerUnknown if the key is rejected: the worker then stops its tasks and registers again."""
    try:
        yield
    except KeyNotAccepted as error:
        raise WorkerUnknown(worker_id) from error


def heartbeat_connector(create_client: Callable[[], ServerClient], state: LinkState) -> Connect:
    """Return a function that opens a link with its own client, for the heartbeat's event loop."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        client = create_client()
        try:
            yield HttpLink(client, state)
        finally:
            await client.close()

    return connect
