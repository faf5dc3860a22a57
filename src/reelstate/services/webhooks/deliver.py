"""deliver: lease due deliveries to a sender, and record the outcome of each attempt under its token."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from reelstate.core.model import Json
from reelstate.core.webhook import WebhookKind
from reelstate.services.webhooks.subscriptions import DeliveryId, message_id
from reelstate.stores.store import Statement, Store


class _ClaimedRow(NamedTuple):
    id: int
    token: int
    attempt: int
    kind: str
    url: str
    type: str
    data: Json
    created_at: datetime
    secret: str
    old_secret: str | None
    epoch: str


class _FinishedRow(NamedTuple):
    webhook_id: str
    now_disabled: bool


CLAIM = Statement("deliver_claim", _ClaimedRow)
FINISH = Statement("deliver_finish", _FinishedRow)
PRUNE = Statement("deliver_prune", DeliveryId)


@dataclass(frozen=True, slots=True)
class LeasedDelivery:
    """A delivery that a sender holds under a token."""

    id: int
    token: int
    attempt: int
    """From 1, counted from the event or the last redelivery."""
    message: str
    kind: WebhookKind
    url: str = field(repr=False)
    type: str
    data: Json = field(repr=False)
    created_at: datetime
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What came of a request."""

    ok: bool
    seconds: float
    status: int | None = None
    failure: str | None = None
    response: str | None = None
    delay: float | None = None
    """Seconds until the next attempt; None for no other."""
    gone: bool = False
    """Whether the endpoint asked for no more events."""


async def claim_deliveries(store: Store, *, limit: int, bound: int, lease: float, alerts: bool) -> list[LeasedDelivery]:
    """Lease up to `limit` due deliveries, at most `bound` of one lane at once; alerts only on request."""
    rows = await store.write(
        lambda transaction: transaction.run(CLAIM, limit=limit, bound=bound, lease=lease, alerts=alerts)
    )
    return [
        LeasedDelivery(
            id=row.id,
            token=row.token,
            attempt=row.attempt,
            message=message_id(row.epoch, row.id),
            kind=WebhookKind(row.kind),
            url=row.url,
            type=row.type,
            data=row.data,
            created_at=row.created_at,
            secrets=(row.secret,) if row.old_secret is None else (row.secret, row.old_secret),
        )
        for row in rows
    ]


async def finish_delivery(
    store: Store, delivery: LeasedDelivery, outcome: AttemptOutcome, *, disable_after: float
) -> str | None:
    """Record the outcome of an attempt; nothing happens if the lease is lost.

    Returns the webhook that this disabled: it is gone, or every attempt failed for `disable_after` seconds.
    """
    rows = await store.write(
        lambda transaction: transaction.run(
            FINISH,
            id=delivery.id,
            token=delivery.token,
            ok=outcome.ok,
            seconds=outcome.seconds,
            code=outcome.status,
            failure=outcome.failure,
            response=outcome.response,
            delay=outcome.delay,
            gone=outcome.gone,
            disable_after=disable_after,
        )
    )
    return next((row.webhook_id for row in rows if row.now_disabled), None)


async def prune_deliveries(store: Store, *, older: float, limit: int = 1000) -> int:
    """Delete deliveries that are `older` seconds old, and callbacks of deleted jobs; returns how many deliveries."""
    return len(await store.write(lambda transaction: transaction.run(PRUNE, older=older, limit=limit)))
