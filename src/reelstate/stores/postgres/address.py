"""The address of a PostgreSQL database: what we add to it, and how it may be shown."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from reelstate.core.errors import InvalidRequest
from reelstate.stores.postgres.faults import first_line

SESSION = {
    # Statements here are written for their indexes: one nested loop over the input, one probe a row. The tables grow
    # and shrink faster than their statistics, so the plan is pinned rather than guessed anew from them. Probes are
    # called free, or a plan made while a table is small would walk all of it, and be kept when it is large.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "random_page_cost": "0",
    "cpu_operator_cost": "0.00001",
    "jit": "off",
    "timezone": "UTC",
    # An open transaction holds back every reader of the event stream.
    "idle_in_transaction_session_timeout": "10s",
}


def session_address(url: str) -> str:
    """The connection string with our session settings after whatever options it has."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidRequest(
            "database_url",
            f"is not a PostgreSQL address: {_unquoted(first_line(error))}",
            hint="it looks like postgresql://user@host:5432/name",
        ) from None
    settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    options = f"{given.get('options') or ''} {settings}".strip()
    return make_conninfo(url, options=options, application_name=given.get("application_name") or "reelstate")


def _unquoted(text: str) -> str:
    """A message up to what it quotes: of an address that may be the password."""
    return text.partition('"')[0].rstrip(" :")


def shown_address(url: str) -> str:
    """The address without its password, fit for messages."""
    given = conninfo_to_dict(url)
    host, port = given.get("host") or "localhost", given.get("port") or 5432
    user = f"{given['user']}@" if given.get("user") else ""
    return f"postgresql://{user}{host}:{port}/{given.get('dbname') or ''}"
