"""The types of events: those of jobs, and those that an extension adds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from reelstate.core.model import Json
from reelstate.core.webhook import GROUP_EVENTS, JOB_EVENTS, EventType
from reelstate.services.extension import Extension
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction

REGISTER = Statement("webhooks_types", NoRow)
EMIT = Statement("webhooks_emit", NoRow)


class EmittedEvent(NamedTuple):
    """An event that no transition of a job causes."""

    type: str
    user_id: str
    job_id: int | None
    once: str | None
    """Each webhook gets one event with the same text."""
    data: Json

    @property
    def encoded(self) -> str:
        return json.dumps(self.data)


def event_types(extension: Extension) -> tuple[EventType, ...]:
    """Return every type of event of an engine."""
    return (*JOB_EVENTS, *GROUP_EVENTS, *extension.event_types())


async def register_types(transaction: Transaction, types: Sequence[EventType]) -> None:
    """Store which transitions cause which events; the triggers of the store read it."""
    rows: list[Row] = [
        (each.name, str(each.origin), str(target), each.resources) for each in types for target in each.targets
    ]
    await transaction.run(REGISTER, Batch(("name", "origin", "target", "resources"), rows))


async def emit(transaction: Transaction, events: Sequence[EmittedEvent]) -> None:
    """Write the deliveries of events in this transaction."""
    rows: list[Row] = [(*event[:4], event.encoded) for event in events]
    await transaction.run(EMIT, Batch(("type", "user_id", "job_id", "once", "data"), rows))
