"""permits: authorise the reports of a remote worker on a task. Its key alone only registers and claims.

A permit names the task, the token and the worker, and is signed with a secret that the database holds, so that every
server of the cluster can verify it. It proves which run a report comes from; whether the lease still holds is decided
by the row of the task.
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
from typing import Final, NamedTuple

from reelstate.artifacts import keys
from reelstate.core.errors import PermitExpired, PermitRefused
from reelstate.core.machine import TaskStatus
from reelstate.core.model import ClaimedTask, TaskKey
from reelstate.stores.store import NoRow, Statement, Store, Transaction

PURPOSE: Final = "permits"
"""The name of the secret."""
LIFETIME: Final = 3600.0
MAX_LENGTH: Final = 2048
"""Characters of a permit."""
DOT: Final = b"."


class SecretRow(NamedTuple):
    secret: str


class TaskTokenRow(NamedTuple):
    status: str
    token: int


PERMITS_MAKE = Statement("permits_make", NoRow)
PERMITS_SECRET = Statement("permits_secret", SecretRow)
PERMITS_TASK = Statement("permits_task", TaskTokenRow)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a permit authorises: a worker to report on a task under a token."""

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
        """The prefix of the artifacts that only this run may write."""
        return keys.task(self.key.job_id, self.stage, self.key.part, self.token)

    @property
    def expired(self) -> bool:
        return time.time() > self.expires


class Standing(StrEnum):
    """The state of the run that a permit was issued to."""

    HOLDS = "holds"
    ENDED = "ended"
    """By its own report or a cancel; the task was not claimed since."""
    FENCED = "fenced"
    """The task was claimed again: the results of this run are discarded."""
    UNKNOWN = "unknown"


class Permits:
    """Issues permits and verifies them."""

    def __init__(self, store: Store, *, lifetime: float = LIFETIME) -> None:
        self._store = store
        self._lifetime = lifetime
        self._secret: bytes | None = None

    async def issue(self, tasks: Iterable[ClaimedTask], worker: str) -> list[str]:
        """Issue a permit for each task."""
        secret, expires = await self._load_secret(), self._expiry()
        return [
            _sign(secret, Grant(worker, each.pipeline, each.stage_name, each.key, each.token, expires))
            for each in tasks
        ]

    async def renew(self, grant: Grant) -> str:
        """Issue the same permit with a new expiry."""
        return _sign(await self._load_secret(), replace(grant, expires=self._expiry()))

    async def read(self, text: str, worker: str, *, expired: bool = False) -> Grant:
        """Verify the permit of a worker; raise `PermitRefused`, or `PermitExpired` unless `expired` is accepted."""
        grant = _parse(await self._load_secret(), text)
        if grant is None or not hmac.compare_digest(grant.worker.encode(), worker.encode()):
            raise PermitRefused(
                "the permit is invalid, or of another worker", hint="send the one that came with the claim of the task"
            )
        if grant.expired and not expired:
            raise PermitExpired(f"the permit for task {grant.key} has expired", hint="a heartbeat renews it")
        return grant

    def is_ending(self, grant: Grant) -> bool:
        """Return whether a permit should be renewed: half of its lifetime is over."""
        return time.time() > grant.expires - self._lifetime / 2

    async def standing(self, grant: Grant) -> Standing:
        """Return whether the lease that a permit was issued for still holds, by the row of the task."""
        key = grant.key._asdict()
        rows = await self._store.read(lambda transaction: transaction.run(PERMITS_TASK, **key))
        if not rows:
            return Standing.UNKNOWN
        status, token = rows[0].status, rows[0].token
        if token != grant.token:
            return Standing.FENCED if token > grant.token else Standing.UNKNOWN
        return Standing.HOLDS if status == TaskStatus.RUNNING else Standing.ENDED

    def _expiry(self) -> int:
        return int(time.time() + self._lifetime)

    async def _load_secret(self) -> bytes:
        if self._secret is None:
            self._secret = await self._store.write(_find_secret)
        return self._secret


async def _find_secret(transaction: Transaction) -> bytes:
    """Return the secret of this database; the first call creates it."""
    await transaction.run(PERMITS_MAKE, name=PURPOSE, secret=secrets.token_hex(32))
    (row,) = await transaction.run(PERMITS_SECRET, name=PURPOSE)
    return bytes.fromhex(row.secret)


def _sign(secret: bytes, grant: Grant) -> str:
    fields = [grant.worker, grant.pipeline, grant.stage, *grant.key, grant.token, grant.expires]
    body = _text(json.dumps(fields, separators=(",", ":")).encode())
    return (body + DOT + _text(_mac(secret, body))).decode()


def _parse(secret: bytes, text: str) -> Grant | None:
    """Return the grant of a permit; None where its signature is wrong."""
    body, _, mac = text[:MAX_LENGTH].encode("ascii", "replace").rpartition(DOT)
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
