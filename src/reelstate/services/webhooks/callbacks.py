"""Callbacks: the URL of a job that gets its events, signed with a secret of the job's user."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple

from reelstate.core.webhook import SECRET_BYTES, EventType, secret_text
from reelstate.services.webhooks.address import lane_of
from reelstate.services.webhooks.event_types import register_types
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction

OWNER = Statement("webhooks_callback", NoRow)
ADD = Statement("submit_callbacks", NoRow)


class Callback(NamedTuple):
    """The callback URL of a new job."""

    job_id: int
    user_id: str
    url: str


async def add_owners(transaction: Transaction, types: Sequence[EventType], users: Collection[str]) -> None:
    """Store the secret that signs the callbacks of each user, unless there is one; `rotate` shows another."""
    await register_types(transaction, types)
    for user_id in sorted(users):
        secret = secret_text(secrets.token_bytes(SECRET_BYTES))
        await transaction.run(OWNER, id=f"cb_{secrets.token_hex(8)}", user_id=user_id, secret=secret)


async def add_callbacks(transaction: Transaction, types: Sequence[EventType], callbacks: Sequence[Callback]) -> None:
    """Store the callbacks of new jobs."""
    await add_owners(transaction, types, {callback.user_id for callback in callbacks})
    rows: list[Row] = [(*callback, lane_of(callback.user_id, callback.url)) for callback in callbacks]
    await transaction.run(ADD, Batch(("job_id", "user_id", "url", "lane"), rows))
