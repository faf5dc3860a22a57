"""Alerts of a real deployment: each is fired by its cause and reaches a receiver, once per cooldown."""

import asyncio
import signal
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from reelstate.core.alert import AlertType
from reelstate.core.machine import JobStatus
from reelstate.core.webhook import secret_text
from tests.chaos.fleet import Fleet
from tests.chaos.reel_process import HERE
from tests.webhooks.receiver import Receiver

SECRET = secret_text(b"0123456789abcdef0123456789abcdef")
COOLDOWN = 6.0
GAP = 2.0
BROKEN = 13
PROCESS_ALERTS = set(AlertType) - {AlertType.ENDPOINT_DISABLED}
"""Those of jobs, workers, keepers and machines; the other one is about webhooks."""


class Alerts:
    """What a receiver got."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def settings(self) -> dict[str, Any]:
        return {
            "alert_url": self._receiver.url("/alerts"),
            "alert_secret": SECRET,
            "alert_events": ",".join(AlertType),
            "alert_cooldown": COOLDOWN,
            "alert_queue_age": 0.001,
            "alert_disk_free": 101,
            "keeper_gap": GAP,
        }

    def messages(self, kind: str) -> list[dict[str, Any]]:
        """Return the messages of a type, each event once: a sender may repeat one."""
        found = {each.id: each.document for each in self._receiver.at("/alerts")}
        return [document for document in found.values() if document["data"]["type"] == kind]

    def has(self, kind: str) -> bool:
        return bool(self.messages(kind))

    def count(self, kind: str) -> int:
        return sum(message["data"]["count"] for message in self.messages(kind))

    def has_failures(self, count: int) -> bool:
        return self.count(AlertType.JOB_MAX_RETRIES_EXCEEDED) == count

    def gaps(self, kind: str, subject: str) -> list[float]:
        """Return the seconds between the messages about a subject, by the clock of the store."""
        times = sorted(
            datetime.fromisoformat(message["timestamp"]).timestamp()
            for message in self.messages(kind)
            if any(alert["subject"] == subject for alert in message["data"]["alerts"])
        )
        return [later - earlier for earlier, later in pairwise(times)]


async def has_worker(fleet: Fleet) -> bool:
    return any(worker.shown == "idle" for worker in await fleet.engine.workers())


async def test_each_alert_is_fired_by_its_cause(fleet: Fleet) -> None:
    async with Receiver.running() as receiver:
        alerts = Alerts(receiver)
        await fleet.submit("codec")  # no worker has what it needs
        up = fleet.up(**alerts.settings())
        for kind in (AlertType.QUEUE_STUCK, AlertType.DISK_LOW, AlertType.WORKER_STARTUP):
            await fleet.wait_until(partial(alerts.has, kind), f"alert {kind}")

        for number in (1, 2):
            await fleet.submit_each("broken", [{}] * BROKEN)
            await fleet.wait_until(partial(alerts.has_failures, number * BROKEN), "every failure")
        await fleet.wait_until(lambda: bool(alerts.messages(AlertType.JOB_FAILED_PATTERN)), "the pattern")
        assert 2 <= len(alerts.messages(AlertType.JOB_MAX_RETRIES_EXCEEDED)) < BROKEN

        poison = await fleet.submit("crowd", parts=[{"kill": 1}])
        await fleet.wait_status(poison, JobStatus.QUARANTINED)
        for kind in (AlertType.STALE_JOB_RECOVERED, AlertType.QUARANTINED):
            await fleet.wait_until(partial(alerts.has, kind), f"alert {kind}")
        assert {alert["job_id"] for each in alerts.messages("quarantined") for alert in each["data"]["alerts"]} == {
            poison
        }

        await fleet.wait_for(lambda: has_worker(fleet), "a worker is started again")
        stopped = alerts.count(AlertType.WORKER_SHUTDOWN)
        up.send(signal.SIGTERM)
        await up.ended()
        await asyncio.sleep(2 * GAP)  # the cause is a time without a keeper
        fleet._start("again", HERE, ["serve"], {"serve_port": 0, **alerts.settings()})
        await fleet.wait_until(lambda: bool(alerts.messages(AlertType.KEEPER_STALLED)), "the keeper was away")
        await fleet.wait_until(lambda: alerts.count(AlertType.WORKER_SHUTDOWN) > stopped, "the worker has stopped")

        assert {kind for kind in AlertType if alerts.messages(kind)} == PROCESS_ALERTS
        assert all(each.is_signed_with(SECRET) for each in receiver.received)
        gaps = alerts.gaps(AlertType.JOB_MAX_RETRIES_EXCEEDED, "broken")
        assert all(gap >= COOLDOWN for gap in gaps), gaps
