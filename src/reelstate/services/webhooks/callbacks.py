"""Callbacks: the URL of a job that gets its events, signed with a secret of the job's user."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
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


async def add_callbacks(transaction: Transaction, types: Sequence[EventType], callbacks: Sequence[Callback]) -> None:
    """Store the callbacks of new jobs. The first of a user creates the secret; `rotate` shows another."""
    await register_types(transaction, types)
    for user_id in sorted({callback.user_id for callback in callbacks}):
        secret = secret_text(secrets.token_bytes(SECRET_BYTES))
        await transaction.run(OWNER, id=f"cb_{secrets.token_hex(8)}", user_id=user_id, secret=secret)
    rows: list[Row] = [(*callback, lane_of(callback.user_id, callback.url)) for callback in callbacks]
    await transaction.run(ADD, Batch(("job_id", "user_id", "url", "lane"), rows))
