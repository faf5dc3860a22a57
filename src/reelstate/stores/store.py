"""What a store is: named statements run in transactions. The stores differ in dialect, never in behaviour.

Every verb of the engine is a *flow* (see `services/`): a coroutine function that is given a `Transaction` and awaits
nothing but its `run`. The store runs the flow in one transaction, commits it, and runs it again from the start when
the database asks for that (deadlock, serialization failure) or went away. A flow therefore has no other effects.

A statement is a file `sql/<name>.sql`; both stores have the same names, take the same parameters and return the same
columns. The verb that runs it declares its columns once, as a `Statement` with a NamedTuple. Three conventions stand
for a schema between the stores: columns in `TIMES` hold instants, columns in `DOCUMENTS` hold JSON, and a `Batch`
becomes parallel arrays in PostgreSQL and one JSON array in SQLite.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, overload

from reelstate.core.document import UNREADABLE

Result = TypeVar("Result")
Row = tuple[Any, ...]
RowType = TypeVar("RowType", bound=Row)
TOO_DEEP = {UNREADABLE: "it is nested too deep to be read"}
"""Stands for a document, written by manual SQL, that no decoder reaches the bottom of: its row is read all the same."""

NO_JSON = {UNREADABLE: "it is not JSON"}
"""Stands for a document in SQLite that manual SQL has replaced by other text."""
NO_TIME = datetime.fromtimestamp(0, UTC)
"""Stands for an instant in SQLite that manual SQL has replaced by what is no number."""

TIMES = frozenset(
    {
        "at",
        "changed_at",
        "claimed_at",
        "created_at",
        "declared_at",
        "deleted_at",
        "expires_at",
        "finished_at",
        "flagged_at",
        "grace_until",
        "last_heartbeat_at",
        "lease_expires_at",
        "opened_at",
        "progress_at",
        "ready_at",
        "registered_at",
        "removed_at",
        "revoked_at",
        "run_after",
        "seen_at",
        "started_at",
        "swept_at",
        "used_at",
    }
)
DOCUMENTS = frozenset(
    {
        "argv",
        "capabilities",
        "checkpoint",
        "data",
        "degraded",
        "error",
        "graph",
        "input",
        "metadata",
        "needs",
        "pipelines",
        "prefers",
        "payload",
        "result",
        "scopes",
        "spec",
        "tags",
    }
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows handed to a statement at once."""

    columns: tuple[str, ...]
    rows: Sequence[Row]


class NoRow(NamedTuple):
    """The row of a statement that returns none."""


def row_type(name: str, *columns: str) -> type[Any]:
    """Return the NamedTuple of a row that repeats the columns of others, such as the fields of a record."""
    return namedtuple(name, columns)  # noqa: PYI024 - the names are not literals


STATEMENTS: Final[dict[str, Statement[Any]]] = {}
"""Every declared statement by its name. A test compares each with the columns that both stores return."""


@dataclass(frozen=True, slots=True)
class Statement(Generic[RowType]):
    """A statement and its columns: `row` is a NamedTuple with the names of the SELECT list, in its order."""

    name: str
    row: type[RowType]

    def __post_init__(self) -> None:
        STATEMENTS[self.name] = self

    @property
    def columns(self) -> tuple[str, ...]:
        columns: tuple[str, ...] = self.row._fields  # type: ignore[attr-defined]  # a NamedTuple has it
        return columns

    def check(self, names: Sequence[str]) -> None:
        """Raise when a store returns other columns than declared; a store checks it the first time it runs one."""
        if tuple(names) != self.columns:
            raise AssertionError(f"sql/{self.name}.sql returns {tuple(names)}, declared are {self.columns}")


def statement_name(statement: Statement[Any] | str) -> str:
    return statement if isinstance(statement, str) else statement.name


class Transaction(Protocol):
    @overload
    async def run(
        self, statement: Statement[RowType], batch: Batch | None = None, /, **parameters: Any
    ) -> list[RowType]: ...

    @overload
    async def run(self, statement: str, batch: Batch | None = None, /, **parameters: Any) -> list[Row]: ...

    async def run(self, statement: Any, batch: Batch | None = None, /, **parameters: Any) -> list[Any]:
        """Run one statement and return its rows: records for a declared `Statement`, plain tuples for a mere name.

        The store adds the parameter `now`.
        """
        ...


Clock = Callable[[], datetime]
"""A test that owns the time gives a store one of these; without it the database's clock rules."""

Flow = Callable[[Transaction], Awaitable[Result]]


class Store(Protocol):
    """The durable truth. Open it once a process; it is safe to share between tasks of one event loop."""

    async def open(self) -> None:
        """Connect, and refuse a database that this code can't read: wrong address, too old, newer schema."""
        ...

    async def close(self) -> None: ...

    async def migrate(self) -> list[str]:
        """Bring the schema up to date under a lock and install the guards. Gives the names of what was applied."""
        ...

    async def missing_guards(self) -> list[str]:
        """The triggers and constraints that should be there and are not."""
        ...

    async def restore_triggers(self) -> None:
        """Put the triggers back; they look at what changes from now on."""
        ...

    async def restore_constraints(self) -> None:
        """Put the constraints back; the rows must satisfy them by now."""
        ...

    async def read(self, flow: Flow[Result]) -> Result:
        """Run a flow that changes nothing, on one snapshot per statement."""
        ...

    async def survey(self, flow: Flow[Result]) -> Result:
        """Run a flow that reads whole tables, in one read-only transaction that holds up nobody."""
        ...

    async def write(self, flow: Flow[Result]) -> Result:
        """Run a flow in one transaction; whatever it answers has been committed."""
        ...

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        """Run a flow whose one writing statement is a transaction of its own, which saves two ways to the server.

        Where its answer is lost, or the database asks for it, `again` is run as by `write`: it must know how to find
        out whether the first try took effect. Without `again` the flow itself is, and must bear that.
        """
        ...


def columns_of(kind: frozenset[str], names: Sequence[str]) -> list[int]:
    """The positions of the columns of a kind in a result."""
    return [position for position, name in enumerate(names) if name in kind]
