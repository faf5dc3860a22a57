"""uploads: films on their way to us. A row says how many bytes of one count, and when it is given up."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn

from reelstate.core.document import plain_text
from reelstate.core.errors import NotFound, QuotaExceeded, TooManyRequests, UploadConflict
from reelstate.stores.store import Row, Store, Transaction

NAME_LIMIT: Final = 1000
FULL_WAIT: Final = 60.0
"""Seconds after which somebody with too many uploads under way may ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    id: str
    user_id: str
    name: str
    length: int | None
    """How many bytes there will be, where that is known from the start."""
    received: int
    digest: str | None
    """What the sender said that the sha256 of the whole would be."""
    sha256: str | None
    """What it is, once all has come."""
    created_at: datetime
    expires_at: datetime

    @property
    def complete(self) -> bool:
        return self.received == self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadLimits:
    """What the uploads of one user that no video uses may amount to. What is not received yet is reserved."""

    open: int
    """Uploads under way."""
    unused: int
    """Uploads under way or finished."""
    bytes: int
    """Their bytes."""


class Uploads:
    """The uploads of one store. With an owner, there are none but theirs."""

    def __init__(self, store: Store, *, lifetime: float, limits: UploadLimits) -> None:
        self._store = store
        self._lifetime = lifetime
        self._limits = limits

    async def create(self, *, user_id: str, name: str = "", length: int | None, digest: str | None = None) -> Upload:
        given = {"name": plain_text("name", name, NAME_LIMIT), "length": length, "digest": digest}
        terms = {"id": secrets.token_hex(16), "lifetime": self._lifetime, "max_bytes": self._limits.bytes}
        counts = {"max_open": self._limits.open, "max_unused": self._limits.unused}

        async def flow(transaction: Transaction) -> Upload:
            await transaction.run("uploads_lock", user_id=user_id)
            found = await transaction.run("uploads_create", user_id=user_id, **given, **terms, **counts)
            return _upload(found[0]) if found else await self._refuse(transaction, user_id, length or 1, created=True)

        return await self._store.write(flow)

    async def _refuse(self, transaction: Transaction, user_id: str, size: int, *, created: bool = False) -> NoReturn:
        """Raise for the limit that leaves no room for so many bytes more; for one that is created, or for its count."""
        ((under_way, unused, used),) = await transaction.run("uploads_used", user_id=user_id)
        limits = self._limits
        if created and under_way >= limits.open:
            hint = "finish or delete one of them"
            raise TooManyRequests(f"{under_way} uploads of this user are under way", retry_after=FULL_WAIT, hint=hint)
        hint = (
            "make videos of finished uploads, or delete those that you do not need: DELETE /api/v1/uploads/{id};"
            f" an upload is deleted by itself {self._lifetime:,.0f} s after its last bytes; an admin may raise "
        )
        if created and unused >= limits.unused:
            message = f"{unused:,} uploads of this user have no video yet, the limit is {limits.unused:,}"
            raise QuotaExceeded(message, used=unused, limit=limits.unused, hint=f"{hint}REEL_UPLOAD_UNUSED")
        message = (
            f"uploads of this user that have no video yet use {used:,} of {limits.bytes:,} bytes;"
            f" {size:,} more do not fit"
        )
        raise QuotaExceeded(message, used=used, limit=limits.bytes, hint=f"{hint}REEL_UPLOAD_QUOTA")

    async def find(self, upload_id: str, *, owner: str | None = None) -> Upload:
        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run("uploads_find", id=upload_id, owner=owner)

        found = await self._store.read(flow) if upload_id.isalnum() else ()
        if not found:
            raise NotFound("upload", upload_id[:64], hint="it was given up or deleted, or never made: make a new one")
        return _upload(found[0])

    async def receive(self, upload: Upload, received: int, *, last: bool = False) -> Upload:
        """Note that more bytes have come; the last of an upload of unknown length say how long it is."""
        terms = {"lifetime": self._lifetime, "max_bytes": self._limits.bytes}
        counts = {"before": upload.received, "received": received, "length": received if last else None}

        async def flow(transaction: Transaction) -> Upload:
            if upload.length is None:
                await transaction.run("uploads_lock", user_id=upload.user_id)
            found = await transaction.run("uploads_receive", id=upload.id, **counts, **terms)
            if found:
                return _upload(found[0])
            present = map(_upload, await transaction.run("uploads_find", id=upload.id, owner=None))
            if upload.sha256 is None and upload in present:
                await self._refuse(transaction, upload.user_id, received - upload.received)
            raise UploadConflict(f"upload {upload.id} is finished, was deleted, or somebody else has written to it")

        return await self._store.write(flow)

    async def finish(self, upload: Upload, sha256: str) -> Upload:
        """Note what all that has come is; its source is needed from here on."""
        found = await self._write("uploads_finish", id=upload.id, sha256=sha256, lifetime=self._lifetime)
        if not found:
            raise UploadConflict(f"upload {upload.id} was deleted, or somebody else has written to it")
        return _upload(found[0])

    async def delete(self, upload_id: str, *, owner: str | None = None) -> bool:
        return bool(await self._write("uploads_delete", id=upload_id, owner=owner))

    async def expire(self, *, limit: int = 1000) -> list[str]:
        """Give up those whose time is over."""
        return [row[0] for row in await self._write("uploads_expire", limit=limit)]

    async def known(self, upload_ids: Collection[str]) -> frozenset[str]:
        """Those of these that there are."""

        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run("uploads_known", ids=sorted(upload_ids))

        return frozenset(row[0] for row in await self._store.read(flow)) if upload_ids else frozenset()

    async def _write(self, statement: str, **parameters: Any) -> list[Row]:
        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run(statement, **parameters)

        return await self._store.write(flow)


def _upload(row: Row) -> Upload:
    return Upload(**dict(zip(Upload.__dataclass_fields__, row, strict=True)))
