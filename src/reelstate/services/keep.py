"""keep: what keepers share. One of them leads, all are seen, a pause of all is followed by a grace; findings are told.

The lead only saves work: two keepers that both believe to lead do each other no harm, because every change they make
is guarded by the row it changes. The grace is for workers that could not renew their leases while the database or the
network was away: they get the time to do so before anything is taken from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from reelstate.core.document import encode
from reelstate.core.model import Json
from reelstate.services.doctor import GUARDS
from reelstate.services.repair import Finding
from reelstate.stores.store import Batch, Row, Store, Transaction

MAX_GRACE = 600.0
"""Seconds of grace between two hours without any, so that a keeper that restarts again and again still sweeps."""
CLOCK_STEP = 5.0
"""Seconds by which the store's clock must be off before it counts as set; less is the time that statements take."""
PLACE_COLUMNS = ("name", "job_id", "stage", "part", "subject")
TOLD_COLUMNS = ("origin", "target", "reason", "data")
FOUND, GONE = "found", "gone"
DATA_LIMIT = 16 * 1024


@dataclass(frozen=True, slots=True)
class Lead:
    """What a keeper learns when it says that it is here."""

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
    """What is known of all keepers of a store."""

    leader: str | None = None
    seen_at: datetime | None = None
    """When one of them last reached the store."""
    swept_at: datetime | None = None
    """When one of them last said that its sweep went through."""
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
    """Be seen, and lead for so many seconds unless another does; after a gap of all keepers a grace begins.

    `since` is when this keeper was last here, by the store's clock, and `elapsed` gives the seconds since then by a
    clock that nobody sets. Where the store's clock was set meanwhile, leases and due times are moved along.
    """
    parameters = {"keeper": keeper, "lead": lead, "gap": gap, "grace": grace, "most": MAX_GRACE, "swept": swept}

    async def flow(transaction: Transaction) -> Lead:
        await transaction.run("keep_row")
        told = {"since": since, "elapsed": elapsed() if elapsed else None}
        ((leads, left, began, step, at, seen_at),) = await transaction.run("keep_lead", **parameters, **told)
        stepped = step if abs(step) > CLOCK_STEP else 0.0
        if stepped:
            await transaction.run("keep_rebase", step=stepped, seen_at=seen_at, lead=lead)
        return Lead(leads=bool(leads), grace=left, began=bool(began), at=at, step=stepped)

    return await store.write(flow)


async def keep_leave(store: Store, keeper: str) -> None:
    """Give the lead up, so that another need not wait for its end."""

    async def flow(transaction: Transaction) -> None:
        await transaction.run("keep_leave", keeper=keeper)

    await store.write(flow)


async def keep_neighbours(store: Store, machine: str) -> list[tuple[int, Json]]:
    """The workers of a machine that may hold something, each with the identity of its process."""

    async def flow(transaction: Transaction) -> list[tuple[int, Json]]:
        rows = await transaction.run("keep_neighbours", machine=machine)
        return [(worker_id, metadata["process"]) for worker_id, metadata in rows]

    return await store.read(flow)


async def keep_prune(store: Store, *, older: float) -> list[int]:
    """Forget instances that have been offline for so long; their events stay."""

    async def flow(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("keep_prune", older=older)]

    return await store.write(flow)


async def keep_findings(store: Store, findings: Sequence[Finding]) -> list[Finding]:
    """Tell what was found and what is gone, each once, as events; gives what did not stand before."""
    standing = {_place(finding): finding for finding in findings}
    batch = Batch(PLACE_COLUMNS, sorted(standing))

    async def flow(transaction: Transaction) -> list[Finding]:
        await transaction.run("keep_row")
        gone = [tuple(row) for row in await transaction.run("keep_gone", batch)]
        fresh = [standing[tuple(row)] for row in await transaction.run("keep_found", batch)]
        told = [_gone(place) for place in gone] + [_found(finding) for finding in fresh]
        if told:
            await transaction.run("keep_told", Batch(TOLD_COLUMNS, told))
        return fresh

    return await store.write(flow)


async def observe_keepers(store: Store) -> Keepers:
    async def flow(transaction: Transaction) -> Keepers:
        rows = await transaction.run("observe_keeper")
        return Keepers(*rows[0]) if rows else Keepers()

    return await store.read(flow)


def _place(finding: Finding) -> Row:
    """What makes a finding the same one; its words may change from check to check."""
    subject = finding.detail if finding.check == GUARDS else ""
    return (finding.check, finding.job_id, finding.stage, finding.part, subject)


def _found(finding: Finding) -> Row:
    return (None, FOUND, finding.detail, _data(_place(finding)))


def _gone(place: Row) -> Row:
    return (FOUND, GONE, place[-1] or None, _data(place))


def _data(place: Row) -> str:
    check, job_id, stage, part, _ = place
    known = {"job_id": job_id, "stage": stage, "part": part}
    return encode(
        "data", {"check": check} | {name: number for name, number in known.items() if number >= 0}, DATA_LIMIT
    )
