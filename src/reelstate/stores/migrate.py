"""Numbered forward migrations: `migrations/0001_name.sql`, applied in order, each once, under the store's lock.

A database may be ahead of a process: during an upgrade the processes of the release before run on the new schema. A
migration that they can't run on says so by a line `-- oldest schema: N`, the lowest newest number of a process that
can. The database keeps the highest of these numbers as the fact `oldest_schema`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from reelstate.core.errors import SchemaMismatch

OLDEST_SCHEMA = "oldest_schema"
_OLDEST = re.compile(r"^-- oldest schema: (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    script: str


@cache
def migrations(package: str) -> Sequence[Migration]:
    """The migrations a store ships, in order."""
    found = []
    for entry in (files(package) / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, entry.read_text()))
    return tuple(sorted(found, key=lambda migration: migration.number))


@cache
def statements(package: str) -> Mapping[str, str]:
    """The statements a store ships, by name."""
    return {
        entry.name.removesuffix(".sql"): entry.read_text()
        for entry in (files(package) / "sql").iterdir()
        if entry.name.endswith(".sql")
    }


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a database is migrated."""

    number: int = 0
    oldest: int | None = None
    """The lowest newest migration of a process that can run on it; None where nobody has written it down."""

    def is_ahead(self, shipped: Sequence[Migration]) -> bool:
        """Whether a newer release has migrated it. The schema and its guards are then left as they are."""
        return self.number > shipped[-1].number


def oldest_schema(shipped: Sequence[Migration]) -> int:
    """The lowest newest migration of a process that can run on the schema these migrations make."""
    return max((int(found) for migration in shipped for found in _OLDEST.findall(migration.script)), default=0)


def pending(shipped: Sequence[Migration], applied: Applied) -> list[Migration]:
    """The migrations to apply; none where a newer release has migrated and this one can still run on that.

    Raises `SchemaMismatch` for a schema that this release can't run on.
    """
    newest = shipped[-1].number
    if applied.is_ahead(shipped) and (applied.oldest is None or applied.oldest > newest):
        raise SchemaMismatch(
            f"the database is at schema {applied.number}, this version of Reelstate knows up to {newest}",
            hint="upgrade Reelstate on this machine; nothing was changed",
        )
    return [migration for migration in shipped if migration.number > applied.number]


def require_current(shipped: Sequence[Migration], applied: Applied) -> None:
    """Raise `SchemaMismatch` for a schema that is older than the statements, or newer than they can run on."""
    if pending(shipped, applied):
        raise SchemaMismatch(
            f"the database is at schema {applied.number}, this version of Reelstate needs {shipped[-1].number}"
            if applied.number
            else "the database has no Reelstate schema yet",
            hint="run `reel migrate`, set REEL_MIGRATE=auto, or open it with migrate=True",
        )
