"""alerts: note what operators should know, and fold it into few deliveries of the outbox.

Notes are only added, in the transaction of their cause. A keeper folds those of one type and subject into one delivery,
once per cooldown, which a row of the store decides: of several keepers one wins.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reelstate.core.alert import EVENT_PREFIX, AlertLine, alert_data
from reelstate.core.webhook import SECRET_BYTES, secret_text
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction


class _AlertKey(NamedTuple):
    type: str
    subject: str


class _AlertRow(NamedTuple):
    type: str
    subject: str
    message: str
    job_id: int | None


REGISTER = Statement("alerts_register", NoRow)
ADD = Statement("alerts_add", NoRow)
RECOVERED = Statement("alerts_recovered", NoRow)
PATTERNS = Statement("alerts_patterns", NoRow)
WIN = Statement("alerts_win", _AlertKey)
FOLD = Statement("alerts_fold", _AlertRow)
SEND = Statement("alerts_send", NoRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTerms:
    """When alerts are sent. Durations are in seconds."""

    types: frozenset[str]
    cooldown: float = 300.0
    failures: int = 3
    """Failures of one pipeline or resource within `window` that are a pattern."""
    window: float = 3600.0
    noun: str = "resource"
    """The name of what jobs are created for."""


async def enable_alerts(store: Store, secret: str = "") -> None:
    """Let the store note alerts. Deliveries are signed with the secret; without one, with a random one."""
    chosen = secret or secret_text(secrets.token_bytes(SECRET_BYTES))
    await store.write(lambda transaction: transaction.run(REGISTER, secret=chosen, given=bool(secret)))


async def add_alert(store: Store, kind: str, subject: str, message: str) -> None:
    """Note an alert that no transition causes; nothing happens where no keeper sends alerts."""
    await store.write(lambda transaction: transaction.run(ADD, type=kind, subject=subject, message=message))


async def note_recovered(transaction: Transaction, job_ids: Collection[int]) -> None:
    """Note that leases of these jobs were taken back."""
    if job_ids:
        await transaction.run(RECOVERED, job_ids=sorted(set(job_ids)))


async def fold_alerts(store: Store, terms: AlertTerms) -> int:
    """Write one delivery per type for what was noted and is not in its cooldown; return how many."""

    async def flow(transaction: Transaction) -> int:
        await transaction.run(PATTERNS, failures=terms.failures, window=terms.window, noun=terms.noun)
        won = await transaction.run(WIN, cooldown=terms.cooldown)
        if not won:
            return 0
        rows = await transaction.run(FOLD, Batch(("type", "subject"), won))
        sent: list[Row] = [
            (EVENT_PREFIX + kind, json.dumps(_folded(kind, [row for row in rows if row.type == kind])))
            for kind in sorted({row.type for row in rows} & terms.types)
        ]
        if sent:
            await transaction.run(SEND, Batch(("type", "data"), sent))
        return len(sent)

    return await store.write(flow)


def _folded(kind: str, rows: Sequence[_AlertRow]) -> dict[str, object]:
    """Return the first alert of each subject, and the number of all."""
    first: dict[str, AlertLine] = {}
    for row in rows:
        first.setdefault(row.subject, AlertLine(row.subject, row.message, row.job_id))
    return alert_data(kind, list(first.values()), len(rows))
