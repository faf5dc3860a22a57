"""The commands of the page on operations run."""

import re
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import reelstate as rs
from reelstate.app import open_engine
from reelstate.connections.timeouts import FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS
from reelstate.library.uploads import UploadLimits, Uploads
from reelstate.services.keys import Keys, Scope
from reelstate.stores.migrate import statements
from reelstate.stores.postgres.store import PACKAGE, PostgresStore
from tests.docs.pages import ROOT, blocks
from tests.postgres import PostgresServer

ROLE = "reel_app"
movie = rs.Pipeline("movie")


@movie.stage
async def cut(task: rs.Run) -> str:
    await task.progress(50, checkpoint={"half": True})
    return "cut"


@pytest.fixture
async def url_of_the_role(postgres_server: PostgresServer, postgres_url: str) -> str:
    """Return the address of a migrated database for a role with only the rights of the page."""
    await PostgresStore(postgres_url).migrate()
    (grants,) = blocks("docs/operations.md", "sql")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
        connection.execute(grants.encode())
    parts = urlsplit(postgres_url)
    return urlunsplit(parts._replace(netloc=f"{ROLE}@{parts.netloc.rpartition('@')[2]}"))


async def test_a_role_with_the_rights_of_the_page_can_run_everything(url_of_the_role: str) -> None:
    async with open_engine(url_of_the_role, pipelines=[movie], workers=1, migrate=False) as engine:
        job = await engine.submit("movie")
        assert (await engine.wait(job.id, timeout=300)).outputs == {"cut": "cut"}
        await engine.lead("test", lead=1, gap=60, grace=120)
        assert await engine.check() == []
        assert await engine.prune_workers(older=3600) == []
        assert (await engine.doctor()).healthy
        (worker,) = await engine.workers()
    async with open_engine(url_of_the_role) as engine:  # there is nothing to migrate
        assert await engine.prune_workers(older=0) == [worker.id]
        await engine.state_manager("states", 0, 1)
        assert await engine.state_store.delete_job("states")
        uploads = Uploads(engine.store, lifetime=60, limits=UploadLimits(open=1, unused=100, bytes=2**40))
        upload = await uploads.create(user_id="ada", length=1)
        assert await uploads.delete(upload.id)
        keys = Keys(engine.store)
        made = await keys.create("a key", scopes=[Scope.READ], user_id="ada", actor="test")
        assert (await keys.open_session(made.key)).key.user_id == "ada"


async def test_the_page_grants_whatever_a_verb_deletes(url_of_the_role: str) -> None:
    verbs = {name: text for name, text in statements(PACKAGE).items() if not name.startswith("repair_")}
    tables = {table for text in verbs.values() for table in re.findall(r"DELETE FROM (reelstate\.\w+)", text)}
    assert tables
    with psycopg.connect(url_of_the_role) as connection:
        query = "SELECT name FROM unnest(%s::text[]) AS name WHERE NOT has_table_privilege(name, 'DELETE')"
        assert connection.execute(query, [sorted(tables)]).fetchall() == []


def test_the_pauses_between_two_tries_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    assert f"from {FIRST_RETRY_SECONDS:g} s up to {MAX_RETRY_SECONDS:g} s" in page
