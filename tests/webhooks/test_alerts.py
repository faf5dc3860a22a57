"""Alerts: each is fired by its cause, once per cooldown, folded, in the format of its receiver."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from reelstate.alerting import Alerting
from reelstate.app import sender_for
from reelstate.config import Settings
from reelstate.core.alert import AlertLine, AlertType, alert_data, alert_format, discord_message, slack_message
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import JobStatus, WorkerStatus
from reelstate.core.webhook import secret_text
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from reelstate.library.videos import Videos
from reelstate.sender import Sender
from tests.engines import FakeClock, a_worker, failed
from tests.webhooks.receiver import Receiver, answering

EVERY = ",".join(AlertType)
SECRET = secret_text(b"0123456789abcdef0123456789abcdef")
numbers = itertools.count()


class Alerts:
    """A keeper's alerting and sender, and what the receiver got."""

    def __init__(self, engine: Engine, receiver: Receiver, **changes: Any) -> None:
        values = {"alert_events": EVERY, "alert_secret": SECRET, "webhook_allow": "127.0.0.1", **changes}
        self.settings = Settings(alert_url=receiver.url("/alerts"), **values)
        self.engine = engine
        self.receiver = receiver
        self.alerting = Alerting(engine, self.settings)
        self.sender: Sender = sender_for(engine, self.settings)

    async def send(self) -> list[dict[str, Any]]:
        """Fold and send; return the alerts that arrived."""
        self.receiver.received.clear()
        await self.alerting.fold()
        await self.sender.deliver()
        found = self.receiver.at("/alerts")
        assert all(each.is_signed_with(SECRET) for each in found)
        return [each.document["data"] for each in found]

    async def types(self) -> set[str]:
        return {each["type"] for each in await self.send()}


@pytest.fixture
async def alerts(engine: Engine, receiver: Receiver) -> Alerts:
    made = Alerts(engine, receiver)
    await made.alerting.enable()
    return made


async def fail_jobs(engine: Engine, count: int = 1, submit: Callable[[], Any] | None = None) -> None:
    worker = await a_worker(engine, f"worker-{next(numbers)}")
    for _ in range(count):
        await (submit() if submit else engine.submit("simple"))
        tasks = (await engine.claim(worker, 10)).tasks
        await engine.fail([failed(task, retryable=False) for task in tasks])


async def test_a_failed_job_fires_and_names_its_error(engine: Engine, alerts: Alerts) -> None:
    await fail_jobs(engine)
    found = {each["type"]: each for each in await alerts.send()}
    (line,) = found["job_max_retries_exceeded"]["alerts"]
    assert (line["subject"], line["message"]) == ("simple", "it broke")
    assert isinstance(line["job_id"], int)


async def test_a_recovered_job_fires(engine: Engine, alerts: Alerts, clock: FakeClock) -> None:
    await engine.submit("simple")
    await engine.claim(await a_worker(engine))
    clock.advance(1000)
    await engine.reclaim()
    assert "stale_job_recovered" in await alerts.types()


async def test_a_poison_task_fires(engine: Engine, alerts: Alerts, clock: FakeClock) -> None:
    job = await engine.submit("simple")
    for number in range(10):
        await engine.claim(await a_worker(engine, f"lost-{number}", slots=1))
        clock.advance(61)
        await engine.reclaim()
    assert (await engine.job(job.id)).job.status is JobStatus.QUARANTINED
    assert "quarantined" in await alerts.types()


async def test_an_operators_quarantine_does_not_fire(engine: Engine, alerts: Alerts) -> None:
    job = await engine.submit("simple")
    await engine.quarantine(job.id, reason="odd")
    assert await alerts.types() == set()


async def test_failures_of_one_pipeline_or_video_are_a_pattern(
    engine: Engine, alerts: Alerts, clock: FakeClock
) -> None:
    videos = Videos(engine)
    first = await videos.submit("a.mp4", pipeline="simple")
    await fail_jobs(engine, 2, lambda: videos.retranscode(first.resource_id or 0, pipeline="simple"))
    found = {each["type"]: each for each in await alerts.send()}
    subjects = {line["subject"]: line["message"] for line in found["job_failed_pattern"]["alerts"]}
    assert subjects == {
        "pipeline simple": "3 failures within 60 min",
        f"video {first.resource_id}": "3 failures within 60 min",
    }
    assert "job_failed_pattern" not in await alerts.types()


async def test_failures_outside_of_the_window_are_no_pattern(engine: Engine, alerts: Alerts, clock: FakeClock) -> None:
    for _ in range(4):
        await fail_jobs(engine)
        clock.advance(1900)
        assert "job_failed_pattern" not in await alerts.types()


async def test_workers_start_and_stop(engine: Engine, alerts: Alerts) -> None:
    worker = await a_worker(engine, "encoder")
    assert await alerts.types() == {"worker_startup"}
    await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    (stopped,) = await alerts.send()
    assert (stopped["type"], stopped["alerts"][0]["subject"]) == ("worker_shutdown", "encoder")


async def test_workers_do_not_fire_by_default(engine: Engine, receiver: Receiver) -> None:
    quiet = Alerts(engine, receiver, alert_events="")
    await quiet.alerting.enable()
    await a_worker(engine, "encoder")
    assert await quiet.types() == set()


async def test_keepers_that_were_away_fire(engine: Engine, alerts: Alerts, clock: FakeClock) -> None:
    keeper = Keeper(engine, alerts.settings)
    await keeper._sweep()
    assert await alerts.types() == set()
    clock.advance(10_000)
    await Keeper(engine, alerts.settings)._sweep()
    assert "keeper_stalled" in await alerts.types()


async def test_a_queue_that_is_stuck_fires(engine: Engine, alerts: Alerts, clock: FakeClock) -> None:
    await engine.submit("simple")
    await alerts.alerting.look_at_queues(clock)
    assert await alerts.types() == set()
    clock.advance(1000)
    await alerts.alerting.look_at_queues(clock)
    (stuck,) = await alerts.send()
    assert stuck["alerts"][0]["message"] == "1 tasks are ready, the oldest for 17 min"


async def test_a_full_disk_fires(engine: Engine, receiver: Receiver) -> None:
    full = Alerts(engine, receiver, alert_disk_free=101.0)
    await full.alerting.enable()
    await full.alerting.look_at_disks()
    assert await full.types() == {"disk_low"}


async def test_a_disabled_webhook_fires(engine: Engine, alerts: Alerts) -> None:
    alerts.receiver.scripts["/gone"] = answering("410 Gone")
    made = await engine.webhooks.add(alerts.receiver.url("/gone"), events=["job.cancelled"])
    await engine.cancel((await engine.submit("simple")).id)
    await alerts.sender.deliver()
    (disabled,) = await alerts.send()
    assert disabled["type"] == "endpoint_disabled"
    assert disabled["alerts"][0] == {"subject": made.webhook.id, "message": "it answered 410 Gone", "job_id": None}


async def test_a_flood_is_folded_and_the_cooldown_holds(engine: Engine, receiver: Receiver, clock: FakeClock) -> None:
    alerts = Alerts(engine, receiver, alert_events="job_max_retries_exceeded", alert_format="slack")
    await alerts.alerting.enable()
    await fail_jobs(engine, 13)
    await alerts.alerting.fold()
    await alerts.sender.deliver()
    (flood,) = receiver.received
    assert flood.document["text"].endswith("and 12 more")
    await fail_jobs(engine, 2)
    clock.advance(200)
    await alerts.alerting.fold()
    await alerts.sender.deliver()
    assert len(receiver.received) == 1
    clock.advance(101)
    await alerts.alerting.fold()
    await alerts.sender.deliver()
    assert receiver.received[1].document["text"].endswith("and 1 more")


async def test_the_cooldown_is_counted_per_subject(engine: Engine, alerts: Alerts) -> None:
    await engine.alert(AlertType.QUEUE_STUCK, "one", "stuck")
    assert await alerts.types() == {"queue_stuck"}
    await engine.alert(AlertType.QUEUE_STUCK, "one", "stuck")
    await engine.alert(AlertType.QUEUE_STUCK, "two", "stuck")
    (second,) = await alerts.send()
    assert [line["subject"] for line in second["alerts"]] == ["two"]


async def test_of_several_keepers_one_sends(engine: Engine, receiver: Receiver, alerts: Alerts) -> None:
    await fail_jobs(engine)
    keepers = [Alerts(engine, receiver) for _ in range(4)]
    folded = await asyncio.gather(*(keeper.alerting.fold() for keeper in keepers))
    assert sorted(folded)[:3] == [0, 0, 0]
    assert sum(folded) == 2  # the failure, and the start of its worker


async def test_nothing_is_noted_without_an_alert_url(engine: Engine, receiver: Receiver) -> None:
    await fail_jobs(engine, 3)
    assert await Alerts(engine, receiver).types() == set()


async def test_a_webhook_of_a_user_may_not_address_the_host_of_alerts(engine: Engine, receiver: Receiver) -> None:
    alerts = Alerts(engine, receiver, webhook_allow="")
    assert alerts.sender._rules.hosts == engine.callbacks.hosts
    assert alerts.sender._alert_rules.hosts == {"127.0.0.1"}


async def test_the_url_of_alerts_is_a_secret(engine: Engine, receiver: Receiver, alerts: Alerts) -> None:
    assert "/alerts" not in repr(alerts.settings)
    assert "/alerts" not in repr(alerts.sender._settings)
    assert SECRET not in repr(alerts.settings)
    assert await engine.webhooks.all() == []


LONG = [AlertLine(f"pipeline-{number}", "x" * 2000 + "<&>") for number in range(20)]


def test_messages_keep_the_limits_of_slack_and_discord() -> None:
    data = alert_data("job_max_retries_exceeded", LONG, 500)
    slack = slack_message(data)
    assert len(slack["blocks"][0]["text"]["text"]) <= 3000
    assert len(discord_message(data)["content"]) <= 2000
    short = slack_message(alert_data("disk_low", [AlertLine("a<b", "c&d")], 1))
    assert short["text"] == "*Disk space is low*\n• a&lt;b: c&amp;d"
    assert discord_message(alert_data("disk_low", [AlertLine("@everyone", "x")], 3)) == {
        "content": "**Disk space is low**\n• @everyone: x\nand 2 more",
        "allowed_mentions": {"parse": []},
    }


@pytest.mark.parametrize(
    "url, expected",
    [
        ("https://hooks.slack.com/services/T/B/x", "slack"),
        ("https://discord.com/api/webhooks/1/x", "discord"),
        ("https://discordapp.com/api/webhooks/1/x", "discord"),
        ("https://example.com/hooks.slack.com", "webhook"),
    ],
)
def test_the_format_follows_the_address(url: str, expected: str) -> None:
    assert alert_format(url) == expected
    assert alert_format(url, "discord") == "discord"


def test_an_unknown_alert_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidRequest, match="unknown alert 'fire'"):
        Alerting(engine, Settings(alert_events="fire"))
