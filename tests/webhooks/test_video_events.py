"""The events of videos: viewable and ready once per version, failed with its error."""

from reelstate.engine import Engine
from reelstate.library.events import mark_viewable
from reelstate.library.publishing import UnpublishedVersion, mark_published
from reelstate.library.videos import Videos
from reelstate.sender import Sender
from tests.engines import a_worker, done, failed
from tests.webhooks.receiver import Receiver


async def test_a_version_is_viewable_and_ready_once(engine: Engine, receiver: Receiver, sender: Sender) -> None:
    made = await engine.webhooks.add(receiver.url(), events=["video.viewable", "video.ready"], user_id="ada")
    other = await engine.webhooks.add(receiver.url("/bob"), user_id="bob")
    submitted = await Videos(engine).submit(
        "a.mp4", pipeline="simple", user_id="ada", callback=receiver.url("/callback")
    )
    video_id, job_id = submitted.resource_id or 0, submitted.job_id
    for _ in range(2):
        await mark_viewable(engine.store, video_id=video_id, job_id=job_id, user_id="ada")
    await sender.deliver()
    assert [each.document["type"] for each in receiver.at("/hook")] == ["video.viewable"]
    tasks = (await engine.claim(await a_worker(engine))).tasks
    await engine.complete([done(task) for task in tasks])
    assert await mark_published(engine.store, UnpublishedVersion(video_id, None, job_id))
    assert not await mark_published(engine.store, UnpublishedVersion(video_id, None, job_id)), "it was published"
    assert await mark_published(engine.store, UnpublishedVersion(video_id, job_id, None))
    assert await mark_published(engine.store, UnpublishedVersion(video_id, None, job_id)), "a rollback"
    await sender.deliver()
    documents = [each.document for each in receiver.at("/hook")]
    assert [each["type"] for each in documents] == ["video.viewable", "video.ready"]
    assert documents[1]["data"] == {"video_id": video_id, "job_id": job_id, "user_id": "ada"}
    assert all(each.is_signed_with(made.secret) for each in receiver.at("/hook"))
    kinds = ["job.completed", "job.started", "video.ready", "video.viewable"]
    assert sorted(each.document["type"] for each in receiver.at("/callback")) == kinds
    assert (await engine.webhooks.deliveries(other.webhook.id)).items == []


async def test_a_failed_version_is_an_event_of_its_video_and_other_jobs_are_not(
    engine: Engine, receiver: Receiver, sender: Sender
) -> None:
    await engine.webhooks.add(receiver.url(), events=["video.failed"])
    submitted = await Videos(engine).submit("a.mp4", pipeline="simple")
    await engine.submit("simple")
    tasks = (await engine.claim(await a_worker(engine), 10)).tasks
    await engine.fail([failed(task, retryable=False) for task in tasks])
    await sender.deliver()
    (received,) = receiver.received
    assert received.document["data"] == {
        "video_id": submitted.resource_id,
        "job_id": submitted.job_id,
        "user_id": "",
        "error": {"stage": "main", "part": 0, "type": "", "message": "it broke"},
    }
