"""The address of a PostgreSQL database: the settings added to it, and how it is shown."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from reelstate.core.errors import InvalidRequest
from reelstate.stores.postgres.faults import first_line

SESSION = {
    # Statements are written for their indexes: one nested loop over the input, one probe per row. Tables change faster
    # than their statistics, so the plan is pinned. Probes cost nothing, because a plan made for a small table
    # would otherwise scan it, and be kept when the table is large.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "random_page_cost": "0",
    "cpu_operator_cost": "0.00001",
    "jit": "off",
    "timezone": "UTC",
    # An open transaction delays every reader of the event stream.
    "idle_in_transaction_session_timeout": "10s",
}


def session_address(url: str) -> str:
    """Return the connection string with our session settings after its own options."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidRequest(
            "database_url",
            f"is not a PostgreSQL address: {_before_quote(first_line(error))}",
            hint="use postgresql://user@host:5432/name",
        ) from None
    settings = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    options = f"{given.get('options') or ''} {settings}".strip()
    return make_conninfo(url, options=options, application_name=given.get("application_name") or "reelstate")


def _before_quote(text: str) -> str:
    """Return a message up to its first quote, which may contain the password of an address."""
    return text.partition('"')[0].rstrip(" :")


def shown_address(url: str) -> str:
    """Return the address without its password."""
    given = conninfo_to_dict(url)
    host, port = given.get("host") or "localhost", given.get("port") or 5432
    user = f"{given['user']}@" if given.get("user") else ""
    return f"postgresql://{user}{host}:{port}/{given.get('dbname') or ''}"
