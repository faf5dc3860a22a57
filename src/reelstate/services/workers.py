"""workers: register and sign off instances, drain, enable or disable a name."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Required, TypedDict

from reelstate.core.document import LIMITS, DocumentLimits, encode_optional, plain_text, whole_number
from reelstate.core.errors import InvalidRequest, NotFound, TooManyRequests, WorkerRefused
from reelstate.core.machine import WORKER, WorkerStatus
from reelstate.core.model import Json, TaskKey, WorkerKind
from reelstate.services.jobs import NEW_IDS
from reelstate.services.observe import observe_instances
from reelstate.services.release import release_leases
from reelstate.stores.store import Batch, NoRow, Statement, Store, Transaction
from reelstate.telemetry.facts import ANY_STATE, Transition

KINDS = ("local", "remote")
MAX_SLOTS = 100_000
TEXT_LIMIT = 255
REASON_LIMIT = 1000
REGISTER_DELAY = 15.0
"""Seconds after which an instance may try again to register under a name that has too many instances."""
CAPABILITY = re.compile(r"[A-Za-z0-9._:+-]{1,128}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


class WorkerIdRow(NamedTuple):
    id: int


class LockRow(NamedTuple):
    locked: None


class LiveRow(NamedTuple):
    live: int


class BusyRow(NamedTuple):
    id: int
    name: str
    busy: bool


class NameRow(NamedTuple):
    name: str


class LeaseRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    token: int


class KeyIdRow(NamedTuple):
    id: str


WORKERS_REGISTER = Statement("workers_register", WorkerIdRow)
WORKERS_LOCK = Statement("workers_lock", LockRow)
WORKERS_LIVE = Statement("workers_live", LiveRow)
WORKERS_BUSY = Statement("workers_busy", BusyRow)
WORKERS_NAMES = Statement("workers_names", NameRow)
WORKERS_MOVE = Statement("workers_move", WorkerIdRow)
WORKERS_LEASES = Statement("workers_leases", LeaseRow)
WORKERS_EDIT = Statement("workers_edit", NoRow)
WORKERS_ENABLE = Statement("workers_enable", NoRow)
KEYS_REVOKE = Statement("keys_revoke", KeyIdRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """An instance of a worker. Every start of a worker is a new instance; instances share a name."""

    name: str
    hostname: str
    software: str
    slots: int = 1
    capabilities: Collection[str] = ()
    pipelines: Collection[str] = ()
    kind: WorkerKind = "local"
    metadata: Json = None
    max_instances: int | None = None
    """Live instances that the name may have, with this one; None for no limit."""


class RegisterOptions(TypedDict, total=False):
    """Options of `Engine.register`, as `Registration` has them."""

    hostname: Required[str]
    software: Required[str]
    slots: int
    capabilities: Collection[str]
    pipelines: Collection[str]
    kind: WorkerKind
    metadata: Json
    max_instances: int | None


async def register(store: Store, registration: Registration, limits: DocumentLimits = LIMITS) -> int:
    """Register an instance and return its id.

    Raise `WorkerRefused` where its name is disabled, `TooManyRequests` where the name has too many live instances.
    """
    require_worker_name(registration.name)
    if whole_number("slots", registration.slots, MAX_SLOTS) < 1:
        raise InvalidRequest("slots", f"{registration.slots} is too few", hint="a worker runs at least one task")
    if registration.kind not in KINDS:
        raise InvalidRequest("kind", f"unknown kind {registration.kind!r} of worker", hint=f"one of {', '.join(KINDS)}")
    for field in ("capabilities", "pipelines"):
        for name in getattr(registration, field):
            if not CAPABILITY.fullmatch(name):
                raise InvalidRequest(field, f"invalid name {name!r}", hint="letters, digits, . _ : + -; at most 128")
    parameters = {
        "name": registration.name,
        "hostname": plain_text("hostname", registration.hostname, 255),
        "software": plain_text("software", registration.software, 255),
        "kind": registration.kind,
        "slots": registration.slots,
        "capabilities": sorted(plain_text("capabilities", name, 255) for name in registration.capabilities),
        "pipelines": sorted(plain_text("pipelines", name, 255) for name in registration.pipelines),
        "metadata": encode_optional("metadata", registration.metadata, limits.metadata),
        "max_instances": registration.max_instances,
    }

    async def flow(transaction: Transaction) -> int:
        ((worker_id,),) = await transaction.run(NEW_IDS, count=1)
        if registration.max_instances is not None:
            await transaction.run(WORKERS_LOCK, name=registration.name)
        if not await transaction.run(WORKERS_REGISTER, id=worker_id, **parameters):
            await _refuse(transaction, registration)
        transaction.note(Transition("worker", "", WorkerStatus.ACTIVE))
        return worker_id

    return await store.write(flow)


async def _refuse(transaction: Transaction, registration: Registration) -> NoReturn:
    """Raise why an instance is not registered, which rolls the transaction back."""
    ((live,),) = await transaction.run(WORKERS_LIVE, name=registration.name)
    if registration.max_instances is None or live < registration.max_instances:
        raise WorkerRefused(f"the name {registration.name!r} is disabled", hint="`reel workers enable` enables it")
    raise TooManyRequests(
        f"worker {registration.name!r} has {live} live instances, the limit is {registration.max_instances}",
        retry_after=REGISTER_DELAY,
        hint="stop some of them, or raise REEL_INSTANCES_PER_KEY",
    )


async def move_worker(
    store: Store, worker_id: int, target: WorkerStatus, *, actor: str, reason: str | None = None
) -> bool:
    """Drain, reactivate or sign off one instance; return whether it changed."""
    if await _move(store, target, actor=actor, reason=reason, worker_id=worker_id, name=None):
        return True
    for worker in await observe_instances(store):
        if worker.id == worker_id:
            return WORKER.validate(worker.status, target, actor)
    raise NotFound("worker", worker_id)


async def busy_workers(store: Store, keys: Collection[TaskKey]) -> list[tuple[int, str, bool]]:
    """Return the workers that ran these tasks last: id, name, and whether they hold any task now."""
    batch = Batch(("job_id", "stage", "part"), sorted(set(keys)))
    rows = await store.read(lambda transaction: transaction.run(WORKERS_BUSY, batch))
    return [(row.id, row.name, bool(row.busy)) for row in rows]


async def worker_names(store: Store) -> list[str]:
    """List every name that an instance was ever registered under, sorted."""
    return [row.name for row in await store.read(lambda transaction: transaction.run(WORKERS_NAMES))]


def require_worker_name(name: str) -> None:
    """Raise `InvalidRequest` for a name that a worker can't have."""
    if not NAME.fullmatch(name):
        raise InvalidRequest("name", f"invalid name {name!r} for a worker", hint="letters, digits, . _ -; at most 128")


async def drain(store: Store, name: str, *, actor: str, reason: str | None = None) -> list[int]:
    """Let every instance of a name finish its tasks and claim no more; return their ids."""
    return await _move(store, WorkerStatus.DRAINING, actor=actor, reason=reason, worker_id=None, name=name)


async def enable(store: Store, name: str, *, actor: str, reason: str | None = None) -> list[int]:
    """Let instances of a name claim again; return those that were draining and are active again."""
    _check_texts(actor, name, reason)
    origins = [WorkerStatus.DRAINING] if WORKER.allows(WorkerStatus.DRAINING, WorkerStatus.ACTIVE, actor) else []

    async def flow(transaction: Transaction) -> list[int]:
        parameters = {"worker_id": None, "name": name, "actor": actor, "reason": reason}
        rows = await transaction.run(WORKERS_MOVE, status=WorkerStatus.ACTIVE, origins=origins, **parameters)
        transaction.note(Transition("worker", WorkerStatus.DRAINING, WorkerStatus.ACTIVE, len(rows)))
        await _set_enabled(transaction, name, enabled=True, actor=actor, reason=reason)
        return [row.id for row in rows]

    return await store.write(flow)


async def disable(store: Store, name: str, *, actor: str, reason: str | None = None) -> int:
    """Refuse claims and registrations under a name and release its tasks; return their number.

    Its keys stay in force, so that its remote workers continue once the name is enabled. `revoke` ends them.
    """
    _check_texts(actor, name, reason)

    async def flow(transaction: Transaction) -> int:
        await _set_enabled(transaction, name, enabled=False, actor=actor, reason=reason)
        return await _release_tasks(transaction, name, actor=actor, reason=f"worker {name} was disabled")

    return await store.write(flow)


async def revoke(store: Store, name: str, *, actor: str) -> tuple[int, int]:
    """Revoke the keys of a name and release its tasks; return the number of keys and of tasks.

    A server may know a key for a moment longer, so the instances drain: they claim nothing of that again.
    """
    _check_texts(actor, name, None)
    origins = [WorkerStatus.ACTIVE] if WORKER.allows(WorkerStatus.ACTIVE, WorkerStatus.DRAINING, actor) else []

    async def flow(transaction: Transaction) -> tuple[int, int]:
        revoked = await transaction.run(KEYS_REVOKE, id=None, name=name, actor=actor)
        reason = f"the key of worker {name} was revoked"
        if revoked:
            parameters = {"worker_id": None, "name": name, "actor": actor, "reason": reason}
            rows = await transaction.run(WORKERS_MOVE, status=WorkerStatus.DRAINING, origins=origins, **parameters)
            transaction.note(Transition("worker", WorkerStatus.ACTIVE, WorkerStatus.DRAINING, len(rows)))
        return len(revoked), await _release_tasks(transaction, name, actor=actor, reason=reason)

    return await store.write(flow)


async def _release_tasks(transaction: Transaction, name: str, *, actor: str, reason: str) -> int:
    rows = await transaction.run(WORKERS_LEASES, name=name)
    held = [(TaskKey(row.job_id, row.stage, row.part), row.token) for row in rows]
    return len(await release_leases(transaction, held, actor=actor, reason=reason))


def _check_texts(actor: str, name: str, reason: str | None) -> None:
    plain_text("actor", actor, TEXT_LIMIT)
    plain_text("name", name, TEXT_LIMIT)
    plain_text("reason", reason or "", REASON_LIMIT)


async def _set_enabled(transaction: Transaction, name: str, *, enabled: bool, actor: str, reason: str | None) -> None:
    change = "enabled" if enabled else "disabled"
    # The instances before the name, in which order a claim locks them.
    await transaction.run(WORKERS_EDIT, name=name, actor=actor, reason=f"{change}: {reason}" if reason else change)
    await transaction.run(WORKERS_ENABLE, name=name, enabled=enabled)


async def _move(
    store: Store,
    target: WorkerStatus,
    *,
    actor: str,
    reason: str | None,
    worker_id: int | None,
    name: str | None,
) -> list[int]:
    _check_texts(actor, name or "", reason)
    origins = [state for state in WORKER.states if state != target and WORKER.allows(state, target, actor)]

    async def flow(transaction: Transaction) -> list[int]:
        parameters = {"worker_id": worker_id, "name": name, "actor": actor, "reason": reason}
        rows = await transaction.run(WORKERS_MOVE, status=target, origins=origins, **parameters)
        transaction.note(Transition("worker", ANY_STATE, target, len(rows)))
        return [row.id for row in rows]

    return await store.write(flow)
