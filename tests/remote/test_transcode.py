"""Whole films through a remote worker: real processes, a real ffmpeg, nothing shared but the network."""

from pathlib import Path

import pytest

from tests.media.films import RATE, film
from tests.remote.outpost import ENCODE, Outpost

SECONDS = 3


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("films") / "film.mp4", SECONDS)


async def test_a_film_is_made_by_a_worker_that_knows_an_address_and_a_key(outpost: Outpost, source: Path) -> None:
    await outpost.serve()
    worker = await outpost.worker("far")
    job = await outpost.submit(source)
    stream = await outpost.stream(job)
    assert {len(frames) for frames in stream.played().values()} == {SECONDS * RATE}
    assert sorted(await outpost.encodes(job)) == [(part, 1) for part in range(SECONDS)]
    made_by = {task.last_worker for task in await outpost.fleet.tasks(job)}
    assert made_by == {(await outpost.fleet.named("far")).id}
    assert (await outpost.fleet.named("far")).kind == "remote"
    assert outpost.keys["far"] not in worker.log
    assert ENCODE
