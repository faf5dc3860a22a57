"""keys: authenticate HTTP clients. A key reads `reel_<id>_<secret>`: the id is public, the secret is shown once.

The database holds an HMAC of the secret, so reading it reveals no key. The text ends with a checksum, which tells a
typing error from an unknown key and lets scanners find leaked keys.

Browser sessions and the one-time codes that open them are rows of the same table. Both expire with their key.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
import zlib
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, KeyRefused, NotFound, StoreError
from reelstate.core.machine import Actor
from reelstate.services.rows import fields_of, record_of
from reelstate.services.workers import KEYS_REVOKE, require_worker_name
from reelstate.stores.store import NoRow, Statement, Store, Transaction, row_type

logger = logging.getLogger("reelstate.keys")

CACHE_SECONDS: Final = 4.0
"""How long a key is cached: a revoked one stops within five seconds."""
MAX_CACHED: Final = 10_000
TEXT_LIMIT: Final = 255
MAX_LIFETIME: Final = 100 * 365 * 86_400.0
CODE_LIFETIME: Final = 600.0
SESSION_LIFETIME: Final = 12 * 3600.0
_TEXT: Final = re.compile(r"reel_([0-9a-f]{12})_([0-9a-f]{64})([0-9a-f]{8})", re.ASCII)
_NO_DIGEST: Final = "0" * 64
"""Compared for an unknown id, so that it takes as long as a wrong secret."""


class Scope(StrEnum):
    """What a key permits."""

    READ = "jobs:read"
    WRITE = "jobs:write"
    WORKER = "worker"
    METRICS = "metrics"
    ADMIN = "admin"


class KeyKind(StrEnum):
    """The kind of a row: a key, a session of a browser, or the code that opens a session."""

    KEY = "key"
    SESSION = "session"
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key without its secret."""

    id: str
    kind: KeyKind
    name: str
    user_id: str
    scopes: frozenset[Scope]
    parent: str | None
    actor: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key with its text, which can't be shown again."""

    key: Key
    text: str


class RotatedRow(NamedTuple):
    name: str
    user_id: str
    scopes: list[str]


class CodeRow(NamedTuple):
    name: str
    user_id: str
    scopes: list[str]
    parent: str


KeyRow = row_type("KeyRow", *fields_of(Key))
FoundKeyRow = row_type("FoundKeyRow", *fields_of(Key), "digest", "use_is_due")

KEYS_CREATE = Statement("keys_create", KeyRow)
KEYS_LIST = Statement("keys_list", KeyRow)
KEYS_FIND = Statement("keys_find", FoundKeyRow)
KEYS_ROTATE = Statement("keys_rotate", RotatedRow)
KEYS_SPEND = Statement("keys_spend", CodeRow)
KEYS_PRUNE = Statement("keys_prune", NoRow)
KEYS_USED = Statement("keys_used", NoRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    kind: KeyKind
    name: str
    user_id: str
    scopes: Collection[str]
    actor: str
    lifetime: float | None
    parent: str | None = None


@dataclass
class _Cached:
    """A stored key. The record is built when the secret has matched: an unknown id must not answer sooner."""

    row: Any
    until: float

    @cached_property
    def key(self) -> Key:
        return _key_of(self.row)


class Keys:
    """The keys of one store."""

    def __init__(self, store: Store, *, pepper: str = "", cache_seconds: float = CACHE_SECONDS) -> None:
        self._store = store
        self._pepper = pepper.encode()
        self._cache_seconds = cache_seconds
        self._cache: OrderedDict[str, _Cached] = OrderedDict()

    async def create(
        self,
        name: str,
        *,
        scopes: Collection[str],
        actor: str = Actor.OPERATOR.value,
        user_id: str = "",
        lifetime: float | None = None,
    ) -> MadeKey:
        """Create a key. A key for jobs belongs to a user, whose jobs it sees, unless it has the scope `admin`.

        The name of a worker's key is the name that its instances register under.
        """
        granted = _checked_scopes(scopes, user_id)
        if Scope.WORKER in granted:
            require_worker_name(name)
        draft = _Draft(
            kind=KeyKind.KEY,
            name=_checked_name(name),
            user_id=plain_text("user_id", user_id, TEXT_LIMIT),
            scopes=granted,
            actor=plain_text("actor", actor, TEXT_LIMIT),
            lifetime=_checked_seconds("lifetime", lifetime),
        )
        return await self._store.write(lambda transaction: self._insert(transaction, draft))

    async def register_worker(
        self, name: str, *, actor: str = Actor.OPERATOR.value, lifetime: float | None = None
    ) -> MadeKey:
        """Create the key that a remote worker of this name connects with."""
        return await self.create(name, scopes=[Scope.WORKER], actor=actor, lifetime=lifetime)

    async def all(self) -> list[Key]:
        """List every key, the oldest first, also expired and revoked ones."""
        return [_key_of(row) for row in await self._store.read(lambda transaction: transaction.run(KEYS_LIST))]

    async def has_workers(self) -> bool:
        """Return whether a key in force belongs to a remote worker."""
        now = datetime.now(UTC)
        return any(
            Scope.WORKER in key.scopes and key.revoked_at is None and (key.expires_at is None or key.expires_at > now)
            for key in await self.all()
        )

    async def rotate(
        self,
        key_id: str,
        *,
        actor: str = Actor.OPERATOR.value,
        overlap: float = 86_400.0,
        lifetime: float | None = None,
    ) -> MadeKey:
        """Create a key with the same scopes; the old one expires after the overlap."""
        _checked_seconds("overlap", overlap)
        _checked_seconds("lifetime", lifetime)

        async def flow(transaction: Transaction) -> MadeKey:
            rows = await transaction.run(KEYS_ROTATE, id=key_id, overlap=overlap, actor=actor)
            if not rows:
                raise NotFound("key in force", key_id, hint="`reel keys` lists expired and revoked ones, too")
            draft = _Draft(kind=KeyKind.KEY, **rows[0]._asdict(), actor=actor, lifetime=lifetime)
            return await self._insert(transaction, draft)

        created = await self._store.write(flow)
        self._cache.pop(key_id, None)
        return created

    async def revoke(self, key_id: str, *, actor: str = Actor.OPERATOR.value) -> bool:
        """End a key and its sessions now; return whether it was in force. Raise `NotFound` for an unknown id."""
        revoked = await self._revoke(key_id, actor)
        if not revoked and key_id not in {key.id for key in await self.all()}:
            raise NotFound("key", key_id, hint="`reel keys` lists all keys")
        return revoked

    async def authenticate(self, text: str, kind: KeyKind = KeyKind.KEY) -> Key:
        """Return the key of a text; raise `KeyRefused` where it is malformed, unknown, expired or revoked."""
        match = _TEXT.fullmatch(text)
        if match is None or match[3] != _checksum(match[1], match[2]):
            raise KeyRefused("malformed key", hint="a key reads reel_<id>_<secret>: check that all of it was copied")
        found = await self._find(match[1])
        matches = hmac.compare_digest(found.row.digest if found else _NO_DIGEST, self._digest(match[2]))
        if found is None or not matches or found.key.kind is not kind:
            hint = "ask an admin for one: `reel keys create`, for a worker `reel workers register`"
            raise KeyRefused("the key is not in force", hint=hint)
        await self._record_use(found)
        return found.key

    async def in_force(self, key_id: str, *, fresh: bool = False) -> bool:
        """Return whether a key is still in force: for long responses. With `fresh`, do not trust the cache."""
        found = await (self._read(key_id) if fresh else self._find(key_id))
        if found is not None:
            await self._record_use(found)
        return found is not None

    async def create_code(self, key: Key, *, lifetime: float = CODE_LIFETIME) -> str:
        """Create a code that opens one session with the scopes of a key."""
        draft = _Draft(
            kind=KeyKind.CODE,
            name=key.name,
            user_id=key.user_id,
            scopes=key.scopes,
            actor=key.actor,
            lifetime=lifetime,
            parent=key.id,
        )
        return (await self._store.write(lambda transaction: self._insert(transaction, draft))).text

    async def redeem_code(self, code: str) -> MadeKey:
        """Open the session of a code; raise `KeyRefused` where it is unknown, expired or redeemed."""
        match = _TEXT.fullmatch(code)

        async def flow(transaction: Transaction) -> MadeKey | None:
            if match is None:
                return None
            rows = await transaction.run(KEYS_SPEND, id=match[1], digest=self._digest(match[2]))
            return await self._insert_session(transaction, _session_draft(*rows[0])) if rows else None

        session = await self._store.write(flow)
        if session is None:
            raise KeyRefused(
                "the code is unknown, expired or was used before",
                hint="a code opens one session, within ten minutes; a server prints a new one when it starts",
            )
        return session

    async def open_session(self, key: Key) -> MadeKey:
        """Open a session with the scopes of a key."""
        draft = _session_draft(key.name, key.user_id, key.scopes, key.id)
        return await self._store.write(lambda transaction: self._insert_session(transaction, draft))

    async def close_session(self, session_id: str) -> None:
        """End a session now."""
        await self._revoke(session_id, f"session:{session_id}")

    async def _revoke(self, key_id: str, actor: str) -> bool:
        revoked = await self._store.write(
            lambda transaction: transaction.run(KEYS_REVOKE, id=key_id, name=None, actor=actor)
        )
        self._cache.pop(key_id, None)
        return bool(revoked)

    async def _insert_session(self, transaction: Transaction, draft: _Draft) -> MadeKey:
        await transaction.run(KEYS_PRUNE)
        return await self._insert(transaction, draft)

    async def _insert(self, transaction: Transaction, draft: _Draft) -> MadeKey:
        key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
        (row,) = await transaction.run(
            KEYS_CREATE,
            id=key_id,
            kind=draft.kind,
            name=draft.name,
            user_id=draft.user_id,
            scopes=sorted(draft.scopes),
            digest=self._digest(secret),
            parent=draft.parent,
            actor=draft.actor,
            lifetime=draft.lifetime,
        )
        return MadeKey(_key_of(row), f"reel_{key_id}_{secret}{_checksum(key_id, secret)}")

    async def _find(self, key_id: str) -> _Cached | None:
        cached = self._cache.get(key_id)
        if cached is not None and time.monotonic() < cached.until:
            return cached
        return await self._read(key_id)

    async def _read(self, key_id: str) -> _Cached | None:
        until = time.monotonic() + self._cache_seconds  # from before the read, so that the cached key is not older
        (row,) = await self._store.read(lambda transaction: transaction.run(KEYS_FIND, id=key_id))
        if row.id is None:
            self._cache.pop(key_id, None)
            return None
        found = _Cached(row, until)
        self._cache[key_id] = found
        self._cache.move_to_end(key_id)
        if len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return found

    async def _record_use(self, found: _Cached) -> None:
        """Record that a key was used, about once a minute; a read-only store does not refuse the key."""
        if not found.row.use_is_due:
            return
        found.row = found.row._replace(use_is_due=False)
        try:
            await self._store.write(lambda transaction: transaction.run(KEYS_USED, id=found.row.id))
        except StoreError as error:
            logger.warning("use of key not recorded key=%s: %s", found.row.id, error)

    def _digest(self, secret: str) -> str:
        return hmac.new(self._pepper, secret.encode(), hashlib.sha256).hexdigest()


def _session_draft(name: str, user_id: str, scopes: Collection[str], parent: str | None) -> _Draft:
    return _Draft(
        kind=KeyKind.SESSION,
        name=name,
        user_id=user_id,
        scopes=scopes,
        actor=f"key:{parent}",
        lifetime=SESSION_LIFETIME,
        parent=parent,
    )


def _checksum(key_id: str, secret: str) -> str:
    return f"{zlib.crc32(f'{key_id}_{secret}'.encode()):08x}"


def _checked_name(name: str) -> str:
    if not name.strip():
        raise InvalidRequest("name", "a key needs a name", hint="name who or what uses it")
    return plain_text("name", name, TEXT_LIMIT)


def _checked_scopes(scopes: Collection[str], user_id: str) -> frozenset[Scope]:
    known = [str(scope) for scope in Scope]
    for scope in scopes:
        if scope not in known:
            raise InvalidRequest("scopes", f"unknown scope {scope!r}", hint=f"one or more of {', '.join(known)}")
    if not scopes:
        raise InvalidRequest("scopes", "a key needs at least one scope", hint=f"one or more of {', '.join(known)}")
    found = frozenset(Scope(scope) for scope in scopes)
    if not user_id and found & {Scope.READ, Scope.WRITE} and Scope.ADMIN not in found:
        raise InvalidRequest("user_id", "a key for jobs needs a user", hint="name the user whose jobs it sees")
    return found


def _checked_seconds(field: str, seconds: float | None) -> float | None:
    if seconds is not None and not 0 <= seconds <= MAX_LIFETIME:
        raise InvalidRequest(field, f"invalid duration {seconds!r}", hint=f"seconds from 0 to {MAX_LIFETIME:.0f}")
    return seconds


def _key_of(row: Any) -> Key:
    return record_of(Key, row, kind=KeyKind(row.kind), scopes=frozenset(map(Scope, row.scopes)))
