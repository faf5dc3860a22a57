"""The commands on each store, from submit to history."""

import asyncio

from tests.cli.conftest import Reel
from tests.engines import engine_at


def test_a_job_is_submitted_shown_and_changed_on_each_store(reel: Reel, database_url: str) -> None:
    async def declare() -> None:
        async with engine_at(database_url):
            pass

    asyncio.run(declare())
    job_id = reel("submit", "parts", "--spec", '{"parts": 2}', "--json", "-d", database_url).json["id"]
    for arguments in (["quarantine", job_id, "--reason", "x"], ["retry", job_id, "--from", "part"], ["cancel", job_id]):
        assert reel(*arguments, "-d", database_url).code == 0
    assert reel("job", job_id, "--json", "-d", database_url).json["status"] == "cancelled"
    assert [job["id"] for job in reel("jobs", "--json", REEL_DATABASE_URL=database_url).json] == [job_id]
    history = reel("history", job_id, "--json", "-d", database_url).json
    assert [event["to"] for event in history if event["entity"] == "job"] == [
        *("pending", "quarantined", "pending", "cancelled")
    ]
    watched = reel("watch", job_id, "--json", "-d", database_url)
    assert (watched.code, len(watched.stdout.splitlines())) == (1, len(history))
    assert reel("logs", job_id, "--json", "-d", database_url).json == []
    assert reel("workers", "--json", "-d", database_url).json == []
