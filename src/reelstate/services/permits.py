"""permits: what a remote worker shows with every word on a task. Its key alone registers and claims, nothing more.

A permit names the task, the token and the worker's name, and is signed with a secret that the database keeps, so any
server of the house can read what another one gave. It says who may speak; whether the lease still holds is said by
the task's row alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from reelstate.artifacts import keys
from reelstate.core.errors import PermitExpired, PermitRefused
from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask, TaskKey
from reelstate.stores.store import Row, Store, Transaction

PURPOSE: Final = "permits"
"""The name of the secret."""
LIFETIME: Final = 3600.0
LONGEST: Final = 2048
DOT: Final = b"."


@dataclass(frozen=True, slots=True)
class Grant:
    """What a permit says: who may speak of which task, under which token."""

    worker: str
    """The name of its key."""
    pipeline: str
    stage: str
    key: TaskKey
    token: int
    expires: int
    """Seconds since 1970, by the clock of the server that signed it."""

    @property
    def prefix(self) -> str:
        """Where the run may write, and nobody else."""
        return keys.task(self.key.job_id, self.stage, self.key.part, self.token)

    @property
    def expired(self) -> bool:
        return time.time() > self.expires


class Standing(StrEnum):
    """What became of the run that a permit was given to."""

    HOLDS = "holds"
    ENDED = "ended"
    """By its own report, or by a cancel; nobody has claimed the task since."""
    FENCED = "fenced"
    """The task was claimed again: nothing that the run made will ever count."""
    UNKNOWN = "unknown"


class Permits:
    """Signs permits and reads them back."""

    def __init__(self, store: Store, *, lifetime: float = LIFETIME) -> None:
        self._store = store
        self._lifetime = lifetime
        self._secret: bytes | None = None

    async def give(self, tasks: Iterable[ClaimedTask], worker: str) -> list[str]:
        """A permit for each of these tasks."""
        secret, end = await self._known(), self._end()
        return [
            _signed(secret, Grant(worker, each.pipeline, each.stage_name, each.key, each.token, end)) for each in tasks
        ]

    async def renew(self, grant: Grant) -> str:
        """The same permit with a new end."""
        return _signed(await self._known(), replace(grant, expires=self._end()))

    async def read(self, text: str, worker: str, *, expired: bool = False) -> Grant:
        """What a permit says, if it is ours, is this worker's and has not ended (unless one that has will do)."""
        grant = _read(await self._known(), text)
        if grant is None or not hmac.compare_digest(grant.worker.encode(), worker.encode()):
            raise PermitRefused("this is no permit of yours", hint="show the one that came with the claim of the task")
        if grant.expired and not expired:
            raise PermitExpired(f"the permit for task {grant.key} has ended", hint="a heartbeat renews it")
        return grant

    def is_ending(self, grant: Grant) -> bool:
        """Whether half of its time is over."""
        return time.time() > grant.expires - self._lifetime / 2

    async def standing(self, grant: Grant) -> Standing:
        """Whether the lease that the permit was given for still holds; the task's row says so."""

        async def flow(transaction: Transaction) -> list[Row]:
            job_id, stage, part = grant.key
            return await transaction.run("permits_task", job_id=job_id, stage=stage, part=part)

        found = await self._store.read(flow)
        if not found:
            return Standing.UNKNOWN
        status, token = found[0]
        if token != grant.token:
            return Standing.FENCED if token > grant.token else Standing.UNKNOWN
        return Standing.HOLDS if status == TaskStatus.RUNNING else Standing.ENDED

    def _end(self) -> int:
        return int(time.time() + self._lifetime)

    async def _known(self) -> bytes:
        if self._secret is None:
            self._secret = await self._store.write(_secret)
        return self._secret


async def _secret(transaction: Transaction) -> bytes:
    """The secret of this database; whoever needs it first makes it."""
    await transaction.run("permits_make", name=PURPOSE, secret=secrets.token_hex(32))
    ((secret,),) = await transaction.run("permits_secret", name=PURPOSE)
    return bytes.fromhex(secret)


def _signed(secret: bytes, grant: Grant) -> str:
    words = [grant.worker, grant.pipeline, grant.stage, *grant.key, grant.token, grant.expires]
    body = _text(json.dumps(words, separators=(",", ":")).encode())
    return (body + DOT + _text(_mac(secret, body))).decode()


def _read(secret: bytes, text: str) -> Grant | None:
    """The grant in a text; None for one that was not signed here."""
    body, _, mac = text[:LONGEST].encode("ascii", "replace").rpartition(DOT)
    if not hmac.compare_digest(_text(_mac(secret, body)), mac):
        return None
    try:
        worker, pipeline, stage, job, number, part, token, expires = json.loads(_bytes(body))
    except (ValueError, binascii.Error):
        return None
    return Grant(worker, pipeline, stage, TaskKey(job, number, part), token, expires)


def _mac(secret: bytes, body: bytes) -> bytes:
    return hmac.digest(secret, body, hashlib.sha256)


def _text(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _bytes(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
