"""Fill a PostgreSQL database with jobs that finished long ago: copies of one that really ran, with other ids and times.

The copies are inserted without triggers, because rows in a final state can't be created otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg import sql

from reelstate.core.month import Month, id_at

SLICE: Final = 100_000
TABLES: Final = {"jobs": "id", "tasks": "job_id", "events": "job_id"}
"""The tables with rows of a simple job, and the column with its id."""
SUMS: Final = """
SELECT count(*), coalesce(sum(hashtextextended(rows::text, 0)::numeric), 0)
FROM (SELECT * FROM reelstate.{table} WHERE {key} >= %(first)s AND {key} < %(last)s
      UNION ALL SELECT * FROM reelstate.{archive} WHERE {key} >= %(first)s AND {key} < %(last)s) AS rows
"""


@dataclass(frozen=True)
class Jobs:
    """Copies of a job with consecutive ids, created `days` ago."""

    count: int
    days: int

    @property
    def created(self) -> datetime:
        return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=self.days)

    @property
    def first(self) -> int:
        return id_at(self.created)

    @property
    def month(self) -> Month:
        return Month.of_time(self.created)


def fill(url: str, template: int, jobs: Jobs, *, archived: bool) -> None:
    """Copy the rows of the job `template`, into its tables or into those of the archive."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        for table, key in TABLES.items():
            target = f"{table}_archive" if archived else table
            statement = _copy(connection, table, target, key)
            for start, end in _slices(jobs.count):
                parameters = {"template": template, "first": jobs.first, "start": start, "end": end, "days": jobs.days}
                connection.execute(statement, parameters)
        for table in TABLES:
            connection.execute(sql.SQL("VACUUM (ANALYZE) reelstate.{}").format(sql.Identifier(table)))
        connection.execute("CHECKPOINT")


def sums(url: str, jobs: Jobs) -> dict[str, tuple[int, int]]:
    """Return the number of rows of these jobs and a sum over their contents, by table, wherever the rows are."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = {}
        for table, key in TABLES.items():
            statement = sql.SQL(SUMS).format(
                table=sql.Identifier(table), archive=sql.Identifier(f"{table}_archive"), key=sql.Identifier(key)
            )
            row = connection.execute(statement, {"first": jobs.first, "last": jobs.first + jobs.count}).fetchone()
            assert row is not None
            found[table] = (int(row[0]), int(row[1]))
        return found


def _copy(connection: psycopg.Connection[Any], table: str, target: str, key: str) -> sql.Composed:
    columns = connection.execute(
        "SELECT attname, atttypid::regtype::text FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [f"reelstate.{table}"],
    ).fetchall()
    values: list[sql.Composable] = []
    for name, kind in columns:
        column = sql.Identifier("t", name)
        if name == key:
            values.append(sql.SQL("%(first)s::bigint + n"))
        elif table == "events" and name == "id":
            values.append(sql.SQL("-(n * 1000 + t.id %% 1000)"))  # below all numbers that the engine gives
        elif kind == "timestamp with time zone":
            values.append(sql.SQL("{} - make_interval(days => %(days)s)").format(column))
        else:
            values.append(column)
    return sql.SQL(
        "INSERT INTO reelstate.{target} ({columns}) OVERRIDING SYSTEM VALUE SELECT {values}"
        " FROM generate_series(%(start)s::bigint, %(end)s::bigint - 1) AS n"
        " CROSS JOIN reelstate.{table} AS t WHERE t.{key} = %(template)s"
    ).format(
        target=sql.Identifier(target),
        columns=sql.SQL(", ").join(sql.Identifier(name) for name, _ in columns),
        values=sql.SQL(", ").join(values),
        table=sql.Identifier(table),
        key=sql.Identifier(key),
    )


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, SLICE):
        yield start, min(start + SLICE, count)
