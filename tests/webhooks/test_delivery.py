"""Events reach their endpoints: signed, after their commit, at least once, on a schedule, and within the rules."""

import asyncio
import email.utils
import itertools
import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Any

import httpx
import psycopg
import pytest

from reelstate.app import open_engine, sender_for
from reelstate.config import Settings
from reelstate.connections import public_addresses
from reelstate.connections.guarded_http import GuardedHttp
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Submission
from reelstate.core.webhook import Delivery, DeliveryStatus, WebhookSecret
from reelstate.engine import Engine
from reelstate.sender import MAX_BODY, SCHEDULE, Sender, SenderSettings
from reelstate.services.webhooks.address import AddressRules
from reelstate.services.webhooks.event_types import event_types
from reelstate.services.webhooks.subscriptions import ROTATE
from tests.engines import SIMPLE, FakeClock, a_worker, done, failed
from tests.waiting import until
from tests.webhooks.conftest import MakeSender
from tests.webhooks.receiver import Received, Receiver, answering, hanging

DAY = 86_400.0
numbers: Iterator[int] = itertools.count()


async def finish(engine: Engine, **options: Any) -> int:
    """Submit a job and complete it; return its id."""
    job = await engine.submit("simple", **options)
    worker = await a_worker(engine, f"worker-{next(numbers)}")
    claim = await engine.claim(worker, 100)
    await engine.complete([done(task) for task in claim.tasks])
    return job.id


async def break_job(engine: Engine, error: Any = "it broke", **options: Any) -> int:
    """Submit a job and let it fail for good; return its id."""
    job = await engine.submit("simple", **options)
    worker = await a_worker(engine, f"worker-{next(numbers)}")
    claim = await engine.claim(worker, 100)
    await engine.fail([failed(task, error=error, retryable=False) for task in claim.tasks])
    return job.id


async def subscribe(
    engine: Engine, receiver: Receiver, *events: str, path: str = "/hook", **options: Any
) -> WebhookSecret:
    return await engine.webhooks.add(receiver.url(path), events=events or ["job.completed"], **options)


async def deliveries(engine: Engine, made: WebhookSecret) -> list[Delivery]:
    return (await engine.webhooks.deliveries(made.webhook.id)).items


async def test_the_end_of_a_job_is_delivered_with_a_valid_signature(
    engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock
) -> None:
    made = await subscribe(engine, receiver, "job.completed", "job.failed", "job.started")
    completed, broken = await finish(engine, user_id="ada"), await break_job(engine)
    assert await sender.deliver() == 4
    assert all(each.is_signed_with(made.secret) for each in receiver.received)
    found = {(each.document["type"], each.document["data"]["job_id"]): each.document for each in receiver.received}
    assert found.keys() == {
        ("job.started", completed),
        ("job.completed", completed),
        ("job.started", broken),
        ("job.failed", broken),
    }
    document = found["job.completed", completed]
    now = clock.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert document == {
        "type": "job.completed",
        "timestamp": now,
        "data": {
            "job_id": completed,
            "pipeline": "simple",
            "status": "completed",
            "user_id": "ada",
            "version": 3,
            "resource_id": None,
            "reason": None,
            "error": None,
            "created_at": now,
            "started_at": now,
            "finished_at": now,
        },
    }
    assert found["job.failed", broken]["data"]["error"] == {
        "stage": "main",
        "part": 0,
        "type": "",
        "message": "it broke",
    }
    assert {each.status for each in await deliveries(engine, made)} == {DeliveryStatus.DELIVERED}
    assert await sender.deliver() == 0


async def test_another_secret_does_not_verify(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    await subscribe(engine, receiver)
    other = await subscribe(engine, receiver, path="/other")
    await finish(engine)
    await sender.deliver()
    assert not receiver.at("/hook")[0].is_signed_with(other.secret)


async def test_nothing_is_written_without_webhooks_and_for_other_events(engine: Engine, receiver: Receiver) -> None:
    await finish(engine)
    made = await subscribe(engine, receiver, "job.cancelled")
    await finish(engine)
    assert await deliveries(engine, made) == []


async def test_a_job_is_cancelled_and_quarantined(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    made = await engine.webhooks.add(receiver.url())
    first, second = (await engine.submit("simple")).id, (await engine.submit("simple")).id
    await engine.cancel(first)
    await engine.quarantine(second, reason="odd")
    await sender.deliver()
    kinds = [(each.document["type"], each.document["data"]["job_id"]) for each in receiver.received]
    assert sorted(kinds) == sorted([("job.cancelled", first), ("job.quarantined", second)])
    assert all(each.is_signed_with(made.secret) for each in receiver.received)


async def test_no_event_is_delivered_before_its_commit_and_none_that_is_rolled_back(
    postgres_database: str, receiver: Receiver
) -> None:
    settings = Settings(database_url=postgres_database, webhook_allow="127.0.0.1")
    async with open_engine(postgres_database, pipelines=[SIMPLE], settings=settings) as engine:
        made = await subscribe(engine, receiver, "job.cancelled")
        sender = sender_for(engine, settings)
        first, second = (await engine.submit("simple")).id, (await engine.submit("simple")).id
        cancel = "UPDATE reelstate.jobs SET status = 'cancelled', finished_at = now() WHERE id = %s"
        async with await psycopg.AsyncConnection.connect(postgres_database) as connection:
            await connection.execute(cancel, [first])
            assert await sender.deliver() == 0
            await connection.rollback()
            await connection.execute(cancel, [second])
            assert await sender.deliver() == 0
            await connection.commit()
        assert await sender.deliver() == 1
        assert receiver.received[0].document["data"]["job_id"] == second
        assert receiver.received[0].is_signed_with(made.secret)


async def test_the_attempts_follow_the_schedule_under_one_id(
    engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock
) -> None:
    receiver.scripts["/hook"] = answering("500 Internal Server Error", b"token=abc went wrong")
    made = await subscribe(engine, receiver)
    await finish(engine)
    began = clock.now
    for number, offset in enumerate(SCHEDULE, start=1):
        if number > 1:
            clock.now = began + timedelta(seconds=0.85 * offset + 0.15 * SCHEDULE[number - 2] - 1)
            assert await sender.deliver() == 0, f"attempt {number} comes too early"
        clock.now = began + timedelta(seconds=1.2 * offset)
        assert await sender.deliver() == 1, f"attempt {number} is missing"
    clock.advance(30 * DAY)
    assert await sender.deliver() == 0
    assert len({each.id for each in receiver.received}) == 1
    assert len({each.body for each in receiver.received}) == 1
    assert all(each.is_signed_with(made.secret) for each in receiver.received)
    (delivery,) = await deliveries(engine, made)
    assert (delivery.status, delivery.attempt, len(delivery.attempts)) == (DeliveryStatus.FAILED, 10, 10)
    assert delivery.message == receiver.received[0].id
    assert {each.status for each in delivery.attempts} == {500}
    assert {each.response for each in delivery.attempts} == {"token=*** went wrong"}


async def test_a_redelivery_starts_the_schedule_again_under_the_same_id(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    made = await subscribe(engine, receiver)
    await finish(engine)
    await sender.deliver()
    (delivery,) = await deliveries(engine, made)
    again = await engine.webhooks.redeliver(made.webhook.id, delivery.id)
    assert (again.status, again.attempt) == (DeliveryStatus.PENDING, 0)
    await sender.deliver()
    assert [each.id for each in receiver.received] == [delivery.message] * 2
    assert len((await deliveries(engine, made))[0].attempts) == 2


async def test_a_redirect_fails_and_is_not_followed(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    receiver.scripts["/hook"] = answering("307 Temporary Redirect", Location=receiver.url("/elsewhere"))
    made = await subscribe(engine, receiver)
    await finish(engine)
    await sender.deliver()
    assert [each.path for each in receiver.received] == ["/hook"]
    (delivery,) = await deliveries(engine, made)
    assert (delivery.status, delivery.attempts[0].status) == (DeliveryStatus.PENDING, 307)


async def test_410_disables_a_webhook_until_it_is_enabled(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    receiver.scripts["/hook"] = answering("410 Gone")
    made = await subscribe(engine, receiver)
    await finish(engine)
    await sender.deliver()
    gone = await engine.webhooks.get(made.webhook.id)
    assert (gone.enabled, gone.disabled) == (False, "it answered 410 Gone")
    await finish(engine)
    assert await sender.deliver() == 0
    del receiver.scripts["/hook"]
    enabled = await engine.webhooks.update(made.webhook.id, enabled=True)
    assert (enabled.enabled, enabled.disabled) == (True, None)
    await finish(engine)
    assert await sender.deliver() == 1


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_retry_after_is_honoured_within_bounds(
    engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock, status: str
) -> None:
    made = await subscribe(engine, receiver)
    receiver.scripts["/hook"] = answering(status, Retry_After=100)
    await finish(engine)
    await sender.deliver()
    (delivery,) = await deliveries(engine, made)
    assert delivery.next_at == clock.now + timedelta(seconds=100)
    clock.advance(101)
    receiver.scripts["/hook"] = answering(status, Retry_After=10**8)
    await sender.deliver()
    (delivery,) = await deliveries(engine, made)
    assert delivery.next_at == clock.now + timedelta(hours=6)
    clock.advance(6 * 3600)
    later = email.utils.formatdate(time.time() + 3 * 3600, usegmt=True)
    receiver.scripts["/hook"] = answering(status, Retry_After=later)
    await sender.deliver()
    (delivery,) = await deliveries(engine, made)
    assert delivery.next_at is not None
    assert timedelta(hours=2.9) < delivery.next_at - clock.now < timedelta(hours=3.1)


@pytest.mark.parametrize("concurrency", [6, 32])
async def test_an_endpoint_that_hangs_does_not_hold_up_the_others(
    engine: Engine, receiver: Receiver, make_sender: MakeSender, concurrency: int
) -> None:
    await subscribe(engine, receiver, path="/hanging")
    good = await subscribe(engine, receiver)
    arrived = asyncio.Event()

    async def on_last(received: Received) -> None:
        await received.answer("200 OK")
        if len(receiver.at("/hook")) == 10:
            arrived.set()

    receiver.scripts |= {"/hanging": hanging, "/hook": on_last}
    for _ in range(10):
        await finish(engine)
    sending = asyncio.create_task(make_sender(concurrency=concurrency, bound=4).deliver())
    await arrived.wait()
    await until(lambda: len(receiver.at("/hanging")) >= 4)
    assert len(receiver.at("/hanging")) == 4
    sending.cancel()
    await asyncio.wait([sending])
    assert {each.is_signed_with(good.secret) for each in receiver.at("/hook")} == {True}


async def test_a_request_that_takes_too_long_fails(engine: Engine, receiver: Receiver, make_sender: MakeSender) -> None:
    made = await subscribe(engine, receiver)
    receiver.scripts["/hook"] = hanging
    await finish(engine)
    await make_sender(timeout=0.05).deliver()
    (delivery,) = await deliveries(engine, made)
    assert delivery.attempts[0].failure == "no response within 0.05 s"


async def test_the_lease_of_a_sender_that_died_is_sent_again(
    engine: Engine, receiver: Receiver, sender: Sender, make_sender: MakeSender, clock: FakeClock
) -> None:
    made = await subscribe(engine, receiver)
    reached = asyncio.Event()

    async def reach(_: Received) -> None:
        reached.set()
        await asyncio.Event().wait()

    receiver.scripts["/hook"] = reach
    await finish(engine)
    dying = asyncio.create_task(make_sender().deliver())
    await reached.wait()
    dying.cancel()
    await asyncio.wait([dying])
    receiver.scripts.clear()
    assert await sender.deliver() == 0, "the lease holds"
    clock.advance(60)
    assert await sender.deliver() == 1
    assert len({each.id for each in receiver.received}) == 1
    (delivery,) = await deliveries(engine, made)
    assert [each.number for each in delivery.attempts] == [2]


async def test_both_secrets_sign_until_the_overlap_is_over(
    engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock
) -> None:
    made = await subscribe(engine, receiver)
    rotated = await engine.webhooks.rotate(made.webhook.id, overlap=100)
    assert rotated.secret != made.secret
    await finish(engine)
    await sender.deliver()
    assert [receiver.received[0].is_signed_with(each.secret) for each in (made, rotated)] == [True, True]
    clock.advance(101)
    await finish(engine)
    await sender.deliver()
    assert [receiver.received[1].is_signed_with(each.secret) for each in (made, rotated)] == [False, True]


async def test_a_webhook_that_fails_for_days_is_disabled_and_a_success_resets_that(
    engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock
) -> None:
    made = await subscribe(engine, receiver)
    receiver.scripts["/hook"] = answering("500 No")
    await finish(engine)
    await sender.deliver()
    clock.advance(4 * DAY)
    del receiver.scripts["/hook"]
    await sender.deliver()
    assert (await engine.webhooks.get(made.webhook.id)).failing_since is None
    receiver.scripts["/hook"] = answering("500 No")
    for _ in range(6):
        assert (await engine.webhooks.get(made.webhook.id)).enabled
        await finish(engine)
        await sender.deliver()
        clock.advance(DAY)
    await sender.deliver()
    failing = await engine.webhooks.get(made.webhook.id)
    assert not failing.enabled
    assert failing.disabled is not None
    assert failing.disabled.startswith("every attempt since 2026-01-05")


async def test_a_callback_gets_the_events_of_its_job_and_of_no_other(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    job = await finish(engine, callback=receiver.url("/callback"), user_id="ada")
    await finish(engine, user_id="ada")
    (webhook,) = await engine.webhooks.all()
    assert (webhook.kind, webhook.user_id, webhook.url) == ("callback", "ada", "")
    await sender.deliver()
    secret = (await engine.webhooks.rotate(webhook.id)).secret
    assert {each.document["data"]["job_id"] for each in receiver.received} == {job}
    assert sorted(each.document["type"] for each in receiver.received) == ["job.completed", "job.started"]
    assert not receiver.received[0].is_signed_with(secret), "it was sent before"
    await finish(engine, callback=receiver.url("/callback"), user_id="ada")
    receiver.received.clear()
    await sender.deliver()
    assert [each.is_signed_with(secret) for each in receiver.received] == [True, True]


async def test_410_ends_a_callback_and_not_those_of_other_jobs(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    receiver.scripts["/gone"] = answering("410 Gone")
    await finish(engine, callback=receiver.url("/gone"))
    await finish(engine, callback=receiver.url("/callback"))
    await sender.deliver()
    await finish(engine, callback=receiver.url("/callback"))
    await sender.deliver()
    assert len(receiver.at("/callback")) == 4
    (webhook,) = await engine.webhooks.all()
    assert webhook.enabled


async def test_a_repeated_request_with_another_callback_is_refused(engine: Engine, receiver: Receiver) -> None:
    first = await engine.submit("simple", idempotency_key="a", callback=receiver.url("/a"))
    again = await engine.submit("simple", idempotency_key="a", callback=receiver.url("/a"))
    assert first.id == again.id
    with pytest.raises(Exception, match="idempotency"):
        await engine.submit("simple", idempotency_key="a", callback=receiver.url("/b"))


async def test_a_user_gets_only_the_events_of_their_own_jobs(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    for user in ("", "ada", "bob"):
        await subscribe(engine, receiver, user_id=user, path=f"/{user}")
    jobs = {user: await finish(engine, user_id=user) for user in ("", "ada", "bob")}
    await sender.deliver()
    got = {path: {each.document["data"]["job_id"] for each in receiver.at(path)} for path in ("/", "/ada", "/bob")}
    assert got == {"/": set(jobs.values()), "/ada": {jobs["ada"]}, "/bob": {jobs["bob"]}}


async def test_a_long_error_does_not_make_the_body_too_long(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    await subscribe(engine, receiver, "job.failed")
    await break_job(engine, {"type": "Odd", "message": "\N{SNOWMAN}" * 100_000, "trace": "secret path"})
    await sender.deliver()
    (received,) = receiver.received
    assert len(received.body) < MAX_BODY
    assert "secret path" not in received.body.decode()


async def test_the_response_is_cut_and_an_endless_one_is_not_read(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    async def endless(received: Received) -> None:
        received.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            received.writer.write(b"x" * 65_536)
            await received.writer.drain()

    receiver.scripts["/hook"] = endless
    made = await subscribe(engine, receiver)
    await finish(engine)
    await sender.deliver()
    (delivery,) = await deliveries(engine, made)
    assert (delivery.status, delivery.attempts[0].response) == (DeliveryStatus.DELIVERED, "x" * 1000)


async def test_what_waits_in_the_outbox_is_measured(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    await subscribe(engine, receiver)
    await finish(engine)
    assert (await engine.measure()).outbox == 1
    await sender.deliver()
    assert (await engine.measure()).outbox == 0


async def test_a_damaged_row_stops_only_itself(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    bad = await subscribe(engine, receiver, path="/bad")
    await subscribe(engine, receiver)
    await engine.store.write(
        lambda transaction: transaction.run(
            ROTATE, id=bad.webhook.id, overlap=0.0, secret="whsec_!", actor="sql", owner=None
        )
    )
    await finish(engine)
    await sender.deliver()
    assert [each.path for each in receiver.received] == ["/hook"]
    (delivery,) = await deliveries(engine, bad)
    assert delivery.attempts[0].failure == "not sendable: ValueError"


def every_block() -> list[str]:
    """Return the first and the last address of each refused block, and addresses outside of global unicast."""
    special = (public_addresses._SPECIAL_IPV4, public_addresses._SPECIAL_IPV6)
    blocks: list[IPv4Network | IPv6Network] = [block for blocks in special for block in blocks]
    ends = [str(end) for block in blocks for end in (block.network_address, block.broadcast_address)]
    mapped = [f"::ffff:{block.network_address}" for block in public_addresses._SPECIAL_IPV4]
    return [*ends, *mapped, "::1", "::", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::7f00:1"]


async def test_no_private_address_is_ever_connected_to(engine: Engine, clock: FakeClock) -> None:
    connected: list[str] = []

    class Connector(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            connected.append(request.url.host)
            return httpx.Response(200, request=request)

    addresses = every_block()
    hosts = {f"host{number}.test": address for number, address in enumerate(addresses)}

    async def resolve(host: str, _: int) -> tuple[str, ...]:
        # One public address beside it does not help.
        return (hosts[host],) if host in hosts else ("93.184.216.34", hosts[host.removeprefix("mixed-")])

    http = GuardedHttp(frozenset(), connect=1, idle=1, resolve=resolve, transport=Connector())
    types = event_types(engine.extension)
    sender = Sender(engine.store, types, AddressRules(), SenderSettings(bound=200), http)
    urls = [f"https://{mixed}{host}/hook" for host in hosts for mixed in ("", "mixed-")]
    await engine.submit_many([Submission(pipeline="simple", callback=url) for url in urls])
    worker = await a_worker(engine)
    tasks = (await engine.claim(worker, 1000)).tasks
    assert len(tasks) == len(urls)
    assert await sender.deliver() == len(urls)
    assert connected == []
    (webhook,) = await engine.webhooks.all()
    found = (await engine.webhooks.deliveries(webhook.id, limit=1000)).items
    assert {(each.attempts[0].failure or "").partition(" ")[2] for each in found} == {
        "is not a public address; hint: REEL_WEBHOOK_ALLOW"
    }
    for address in addresses:
        host = f"[{address}]" if ":" in address else address
        with pytest.raises(InvalidRequest):
            AddressRules().require("url", f"https://{host}/hook")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "https://",
        "https:///path",
        "https://user:password@example.com/",
        "https://example.com/#fragment",
        "https://exa mple.com/",
        "https://example.com:99999/",
        "https://[::1",
        "https://10.0.0.1/",
        "https://[::1]/",
        "/path",
        "",
        "https://example.com/" + "x" * 3000,
        "https://example.com/\x00",
    ],
)
async def test_a_bad_url_is_refused_with_a_hint(engine: Engine, url: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        await engine.webhooks.add(url)
    assert raised.value.hint
    with pytest.raises(InvalidRequest):
        await engine.submit("simple", callback=url)


async def test_an_unknown_event_is_refused(engine: Engine, receiver: Receiver) -> None:
    with pytest.raises(InvalidRequest, match=r"job\.complete"):
        await subscribe(engine, receiver, "job.complete")


async def test_secrets_are_in_no_listing_error_or_log(
    engine: Engine, receiver: Receiver, sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.scripts["/hook"] = answering("500 No")
    made = await engine.webhooks.add(receiver.url("/hook") + "?key=hidden", events=["job.completed"])
    await finish(engine)
    receiver.scripts["/hook?key=hidden"] = answering("500 No")
    await sender.deliver()
    shown = [repr(made), repr(await engine.webhooks.all()), repr(await deliveries(engine, made)), caplog.text]
    assert made.webhook.url.endswith("/hook?…")
    for text in shown:
        assert made.secret not in text
        assert made.secret.removeprefix("whsec_") not in text
        assert "hidden" not in text
    assert receiver.received[0].path == "/hook?key=hidden"


async def test_old_deliveries_are_pruned(engine: Engine, receiver: Receiver, sender: Sender, clock: FakeClock) -> None:
    made = await subscribe(engine, receiver)
    await finish(engine)
    await sender.deliver()
    clock.advance(10)
    await finish(engine)
    assert await sender.prune(older=5) == 1
    assert [each.status for each in await deliveries(engine, made)] == [DeliveryStatus.PENDING]


async def test_a_removed_webhook_takes_its_deliveries_with_it(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    made = await subscribe(engine, receiver)
    await finish(engine)
    await engine.webhooks.remove(made.webhook.id)
    assert await sender.deliver() == 0
    assert await engine.webhooks.all() == []
