"""Every error that Reelstate raises, as one tree by cause. Each carries ids as fields and a hint for the reader.

ReelstateError
├── InvalidRequest            the request has a wrong value; nothing was changed
│   ├── InvalidSetting        a setting has a wrong value, or contradicts another
│   ├── InvalidPipeline       a declaration is wrong; `field` is the path to it
│   ├── UnknownPipeline       no pipeline of that name is declared
│   ├── IdempotencyConflict   the key was used before for another request
│   ├── InvalidSearch         a search can't be parsed, or would read too much
│   ├── CursorExpired         events after the cursor are no longer in the log
│   └── TooLarge              a value is over its limit
├── NotFound                  no such job, task or worker
├── JobArchived               the job is in the archive, where it can only be read
├── InvalidTransition         the machine does not allow this change
├── VersionConflict           the row was changed since it was read
│   └── SelectionChanged      another number of jobs matches than the caller expects
├── UploadConflict            the offset of an upload differs from the client's
├── UploadBroken              the client of an upload stopped sending
├── WaitTimeout               the job did not finish or stop in time
├── AccessRefused             the caller may not do this
│   ├── KeyRefused            the key is missing, unknown, revoked or expired
│   ├── ScopeMissing          the key lacks the scope
│   └── PermitRefused         a remote worker has no permit for this task
│       └── PermitExpired     its permit has expired and can be renewed
├── TooManyRequests           the caller is over its rate limit
├── QuotaExceeded             the caller is over its upload quota
├── WorkerRefused             the worker may not claim: its name is disabled
│   └── WorkerUnknown         it is not registered, or was pruned
├── LeaseLost                 the task is no longer leased to this run
├── StoreError                the database failed or refused
│   ├── StoreUnavailable      it can't be reached
│   ├── StoreFull             its disk is full
│   ├── StoreReadOnly         it is read-only
│   ├── SchemaMismatch        its schema is older or newer than this code
│   ├── GuardRefused          a guard inside the database refused a change
│   └── CorruptState          stored state breaks an invariant; writing is refused
├── RedisUnavailable          Redis can't be reached, or times out
│   └── RedisRefused          it can't be used: password, rights, version, a replica
├── LockTaken                 another holder has the lock
├── LockLost                  a lock was not renewed in time, or was revoked
└── StorageError              the folder or bucket of sources and streams failed
    ├── StorageUnavailable    it can't be reached, or gives a wrong response
    ├── StorageDenied         credentials are missing or refused, or the folder is read-only
    ├── StorageFull           its disk is full
    ├── StorageMissing        the object or bucket does not exist
    ├── StorageDamaged        the bytes differ from those that were written
    └── StorageConflict       other bytes are stored under that key
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class ReelstateError(Exception):
    """The base of every error of Reelstate. `str()` is the message and, in brackets, the hint."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidRequest(ReelstateError):
    """A value of the request is wrong; `field` names it. Nothing was changed."""

    def __init__(self, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {message}", hint=hint)
        self.field = field


class InvalidSetting(InvalidRequest):
    """A setting has a wrong value, or contradicts another setting; `field` is its variable."""

    def __init__(self, variable: str, value: object, expected: str, *, hint: str) -> None:
        ReelstateError.__init__(self, f"invalid value {value!r} for {variable} (expected {expected})", hint=hint)
        self.field = variable


class InvalidPipeline(InvalidRequest):
    """A pipeline declaration is wrong; `field` is the path to the mistake."""


class UnknownPipeline(InvalidRequest):
    """No pipeline of this name is declared in this process or in the store."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        declared = f"declared: {', '.join(sorted(known))}; check the spelling"
        super().__init__(
            "pipeline",
            f"unknown pipeline {name!r}",
            hint=declared if known else "none is declared: start a worker with its code, or name the code with --app",
        )
        self.name = name


class IdempotencyConflict(InvalidRequest):
    """The idempotency key was used before for another request."""

    def __init__(self, key: str, job_id: int) -> None:
        super().__init__(
            "idempotency_key",
            f"{key!r} was used for job {job_id} with another request",
            hint="repeat that request, or use a new key",
        )
        self.key = key
        self.job_id = job_id


class TooLarge(InvalidRequest):
    """A value is larger than its limit."""

    def __init__(self, field: str, size: int, limit: int, *, hint: str = "") -> None:
        super().__init__(
            field,
            f"is {size:,} bytes, the limit is {limit:,}",
            hint=hint or "keep large data in storage and pass its address",
        )
        self.size = size
        self.limit = limit


class InvalidSearch(InvalidRequest):
    """A search can't be parsed, or would read too many jobs; `position` is where, counted from 0."""

    def __init__(self, message: str, position: int | None = None, *, hint: str) -> None:
        where = "" if position is None else f" at character {position + 1}"
        super().__init__("search", f"{message}{where}", hint=hint)
        self.position = position


class CursorExpired(InvalidRequest):
    """Events after the cursor were archived or deleted; `oldest` is the cursor after which the log is complete."""

    def __init__(self, cursor: str, oldest: str | None = None) -> None:
        super().__init__(
            "after",
            f"events after {cursor[:50]!r} are no longer in the log, or the cursor is from another database",
            hint="read the present state, then continue after `oldest`" if oldest else "start again without a cursor",
        )
        self.cursor = cursor
        self.oldest = oldest


class JobArchived(ReelstateError):
    """The job is in the archive, where it can be read and not changed."""

    def __init__(self, job_id: int) -> None:
        super().__init__(
            f"job {job_id} is archived and can only be read",
            hint=f"submit it again as a new job; `reel job {job_id}` shows its spec",
        )
        self.job_id = job_id


class NotFound(ReelstateError):
    """The entity does not exist, or is not visible to the caller."""

    def __init__(self, entity: str, key: object, *, hint: str = "") -> None:
        super().__init__(f"there is no {entity} {key}", hint=hint or "check the id")
        self.entity = entity
        self.key = key


class InvalidTransition(ReelstateError):
    """The state machine does not allow this change of status."""

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
        hint = f"allowed for {', '.join(who_may)}" if who_may else "no actor may make this change"
        super().__init__(f"{entity} {key}: {actor} may not change {origin} to {target}".replace(" :", ":"), hint=hint)
        self.entity, self.origin, self.target, self.actor, self.key = entity, origin, target, actor, key


class VersionConflict(ReelstateError):
    """The entity was changed since the caller read it."""

    def __init__(self, entity: str, key: object, expected: int, found: int) -> None:
        super().__init__(
            f"{entity} {key} is at version {found}, not {expected}",
            hint="read it again, then decide",
        )
        self.entity, self.key, self.expected, self.found = entity, key, expected, found


class SelectionChanged(VersionConflict):
    """Another number of jobs matches the selection than the caller expects; nothing was changed."""

    def __init__(self, expected: int, found: int) -> None:
        ReelstateError.__init__(
            self, f"{found} jobs match, not {expected}", hint="list them again and confirm the new number"
        )
        self.expected, self.found = expected, found


class UploadConflict(ReelstateError):
    """The offset of the upload differs from the client's, or another client writes to it."""


class UploadBroken(ReelstateError):
    """The client stopped sending; the bytes of a resumable upload are kept."""


class WaitTimeout(ReelstateError):
    """The job did not finish or stop in time; it goes on."""

    def __init__(self, job_id: int, status: str, seconds: float) -> None:
        super().__init__(
            f"job {job_id} is still {status} after {seconds:g} s",
            hint="wait longer, or check that workers run",
        )
        self.job_id, self.status, self.seconds = job_id, status, seconds


class AccessRefused(ReelstateError):
    """The caller may not do this."""


class KeyRefused(AccessRefused):
    """The key is missing, unknown, revoked or expired."""


class ScopeMissing(AccessRefused):
    """The key lacks the scope for this request."""


class TooManyRequests(ReelstateError):
    """The caller is over its rate limit."""

    def __init__(self, message: str, *, retry_after: float, hint: str = "send batches") -> None:
        super().__init__(message, hint=f"retry in {retry_after:.1f} s, and {hint}")
        self.retry_after = retry_after


class QuotaExceeded(ReelstateError):
    """The caller is over its quota; nothing was changed."""

    def __init__(self, message: str, *, used: int, limit: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.used, self.limit = used, limit


class WorkerRefused(ReelstateError):
    """The worker may not claim tasks."""


class WorkerUnknown(WorkerRefused):
    """No worker has this id: it was never registered, or was pruned."""

    def __init__(self, worker_id: int) -> None:
        super().__init__(f"worker {worker_id} is not registered", hint="register it again")
        self.worker_id = worker_id


class PermitRefused(AccessRefused):
    """A remote worker has no permit for the task that it reports on."""


class PermitExpired(PermitRefused):
    """The permit has expired; a heartbeat renews it while the lease holds."""


class LeaseLost(ReelstateError):
    """The task is no longer leased to this run: it was reclaimed, finished or cancelled."""


class StoreError(ReelstateError):
    """The database failed or refused a statement."""


class StoreUnavailable(StoreError):
    """The database can't be reached."""


class StoreFull(StoreError):
    """The disk of the database is full."""


class StoreReadOnly(StoreError):
    """The database is read-only."""


class SchemaMismatch(StoreError):
    """The schema of the database is older or newer than this code."""


class GuardRefused(StoreError):
    """A guard inside the database refused a change."""


class CorruptState(StoreError):
    """Stored state breaks an invariant; writing is refused."""


class RedisUnavailable(ReelstateError):
    """Redis can't be reached, or times out."""


class RedisRefused(RedisUnavailable):
    """Redis can't be used: password, rights, version, or it is a replica."""


class LockTaken(ReelstateError):
    """Another holder has the lock."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lock {name!r} is held by another holder", hint="wait longer, or leave the work to it")
        self.name = name


class LockLost(ReelstateError):
    """The lock was not renewed in time, or was revoked."""

    def __init__(self, name: str) -> None:
        super().__init__(f"lock {name!r} was lost", hint="stop: another holder may have started the same work")
        self.name = name


class StorageError(ReelstateError):
    """The storage failed or refused an operation."""

    retryable: ClassVar[bool] = True
    """Whether a later attempt, or another worker, may succeed."""


class StorageUnavailable(StorageError):
    """The storage can't be reached."""


class StorageDenied(StorageError):
    """The storage denies access with these credentials; another process may have others."""


class StorageFull(StorageError):
    """The disk of the storage is full."""


class StorageMissing(StorageError):
    """The object or bucket does not exist."""

    retryable = False


class StorageDamaged(StorageError):
    """The bytes differ from those that were written."""


class StorageConflict(StorageError):
    """Other bytes are stored under a key that never changes."""

    retryable = False
