"""Webhooks: the records of endpoints, deliveries and attempts, event types, and the signature of Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from reelstate.core.machine import PHASES, JobStatus
from reelstate.core.outcome import mask_passwords

Json = Any
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the public prefix of every secret
SECRET_BYTES: Final = 32


class WebhookKind(StrEnum):
    """What the deliveries of a webhook are: events of a subscription, callbacks of jobs, or alerts."""

    WEBHOOK = "webhook"
    CALLBACK = "callback"
    ALERT = "alert"


class DeliveryStatus(StrEnum):
    """The status of a delivery; a failed one has used up its attempts."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint. Its secret is not part of it: it is shown once, when it is created or rotated."""

    id: str
    kind: WebhookKind
    user_id: str
    """The owner of the jobs whose events it gets; empty for all jobs."""
    url: str
    """Without its query, which may hold a secret; empty for the callbacks of a user."""
    events: tuple[str, ...]
    """The types of events that it gets; empty for all."""
    description: str
    enabled: bool
    disabled: str | None
    """Why it was disabled automatically."""
    failing_since: datetime | None
    actor: str
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """A webhook with its new secret, which is not shown again."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One request of a delivery."""

    number: int
    """Counts the leases of the delivery; a number is missing where a sender was killed."""
    at: datetime
    seconds: float
    status: int | None
    """The status code of the response; None if there was none."""
    failure: str | None
    response: str | None
    """The start of the response, with secrets masked."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way to an endpoint."""

    id: int
    message: str
    """The header `webhook-id`, the same in every attempt."""
    webhook_id: str
    url: str
    type: str
    job_id: int | None
    status: DeliveryStatus
    attempt: int
    created_at: datetime
    next_at: datetime | None
    """When the next attempt is due."""
    finished_at: datetime | None
    attempts: tuple[DeliveryAttempt, ...]


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event: what it means, which transitions of jobs cause it, and what its payload holds.

    A type without targets is written by the package that registers it, in a transaction of its own.
    """

    name: str
    meaning: str
    document: Callable[[Mapping[str, Json]], dict[str, Json]]
    """Makes the `data` of the payload of what the store recorded."""
    targets: Collection[str] = ()
    origin: str = ""
    resources: bool = False
    """Whether only jobs with a resource cause it."""


def job_data(recorded: Mapping[str, Json]) -> dict[str, Json]:
    """Return the payload of an event of a job."""
    names = ("job_id", "pipeline", "status", "user_id", "version", "resource_id", "reason")
    times = {name: instant_text(recorded.get(name)) for name in ("created_at", "started_at", "finished_at")}
    return {name: recorded.get(name) for name in names} | {"error": error_data(recorded.get("error"))} | times


def group_data(recorded: Mapping[str, Json]) -> dict[str, Json]:
    """Return the payload of an event of a group."""
    names = ("group", "user_id", "round", "status", "jobs", "counts", "progress")
    times = {name: instant_text(recorded.get(name)) for name in ("created_at", "finished_at")}
    return {name: recorded.get(name) for name in names} | times


def error_data(error: Json) -> dict[str, Json] | None:
    """Return where a job failed and why; a traceback is not for the outside."""
    if not isinstance(error, dict):
        return None
    cause = error.get("cause", error)
    texts = cause if isinstance(cause, dict) else {"message": cause}
    return {
        "stage": error.get("stage"),
        "part": error.get("part"),
        **{name: mask_passwords(str(texts.get(name, "")))[:MAX_ERROR] for name in ("type", "message")},
    }


def instant_text(seconds: Json) -> str | None:
    """Return an instant in seconds since 1970 as ISO 8601."""
    if not isinstance(seconds, int | float):
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


MAX_ERROR: Final = 4000
JOB_EVENTS: Final = (
    EventType("job.started", "A worker claimed the first task of a job.", job_data, PHASES, JobStatus.PENDING),
    EventType("job.completed", "A job completed.", job_data, [JobStatus.COMPLETED]),
    EventType("job.failed", "A job failed: an operator or its user may retry it.", job_data, [JobStatus.FAILED]),
    EventType("job.quarantined", "A job was stopped until an operator decides.", job_data, [JobStatus.QUARANTINED]),
    EventType("job.cancelled", "A job was cancelled.", job_data, [JobStatus.CANCELLED]),
)
"""The events of jobs. An extension of the engine adds those of its resources."""
GROUP_EVENTS: Final = (EventType("group.finished", "No job of a group is active any more.", group_data),)
"""The events of groups; a keeper writes them."""


def secret_text(key: bytes) -> str:
    """Return a key as a secret, `whsec_…`."""
    return SECRET_PREFIX + base64.b64encode(key).decode("ascii")


def sign(secrets: Collection[str], message: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature per secret, separated by spaces."""
    signed = f"{message}.{timestamp}.".encode() + body
    return " ".join(f"v1,{_digest(secret, signed)}" for secret in secrets)


def _digest(secret: str, signed: bytes) -> str:
    text = secret.removeprefix(SECRET_PREFIX)
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("a stored secret is not base64") from None
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")
