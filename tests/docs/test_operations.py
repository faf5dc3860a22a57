"""What the page on operations tells to run is run."""

from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import reelstate as rs
from reelstate.stores.postgres.store import PostgresStore
from tests.docs.pages import blocks
from tests.postgres import PostgresServer

ROLE = "reel_app"
film = rs.Pipeline("film")


@film.stage
async def cut(task: rs.Run) -> str:
    await task.progress(50, checkpoint={"half": True})
    return "cut"


@pytest.fixture
async def url_of_the_role(postgres_server: PostgresServer, postgres_url: str) -> str:
    """The address of a migrated database for a role that has only the rights of the page."""
    await PostgresStore(postgres_url).migrate()
    (grants,) = blocks("docs/operations.md", "sql")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(grants.encode())
    parts = urlsplit(postgres_url)
    return urlunsplit(parts._replace(netloc=f"{ROLE}@{parts.netloc.rpartition('@')[2]}"))


async def test_a_role_with_the_rights_of_the_page_can_run_everything(url_of_the_role: str) -> None:
    async with rs.open(url_of_the_role, pipelines=[film], workers=1, migrate=False) as engine:
        job = await engine.submit("film")
        assert (await engine.wait(job.id, timeout=60)).outputs == {"cut": "cut"}
        await engine.lead("test", lead=1, gap=60, grace=120)
        assert await engine.check() == []
        assert await engine.prune_workers(older=3600) == []
        assert (await engine.doctor()).healthy
        (worker,) = await engine.workers()
    async with rs.open(url_of_the_role, migrate=False) as engine:
        assert await engine.prune_workers(older=0) == [worker.id]
