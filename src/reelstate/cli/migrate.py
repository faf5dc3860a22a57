"""`reel migrate`: apply migrations to the store."""

from reelstate.app import store_at
from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.servers import choose_server, refuse_server
from reelstate.cli.session import run, settings_for


def migrate(database: Database = None, as_json: AsJson = False) -> None:
    """Apply pending migrations to the store; safe to run concurrently.

    Example: `reel migrate --database postgresql://reel@localhost/reel`
    """
    refuse_server(choose_server(database))
    applied = run(_migrate(settings_for(database).database_url))
    if as_json:
        print_json({"applied": applied})
        return
    echo(f"applied: {', '.join(applied)}" if applied else "the schema is up to date")


async def _migrate(database: str) -> list[str]:
    store = store_at(database)
    try:
        return await store.migrate()
    finally:
        await store.close()
