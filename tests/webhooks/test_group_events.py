"""The end of a group is an event: one for each webhook and one for its callback, for each round."""

from reelstate.core.model import Submission
from reelstate.engine import Engine
from reelstate.sender import Sender
from tests.engines import a_worker, done, failed
from tests.webhooks.receiver import Receiver


async def test_a_group_has_one_event_and_one_callback_for_each_round(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    made = await engine.webhooks.add(receiver.url(), events=["group.finished"], user_id="ada")
    await engine.webhooks.add(receiver.url("/bob"), user_id="bob", events=["group.finished"])
    terms = {"pipeline": "simple", "group": "nightly", "user_id": "ada"}
    jobs = await engine.submit_many([Submission(**terms, group_callback=receiver.url("/callback"))] * 3)  # type: ignore[arg-type]
    tasks = (await engine.claim(await a_worker(engine), 10)).tasks
    await engine.complete([done(task) for task in tasks[:2]])
    await engine.orchestrate()
    await sender.deliver()
    assert receiver.received == []
    await engine.fail([failed(tasks[2], retryable=False)])
    for _ in range(2):
        await engine.orchestrate()
        await sender.deliver()
    (event,) = receiver.at("/hook")
    assert event.is_signed_with(made.secret)
    data = event.document["data"]
    assert (event.document["type"], data["group"], data["status"], data["round"]) == (
        "group.finished",
        "nightly",
        "failed",
        1,
    )
    assert (data["jobs"], data["counts"], data["progress"]) == (3, {"completed": 2, "failed": 1}, 100.0)
    (callback,) = receiver.at("/callback")
    assert callback.document["data"] == data
    assert receiver.at("/bob") == []
    await engine.retry(jobs[2].job_id)
    tasks = (await engine.claim(await a_worker(engine, "other"), 10)).tasks
    await engine.complete([done(task) for task in tasks])
    await engine.orchestrate()
    await sender.deliver()
    assert [each.document["data"]["round"] for each in receiver.at("/callback")] == [1, 2]
    assert [each.document["data"]["status"] for each in receiver.at("/hook")] == ["failed", "completed"]


async def test_the_newest_callback_of_a_group_counts(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    for path in ("/first", "/second"):
        await engine.submit("simple", group="nightly", group_callback=receiver.url(path))
    await engine.submit("simple", group="nightly")
    assert (await engine.group("nightly")).callback == receiver.url("/second")
    tasks = (await engine.claim(await a_worker(engine), 10)).tasks
    await engine.complete([done(task) for task in tasks])
    await engine.orchestrate()
    await sender.deliver()
    assert [each.path for each in receiver.received] == ["/second"]
