"""workers: register an instance, drain or sign it off, enable or disable a name."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn, Required, TypedDict

from reelstate.core.document import LIMITS, DocumentLimits, encode_optional, plain_text, whole_number
from reelstate.core.errors import InvalidRequest, NotFound, TooManyRequests, WorkerRefused
from reelstate.core.machine import WORKER, WorkerStatus
from reelstate.core.model import Json, TaskKey, WorkerKind
from reelstate.services.observe import observe_instances
from reelstate.services.release import release_leases
from reelstate.stores.store import Batch, Store, Transaction

KINDS = ("local", "remote")
MAX_SLOTS = 100_000
TEXT_LIMIT = 255
REASON_LIMIT = 1000
FULL_WAIT = 15.0
"""Seconds after which an instance may ask again to be registered under a name that has too many."""
WORD = re.compile(r"[A-Za-z0-9._:+-]{1,128}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """An instance of a worker as it describes itself. Every start is a new instance; the name is what people read."""

    name: str
    hostname: str
    software: str
    slots: int = 1
    capabilities: Collection[str] = ()
    pipelines: Collection[str] = ()
    kind: WorkerKind = "local"
    metadata: Json = None
    max_instances: int | None = None
    """Live instances that the name may have with this one; any number when None."""


class RegisterOptions(TypedDict, total=False):
    """Options of `Engine.register`, as `Registration` has them; it needs the first two."""

    hostname: Required[str]
    software: Required[str]
    slots: int
    capabilities: Collection[str]
    pipelines: Collection[str]
    kind: WorkerKind
    metadata: Json
    max_instances: int | None


async def register(store: Store, registration: Registration, limits: DocumentLimits = LIMITS) -> int:
    """Make the instance known and return its id; refused while its name is disabled, or has too many live instances."""
    require_worker_name(registration.name)
    if whole_number("slots", registration.slots, MAX_SLOTS) < 1:
        raise InvalidRequest("slots", f"{registration.slots} is too few", hint="a worker runs at least one task")
    if registration.kind not in KINDS:
        raise InvalidRequest("kind", f"{registration.kind!r} is no kind of worker", hint=f"one of {', '.join(KINDS)}")
    for field in ("capabilities", "pipelines"):
        for word in getattr(registration, field):
            if not WORD.fullmatch(word):
                raise InvalidRequest(field, f"{word!r} is not a name", hint="letters, digits, . _ : + -; at most 128")
    parameters = {
        "name": registration.name,
        "hostname": plain_text("hostname", registration.hostname, 255),
        "software": plain_text("software", registration.software, 255),
        "kind": registration.kind,
        "slots": registration.slots,
        "capabilities": sorted(plain_text("capabilities", word, 255) for word in registration.capabilities),
        "pipelines": sorted(plain_text("pipelines", name, 255) for name in registration.pipelines),
        "metadata": encode_optional("metadata", registration.metadata, limits.metadata),
        "max_instances": registration.max_instances,
    }

    async def flow(transaction: Transaction) -> int:
        ((worker_id,),) = await transaction.run("submit_ids", count=1)
        if registration.max_instances is not None:
            await transaction.run("workers_lock", name=registration.name)
        if not await transaction.run("workers_register", id=worker_id, **parameters):
            await _refuse(transaction, registration)
        return int(worker_id)

    return await store.write(flow)


async def _refuse(transaction: Transaction, registration: Registration) -> NoReturn:
    """Raise for what keeps an instance from being registered; that rolls back what its statement has written."""
    ((live,),) = await transaction.run("workers_live", name=registration.name)
    if registration.max_instances is None or live < registration.max_instances:
        raise WorkerRefused(f"the name {registration.name!r} is disabled", hint="an operator may enable it")
    raise TooManyRequests(
        f"worker {registration.name!r} has {live} live instances, the limit is {registration.max_instances}",
        retry_after=FULL_WAIT,
        hint="stop some of them, or raise REEL_INSTANCES_PER_KEY",
    )


async def move_worker(
    store: Store, worker_id: int, target: WorkerStatus, *, actor: str, reason: str | None = None
) -> bool:
    """Drain, reactivate or sign off one instance; gives whether anything changed."""
    if await _move(store, target, actor=actor, reason=reason, worker_id=worker_id, name=None):
        return True
    for worker in await observe_instances(store):
        if worker.id == worker_id:
            return WORKER.validate(worker.status, target, actor)
    raise NotFound("worker", worker_id)


async def busy_workers(store: Store, keys: Collection[TaskKey]) -> list[tuple[int, str, bool]]:
    """The workers that ran these tasks last: id, name, and whether they hold any task now."""
    batch = Batch(("job_id", "stage", "part"), sorted(set(keys)))
    rows = await store.read(lambda transaction: transaction.run("workers_busy", batch))
    return [(worker_id, name, bool(busy)) for worker_id, name, busy in rows]


async def worker_names(store: Store) -> list[str]:
    """Every name that an instance was ever registered under, sorted."""
    return [row[0] for row in await store.read(lambda transaction: transaction.run("workers_names"))]


def require_worker_name(name: str) -> None:
    """Raise for a name that no worker can have."""
    if not NAME.fullmatch(name):
        raise InvalidRequest("name", f"invalid name {name!r} for a worker", hint="letters, digits, . _ -; at most 128")


async def drain(store: Store, name: str, *, actor: str, reason: str | None = None) -> list[int]:
    """Every instance of a name finishes what it runs and takes nothing new."""
    return await _move(store, WorkerStatus.DRAINING, actor=actor, reason=reason, worker_id=None, name=name)


async def enable(store: Store, name: str, *, actor: str, reason: str | None = None) -> list[int]:
    """Let instances of this name claim again; gives those that were draining and go on."""
    _check(actor, name, reason)
    origins = [WorkerStatus.DRAINING] if WORKER.allows(WorkerStatus.DRAINING, WorkerStatus.ACTIVE, actor) else []

    async def flow(transaction: Transaction) -> list[int]:
        parameters = {"worker_id": None, "name": name, "actor": actor, "reason": reason}
        rows = await transaction.run("workers_move", status=WorkerStatus.ACTIVE, origins=origins, **parameters)
        await _flag(transaction, name, enabled=True, actor=actor, reason=reason)
        return [row[0] for row in rows]

    return await store.write(flow)


async def disable(store: Store, name: str, *, actor: str, reason: str | None = None) -> int:
    """Refuse claims and registrations under this name, and release what its instances run; returns how many tasks.

    Its keys stay in force, so that its remote workers go on once the name is enabled. `revoke` ends them.
    """
    _check(actor, name, reason)

    async def flow(transaction: Transaction) -> int:
        await _flag(transaction, name, enabled=False, actor=actor, reason=reason)
        return await _relieve(transaction, name, actor=actor, reason=f"worker {name} was disabled")

    return await store.write(flow)


async def revoke(store: Store, name: str, *, actor: str) -> tuple[int, int]:
    """End the keys of a name and give back what its instances run, uncharged; gives how many keys and tasks."""
    _check(actor, name, None)

    async def flow(transaction: Transaction) -> tuple[int, int]:
        ended = await transaction.run("keys_revoke", id=None, name=name, actor=actor)
        reason = f"the key of worker {name} was revoked"
        return len(ended), await _relieve(transaction, name, actor=actor, reason=reason)

    return await store.write(flow)


async def _relieve(transaction: Transaction, name: str, *, actor: str, reason: str) -> int:
    rows = await transaction.run("workers_leases", name=name)
    held = [(TaskKey(*row[:3]), row[3]) for row in rows]
    return len(await release_leases(transaction, held, actor=actor, reason=reason))


def _check(actor: str, name: str, reason: str | None) -> None:
    plain_text("actor", actor, TEXT_LIMIT)
    plain_text("name", name, TEXT_LIMIT)
    plain_text("reason", reason or "", REASON_LIMIT)


async def _flag(transaction: Transaction, name: str, *, enabled: bool, actor: str, reason: str | None) -> None:
    words = "enabled" if enabled else "disabled"
    # The instances before the name: the order in which a claim locks them.
    await transaction.run("workers_edit", name=name, actor=actor, reason=f"{words}: {reason}" if reason else words)
    await transaction.run("workers_enable", name=name, enabled=enabled)


async def _move(
    store: Store,
    target: WorkerStatus,
    *,
    actor: str,
    reason: str | None,
    worker_id: int | None,
    name: str | None,
) -> list[int]:
    _check(actor, name or "", reason)
    origins = [state for state in WORKER.states if state != target and WORKER.allows(state, target, actor)]

    async def flow(transaction: Transaction) -> list[int]:
        parameters = {"worker_id": worker_id, "name": name, "actor": actor, "reason": reason}
        rows = await transaction.run("workers_move", status=target, origins=origins, **parameters)
        return [row[0] for row in rows]

    return await store.write(flow)
