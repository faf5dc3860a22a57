"""Every error the engine raises, as one tree by cause. Each carries its ids as fields and a hint for a person.

ReelstateError
├── InvalidRequest            the caller asked for something that can't be
│   ├── InvalidSetting        a setting has a value that it can't have, alone or beside another
│   ├── InvalidPipeline       a declaration is wrong; `path` names the place
│   ├── UnknownPipeline       no pipeline of that name is declared
│   ├── IdempotencyConflict   the key was used before for another request
│   └── TooLarge              a value is over its limit
├── NotFound                  no such job, task or worker
├── InvalidTransition         the machine does not allow this change
├── VersionConflict           somebody changed the row since it was read
│   └── SelectionChanged      not as many jobs match as the caller has seen
├── UploadConflict            an upload is not where its sender takes it to be
├── UploadBroken              the bytes of an upload stopped coming
├── WaitTimeout               the job did not come to rest in time
├── AccessRefused             the caller may not do that
│   ├── KeyRefused            there is no such key, or it is revoked or expired
│   ├── ScopeMissing          the key does not reach so far
│   └── PermitRefused         a remote worker speaks of a task that is not its own
│       └── PermitExpired     its permit has ended, and can be renewed
├── TooManyRequests           the caller asks more often than it may
├── QuotaExceeded             the caller's uploads take up all that they may
├── WorkerRefused             the worker may not take work: its name is disabled
│   └── WorkerUnknown         it is not registered, or was pruned
├── LeaseLost                 the task is no longer this run's
├── StoreError                the database
│   ├── StoreUnavailable      it can't be reached, or went away and stayed away
│   ├── StoreFull             no room left on its disk
│   ├── StoreReadOnly         it can't be written to
│   ├── SchemaMismatch        its schema is older or newer than this code
│   ├── GuardRefused          a guard inside the database refused a change
│   └── CorruptState          stored state breaks an invariant, so writing is refused
├── RedisUnavailable          Redis can't be reached, or does not answer in time
│   └── RedisRefused          it answers, but can't be used: password, rights, version, a replica
├── LockTaken                 somebody else holds the lock
├── LockLost                  a lock was not renewed in time, or taken away
└── StorageError              the folder or bucket that keeps sources and streams
    ├── StorageUnavailable    it can't be reached, or does not answer as it should
    ├── StorageDenied         credentials are missing or refused, or the folder may not be written to
    ├── StorageFull           no room left on the disk
    ├── StorageMissing        there is no such object, or no such bucket
    ├── StorageDamaged        the bytes are not those that were written
    └── StorageConflict       other bytes are already kept under that key
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class ReelstateError(Exception):
    """Something went wrong in Reelstate."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidRequest(ReelstateError):
    """The request names something that can't be; nothing was changed."""

    def __init__(self, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {message}", hint=hint)
        self.field = field


class InvalidSetting(InvalidRequest):
    """A setting has a value that it can't have, alone or beside another setting; `field` is its variable."""

    def __init__(self, variable: str, value: object, expected: str, *, hint: str) -> None:
        ReelstateError.__init__(self, f"invalid value {value!r} for {variable} (expected {expected})", hint=hint)
        self.field = variable


class InvalidPipeline(InvalidRequest):
    """A pipeline declaration is wrong; `field` is the path to the mistake."""


class UnknownPipeline(InvalidRequest):
    """No pipeline of that name is declared, neither in this process nor in the store."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        declared = f"declared: {', '.join(sorted(known))}; check the spelling"
        super().__init__(
            "pipeline",
            f"no pipeline is called {name!r}",
            hint=declared if known else "none is declared yet: start a worker with its code, or name it with --app",
        )
        self.name = name


class IdempotencyConflict(InvalidRequest):
    """The same idempotency key came with a different request."""

    def __init__(self, key: str, job_id: int) -> None:
        super().__init__(
            "idempotency_key",
            f"{key!r} was already used for job {job_id} with another request",
            hint="send the same request again, or use a new key",
        )
        self.key = key
        self.job_id = job_id


class TooLarge(InvalidRequest):
    """A value is over its limit."""

    def __init__(self, field: str, size: int, limit: int, *, hint: str = "") -> None:
        super().__init__(
            field,
            f"is {size:,} bytes, the limit is {limit:,}",
            hint=hint or "keep large data in storage and pass its address",
        )
        self.size = size
        self.limit = limit


class NotFound(ReelstateError):
    """There is no such entity."""

    def __init__(self, entity: str, key: object, *, hint: str = "") -> None:
        super().__init__(f"there is no {entity} {key}", hint=hint or "list what there is, and check the id")
        self.entity = entity
        self.key = key


class InvalidTransition(ReelstateError):
    """The machine does not allow this change of state."""

    def __init__(
        self,
        entity: str,
        origin: str,
        target: str,
        actor: str,
        *,
        key: object = "",
        who_may: Sequence[str] = (),
    ) -> None:
        hint = f"only {', '.join(who_may)} may do that" if who_may else f"a {entity} never goes that way"
        super().__init__(f"{entity} {key}: {origin} → {target} is not open to {actor}".replace(" :", ":"), hint=hint)
        self.entity, self.origin, self.target, self.actor, self.key = entity, origin, target, actor, key


class VersionConflict(ReelstateError):
    """Somebody changed the entity since it was read."""

    def __init__(self, entity: str, key: object, expected: int, found: int) -> None:
        super().__init__(
            f"{entity} {key} is at version {found}, not {expected}",
            hint="read it again and decide on what it says now",
        )
        self.entity, self.key, self.expected, self.found = entity, key, expected, found


class SelectionChanged(VersionConflict):
    """Not as many jobs match as the caller has seen; nothing was changed."""

    def __init__(self, expected: int, found: int) -> None:
        ReelstateError.__init__(
            self, f"{found} jobs match, not {expected}", hint="look again, and say how many there are now"
        )
        self.expected, self.found = expected, found


class UploadConflict(ReelstateError):
    """The upload is not as far as its sender takes it to be, or somebody else writes to it."""


class UploadBroken(ReelstateError):
    """The bytes of an upload stopped coming; what came of one that can be resumed is kept."""


class WaitTimeout(ReelstateError):
    """The job did not come to rest in time; it goes on."""

    def __init__(self, job_id: int, status: str, seconds: float) -> None:
        super().__init__(
            f"job {job_id} is still {status} after {seconds:g} s",
            hint="wait longer, watch what it does, or see that workers run",
        )
        self.job_id, self.status, self.seconds = job_id, status, seconds


class AccessRefused(ReelstateError):
    """The caller may not do that."""


class KeyRefused(AccessRefused):
    """No key came with the request, or one that is not in force."""


class ScopeMissing(AccessRefused):
    """The key is in force, but was not made for this."""


class TooManyRequests(ReelstateError):
    """The caller asks more often than it may."""

    def __init__(self, message: str, *, retry_after: float, hint: str = "send many things in one request") -> None:
        super().__init__(message, hint=f"ask again in {retry_after:.1f} s, and {hint}")
        self.retry_after = retry_after


class QuotaExceeded(ReelstateError):
    """What the caller wants to store does not fit into its quota; nothing was changed."""

    def __init__(self, message: str, *, used: int, limit: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.used, self.limit = used, limit


class WorkerRefused(ReelstateError):
    """The worker may not take work."""


class WorkerUnknown(WorkerRefused):
    """No worker of this id is registered."""

    def __init__(self, worker_id: int) -> None:
        super().__init__(f"worker {worker_id} is not registered", hint="register it again: it may have been pruned")
        self.worker_id = worker_id


class PermitRefused(AccessRefused):
    """A remote worker spoke of a task without a permit for it."""


class PermitExpired(PermitRefused):
    """The permit has ended; a heartbeat renews it while the lease holds."""


class LeaseLost(ReelstateError):
    """The task is no longer this run's: it was taken back, finished or cancelled."""


class StoreError(ReelstateError):
    """The database refused or could not do something."""


class StoreUnavailable(StoreError):
    """The database can't be reached."""


class StoreFull(StoreError):
    """The database has no room left."""


class StoreReadOnly(StoreError):
    """The database can't be written to."""


class SchemaMismatch(StoreError):
    """The database's schema is not the one this code knows."""


class GuardRefused(StoreError):
    """A guard inside the database refused a change that got past every check before it."""


class CorruptState(StoreError):
    """Stored state breaks an invariant, so what would make it worse is refused."""


class RedisUnavailable(ReelstateError):
    """Redis can't be reached, or does not answer in time."""


class RedisRefused(RedisUnavailable):
    """Redis answers, but can't be used as it is."""


class LockTaken(ReelstateError):
    """Somebody else holds the lock."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"lock {name!r} is held by somebody else", hint="wait for it longer, or leave the work to them"
        )
        self.name = name


class LockLost(ReelstateError):
    """The lock is not held any more: it was not renewed in time, or taken away."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lock {name!r} is not held any more", hint="stop; what was begun may be begun by another now")
        self.name = name


class StorageError(ReelstateError):
    """What keeps the bytes refused or could not do something."""

    retryable: ClassVar[bool] = True
    """Whether it may go better later, or on another worker."""


class StorageUnavailable(StorageError):
    """The storage can't be reached."""


class StorageDenied(StorageError):
    """The storage does not let this process do that; another one may have better credentials."""


class StorageFull(StorageError):
    """The disk has no room left."""


class StorageMissing(StorageError):
    """There is no such object, or no such bucket."""

    retryable = False


class StorageDamaged(StorageError):
    """The bytes that came are not those that were written."""


class StorageConflict(StorageError):
    """Other bytes are already kept under a key that never changes."""

    retryable = False
