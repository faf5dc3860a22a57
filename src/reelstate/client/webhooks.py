"""Webhooks over HTTP, with the verbs of `Webhooks`. The key decides who acts, so `actor` is not sent."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.client.records import items_of, parser_of, webhook_secret_of
from reelstate.client.requests import Requests, given, known_id, segment
from reelstate.core.model import Page
from reelstate.core.webhook import Delivery, DeliveryStatus, Webhook, WebhookSecret

WEBHOOK = parser_of(Webhook)
DELIVERY = parser_of(Delivery)


class HttpWebhooks:
    """The webhooks of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def all(self) -> list[Webhook]:
        return await self._requests.get("/webhooks", lambda found: items_of(found, WEBHOOK))

    async def add(
        self,
        url: str,
        *,
        events: Collection[str] = (),
        user_id: str = "",
        description: str = "",
        actor: str = "",
    ) -> WebhookSecret:
        del actor
        body = {"url": url, "events": list(events), "description": description, **given(user_id=user_id or None)}
        return await self._requests.post("/webhooks", webhook_secret_of, body)

    async def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        events: Collection[str] | None = None,
        description: str | None = None,
        enabled: bool | None = None,
        actor: str = "",
    ) -> Webhook:
        del actor
        named = None if events is None else list(events)
        body = given(url=url, events=named, description=description, enabled=enabled)
        return await self._requests.patch(_path(webhook_id), WEBHOOK, body)

    async def remove(self, webhook_id: str) -> None:
        await self._requests.delete(_path(webhook_id))

    async def rotate(self, webhook_id: str, *, overlap: float = 86_400.0, actor: str = "") -> WebhookSecret:
        del actor
        return await self._requests.post(f"{_path(webhook_id)}/rotate", webhook_secret_of, {"overlap": overlap})

    async def deliveries(
        self,
        webhook_id: str,
        *,
        status: DeliveryStatus | None = None,
        job_id: int | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Delivery]:
        path = f"{_path(webhook_id)}/deliveries"
        return await self._requests.pages(path, DELIVERY, limit, after, status=status, job_id=job_id)

    async def redeliver(self, webhook_id: str, delivery_id: int) -> Delivery:
        number = known_id(delivery_id, "delivery")
        return await self._requests.post(f"{_path(webhook_id)}/deliveries/{number}/redeliver", DELIVERY)


def _path(webhook_id: str) -> str:
    return f"/webhooks/{segment(webhook_id, 'webhook')}"
