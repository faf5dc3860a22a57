"""`reel purge`: delete all data of a user."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.artifacts.storage import open_storage
from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import connect_store, operator, run, settings_for
from reelstate.cli.terminal import console
from reelstate.library.purge import purge as purge_user
from reelstate.library.receiver import upload_receiver
from reelstate.services.purge import Purged, require_user


def purge(
    user: Annotated[str, typer.Option(help="The user whose data is deleted.")],
    reason: Annotated[str | None, typer.Option(help="The reason, recorded in the event.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted, and delete nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Delete all data of a user: jobs (archived ones too), videos, uploads, files, exports and keys.

    Running jobs are cancelled. An event records how much was deleted, by whom and why; it does not name the user.

    Example: `reel purge --user ada --dry-run`
    """
    require_user(user)
    if not dry_run and not yes:
        typer.confirm(f"Delete all jobs, videos and files of {user} for good?", abort=True)
    purged = run(_purge(database, user, reason, dry_run=dry_run))
    if as_json:
        print_json({"rows": purged.rows, "files": purged.files, "dry_run": dry_run})
        return
    counts = [f"{count:,} {table}" for table, count in sorted(purged.rows.items()) if count]
    files = f" and {purged.files:,} files" if purged.files else ""
    verb = "would delete" if dry_run else "deleted"
    console().print(f"{verb} {', '.join(counts)}{files}" if counts or files else f"there is no data of {user}")


async def _purge(database: str | None, user: str, reason: str | None, *, dry_run: bool) -> Purged:
    settings = settings_for(database)
    async with connect_store(database, wait=True) as engine:
        receiver = upload_receiver(engine.store, settings)
        storage = open_storage(settings.storage_url)
        return await purge_user(engine, storage, receiver, user, actor=operator(), reason=reason, dry_run=dry_run)
