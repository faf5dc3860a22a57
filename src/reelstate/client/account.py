"""Check a key at a server."""

from __future__ import annotations

from dataclasses import dataclass

from reelstate.client.records import parser_of
from reelstate.client.requests import Requests
from reelstate.client.transport import ServerAddress, Transport


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a key belongs to, what it permits, and the version of the server."""

    name: str
    user_id: str
    scopes: tuple[str, ...]
    version: str


async def read_account(server: ServerAddress) -> Account:
    """Return the account of a key. Raises `KeyRefused`, and errors of the connection."""
    transport = Transport(server, longest_outage=0.0)
    try:
        return await Requests(transport).get("/session", parser_of(Account))
    finally:
        await transport.close()
