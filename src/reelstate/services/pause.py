"""pause: keep workers from claiming tasks of a target, until it is resumed.

Claims read the pauses in force. A paused pipeline costs them nothing: its lanes are left out. Tasks of a paused stage
or user share their lanes with others, so the claim that meets them has them parked: their lane number is shifted out
of the range that claims read. When a pause is lifted, the parked tasks that nothing pauses any more return.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, NotFound, UnknownPipeline
from reelstate.core.model import TaskKey
from reelstate.core.pause import Pause, PauseScope, Target
from reelstate.services.catalogue import PIPELINE_NAMES, VERSIONS
from reelstate.services.release import release_leases
from reelstate.services.verdict import LeaseRow
from reelstate.services.workers import WORKERS_NAMES
from reelstate.stores.store import Statement, Store, Transaction

TEXT_LIMIT: Final = 255
REASON_LIMIT: Final = 1000
PARK_LIMIT: Final = 1000
"""Tasks at the head of each lane that one statement looks at."""
UNPARK_LIMIT: Final = 10_000
SETTLE_AFTER: Final = 60.0
"""Seconds for which a claim that began before a pause was lifted may still park a task."""


class _PauseRow(NamedTuple):
    id: int
    scope: str
    name: str
    stage: str
    reason: str | None
    actor: str
    paused_at: datetime
    resumed_at: datetime | None
    resumed_by: str | None
    resumed_reason: str | None

    def pause(self) -> Pause:
        target = Target(PauseScope(self.scope), self.name, self.stage)
        times = (self.paused_at, self.resumed_at, self.resumed_by, self.resumed_reason)
        return Pause(self.id, target, self.reason, self.actor, *times)


class _MovedTask(NamedTuple):
    job_id: int


class _Id(NamedTuple):
    id: int


PAUSE = Statement("pause", _PauseRow)
RESUME = Statement("pause_resume", _PauseRow)
PAUSES = Statement("pause_list", _PauseRow)
PARK = Statement("pause_park", _MovedTask)
UNPARK = Statement("pause_unpark", _MovedTask)
UNSETTLED = Statement("pause_unsettled", _Id)
SETTLE = Statement("pause_settle", _Id)
TARGET_LEASES = Statement("pause_leases", LeaseRow)
WAIT_FOR_CLAIMS = Statement("pause_barrier", _Id)


@dataclass(frozen=True, slots=True)
class Paused:
    """The pause in force, whether this call set it, and the number of running tasks that it released."""

    pause: Pause
    changed: bool
    released: int = 0


async def pause(
    store: Store, target: Target, *, actor: str, reason: str | None = None, release_running: bool = False
) -> Paused:
    """Pause a target. Running tasks finish, or with `release_running` are released, which counts as no attempt.

    A target that is paused already keeps its pause with its reason. Raises `InvalidRequest`, `UnknownPipeline` and
    `NotFound`.
    """
    _check_texts(target, actor, reason)

    async def flow(transaction: Transaction) -> tuple[Pause, bool]:
        await _require_target(transaction, target)
        added = await transaction.run(
            PAUSE, scope=target.scope, name=target.name, stage=target.stage, actor=actor, reason=reason
        )
        if added:
            return added[0].pause(), True
        in_force = [row.pause() for row in await transaction.run(PAUSES, lifted=False, limit=PARK_LIMIT)]
        return next(each for each in in_force if each.target == target), False

    set_pause, changed = await store.write(flow)
    released = await _release_running(store, target, set_pause) if release_running else 0
    if target.scope in (PauseScope.STAGE, PauseScope.USER):
        while await park(store):
            pass
    return Paused(set_pause, changed, released)


async def resume(store: Store, target: Target, *, actor: str, reason: str | None = None) -> Pause:
    """Lift the pause of a target and return it. Raises `NotFound` where it is not paused."""
    _check_texts(target, actor, reason)

    async def flow(transaction: Transaction) -> list[_PauseRow]:
        return await transaction.run(
            RESUME, scope=target.scope, name=target.name, stage=target.stage, actor=actor, reason=reason
        )

    lifted = await store.write(flow)
    if not lifted:
        raise NotFound("pause", f"of {target}", hint="`reel paused` lists the pauses in force")
    await settle(store)
    return lifted[0].pause()


async def pauses(store: Store, *, lifted: bool = False, limit: int = 1000) -> list[Pause]:
    """List the pauses in force, newest first; with `lifted`, the record of earlier ones too."""
    rows = await store.read(lambda transaction: transaction.run(PAUSES, lifted=lifted, limit=limit))
    return [row.pause() for row in rows]


async def park(store: Store) -> int:
    """Move tasks of paused stages and users out of the way of claims; return their number.

    It looks at the head of each lane, where claims meet them.
    """
    return len(await store.write(lambda transaction: transaction.run(PARK, limit=PARK_LIMIT)))


async def settle(store: Store) -> int:
    """Return parked tasks that nothing pauses any more to their lanes, after a pause was lifted; return their number.

    A pause that was lifted stays unsettled for a while, because a claim that still saw it may park a task.
    """
    if not await store.read(lambda transaction: transaction.run(UNSETTLED)):
        return 0
    returned = 0
    while moved := await store.write(lambda transaction: transaction.run(UNPARK, limit=UNPARK_LIMIT)):
        returned += len(moved)
    await store.write(lambda transaction: transaction.run(SETTLE, older=SETTLE_AFTER))
    return returned


async def _release_running(store: Store, target: Target, in_force: Pause) -> int:
    """Release the running tasks of a target, those of claims that were under way included."""
    await store.write(lambda transaction: transaction.run(WAIT_FOR_CLAIMS))

    async def flow(transaction: Transaction) -> int:
        rows = await transaction.run(TARGET_LEASES, scope=target.scope, name=target.name, stage=target.stage)
        held = [(TaskKey(row.job_id, row.stage, row.part), row.token) for row in rows]
        return len(await release_leases(transaction, held, actor=in_force.actor, reason=str(in_force)[:REASON_LIMIT]))

    return await store.write(flow)


async def _require_target(transaction: Transaction, target: Target) -> None:
    """Raise for a pipeline, stage or worker that is not known, most likely a spelling mistake."""
    if target.scope in (PauseScope.PIPELINE, PauseScope.STAGE):
        names = sorted(row.name for row in await transaction.run(PIPELINE_NAMES))
        if target.name not in names:
            raise UnknownPipeline(target.name, names)
    if target.scope is PauseScope.STAGE:
        graphs = [row.graph for row in await transaction.run(VERSIONS, names=[target.name])]
        stages = {stage["name"] for graph in graphs for stage in graph["stages"]}
        if target.stage not in stages:
            raise InvalidRequest(
                "stage",
                f"{target.name} has no stage {target.stage!r}",
                hint=f"one of {', '.join(sorted(stages))}",
            )
    if target.scope is PauseScope.WORKER and target.name not in {
        row.name for row in await transaction.run(WORKERS_NAMES)
    }:
        raise NotFound("worker", repr(target.name), hint="`reel workers --all` lists all workers")


def _check_texts(target: Target, actor: str, reason: str | None) -> None:
    for field, text in (("name", target.name), ("stage", target.stage), ("actor", actor)):
        plain_text(field, text, TEXT_LIMIT)
    plain_text("reason", reason or "", REASON_LIMIT)
