"""Versions of videos stay where playback reads them, until their files are deleted."""

from reelstate.library.publishing import mark_swept, remove_versions
from reelstate.library.videos import Videos
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, hot_ids


async def test_a_version_that_plays_stays_and_one_whose_files_are_deleted_moves(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        videos = Videos(engine)
        first = await videos.submit("a.mp4", pipeline="simple", user_id="ada")
        assert first.resource_id is not None
        await complete_jobs(engine, 0)
        second = await videos.retranscode(first.resource_id, pipeline="simple")
        await complete_jobs(engine, 0)
        clock.advance(400 * DAY)
        before = await videos.get(first.resource_id)
        assert (await engine.archive()).total == 0
        assert await videos.get(first.resource_id) == before
        assert [video.current for video in (await videos.list()).items] == [second.job_id]

        removed = await remove_versions(engine.store, keep=7 * DAY, limit=100)
        assert removed == [first.job_id]
        assert (await engine.archive()).total == 0, "its files may still be there"
        await mark_swept(engine.store, removed)
        assert (await engine.archive()).total == 1
        assert hot_ids(database_url) == [second.job_id]
        assert (await engine.job(first.job_id)).job.archived
        assert (await videos.get(first.resource_id)).video == before.video

        await videos.delete(first.resource_id)
        clock.advance(400 * DAY)
        assert (await engine.archive()).total == 0
        await mark_swept(engine.store, await remove_versions(engine.store, keep=7 * DAY, limit=100))
        assert (await engine.archive()).total == 1
        assert hot_ids(database_url) == []
