"""videos: versions are jobs; what plays, what is pinned, deleted and removed follows from them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from reelstate.core.errors import IdempotencyConflict, InvalidRequest, NotFound, UnknownPipeline
from reelstate.core.machine import JobStatus
from reelstate.core.model import (
    Json,
    Submission,
    Submitted,
    Verdict,
)
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.library.model import ExistingVideo, NewVideo, VideoStatus
from reelstate.library.publishing import mark_swept, needed_sources, remove_versions
from reelstate.library.videos import Videos
from reelstate.pipelines.declaration import Pipeline
from tests.conformance.scenarios import fail_for_good, finish, progress, status_of, take, take_one
from tests.engines import FakeClock, a_worker, done

TRANSCODE = Graph.of(
    "transcode",
    built_in=True,
    stages=[
        StageSpec(name="plan", phase=JobStatus.PLANNING),
        StageSpec(name="publish", after=("plan",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)
DAY = 86_400.0


@pytest.fixture(autouse=True)
async def transcode(engine: Engine) -> None:
    await engine.declare(TRANSCODE)


async def a_video(engine: Engine, source: str = "/videos/a.mp4", **options: Any) -> Submitted:
    return await Videos(engine).submit(source, **{"title": "A", **options})


def video_of(answer: Submitted) -> int:
    assert answer.resource_id is not None
    return answer.resource_id


async def completed(engine: Engine, *answers: Submitted) -> list[int]:
    """Run whatever there is to its end."""
    await finish(engine, await a_worker(engine), {"publish": {"master": "m.m3u8"}})
    for answer in answers:
        assert await status_of(engine, answer.job_id) is JobStatus.COMPLETED
    return [answer.job_id for answer in answers]


async def broken(engine: Engine, answer: Submitted) -> int:
    await fail_for_good(engine, *await take(engine, await a_worker(engine)))
    assert await status_of(engine, answer.job_id) is JobStatus.FAILED
    return answer.job_id


async def a_library(engine: Engine, versions: int) -> tuple[int, list[int]]:
    """A video with so many completed versions; gives it and its jobs, the oldest first."""
    first = await a_video(engine)
    jobs = await completed(engine, first)
    for _ in range(versions - 1):
        jobs += await completed(engine, await Videos(engine).retranscode(video_of(first)))
    return video_of(first), jobs


async def current(engine: Engine, video_id: int) -> int | None:
    return (await Videos(engine).get(video_id)).video.current


async def spec_of(engine: Engine, job_id: int) -> Json:
    return (await engine.job(job_id)).job.spec


async def listed(engine: Engine, **wanted: Any) -> list[int]:
    return [video.id for video in (await Videos(engine).list(**wanted)).items]


async def test_a_video_is_made_with_its_first_job(engine: Engine, clock: FakeClock) -> None:
    answer = await a_video(engine, spec={"profile": "small"}, user_id="ada", priority=8)
    detail = await Videos(engine).get(video_of(answer))
    video = detail.video
    assert (video.title, video.source, video.user_id) == ("A", "/videos/a.mp4", "ada")
    assert (video.status, video.current, video.pinned, video.latest) == ("pending", None, None, answer.job_id)
    assert (video.created_at, video.deleted_at, video.version, video.actor) == (clock.now, None, 1, "user")
    (version,) = detail.versions
    assert (version.job.id, version.job.resource_id, version.job.priority) == (answer.job_id, video.id, 8)
    assert version.job.spec == {"source": "/videos/a.mp4", "profile": "small", "video_id": video.id}
    assert (version.outputs, version.current, version.removed_at) == ({}, False, None)
    assert video.id != answer.job_id


async def test_a_version_forced_to_completed_does_not_replace_one_that_plays(engine: Engine, clock: FakeClock) -> None:
    video_id, (plays,) = await a_library(engine, 1)
    forced = (await Videos(engine).retranscode(video_id)).job_id
    await engine.force(forced, JobStatus.COMPLETED, reason="it hangs")
    assert await current(engine, video_id) == plays
    clock.advance(30 * DAY)
    assert await remove_versions(engine.store, keep=DAY) == [forced]
    assert await current(engine, video_id) == plays
    first = await a_video(engine)
    await engine.force(first.job_id, JobStatus.COMPLETED, reason="it hangs")
    assert (await Videos(engine).get(video_of(first))).video.status is VideoStatus.FAILED
    assert await listed(engine, statuses=[VideoStatus.FAILED]) == [first.resource_id]


async def test_a_job_without_a_video_has_none(engine: Engine) -> None:
    answer = await engine.submit("simple")
    assert answer.resource_id is None
    assert (await engine.job(answer.job_id)).job.resource_id is None
    assert (await engine.jobs()).items[0].resource_id is None


async def test_a_video_made_again_under_its_key_is_the_same(engine: Engine) -> None:
    first = await a_video(engine, idempotency_key="k")
    again = await a_video(engine, idempotency_key="k")
    assert again == Submitted(first.job_id, Verdict.REPEATED, first.resource_id)
    assert await listed(engine) == [first.resource_id]


@pytest.mark.parametrize("other", [{"title": "B"}, {"source": "/videos/b.mp4"}, {"spec": {"profile": "x"}}])
async def test_a_key_does_not_stand_for_two_videos(engine: Engine, other: dict[str, Any]) -> None:
    first = await a_video(engine, idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        await a_video(engine, idempotency_key="k", **other)
    assert await listed(engine) == [first.resource_id]


async def test_of_many_that_make_a_video_under_one_key_one_makes_it(engine: Engine) -> None:
    answers = await asyncio.gather(*(a_video(engine, idempotency_key="k") for _ in range(8)))
    assert len({(answer.job_id, answer.resource_id) for answer in answers}) == 1
    assert [answer.verdict for answer in answers].count(Verdict.OK) == 1
    assert len(await listed(engine)) == 1


@pytest.mark.parametrize(
    "wrong", [{"source": ""}, {"source": "a\x00b"}, {"title": "x" * 2000}, {"spec": ["no", "object"]}]
)
async def test_an_invalid_video_is_not_created(engine: Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await a_video(engine, **wrong)
    assert await listed(engine) == []


async def test_a_video_needs_a_pipeline_that_is_declared(engine: Engine) -> None:
    with pytest.raises(UnknownPipeline):
        await a_video(engine, pipeline="nobodys")
    assert await listed(engine) == []


async def test_the_status_of_a_video_is_read_from_its_jobs(engine: Engine) -> None:
    first = await a_video(engine)
    video_id = video_of(first)

    async def status() -> VideoStatus:
        return (await Videos(engine).get(video_id)).video.status

    assert await status() is VideoStatus.PENDING
    worker = await a_worker(engine)
    task = await take_one(engine, worker)
    assert await status() is VideoStatus.PROCESSING
    await fail_for_good(engine, task)
    assert await status() is VideoStatus.FAILED
    second = await Videos(engine).retranscode(video_id)
    assert await status() is VideoStatus.PENDING
    await completed(engine, second)
    assert await status() is VideoStatus.READY
    third = await Videos(engine).retranscode(video_id)
    await take_one(engine, worker)
    assert await status() is VideoStatus.READY
    await engine.cancel(third.job_id)
    assert await status() is VideoStatus.READY


async def test_a_quarantined_or_cancelled_first_job_is_a_failed_video(engine: Engine) -> None:
    one, other = await a_video(engine), await a_video(engine)
    await engine.quarantine(one.job_id, reason="odd")
    await engine.cancel(other.job_id)
    assert await listed(engine, statuses=[VideoStatus.FAILED]) == [other.resource_id, one.resource_id]


async def test_the_newest_completed_version_plays(engine: Engine) -> None:
    video_id, (_, second) = await a_library(engine, 2)
    detail = await Videos(engine).get(video_id)
    assert [version.current for version in detail.versions] == [True, False]
    assert detail.video.current == second
    assert detail.versions[0].outputs == {"publish": {"master": "m.m3u8"}}


@pytest.mark.parametrize(
    "result, shown",
    [
        ({"poster": "a/poster.jpg", "rungs": ["720p", "360p"], "duration": 2}, ("a/poster.jpg", ("720p", "360p"), 2.0)),
        ({"poster": 7, "rungs": "720p", "duration": "long"}, (None, (), None)),
        ({}, (None, (), None)),
    ],
)
async def test_a_list_shows_the_picture_and_qualities_of_what_plays(
    engine: Engine, result: dict[str, Json], shown: tuple[Any, ...]
) -> None:
    await a_video(engine)
    await finish(engine, await a_worker(engine), {"publish": result})
    (video,) = (await Videos(engine).list()).items
    assert (video.poster, video.rungs, video.duration) == shown


async def test_a_retranscode_that_fails_leaves_the_old_version_playing(engine: Engine) -> None:
    video_id, (first,) = await a_library(engine, 1)
    second = await Videos(engine).retranscode(video_id)
    assert await current(engine, video_id) == first
    await broken(engine, second)
    detail = await Videos(engine).get(video_id)
    assert (detail.video.current, detail.video.status, detail.video.latest) == (first, "ready", second.job_id)


async def test_a_version_that_was_submitted_later_and_ends_first_stays(engine: Engine) -> None:
    video_id, _ = await a_library(engine, 1)
    older = await Videos(engine).retranscode(video_id)
    newer = await Videos(engine).retranscode(video_id, priority=10)
    worker = await a_worker(engine)
    held = [await take_one(engine, worker) for _ in range(2)]
    assert [task.key.job_id for task in held] == [newer.job_id, older.job_id]
    for task in held:
        await engine.complete([done(task)])
        await finish(engine, worker)
        assert await current(engine, video_id) == newer.job_id


async def test_a_further_version_inherits_the_fields_it_does_not_set(engine: Engine) -> None:
    first = await a_video(engine, spec={"profile": {"name": "mine"}, "captions": "drop"})
    second = await Videos(engine).retranscode(video_of(first))
    third = await Videos(engine).retranscode(video_of(first), spec={"profile": "other", "captions": None})
    base = {"source": "/videos/a.mp4", "video_id": first.resource_id}
    assert await spec_of(engine, second.job_id) == {**base, "profile": {"name": "mine"}, "captions": "drop"}
    assert await spec_of(engine, third.job_id) == {**base, "profile": "other", "captions": "drop"}


async def test_chosen_qualities_build_on_the_version_that_plays(engine: Engine) -> None:
    video_id, (first, second) = await a_library(engine, 2)
    some = await Videos(engine).retranscode(video_id, spec={"qualities": ["1080p"]})
    assert (await spec_of(engine, some.job_id))["reuse_from"] == second
    await Videos(engine).pin(video_id, first)
    pinned = await Videos(engine).retranscode(video_id, spec={"qualities": ["1080p"]})
    assert (await spec_of(engine, pinned.job_id))["reuse_from"] == first
    everything = await Videos(engine).retranscode(video_id)
    assert "reuse_from" not in await spec_of(engine, everything.job_id)


async def test_a_version_builds_only_on_a_completed_one_of_the_same_video(engine: Engine) -> None:
    video_id, _ = await a_library(engine, 1)
    _, (foreign,) = await a_library(engine, 1)
    waiting = await Videos(engine).retranscode(video_id)
    for job_id in (foreign, waiting.job_id, 7, "x"):
        with pytest.raises(InvalidRequest, match="reuse_from"):
            await Videos(engine).retranscode(video_id, spec={"reuse_from": job_id})


async def test_a_further_version_under_its_key_is_the_same_though_the_library_changed(engine: Engine) -> None:
    video_id, _ = await a_library(engine, 1)
    wanted: dict[str, Any] = {"spec": {"qualities": ["720p"]}, "idempotency_key": "again"}
    first = await Videos(engine).retranscode(video_id, **wanted)
    await completed(engine, first)
    again = await Videos(engine).retranscode(video_id, **wanted)
    assert (again.job_id, again.verdict, again.resource_id) == (first.job_id, Verdict.REPEATED, video_id)


async def test_a_version_of_no_video_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFound, match="there is no video 7"):
        await Videos(engine).retranscode(7)
    with pytest.raises(NotFound):
        await Videos(engine).get(7)
    assert (await engine.jobs()).items == []


async def test_a_pinned_version_plays_until_it_is_unpinned(engine: Engine) -> None:
    video_id, (first, second) = await a_library(engine, 2)
    assert await Videos(engine).pin(video_id, first, actor="operator:ada", reason="green faces") is Verdict.OK
    video = (await Videos(engine).get(video_id)).video
    assert (video.current, video.pinned, video.version, video.actor, video.reason) == (
        *(first, first, 2),
        *("operator:ada", "green faces"),
    )
    assert await Videos(engine).pin(video_id, first) is Verdict.REPEATED
    (third,) = await completed(engine, await Videos(engine).retranscode(video_id))
    assert await current(engine, video_id) == first
    assert await Videos(engine).unpin(video_id) is Verdict.OK
    assert await current(engine, video_id) == third
    assert await Videos(engine).unpin(video_id) is Verdict.REPEATED
    assert (await Videos(engine).get(video_id)).video.version == 3
    assert second < third


async def test_only_a_completed_version_of_the_same_video_can_be_pinned(engine: Engine) -> None:
    video_id, (first,) = await a_library(engine, 1)
    _, (foreign,) = await a_library(engine, 1)
    failed = await broken(engine, await Videos(engine).retranscode(video_id))
    waiting = await Videos(engine).retranscode(video_id)
    for job_id in (foreign, failed, waiting.job_id, 7):
        with pytest.raises(InvalidRequest, match="not a completed version"):
            await Videos(engine).pin(video_id, job_id)
    with pytest.raises(NotFound):
        await Videos(engine).pin(7, first)
    assert (await Videos(engine).get(video_id)).video.pinned is None


async def test_a_rollback_goes_to_the_version_before(engine: Engine) -> None:
    video_id, (first, second, third) = await a_library(engine, 3)
    await broken(engine, await Videos(engine).retranscode(video_id))
    assert await current(engine, video_id) == third
    assert await Videos(engine).rollback(video_id) == second
    assert await Videos(engine).rollback(video_id) == first
    assert await current(engine, video_id) == first
    with pytest.raises(InvalidRequest, match="no earlier version"):
        await Videos(engine).rollback(video_id)


async def test_a_rollback_needs_a_version_that_plays(engine: Engine) -> None:
    answer = await a_video(engine)
    with pytest.raises(InvalidRequest, match="no earlier version"):
        await Videos(engine).rollback(video_of(answer))


async def test_a_deleted_video_ends_its_jobs_and_takes_no_more(engine: Engine, clock: FakeClock) -> None:
    video_id, (first,) = await a_library(engine, 1)
    failed = await broken(engine, await Videos(engine).retranscode(video_id))
    running = await Videos(engine).retranscode(video_id)
    task = await take_one(engine, await a_worker(engine))
    other = await a_video(engine)
    assert await Videos(engine).delete(video_id, actor="operator:ada", reason="a mistake") is Verdict.OK
    statuses = [await status_of(engine, job_id) for job_id in (first, failed, running.job_id, other.job_id)]
    assert statuses == ["completed", "cancelled", "cancelled", "pending"]
    job = (await engine.job(running.job_id)).job
    assert (job.actor, job.reason) == ("operator:ada", "the video was deleted: a mistake")
    assert await engine.complete([done(task)]) == [Verdict.CANCELLED]
    videos = Videos(engine)
    for refused in (
        videos.retranscode(video_id),
        videos.pin(video_id, first),
        videos.rollback(video_id),
    ):
        with pytest.raises(InvalidRequest, match="was deleted"):
            await refused
    assert await listed(engine) == [other.resource_id]
    assert await listed(engine, deleted=True) == [other.resource_id, video_id]
    assert (await Videos(engine).get(video_id)).video.deleted_at == clock.now
    assert await Videos(engine).delete(video_id) is Verdict.REPEATED
    with pytest.raises(NotFound):
        await Videos(engine).delete(7)


async def test_no_version_slips_into_a_video_as_it_is_deleted(engine: Engine) -> None:
    for _ in range(5):
        video_id = video_of(await a_video(engine))
        adding = [Videos(engine).retranscode(video_id) for _ in range(3)]
        await asyncio.gather(Videos(engine).delete(video_id), *adding, return_exceptions=True)
        detail = await Videos(engine).get(video_id)
        assert detail.video.deleted_at is not None
        assert {version.job.status for version in detail.versions} == {JobStatus.CANCELLED}


async def test_videos_are_listed_in_pages_the_newest_first(engine: Engine) -> None:
    made = [video_of(await a_video(engine, title=str(number))) for number in range(5)]
    page = await Videos(engine).list(limit=2)
    assert [video.id for video in page.items] == made[:2:-1]
    page = await Videos(engine).list(limit=2, after=page.after)
    assert [video.id for video in page.items] == made[2:0:-1]
    page = await Videos(engine).list(limit=2, after=page.after)
    assert ([video.id for video in page.items], page.after) == (made[:1], None)
    with pytest.raises(InvalidRequest):
        await Videos(engine).list(limit=0)
    with pytest.raises(InvalidRequest):
        await Videos(engine).list(after="x")


@pytest.mark.parametrize(
    "wanted, expected",
    [
        ({}, "abcd"),
        ({"statuses": ["ready"]}, "a"),
        ({"statuses": ["failed", "pending"]}, "bd"),
        ({"statuses": ["processing"]}, "c"),
        ({"statuses": []}, ""),
        ({"user_id": "ada"}, "bd"),
        ({"user_id": ""}, "ac"),
        ({"user_id": "ada", "statuses": ["pending"]}, "d"),
        ({"user_id": "nobody"}, ""),
    ],
)
async def test_videos_are_found_by_status_and_user(engine: Engine, wanted: dict[str, Any], expected: str) -> None:
    await completed(engine, await a_video(engine, title="a"))
    await broken(engine, await a_video(engine, title="b", user_id="ada"))
    await a_video(engine, title="c")
    await take_one(engine, await a_worker(engine))
    await a_video(engine, title="d", user_id="ada")
    page = await Videos(engine).list(**wanted)
    assert "".join(sorted(video.title for video in page.items)) == expected


async def removed(engine: Engine, clock: FakeClock, seconds: float, keep: float = 7 * DAY) -> list[int]:
    clock.advance(seconds)
    return await remove_versions(engine.store, keep=keep)


async def test_a_superseded_version_is_removed_in_time(engine: Engine, clock: FakeClock) -> None:
    video_id, (first, second, third) = await a_library(engine, 3)
    assert await removed(engine, clock, 6.9 * DAY) == []
    assert await removed(engine, clock, 0.1 * DAY) == [first, second]
    detail = await Videos(engine).get(video_id)
    assert [version.removed_at is None for version in detail.versions] == [True, False, False]
    assert (detail.video.current, detail.versions[1].outputs) == (third, {})
    with pytest.raises(InvalidRequest, match="was removed"):
        await Videos(engine).pin(video_id, first)
    with pytest.raises(InvalidRequest, match="no earlier version"):
        await Videos(engine).rollback(video_id)


async def test_a_version_is_given_until_its_bytes_are_gone(engine: Engine, clock: FakeClock) -> None:
    _, (first, second, _) = await a_library(engine, 3)
    assert await removed(engine, clock, 8 * DAY) == [first, second]
    await mark_swept(engine.store, [first])
    assert await removed(engine, clock, 0) == [second]
    await mark_swept(engine.store, [second, first])
    assert await removed(engine, clock, 30 * DAY) == []


async def test_the_time_counts_from_the_version_that_superseded(engine: Engine, clock: FakeClock) -> None:
    video_id, (first,) = await a_library(engine, 1)
    clock.advance(30 * DAY)
    await completed(engine, await Videos(engine).retranscode(video_id))
    assert await removed(engine, clock, 6 * DAY) == []
    assert await removed(engine, clock, 1 * DAY) == [first]


async def test_what_a_failed_or_unfinished_version_was_to_supersede_stays(engine: Engine, clock: FakeClock) -> None:
    video_id, (first,) = await a_library(engine, 1)
    await broken(engine, await Videos(engine).retranscode(video_id))
    await Videos(engine).retranscode(video_id)
    assert await removed(engine, clock, 30 * DAY) == []
    assert await current(engine, video_id) == first


async def test_a_pinned_version_stays_and_so_does_the_newest(engine: Engine, clock: FakeClock) -> None:
    video_id, (first, second, third) = await a_library(engine, 3)
    await Videos(engine).pin(video_id, first)
    assert await removed(engine, clock, 30 * DAY) == [second]
    await Videos(engine).unpin(video_id)
    assert await current(engine, video_id) == third
    assert first not in await removed(engine, clock, 6 * DAY)
    assert first in await removed(engine, clock, 1 * DAY)


async def test_what_a_version_was_built_on_stays_with_it(engine: Engine, clock: FakeClock) -> None:
    video_id, (first,) = await a_library(engine, 1)
    some = {"qualities": ["720p"]}
    (second,) = await completed(engine, await Videos(engine).retranscode(video_id, spec=some))
    (third,) = await completed(engine, await Videos(engine).retranscode(video_id, spec=some))
    assert await removed(engine, clock, 30 * DAY) == []
    await completed(engine, await Videos(engine).retranscode(video_id))
    swept: list[int] = []
    for _ in range(3):
        swept += [job_id for job_id in await removed(engine, clock, 30 * DAY) if job_id not in swept]
    assert swept == [third, second, first]


async def test_sources_are_needed_while_a_job_may_still_read_them(engine: Engine) -> None:
    """Both the results and the checkpoints of its tasks name sources."""
    worker = await a_worker(engine)
    running, failed_one, gone = [(await a_video(engine)).job_id for _ in range(3)]
    for task in await take(engine, worker):
        await engine.report(worker, [progress(task, checkpoint={"source": f"of {task.key.job_id}"})])
    assert await needed_sources(engine.store) == {f"of {job}" for job in (running, failed_one, gone)}
    await engine.force(failed_one, JobStatus.FAILED, reason="test")
    await engine.cancel(gone)
    assert await needed_sources(engine.store) == {f"of {job}" for job in (running, failed_one)}
    await engine.cancel(failed_one)
    await engine.cancel(running)
    last = await a_video(engine)
    await engine.complete([done(await take_one(engine, worker), {"source": "fetched"})])
    assert await needed_sources(engine.store) == {"fetched"}
    await completed(engine, last)
    assert await needed_sources(engine.store) == set()


async def test_cancelled_versions_are_removed(engine: Engine, clock: FakeClock) -> None:
    video_id, _ = await a_library(engine, 1)
    cancelled = await Videos(engine).retranscode(video_id)
    await engine.cancel(cancelled.job_id)
    assert await removed(engine, clock, 6 * DAY) == []
    assert await removed(engine, clock, 1 * DAY) == [cancelled.job_id]


async def test_a_deleted_video_loses_all_its_versions(engine: Engine, clock: FakeClock) -> None:
    video_id, jobs = await a_library(engine, 2)
    await Videos(engine).pin(video_id, jobs[0])
    kept, _ = await a_library(engine, 1)
    clock.advance(30 * DAY)
    await Videos(engine).delete(video_id)
    assert await removed(engine, clock, 6 * DAY) == []
    assert await removed(engine, clock, 1 * DAY) == jobs
    assert await current(engine, kept) is not None


async def test_a_deleted_video_is_restored_while_a_version_of_it_is_kept(engine: Engine, clock: FakeClock) -> None:
    video_id, jobs = await a_library(engine, 2)
    videos = Videos(engine)
    assert await videos.restore(video_id) is Verdict.REPEATED
    await videos.delete(video_id)
    assert await videos.restore(video_id, actor="user:ada", reason="a slip") is Verdict.OK
    video = (await videos.get(video_id)).video
    assert (video.deleted_at, video.current, video.actor, video.reason) == (None, jobs[-1], "user:ada", "a slip")
    with pytest.raises(NotFound):
        await videos.restore(7)
    await videos.delete(video_id)
    assert await removed(engine, clock, 8 * DAY) == jobs
    with pytest.raises(InvalidRequest, match="were removed"):
        await videos.restore(video_id)
    never = video_of(await a_video(engine))
    await videos.delete(never)
    with pytest.raises(InvalidRequest, match="were removed"):
        await videos.restore(never)


async def test_a_version_is_not_pinned_as_it_is_removed(engine: Engine, clock: FakeClock) -> None:
    for _ in range(5):
        video_id, (first, _) = await a_library(engine, 2)
        clock.advance(8 * DAY)
        outcomes: Sequence[object] = await asyncio.gather(
            Videos(engine).pin(video_id, first), remove_versions(engine.store, keep=7 * DAY), return_exceptions=True
        )
        pinned = (await Videos(engine).get(video_id)).video.pinned == first
        is_removed = (await Videos(engine).get(video_id)).versions[1].removed_at is not None
        assert pinned is not is_removed, outcomes


async def test_a_pipeline_looks_at_specs_when_they_are_complete(engine: Engine) -> None:
    seen: list[Json] = []

    def check(spec: Json) -> None:
        seen.append(spec)
        if spec.get("profile") == "none":
            raise ValueError("there is no such profile")

    checked = Pipeline("transcode", check=check, built_in=True)
    checked.stage(name="publish")(lambda _: None)
    await engine.declare(checked)
    first = await a_video(engine, spec={"profile": "small"})
    again = await Videos(engine).retranscode(video_of(first), spec={"captions": "drop"})
    assert seen == [(await engine.job(answer.job_id)).job.spec for answer in (first, again)]
    for submission in (
        Submission(pipeline="transcode", spec={"profile": "none"}),
        Submission(pipeline="transcode", spec={"profile": "none"}, resource=NewVideo(source="/videos/b.mp4")),
        Submission(
            pipeline="transcode", spec={"profile": "none"}, resource=ExistingVideo(video_of(first)), idempotency_key="k"
        ),
    ):
        with pytest.raises(InvalidRequest, match="there is no such profile") as refused:
            await engine.submit_many([Submission(pipeline="simple"), submission])
        assert refused.value.field == "spec"
    assert {job.id for job in (await engine.jobs()).items} == {first.job_id, again.job_id}
    assert [video.id for video in (await Videos(engine).list()).items] == [first.resource_id]


async def test_a_spec_completed_by_its_video_is_checked_by_the_stored_schema(engine: Engine) -> None:
    schema = {"properties": {"captions": {"enum": ["keep", "drop"]}}, "required": ["source", "video_id"]}
    await engine.declare(Graph.of("transcode", [StageSpec(name="publish")], built_in=True, spec=schema))
    elsewhere = Engine(engine.store, extension=engine.extension)
    video_id = video_of(await Videos(elsewhere).submit("/videos/a.mp4"))
    with pytest.raises(InvalidRequest, match=r'spec\.captions: "no" is not one of'):
        await Videos(elsewhere).retranscode(video_id, spec={"captions": "no"})
    assert (await Videos(elsewhere).retranscode(video_id, spec={"captions": "drop"})).verdict is Verdict.OK
    assert len((await Videos(engine).get(video_id)).versions) == 2
