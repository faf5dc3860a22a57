"""Uploads: sources that clients send. A row holds how many bytes count, and when the upload expires."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from reelstate.core.document import plain_text
from reelstate.core.errors import NotFound, QuotaExceeded, TooManyRequests, UploadConflict
from reelstate.stores.store import Row, Statement, Store, Transaction

R = TypeVar("R", bound=Row)
NAME_LIMIT: Final = 1000
RETRY_AFTER: Final = 60.0
"""Seconds after which a user with too many open uploads may create another."""


class Upload(NamedTuple):
    """An upload, and how much of it has arrived."""

    id: str
    user_id: str
    name: str
    length: int | None
    """Its size in bytes; None while the sender has not announced it."""
    received: int
    digest: str | None
    """The sha256 that the sender announced."""
    sha256: str | None
    """The sha256 of the received bytes; None until the upload is finished."""
    created_at: datetime
    expires_at: datetime

    @property
    def complete(self) -> bool:
        """Whether all bytes have arrived."""
        return self.received == self.length


class UsageRow(NamedTuple):
    """What a user's uploads without a video add up to."""

    under_way: int
    unused: int
    bytes: int


class UploadIdRow(NamedTuple):
    """The id of an upload."""

    id: str


class LockRow(NamedTuple):
    """The result of taking a lock."""

    locked: object


LOCK = Statement("uploads_lock", LockRow)
CREATE = Statement("uploads_create", Upload)
FIND = Statement("uploads_find", Upload)
RECEIVE = Statement("uploads_receive", Upload)
FINISH = Statement("uploads_finish", Upload)
USED = Statement("uploads_used", UsageRow)
DELETE = Statement("uploads_delete", UploadIdRow)
EXPIRE = Statement("uploads_expire", UploadIdRow)
KNOWN = Statement("uploads_known", UploadIdRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadLimits:
    """Limits for the uploads of one user that no video uses. The announced length counts from the start."""

    open: int
    """How many may be unfinished."""
    unused: int
    """How many may be unfinished or finished."""
    bytes: int
    """How many bytes they may have together."""


class Uploads:
    """The uploads of one store. With an owner, uploads of other users are not found."""

    def __init__(self, store: Store, *, lifetime: float, limits: UploadLimits) -> None:
        self._store = store
        self._lifetime = lifetime
        self._limits = limits

    async def create(self, *, user_id: str, name: str = "", length: int | None, digest: str | None = None) -> Upload:
        """Create an upload; raise `TooManyRequests` or `QuotaExceeded` where a limit of the user is reached."""
        given = {"name": plain_text("name", name, NAME_LIMIT), "length": length, "digest": digest}
        terms = {"id": secrets.token_hex(16), "lifetime": self._lifetime, "max_bytes": self._limits.bytes}
        counts = {"max_open": self._limits.open, "max_unused": self._limits.unused}

        async def flow(transaction: Transaction) -> Upload:
            await transaction.run(LOCK, user_id=user_id)
            found = await transaction.run(CREATE, user_id=user_id, **given, **terms, **counts)
            return found[0] if found else await self._refuse(transaction, user_id, length or 1, created=True)

        return await self._store.write(flow)

    async def _refuse(self, transaction: Transaction, user_id: str, size: int, *, created: bool = False) -> NoReturn:
        """Raise for the limit that `size` more bytes, or one more upload (`created`), would exceed."""
        (usage,) = await transaction.run(USED, user_id=user_id)
        limits = self._limits
        if created and usage.under_way >= limits.open:
            message = f"{usage.under_way} uploads of this user are under way"
            raise TooManyRequests(message, retry_after=RETRY_AFTER, hint="finish or delete one of them")
        hint = (
            "create videos from finished uploads, or delete unneeded ones: DELETE /api/v1/uploads/{id};"
            f" an upload expires {self._lifetime:,.0f} s after its last bytes; an admin may raise "
        )
        if created and usage.unused >= limits.unused:
            message = f"{usage.unused:,} uploads of this user have no video yet, the limit is {limits.unused:,}"
            raise QuotaExceeded(message, used=usage.unused, limit=limits.unused, hint=f"{hint}REEL_UPLOAD_UNUSED")
        message = (
            f"uploads of this user that have no video yet use {usage.bytes:,} of {limits.bytes:,} bytes;"
            f" {size:,} more do not fit"
        )
        raise QuotaExceeded(message, used=usage.bytes, limit=limits.bytes, hint=f"{hint}REEL_UPLOAD_QUOTA")

    async def find(self, upload_id: str, *, owner: str | None = None) -> Upload:
        """Return an upload; raise `NotFound` for one that expired, was deleted or never existed."""
        found = await self._read(FIND, id=upload_id, owner=owner) if upload_id.isalnum() else ()
        if not found:
            raise NotFound("upload", upload_id[:64], hint="it may have expired or been deleted: create a new one")
        return found[0]

    async def receive(self, upload: Upload, received: int, *, last: bool = False) -> Upload:
        """Record that `received` bytes have arrived; `last` sets the length of an upload of unknown length."""
        terms = {"lifetime": self._lifetime, "max_bytes": self._limits.bytes}
        counts = {"before": upload.received, "received": received, "length": received if last else None}

        async def flow(transaction: Transaction) -> Upload:
            if upload.length is None:
                await transaction.run(LOCK, user_id=upload.user_id)
            found = await transaction.run(RECEIVE, id=upload.id, **counts, **terms)
            if found:
                return found[0]
            if upload.sha256 is None and upload in await transaction.run(FIND, id=upload.id, owner=None):
                await self._refuse(transaction, upload.user_id, received - upload.received)
            raise UploadConflict(f"upload {upload.id} is finished, was deleted, or another client has written to it")

        return await self._store.write(flow)

    async def finish(self, upload: Upload, sha256: str) -> Upload:
        """Record the sha256 of a complete upload; its source is kept from now on."""
        found = await self._write(FINISH, id=upload.id, sha256=sha256, lifetime=self._lifetime)
        if not found:
            raise UploadConflict(f"upload {upload.id} was deleted, or another client has written to it")
        return found[0]

    async def delete(self, upload_id: str, *, owner: str | None = None) -> bool:
        """Delete an upload; return whether it existed."""
        return bool(await self._write(DELETE, id=upload_id, owner=owner))

    async def expire(self, *, limit: int = 1000) -> list[str]:
        """Delete expired uploads and return their ids."""
        return [row.id for row in await self._write(EXPIRE, limit=limit)]

    async def known(self, upload_ids: Collection[str]) -> frozenset[str]:
        """Return those of the given uploads that exist."""
        rows = await self._read(KNOWN, ids=sorted(upload_ids)) if upload_ids else ()
        return frozenset(row.id for row in rows)

    async def _read(self, statement: Statement[R], **parameters: Any) -> list[R]:
        return await self._store.read(lambda transaction: transaction.run(statement, **parameters))

    async def _write(self, statement: Statement[R], **parameters: Any) -> list[R]:
        return await self._store.write(lambda transaction: transaction.run(statement, **parameters))
