"""What a store is: named statements run in transactions. The stores differ in dialect, never in behaviour.

Every verb of the engine is a *flow* (see `services/`): a coroutine function that receives a `Transaction` and awaits
only its `run`. The store runs the flow in one transaction and commits it. It runs the flow again from the start after a
deadlock, a serialization failure or a lost connection, so a flow has no other effects.

A statement is a file `sql/<name>.sql`; both stores have the same names, take the same parameters and return the same
columns. The verb that runs it declares its columns once, as a `Statement` with a NamedTuple. Columns in `TIMES` hold
instants, columns in `DOCUMENTS` hold JSON, and a `Batch` becomes parallel arrays in PostgreSQL and one JSON array in
SQLite.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from reelstate.core.document import UNREADABLE
from reelstate.telemetry.facts import Fact

if TYPE_CHECKING:
    from reelstate.stores.archive import Archive

Result = TypeVar("Result")
Row = tuple[Any, ...]
RowType = TypeVar("RowType", bound=Row)
TOO_DEEP = {UNREADABLE: "it is nested too deep to be read"}
"""Replaces a document, written by manual SQL, that can't be decoded, so that its row can still be read."""

NO_JSON = {UNREADABLE: "it is not JSON"}
"""Replaces a document in SQLite that manual SQL has overwritten with other text."""
NO_TIME = datetime.fromtimestamp(0, UTC)
"""Replaces an instant in SQLite that manual SQL has overwritten with something else than a number."""

TIMES = frozenset(
    {
        "at",
        "changed_at",
        "claimed_at",
        "created_at",
        "declared_at",
        "deleted_at",
        "ends_at",
        "expires_at",
        "failing_since",
        "finished_at",
        "flagged_at",
        "grace_until",
        "last_heartbeat_at",
        "lease_expires_at",
        "next_at",
        "next_run_at",
        "next_tick",
        "opened_at",
        "paused_at",
        "progress_at",
        "ready_at",
        "registered_at",
        "removed_at",
        "resumed_at",
        "retry_at",
        "revoked_at",
        "run_after",
        "seen_at",
        "started_at",
        "starts_at",
        "swept_at",
        "tick",
        "used_at",
    }
)
DOCUMENTS = frozenset(
    {
        "argv",
        "capabilities",
        "checkpoint",
        "completed",
        "data",
        "degraded",
        "error",
        "events",
        "graph",
        "input",
        "keys",
        "metadata",
        "needs",
        "payload",
        "pipelines",
        "prefers",
        "priorities",
        "result",
        "rungs",
        "scopes",
        "spec",
        "tags",
        "wanted",
        "weights",
    }
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that a statement takes at once."""

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

    def records(self, rows: Iterable[Row]) -> list[RowType]:
        """Return rows as records."""
        return list(map(self.row._make, rows))  # type: ignore[attr-defined]  # a NamedTuple has it

    def check(self, names: Sequence[str]) -> None:
        """Raise if a store returns other columns than declared; a store checks each statement once."""
        if tuple(names) != self.columns:
            raise AssertionError(f"sql/{self.name}.sql returns {tuple(names)}, declared are {self.columns}")


class Transaction(Protocol):
    """Runs statements; all or none of them take effect."""

    async def run(
        self, statement: Statement[RowType], batch: Batch | None = None, /, **parameters: Any
    ) -> list[RowType]:
        """Run one statement and return its rows as records. The store adds the parameter `now`."""
        ...

    def note(self, fact: Fact) -> None:
        """Emit a fact once the transaction has committed."""
        ...


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """The connections of a store, for metrics."""

    size: int
    waiting: int
    """Calls that wait for a connection."""
    errors: int
    """Calls that got no connection in time, and connections that failed or were lost."""


Clock = Callable[[], datetime]
"""Returns the present time in tests; without it a store uses the clock of the database."""

Flow = Callable[[Transaction], Awaitable[Result]]


class Store(Protocol):
    """A database. Open it once per process and share it between the tasks of one event loop."""

    @property
    def archive(self) -> Archive:
        """The months with the rows of archived jobs."""
        ...

    async def open(self) -> None:
        """Connect. Raise if the address is wrong, or the server or the schema is too old or too new."""
        ...

    async def close(self) -> None: ...

    def pool(self) -> PoolFigures:
        """Return the figures of its connections."""
        ...

    async def migrate(self) -> list[str]:
        """Apply pending migrations under a lock and install the guards; return the names of what was applied."""
        ...

    async def missing_guards(self) -> list[str]:
        """Return the names of missing triggers and constraints."""
        ...

    async def restore_triggers(self) -> None:
        """Install the triggers again; they check later changes only."""
        ...

    async def restore_constraints(self) -> None:
        """Add missing constraints; the rows must satisfy them."""
        ...

    async def read(self, flow: Flow[Result]) -> Result:
        """Run a flow that only reads, with one snapshot per statement."""
        ...

    async def survey(self, flow: Flow[Result]) -> Result:
        """Run a flow that reads whole tables, in one read-only transaction that blocks no other."""
        ...

    async def write(self, flow: Flow[Result]) -> Result:
        """Run a flow in one transaction and return its result after the commit."""
        ...

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        """Run a flow with a single statement without BEGIN and COMMIT, which saves two round trips.

        If the answer is lost, or the database asks for a retry, `again` (default: the flow) is run as by `write`. It
        must find out whether the first attempt took effect, or be safe to repeat.
        """
        ...

    async def vacuum(self, pages: int) -> int:
        """Give up to `pages` free pages back to the file system, where the database does not do so by itself.

        Returns how many are still free.
        """
        ...


def columns_of(kind: frozenset[str], names: Sequence[str]) -> list[int]:
    """Return the positions of the columns of a kind in a result."""
    return [position for position, name in enumerate(names) if name in kind]
