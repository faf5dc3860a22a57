"""The head of the record of events and states, which the feeds of the engine and of the states share."""

from __future__ import annotations

from typing import NamedTuple

from reelstate.stores.store import Statement


class EpochRow(NamedTuple):
    epoch: str
    """Names the database: a cursor from another one is refused."""


class HeadRow(NamedTuple):
    epoch: str
    xid: str
    id: int
    floor: str | None
    """The position `xid.id` up to which states were deleted."""
    events_floor: str | None
    """The position up to which events were archived or purged."""


OBSERVE_EPOCH = Statement("observe_epoch", EpochRow)
OBSERVE_HEAD = Statement("observe_head", HeadRow)
