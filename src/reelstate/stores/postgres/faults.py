"""What PostgreSQL's errors mean to the engine. They are translated here, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from reelstate.core.errors import (
    CorruptState,
    GuardRefused,
    InvalidRequest,
    ReelstateError,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from reelstate.stores.postgres.guards import REFUSED

AGAIN = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
AWAY = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)


class RetryTransaction(Exception):
    """The database asks for the transaction to be run again."""


class ServerUnreachable(Exception):
    """The connection is gone; the server may come back."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise the engine's errors for the driver's."""
    try:
        yield
    except AGAIN as error:
        raise RetryTransaction(first_line(error)) from error
    except (psycopg.Error, PoolTimeout) as error:
        if _is_away(error):
            raise ServerUnreachable(first_line(error)) from error
        raise _meaning(error) from error


def first_line(error: BaseException) -> str:
    """What an error says, without the server's context lines."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def wrong_address(error: psycopg.OperationalError) -> bool:
    """Whether trying again can't help: the server answered that it does not know the user or the database."""
    text = str(error)
    return any(
        sign in text
        for sign in (
            "authentication failed",
            "does not exist",
            "could not translate",
            "resolve host",
            "no pg_hba.conf",
        )
    )


def _is_away(error: Exception) -> bool:
    if isinstance(error, PoolClosed):
        return False
    if isinstance(error, PoolTimeout | psycopg.InterfaceError):
        return True
    if isinstance(error, errors.IdleInTransactionSessionTimeout):  # this process slept, and its session was ended
        return True
    state = getattr(error, "sqlstate", None)
    return isinstance(error, psycopg.OperationalError) and (
        state is None or state.startswith("08") or state in {"57P01", "57P02", "57P03", "53300"}
    )


def _meaning(error: Exception) -> ReelstateError:
    text = first_line(error)
    if getattr(error, "sqlstate", None) == REFUSED:
        return GuardRefused(text.removeprefix("reelstate: "), hint="the machines are drawn in docs/lifecycle.md")
    match error:
        case errors.DiskFull():
            return StoreFull(
                f"the database's disk is full: {text}", hint="free space on the server; nothing was changed"
            )
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(
                "the database is read-only", hint="connect to the primary server, with a user that may write"
            )
        case errors.InsufficientPrivilege():
            return StoreReadOnly(text, hint="grant the user all rights on the schema reelstate")
        case (
            errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName() | errors.UndefinedFunction()
        ):
            return SchemaMismatch(text, hint="run `reel migrate`")
        case errors.NumericValueOutOfRange():
            return InvalidRequest("number", text, hint="ids and counts must fit a column of the database")
        case errors.DataError():
            return InvalidRequest("request", text, hint="a number or a text in it can't be stored; nothing was changed")
        case errors.IntegrityError():
            return CorruptState(text, hint="run `reel doctor` to see what is wrong; nothing was changed")
        case PoolClosed():
            return StoreUnavailable("the store is closed", hint="open it before use")
        case _:
            return StoreError(text)
