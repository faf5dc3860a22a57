"""Numbered forward migrations: `migrations/0001_name.sql`, applied in order, each once, under the store's lock.

A database may be ahead of a process: during an upgrade, processes of the previous release run on the new schema. A
migration that they can't run on has a line `-- oldest schema: N`: the newest migration that a process must know to run
on it. The database keeps the highest of these numbers as the fact `oldest_schema`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from reelstate.core.errors import SchemaMismatch
from reelstate.core.model import Job
from reelstate.stores.archive import ENGINE_TABLES, TABLES

OLDEST_SCHEMA = "oldest_schema"
_PIPELINE_COLUMNS = {
    "pipeline": "coalesce(p.name, '#' || j.pipeline_id) AS pipeline",
    "digest": "coalesce(p.digest, '') AS digest",
}
_FRAGMENT = re.compile(r"\{([a-z]\w*)\}")
_OLDEST = re.compile(r"^-- oldest schema: (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file."""

    number: int
    name: str
    script: str


@cache
def migrations(package: str) -> Sequence[Migration]:
    """Return the migrations of a store, in order."""
    found = []
    for entry in (files(package) / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, entry.read_text()))
    return tuple(sorted(found, key=lambda migration: migration.number))


@cache
def statements(package: str) -> Mapping[str, str]:
    """Return the statements of a store by name.

    `{job_columns}` stands for the columns of a `Job`, and `{name}` for the file `sql/fragments/name.sql`. A file with
    `{table}` is one statement per table of the archive, `NAME_TABLE`, on the rows that `{key}` selects.
    """
    folder = files(package) / "sql"
    fragments = _texts(folder / "fragments")
    fragments["job_columns"] = _job_columns(fragments["job_group"].rstrip())
    found: dict[str, str] = {}
    for name, text in _texts(folder).items():
        for made, statement in (_for_each_table(name, text) if "{table}" in text else {name: text}).items():
            found[made] = _FRAGMENT.sub(lambda match: fragments[match[1]].rstrip(), statement)
    return found


def _job_columns(group: str) -> str:
    """Return the fields of `Job` in a SELECT from jobs `j` and pipelines `p`."""
    columns = {**_PIPELINE_COLUMNS, "group": group}
    return ", ".join(columns.get(field.name, f"j.{field.name}") for field in fields(Job) if field.name != "archived")


def _texts(folder: Traversable) -> dict[str, str]:
    """Return the SQL files of a folder by name."""
    return {
        entry.name.removesuffix(".sql"): entry.read_text() for entry in folder.iterdir() if entry.name.endswith(".sql")
    }


def _for_each_table(name: str, text: str) -> dict[str, str]:
    """Return a statement for each table. A line that begins with `{engine}` or `{states}` is of these tables only."""
    made = {}
    for table in TABLES:
        kind, other = ("{engine}", "{states}") if table in ENGINE_TABLES else ("{states}", "{engine}")
        lines = [line.replace(kind, "") for line in text.splitlines() if other not in line]
        made[f"{name}_{table}"] = (
            "\n".join(lines).replace("{table}", table).replace("{key}", ENGINE_TABLES.get(table, "job_id"))
        )
    return made


@dataclass(frozen=True, slots=True)
class Applied:
    """The migrations that a database has."""

    number: int = 0
    """The newest."""
    oldest: int | None = None
    """The newest migration that a process must know to run on this schema; None where it is not recorded."""
    first: str | None = None
    """The name of migration 1, which tells the schemas before the first release apart."""

    def is_ahead(self, shipped: Sequence[Migration]) -> bool:
        """Whether a newer release has migrated the database: this one leaves its schema and guards unchanged."""
        return self.number > shipped[-1].number


def oldest_schema(shipped: Sequence[Migration]) -> int:
    """Return the newest migration that a process must know to run on the schema of these migrations."""
    return max((int(found) for migration in shipped for found in _OLDEST.findall(migration.script)), default=0)


def pending(shipped: Sequence[Migration], applied: Applied) -> list[Migration]:
    """Return the migrations to apply: none where a newer release has migrated and this one can run on its schema.

    Raises `SchemaMismatch` for a schema that this release can't run on.
    """
    newest = shipped[-1].number
    if applied.first not in {None, shipped[0].name}:
        raise SchemaMismatch(
            f"the database was created by a development version (migration 0001_{applied.first}, this version of"
            f" Reelstate has 0001_{shipped[0].name}), and can't be upgraded",
            hint="use a new database, or run the version that created this one; nothing was changed",
        )
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
