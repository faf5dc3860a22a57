"""Webhooks: subscribe to events, and inspect and repeat their deliveries. The same service as `reel webhooks`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.jobs import paged, user_of
from reelstate.api.schemas import LARGEST_ID, After, Input, Limit, PageDocument, like
from reelstate.core.webhook import Delivery, DeliveryAttempt, DeliveryStatus, Webhook, WebhookSecret
from reelstate.documents import Document, delivery_document, webhook_document
from reelstate.services.webhooks.address import MAX_URL
from reelstate.services.webhooks.subscriptions import MAX_DESCRIPTION, MAX_OVERLAP

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"], route_class=JsonRoute)
WebhookId = Annotated[str, Path(max_length=64, description="The webhook's id.")]
DeliveryId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="The delivery's id.")]
Url = Annotated[str, Field(max_length=MAX_URL, description="Where events are sent: https://…")]
Events = Annotated[list[str], Field(max_length=50, description="Types of events; empty for all.")]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION, description="A note for people.")]
EXAMPLE: dict[str, Any] = {"url": "https://example.com/hook", "events": ["video.ready", "job.failed"]}


class NewWebhook(Input):
    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    url: Url
    events: Events = Field(default_factory=list)
    description: Description = ""
    user_id: str | None = Field(
        default=None,
        max_length=255,
        description="Whose jobs; an admin may name anybody, or leave it out for the jobs of all users.",
    )


class WebhookChange(Input):
    """What is left out stays."""

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": True}})

    url: Url | None = None
    events: Events | None = None
    description: Description | None = None
    enabled: bool | None = Field(default=None, description="True also forgets why it was disabled.")


class SecretRotation(Input):
    overlap: Annotated[float, Field(ge=0, le=MAX_OVERLAP)] = Field(
        default=86_400.0, description="Seconds for which the old secret signs too."
    )


@like(Webhook)
class WebhookDocument(BaseModel):
    events: list[str] = Field(description="Types of events; empty for all.")
    url: str = Field(description="Without its query; empty for the callbacks of a user.")
    user_id: str = Field(description="Whose jobs; empty for those of all users.")
    disabled: str | None = Field(description="Why it was disabled automatically.")


class WebhookSecretDocument(WebhookDocument):
    secret: str = Field(description="`whsec_…`, with which deliveries are signed. It is not shown again.")


@like(DeliveryAttempt)
class AttemptDocument(BaseModel):
    response: str | None = Field(description="The start of the response.")


@like(Delivery)
class DeliveryDocument(BaseModel):
    message: str = Field(description="The header `webhook-id`, the same in every attempt.")
    attempts: list[AttemptDocument]


@router.get("", response_model=list[WebhookDocument])
async def webhooks(engine: OnEngine, principal: Reader) -> list[Document]:
    """List webhooks, oldest first. The callbacks of a user's jobs are one, of kind `callback`. No secret is shown."""
    return [webhook_document(each) for each in await engine.webhooks.all(owner=principal.owner)]


@router.post("", status_code=201, response_model=WebhookSecretDocument)
async def add(engine: OnEngine, principal: Writer, body: NewWebhook) -> Document:
    """Create a webhook. The answer holds its secret, which is shown only once."""
    user_id = user_of(principal, body.user_id) or ""
    made = await engine.webhooks.add(
        body.url, events=body.events, user_id=user_id, description=body.description, actor=principal.actor
    )
    return _shown_once(made)


@router.get("/{webhook_id}", response_model=WebhookDocument)
async def webhook(engine: OnEngine, principal: Reader, webhook_id: WebhookId) -> Document:
    """Get a webhook."""
    return webhook_document(await engine.webhooks.get(webhook_id, owner=principal.owner))


@router.patch("/{webhook_id}", response_model=WebhookDocument)
async def update(engine: OnEngine, principal: Writer, webhook_id: WebhookId, body: WebhookChange) -> Document:
    """Change a webhook. One that is enabled again gets what is pending."""
    changed = await engine.webhooks.update(
        webhook_id,
        url=body.url,
        events=body.events,
        description=body.description,
        enabled=body.enabled,
        actor=principal.actor,
        owner=principal.owner,
    )
    return webhook_document(changed)


@router.delete("/{webhook_id}", status_code=204)
async def remove(engine: OnEngine, principal: Writer, webhook_id: WebhookId) -> None:
    """Remove a webhook and its deliveries."""
    await engine.webhooks.remove(webhook_id, owner=principal.owner)


@router.post("/{webhook_id}/rotate", response_model=WebhookSecretDocument)
async def rotate(
    engine: OnEngine, principal: Writer, webhook_id: WebhookId, body: SecretRotation | None = None
) -> Document:
    """Rotate the secret. The new one is shown only once; both sign until the overlap is over."""
    terms = body or SecretRotation()
    made = await engine.webhooks.rotate(webhook_id, overlap=terms.overlap, actor=principal.actor, owner=principal.owner)
    return _shown_once(made)


@router.get("/{webhook_id}/deliveries", response_model=PageDocument[DeliveryDocument])
async def deliveries(
    engine: OnEngine,
    principal: Reader,
    webhook_id: WebhookId,
    request: Request,
    response: Response,
    status: Annotated[DeliveryStatus | None, Query(description="Only these.")] = None,
    job_id: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="Only events of this job.")] = None,
    limit: Limit = 50,
    after: After = None,
) -> Document:
    """List the deliveries of a webhook with their attempts, newest first."""
    page = await engine.webhooks.deliveries(
        webhook_id, status=status, job_id=job_id, limit=limit, after=after, owner=principal.owner
    )
    return paged(page, [delivery_document(each) for each in page.items], request, response)


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver", response_model=DeliveryDocument)
async def redeliver(engine: OnEngine, principal: Writer, webhook_id: WebhookId, delivery_id: DeliveryId) -> Document:
    """Deliver an event again, under the same id."""
    return delivery_document(await engine.webhooks.redeliver(webhook_id, delivery_id, owner=principal.owner))


def _shown_once(made: WebhookSecret) -> Document:
    return {**webhook_document(made.webhook), "secret": made.secret}
