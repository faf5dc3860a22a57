"""Translates the errors of PostgreSQL into those of the engine."""

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

RETRY = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
UNREACHABLE = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)


class RetryTransaction(Exception):
    """The transaction must be run again."""


class ServerUnreachable(Exception):
    """The connection is lost; the server may become reachable again."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the errors of the engine for those of the driver."""
    try:
        yield
    except RETRY as error:
        raise RetryTransaction(first_line(error)) from error
    except (psycopg.Error, PoolTimeout) as error:
        if _is_unreachable(error):
            raise ServerUnreachable(first_line(error)) from error
        raise _translate(error) from error


def first_line(error: BaseException) -> str:
    """Return the message of an error without the context lines of the server."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def is_wrong_address(error: psycopg.OperationalError) -> bool:
    """Return whether a retry can't help: the server does not know the user or the database."""
    text = str(error)
    return any(
        part in text
        for part in (
            "authentication failed",
            "does not exist",
            "could not translate",
            "resolve host",
            "no pg_hba.conf",
        )
    )


def _is_unreachable(error: Exception) -> bool:
    if isinstance(error, PoolClosed):
        return False
    if isinstance(error, PoolTimeout | psycopg.InterfaceError):
        return True
    if isinstance(error, errors.IdleInTransactionSessionTimeout):  # this process was suspended
        return True
    state = getattr(error, "sqlstate", None)
    return isinstance(error, psycopg.OperationalError) and (
        state is None or state.startswith("08") or state in {"57P01", "57P02", "57P03", "53300"}
    )


def _translate(error: Exception) -> ReelstateError:
    text = first_line(error)
    if getattr(error, "sqlstate", None) == REFUSED:
        return GuardRefused(text.removeprefix("reelstate: "), hint="docs/lifecycle.md shows the allowed changes")
    match error:
        case errors.DiskFull():
            return StoreFull(
                f"the database's disk is full: {text}", hint="free space on the server; nothing was changed"
            )
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(
                "the database is read-only", hint="connect to the primary server with a user that may write"
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
