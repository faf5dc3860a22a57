"""webhooks: create, list, change and remove subscriptions, rotate their secrets, and inspect their deliveries."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import Actor
from reelstate.core.model import Page
from reelstate.core.webhook import (
    SECRET_BYTES,
    Delivery,
    DeliveryAttempt,
    DeliveryStatus,
    EventType,
    Webhook,
    WebhookKind,
    WebhookSecret,
    secret_text,
)
from reelstate.services.paging import PAST_EVERY_ID, cursor_number, page_size, paged
from reelstate.services.rows import fields_of, record_of
from reelstate.services.webhooks.address import AddressRules, shown_url
from reelstate.services.webhooks.event_types import register_types
from reelstate.stores.store import Statement, Store, Transaction, row_type

MAX_WEBHOOKS: Final = 50
"""Webhooks of a user; each event is a row for each of them."""
MAX_DESCRIPTION: Final = 255
MAX_OVERLAP: Final = 30 * 86_400.0
OPERATOR: Final = Actor.OPERATOR.value
_HINT: Final = "`reel webhooks` lists them"

WebhookRow = row_type("WebhookRow", *fields_of(Webhook))


class WebhookId(NamedTuple):
    id: str


class DeliveryId(NamedTuple):
    id: int


class DeliveryRow(NamedTuple):
    id: int
    webhook_id: str
    type: str
    job_id: int | None
    status: str
    attempt: int
    created_at: datetime
    next_at: datetime | None
    finished_at: datetime | None
    url: str
    epoch: str


class AttemptRow(NamedTuple):
    delivery_id: int
    token: int
    at: datetime
    seconds: float
    status: int | None
    failure: str | None
    response: str | None


CREATE: Statement[Any] = Statement("webhooks_create", WebhookRow)
LIST: Statement[Any] = Statement("webhooks_list", WebhookRow)
UPDATE: Statement[Any] = Statement("webhooks_update", WebhookRow)
ROTATE: Statement[Any] = Statement("webhooks_rotate", WebhookRow)
REMOVE = Statement("webhooks_remove", WebhookId)
DELIVERIES = Statement("webhooks_deliveries", DeliveryRow)
ATTEMPTS = Statement("webhooks_attempts", AttemptRow)
REDELIVER = Statement("webhooks_redeliver", DeliveryId)


class Webhooks:
    """The webhooks of a store. `owner` restricts a verb to the webhooks of a user."""

    def __init__(self, store: Store, types: Sequence[EventType], rules: AddressRules) -> None:
        self._store = store
        self._types = types
        self._rules = rules

    async def add(
        self,
        url: str,
        *,
        events: Collection[str] = (),
        user_id: str = "",
        description: str = "",
        actor: str = OPERATOR,
    ) -> WebhookSecret:
        """Create a webhook for events of these types, or of all; returns its secret, which is not shown again.

        It gets the events of the jobs of `user_id`; when empty, of all jobs. Raises `InvalidRequest`.
        """
        secret = _new_secret()
        values = {
            "id": f"wh_{secrets.token_hex(8)}",
            "user_id": plain_text("user_id", user_id, 255),
            "url": self._rules.require("url", url),
            "events": self._known_events(events),
            "description": plain_text("description", description, MAX_DESCRIPTION),
            "secret": secret,
            "actor": actor,
            "most": MAX_WEBHOOKS,
        }

        async def flow(transaction: Transaction) -> list[Any]:
            await register_types(transaction, self._types)
            return await transaction.run(CREATE, **values)

        rows = await self._store.write(flow)
        if not rows:
            raise InvalidRequest("url", f"there are {MAX_WEBHOOKS} webhooks already", hint="remove one of them")
        return WebhookSecret(_webhook_of(rows[0]), secret)

    async def all(self, *, owner: str | None = None) -> list[Webhook]:
        """List webhooks, oldest first, with the callbacks of each user as one."""
        rows = await self._store.read(lambda transaction: transaction.run(LIST, owner=owner, id=None))
        return [_webhook_of(row) for row in rows]

    async def get(self, webhook_id: str, *, owner: str | None = None) -> Webhook:
        """Return a webhook. Raises `NotFound`."""
        rows = await self._store.read(lambda transaction: transaction.run(LIST, owner=owner, id=webhook_id))
        return _webhook_of(_one(rows, webhook_id))

    async def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        events: Collection[str] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        actor: str = OPERATOR,
        owner: str | None = None,
    ) -> Webhook:
        """Change a webhook; what is None stays. A webhook that is enabled again gets what is pending.

        Raises `NotFound` and `InvalidRequest`. The callbacks of a user have no URL and events to change.
        """
        values = {
            "id": webhook_id,
            "url": None if url is None else self._rules.require("url", url),
            "events": None if events is None else self._known_events(events),
            "description": None if description is None else plain_text("description", description, MAX_DESCRIPTION),
            "enabled": enabled,
            "actor": actor,
            "owner": owner,
        }
        rows: list[Any] = await self._store.write(lambda transaction: transaction.run(UPDATE, **values))
        if not rows and (await self.get(webhook_id, owner=owner)).kind is WebhookKind.CALLBACK:
            raise InvalidRequest("url", "callbacks go to the URLs of their jobs", hint="only enable or disable them")
        return _webhook_of(_one(rows, webhook_id))

    async def remove(self, webhook_id: str, *, owner: str | None = None) -> None:
        """Remove a webhook and its deliveries. Raises `NotFound`, and `InvalidRequest` for the callbacks of a user."""
        rows = await self._store.write(lambda transaction: transaction.run(REMOVE, id=webhook_id, owner=owner))
        if not rows and (await self.get(webhook_id, owner=owner)).kind is WebhookKind.CALLBACK:
            raise InvalidRequest("webhook", "callbacks can't be removed", hint="disable them")
        _one(rows, webhook_id)

    async def rotate(
        self, webhook_id: str, *, overlap: float = 86_400.0, actor: str = OPERATOR, owner: str | None = None
    ) -> WebhookSecret:
        """Create a new secret, which is not shown again; for `overlap` seconds the old one signs too."""
        if not 0 <= overlap <= MAX_OVERLAP:
            raise InvalidRequest("overlap", f"invalid duration {overlap!r}", hint=f"seconds from 0 to {MAX_OVERLAP:g}")
        values = {"id": webhook_id, "overlap": overlap, "secret": _new_secret(), "actor": actor, "owner": owner}
        rows: list[Any] = await self._store.write(lambda transaction: transaction.run(ROTATE, **values))
        return WebhookSecret(_webhook_of(_one(rows, webhook_id)), str(values["secret"]))

    async def deliveries(
        self,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        job_id: int | None = None,
        limit: int = 50,
        after: str | None = None,
        owner: str | None = None,
    ) -> Page[Delivery]:
        """List the deliveries of a webhook with their attempts, newest first. Raises `NotFound`."""
        await self.get(webhook_id, owner=owner)
        found = await self._load(
            webhook_id=webhook_id,
            status=status,
            job_id=job_id,
            id=None,
            before=PAST_EVERY_ID if after is None else cursor_number(after),
            limit=page_size(limit),
            owner=owner,
        )
        return paged(found, limit, lambda delivery: str(delivery.id))

    async def redeliver(self, webhook_id: str, delivery_id: int, *, owner: str | None = None) -> Delivery:
        """Deliver an event again, under the same id; the schedule of attempts starts anew. Raises `NotFound`."""
        await self._store.write(
            lambda transaction: transaction.run(REDELIVER, webhook_id=webhook_id, id=delivery_id, owner=owner)
        )
        found = await self._load(
            webhook_id=webhook_id, status=None, job_id=None, id=delivery_id, before=PAST_EVERY_ID, limit=1, owner=owner
        )
        if not found:
            raise NotFound("delivery", delivery_id, hint="`reel webhooks deliveries` lists them")
        return found[0]

    async def _load(self, **wanted: Any) -> list[Delivery]:
        async def flow(transaction: Transaction) -> list[Delivery]:
            rows = await transaction.run(DELIVERIES, **wanted)
            attempts = await transaction.run(ATTEMPTS, ids=[row.id for row in rows]) if rows else []
            return [_delivery_of(row, [each for each in attempts if each.delivery_id == row.id]) for row in rows]

        return await self._store.read(flow)

    def _known_events(self, events: Collection[str]) -> Sequence[str]:
        known = [each.name for each in self._types]
        for name in events:
            if name not in known:
                raise InvalidRequest("events", f"unknown event {name[:100]!r}", hint=f"one of {', '.join(known)}")
        return sorted(set(events))


def _new_secret() -> str:
    return secret_text(secrets.token_bytes(SECRET_BYTES))


def _one(rows: Sequence[Any], webhook_id: str) -> Any:
    if not rows:
        raise NotFound("webhook", webhook_id, hint=_HINT)
    return rows[0]


def _webhook_of(row: Any) -> Webhook:
    return record_of(
        Webhook,
        row,
        kind=WebhookKind(row.kind),
        url=shown_url(row.url),
        events=tuple(row.events),
        enabled=bool(row.enabled),
    )


def _delivery_of(row: DeliveryRow, attempts: Sequence[AttemptRow]) -> Delivery:
    status = DeliveryStatus(row.status)
    return record_of(
        Delivery,
        row,
        message=message_id(row.epoch, row.id),
        url=shown_url(row.url),
        status=status,
        next_at=row.next_at if status is DeliveryStatus.PENDING else None,
        attempts=tuple(record_of(DeliveryAttempt, each, number=each.token) for each in attempts),
    )


def message_id(epoch: str, delivery_id: int) -> str:
    """Return the header `webhook-id` of a delivery, which no other store uses."""
    return f"msg_{epoch}_{delivery_id}"
