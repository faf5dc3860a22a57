"""keep: the state that keepers share. One of them leads, all are seen, a pause of all is followed by a grace period.

The lead only saves work: two keepers that both take themselves for the leader do no harm, because every change they
make is guarded by the row it changes. The grace is for workers that could not renew their leases while the database or
the network was unreachable: they get the time to do so before a lease is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.core.document import encode
from reelstate.core.model import Json
from reelstate.services.repair import GUARDS, Finding
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction

MAX_GRACE = 600.0
"""Seconds of grace until an hour has passed without any, so that a keeper that keeps restarting still sweeps."""
CLOCK_STEP = 5.0
"""Seconds by which the store's clock must be off before it counts as set; less is the time that statements take."""
FINDING_COLUMNS = ("name", "job_id", "stage", "part", "subject")
EVENT_COLUMNS = ("origin", "target", "reason", "data")
FOUND, GONE = "found", "gone"
DATA_LIMIT = 16 * 1024


class _Sighting(NamedTuple):
    """What `keep_lead` has found and changed."""

    leads: bool
    grace: float
    began: bool
    step: float
    at: datetime
    seen_at: datetime | None


class _KeeperRow(NamedTuple):
    leader: str | None
    seen_at: datetime | None
    swept_at: datetime | None
    grace_until: datetime | None


class _Neighbour(NamedTuple):
    id: int
    metadata: Json


class _WorkerId(NamedTuple):
    id: int


class _FindingKey(NamedTuple):
    """What makes a finding the same one from check to check; its text may change."""

    name: str
    job_id: int
    stage: int
    part: int
    subject: str


ADD_KEEPER_ROW = Statement("keep_row", NoRow)
LEAD = Statement("keep_lead", _Sighting)
REBASE = Statement("keep_rebase", NoRow)
LEAVE = Statement("keep_leave", NoRow)
NEIGHBOURS = Statement("keep_neighbours", _Neighbour)
PRUNE_WORKERS = Statement("keep_prune", _WorkerId)
ADD_FINDINGS = Statement("keep_found", _FindingKey)
DELETE_FINDINGS = Statement("keep_gone", _FindingKey)
RECORD_FINDINGS = Statement("keep_record", NoRow)
KEEPERS = Statement("observe_keeper", _KeeperRow)


@dataclass(frozen=True, slots=True)
class Lead:
    """The answer to a keeper's heartbeat."""

    leads: bool
    grace: float
    """Seconds in which no lease is taken back because it expired."""
    began: bool
    """The grace was given just now."""
    at: datetime | None = None
    """The time by the store's clock."""
    step: float = 0.0
    """Seconds by which that clock was set, forward or back; leases and due times were moved along."""


@dataclass(frozen=True, slots=True)
class Keepers:
    """The state of all keepers of a store."""

    leader: str | None = None
    seen_at: datetime | None = None
    """When one of them last reached the store."""
    swept_at: datetime | None = None
    """When one of them last reported a complete sweep."""
    grace_until: datetime | None = None


async def keep_lead(
    store: Store,
    keeper: str,
    *,
    lead: float,
    gap: float,
    grace: float,
    swept: bool = False,
    since: datetime | None = None,
    elapsed: Callable[[], float] | None = None,
) -> Lead:
    """Record a keeper as alive, and let it lead for `lead` seconds unless another does.

    After a gap of all keepers a grace begins. `since` is when this keeper was last seen, by the store's clock, and
    `elapsed` returns the seconds since then by a monotonic clock. Where the store's clock was set meanwhile, leases and
    due times are moved along.
    """

    async def flow(transaction: Transaction) -> Lead:
        await transaction.run(ADD_KEEPER_ROW)
        (seen,) = await transaction.run(
            LEAD,
            keeper=keeper,
            lead=lead,
            gap=gap,
            grace=grace,
            max_grace=MAX_GRACE,
            swept=swept,
            since=since,
            elapsed=elapsed() if elapsed else None,
        )
        step = seen.step if abs(seen.step) > CLOCK_STEP else 0.0
        if step:
            await transaction.run(REBASE, step=step, seen_at=seen.seen_at, lead=lead)
        return Lead(leads=bool(seen.leads), grace=seen.grace, began=bool(seen.began), at=seen.at, step=step)

    return await store.write(flow)


async def keep_leave(store: Store, keeper: str) -> None:
    """Give up the lead, so that another keeper need not wait for its end."""
    await store.write(lambda transaction: transaction.run(LEAVE, keeper=keeper))


async def keep_neighbours(store: Store, machine: str) -> list[tuple[int, Json]]:
    """Return the workers of a machine that may hold leases, each with the identity of its process."""
    found = await store.read(lambda transaction: transaction.run(NEIGHBOURS, machine=machine))
    return [(row.id, row.metadata["process"]) for row in found]


async def keep_prune(store: Store, *, older: float) -> list[int]:
    """Delete instances that have been offline for `older` seconds; their events stay."""
    return [row.id for row in await store.write(lambda transaction: transaction.run(PRUNE_WORKERS, older=older))]


async def keep_findings(store: Store, findings: Sequence[Finding]) -> list[Finding]:
    """Record what was found and what is gone, each once, as events; return the findings that are new."""
    standing = {_key(finding): finding for finding in findings}
    batch = Batch(FINDING_COLUMNS, sorted(standing))

    async def flow(transaction: Transaction) -> list[Finding]:
        await transaction.run(ADD_KEEPER_ROW)
        gone = await transaction.run(DELETE_FINDINGS, batch)
        new = await transaction.run(ADD_FINDINGS, batch)
        events: list[Row] = [(FOUND, GONE, key.subject or None, _event_data(key)) for key in gone]
        events += [(None, FOUND, standing[key].detail, _event_data(key)) for key in new]
        if events:
            await transaction.run(RECORD_FINDINGS, Batch(EVENT_COLUMNS, events))
        return [standing[key] for key in new]

    return await store.write(flow)


async def observe_keepers(store: Store) -> Keepers:
    """Return the leader, the last heartbeat and sweep, and the grace of the keepers."""
    rows = await store.read(lambda transaction: transaction.run(KEEPERS))
    return Keepers(*rows[0]) if rows else Keepers()


def _key(finding: Finding) -> _FindingKey:
    subject = finding.detail if finding.check == GUARDS else ""
    return _FindingKey(finding.check, finding.job_id, finding.stage, finding.part, subject)


def _event_data(key: _FindingKey) -> str:
    task = {"job_id": key.job_id, "stage": key.stage, "part": key.part}
    known = {name: number for name, number in task.items() if number >= 0}
    return encode("data", {"check": key.name, **known}, DATA_LIMIT)
