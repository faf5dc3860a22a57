"""The sender: delivers webhooks, callbacks and alerts, as a duty of every keeper.

Deliveries are leased work: a sender that dies leaves its leases to expire, and another sends again under the same
`webhook-id`. So an event is delivered at least once, and receivers recognise a repetition by its id.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import logging
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from reelstate.connections.guarded_http import (
    ConnectionFailed,
    GuardedHttp,
    HostForbidden,
    HostUnresolved,
)
from reelstate.core.alert import alert_format, discord_message, slack_message
from reelstate.core.document import shorten
from reelstate.core.errors import InvalidRequest
from reelstate.core.outcome import mask_passwords
from reelstate.core.webhook import EventType, WebhookKind, instant_text, sign
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.services.webhooks.address import AddressRules, shown_url
from reelstate.services.webhooks.deliver import (
    AttemptOutcome,
    LeasedDelivery,
    claim_deliveries,
    finish_delivery,
    prune_deliveries,
)
from reelstate.services.webhooks.event_types import register_types
from reelstate.stores.store import Store

logger = logging.getLogger("reelstate.webhooks")

SCHEDULE: Final = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0, 72000.0, 86400.0)
"""Seconds from the first attempt to each attempt."""
JITTER: Final = 0.1
LEASE_MARGIN: Final = 15.0
"""Seconds by which a lease is longer than a request may take."""
POLL: Final = 1.0
MAX_ORIGINS: Final = 1000
"""Servers with open connections, above which a sender pauses until it can close them."""
MAX_BODY: Final = 20_000
MAX_RESPONSE: Final = 1000
"""Characters that are kept of a response."""
MAX_RETRY_AFTER: Final = 6 * 3600.0
OK: Final = range(200, 300)
GONE: Final = 410
BUSY: Final = (429, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderSettings:
    """How a sender delivers. Durations are in seconds."""

    timeout: float = 15.0
    concurrency: int = 32
    """Requests of one sender at once."""
    bound: int = 4
    """Requests to one endpoint at once, of all senders."""
    disable_after: float = 5 * 86_400.0
    schedule: Sequence[float] = SCHEDULE
    alert_url: str = field(default="", repr=False)
    alert_format: str = "auto"
    alert_timeout: float = 10.0


class Sender:
    """Delivers what is due. `http` replaces the client in tests."""

    def __init__(
        self,
        store: Store,
        types: Sequence[EventType],
        rules: AddressRules,
        settings: SenderSettings,
        http: GuardedHttp | None = None,
    ) -> None:
        self._store = store
        self._types = {each.name: each for each in types}
        self._rules = rules
        self._settings = settings
        self._registered = False
        longest = max(settings.timeout, settings.alert_timeout)
        self._lease = longest + LEASE_MARGIN
        self._http = http or GuardedHttp(rules.hosts, connect=longest, idle=longest)
        # An operator has set the address of alerts: it may be private.
        self._alert_rules = AddressRules(frozenset({urlsplit(settings.alert_url).hostname or ""}))
        self._alert_http = GuardedHttp(self._alert_rules.hosts, connect=longest, idle=longest)

    async def deliver(self) -> int:
        """Deliver what is due until nothing is; return how many attempts were made."""
        await self._register()
        running: set[asyncio.Task[None]] = set()
        made = 0
        try:
            while True:
                if self._http.origins > MAX_ORIGINS and running:
                    await asyncio.wait(running)
                    await self._http.close_connections()
                free = self._settings.concurrency - len(running)
                claimed = await self._claim(free) if free else []
                made += len(claimed)
                running |= {asyncio.create_task(self._attempt(delivery)) for delivery in claimed}
                if not running:
                    return made
                ended, running = await asyncio.wait(running, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
        finally:
            await cancel_and_wait(*running)
            await self._http.close_connections()
            await self._alert_http.close_connections()

    async def prune(self, *, older: float) -> int:
        """Delete deliveries that are `older` seconds old; return how many."""
        return await prune_deliveries(self._store, older=older)

    async def _register(self) -> None:
        """Store the event types of this release once, for webhooks that an earlier release created."""
        if not self._registered:
            types = list(self._types.values())
            await self._store.write(lambda transaction: register_types(transaction, types))
            self._registered = True

    async def _claim(self, limit: int) -> list[LeasedDelivery]:
        return await claim_deliveries(
            self._store,
            limit=limit,
            bound=self._settings.bound,
            lease=self._lease,
            alerts=bool(self._settings.alert_url),
        )

    async def _attempt(self, delivery: LeasedDelivery) -> None:
        """Send one request and record what came of it."""
        began = time.monotonic()
        try:
            outcome = await self._send(delivery)
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
            logger.warning("delivery not sendable delivery=%d error=%s", delivery.id, type(error).__name__)
            outcome = AttemptOutcome(ok=False, seconds=0.0, failure=f"not sendable: {type(error).__name__}")
        outcome = self._timed(delivery, outcome, time.monotonic() - began)
        disabled = await finish_delivery(self._store, delivery, outcome, disable_after=self._settings.disable_after)
        if not outcome.ok:
            logger.info(
                "delivery failed message=%s attempt=%d status=%s error=%s",
                delivery.message, delivery.attempt, outcome.status, outcome.failure,
            )  # fmt: skip
        if disabled is not None:
            logger.warning("webhook disabled webhook=%s hint=`reel webhooks update %s --enable`", disabled, disabled)

    async def _send(self, delivery: LeasedDelivery) -> AttemptOutcome:
        alert = delivery.kind is WebhookKind.ALERT
        seconds = self._settings.alert_timeout if alert else self._settings.timeout
        url = self._settings.alert_url if alert else delivery.url
        try:
            (self._alert_rules if alert else self._rules).require("url", url)
            async with asyncio.timeout(seconds):
                return await self._request(url, delivery)
        except TimeoutError:
            return _failed(f"no response within {seconds:g} s")
        except HostUnresolved as error:
            return _failed(f"{error} can't be resolved")
        except HostForbidden as error:
            return _failed(f"{error} is not a public address; hint: REEL_WEBHOOK_ALLOW")
        except (ConnectionFailed, InvalidRequest) as error:
            return _failed("no connection" if alert else str(error).replace(url, shown_url(url)))

    async def _request(self, url: str, delivery: LeasedDelivery) -> AttemptOutcome:
        body = self._body(delivery)
        timestamp = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "webhook-id": delivery.message,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(delivery.secrets, delivery.message, timestamp, body),
        }
        http = self._alert_http if delivery.kind is WebhookKind.ALERT else self._http
        response = await http.send("POST", httpx.URL(url), headers, body)
        try:
            head = await _read_head(response)
        except httpx.TransportError as error:
            return _failed(f"the response broke off: {type(error).__name__}")
        finally:
            await response.aclose()
        return _outcome(response, head)

    def _body(self, delivery: LeasedDelivery) -> bytes:
        """Return the body of a delivery, which is the same in every attempt."""
        if delivery.kind is WebhookKind.ALERT:
            chosen = alert_format(self._settings.alert_url, self._settings.alert_format)
            if chosen != "webhook":
                return _encode(slack_message(delivery.data) if chosen == "slack" else discord_message(delivery.data))
        known = self._types.get(delivery.type)
        data = known.document(delivery.data) if known else delivery.data
        document = {"type": delivery.type, "timestamp": instant_text(delivery.created_at.timestamp()), "data": data}
        body = _encode(document)
        if len(body) >= MAX_BODY:  # only an error text can be that long
            body = _encode({**document, "data": {**data, "error": {"message": "too long"}, "reason": None}})
        return body

    def _timed(self, delivery: LeasedDelivery, outcome: AttemptOutcome, seconds: float) -> AttemptOutcome:
        """Return an outcome with its duration and the delay to the next attempt."""
        delay = None if outcome.ok or outcome.gone else self._delay(delivery.attempt, outcome.delay or 0.0)
        return AttemptOutcome(
            ok=outcome.ok,
            seconds=round(seconds, 3),
            status=outcome.status,
            failure=outcome.failure,
            response=outcome.response,
            delay=delay,
            gone=outcome.gone,
        )

    def _delay(self, attempt: int, retry_after: float) -> float | None:
        """Return the seconds to the next attempt; None after the last."""
        schedule = self._settings.schedule
        if attempt >= len(schedule):
            return None
        pause = (schedule[attempt] - schedule[attempt - 1]) * random.uniform(1 - JITTER, 1 + JITTER)
        return max(pause, min(retry_after, MAX_RETRY_AFTER))


def _failed(failure: str) -> AttemptOutcome:
    return AttemptOutcome(ok=False, seconds=0.0, failure=shorten(mask_passwords(failure), MAX_RESPONSE))


def _outcome(response: httpx.Response, head: str) -> AttemptOutcome:
    status = response.status_code
    ok = status in OK
    return AttemptOutcome(
        ok=ok,
        seconds=0.0,
        status=status,
        failure=None if ok else f"the endpoint answered {status}",
        response=shorten(mask_passwords(head), MAX_RESPONSE) or None,
        delay=_retry_after(response.headers) if status in BUSY else None,
        gone=status == GONE,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header: a number, or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


async def _read_head(response: httpx.Response) -> str:
    """Read the start of a response body; the rest is not wanted."""
    head = bytearray()
    stream: Any = response.stream
    async for chunk in stream:
        head += chunk
        if len(head) >= MAX_RESPONSE:
            break
    return bytes(head[:MAX_RESPONSE]).decode("utf-8", "replace")


def _encode(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
