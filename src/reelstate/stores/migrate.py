"""Numbered forward migrations: `migrations/0001_name.sql`, applied in order, each once, under the store's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from reelstate.core.errors import SchemaMismatch


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


def pending(shipped: Sequence[Migration], applied: int) -> list[Migration]:
    """What is still to be applied to a schema at this number; a newer schema is refused."""
    newest = shipped[-1].number
    if applied > newest:
        raise SchemaMismatch(
            f"the database is at schema {applied}, this version of Reelstate knows up to {newest}",
            hint="upgrade Reelstate on this machine; nothing was changed",
        )
    return [migration for migration in shipped if migration.number > applied]


def require_current(shipped: Sequence[Migration], applied: int) -> None:
    """Refuse to work on a schema that is not exactly the one the statements were written for."""
    if pending(shipped, applied):
        raise SchemaMismatch(
            f"the database is at schema {applied}, this version of Reelstate needs {shipped[-1].number}"
            if applied
            else "the database has no Reelstate schema yet",
            hint="run `reel migrate`, or open it with migrate=True",
        )
