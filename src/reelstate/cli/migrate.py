"""`reel migrate`: bring a store's schema up to date."""

from reelstate.app import store_at
from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.session import run, settings_for


def migrate(database: Database = None, as_json: AsJson = False) -> None:
    """Bring the store's schema up to date; safe to run from several places at once.

    Example: `reel migrate --database postgresql://reel@localhost/reel`
    """
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
