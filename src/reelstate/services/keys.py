"""keys: who may ask over HTTP. A key reads `reel_<id>_<secret>`: the id is public, the secret is shown once.

What is stored is an HMAC of the secret, of use to nobody who reads the database. The end of the text is a checksum, so
that a slip of the pen is told from a key of somebody else, and scanners find keys where they should not be.

A session of the dashboard and the one-time code that opens it are rows of the same table. Both end with their key.
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
from typing import Final, TypeVar

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, KeyRefused, NotFound, StoreError
from reelstate.core.machine import Actor
from reelstate.services.workers import require_worker_name
from reelstate.stores.store import Row, Store, Transaction

T = TypeVar("T")
logger = logging.getLogger("reelstate.keys")

CACHE_SECONDS: Final = 4.0
"""How long a key is believed without asking the store: a revoked one stops within five seconds."""
CACHED_KEYS: Final = 10_000
TEXT_LIMIT: Final = 255
LONGEST_LIFETIME: Final = 100 * 365 * 86_400.0
CODE_LIFETIME: Final = 600.0
SESSION_LIFETIME: Final = 12 * 3600.0
_TEXT: Final = re.compile(r"reel_([0-9a-f]{12})_([0-9a-f]{64})([0-9a-f]{8})", re.ASCII)
_NOBODY: Final = "0" * 64
"""The digest of no secret: an unknown id is compared with it, so that it takes as long as a wrong secret."""


class Scope(StrEnum):
    """What a key is made for."""

    READ = "jobs:read"
    WRITE = "jobs:write"
    WORKER = "worker"
    ADMIN = "admin"


class KeyKind(StrEnum):
    KEY = "key"
    SESSION = "session"
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as people may see it; the secret is not among what is known of it."""

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
    """A new key, and its text: nobody can say it a second time."""

    key: Key
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    kind: KeyKind
    name: str
    user_id: str
    scopes: Collection[str]
    actor: str
    lifetime: float | None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    key: Key
    digest: str
    until: float


class Keys:
    """The keys of one store."""

    def __init__(self, store: Store, *, pepper: str = "", cache_seconds: float = CACHE_SECONDS) -> None:
        self._store = store
        self._pepper = pepper.encode()
        self._cache_seconds = cache_seconds
        self._cache: OrderedDict[str, _Known] = OrderedDict()

    async def create(
        self,
        name: str,
        *,
        scopes: Collection[str],
        actor: str = Actor.OPERATOR.value,
        user_id: str = "",
        lifetime: float | None = None,
    ) -> MadeKey:
        """Make a key. One that is for jobs and not an admin's belongs to a user, whose jobs it sees.

        The name of a worker's key is the name that the worker is registered under.
        """
        found = _scopes(scopes, user_id)
        if Scope.WORKER in found:
            require_worker_name(name)
        draft = _Draft(
            kind=KeyKind.KEY,
            name=_name(name),
            user_id=plain_text("user_id", user_id, TEXT_LIMIT),
            scopes=found,
            actor=plain_text("actor", actor, TEXT_LIMIT),
            lifetime=_lifetime("lifetime", lifetime),
        )
        return await self._store.write(lambda transaction: self._make(transaction, draft))

    async def register_worker(
        self, name: str, *, actor: str = Actor.OPERATOR.value, lifetime: float | None = None
    ) -> MadeKey:
        """Create the key that a remote worker of this name connects with."""
        return await self.create(name, scopes=[Scope.WORKER], actor=actor, lifetime=lifetime)

    async def all(self) -> list[Key]:
        """Every key, the oldest first; also those that are no longer in force."""

        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run("keys_list")

        return [_key(row) for row in await self._store.read(flow)]

    async def has_workers(self) -> bool:
        """Whether a key in force belongs to a remote worker."""
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
        """Make a key that may do the same, and let the old one end after the overlap."""
        _lifetime("overlap", overlap)
        _lifetime("lifetime", lifetime)

        async def flow(transaction: Transaction) -> MadeKey:
            found = await transaction.run("keys_rotate", id=key_id, overlap=overlap, actor=actor)
            if not found:
                raise NotFound("key in force", key_id, hint="`reel keys` lists them with when they ended")
            ((name, user_id, scopes),) = found
            draft = _Draft(kind=KeyKind.KEY, name=name, user_id=user_id, scopes=scopes, actor=actor, lifetime=lifetime)
            return await self._make(transaction, draft)

        return self._changed(key_id, await self._store.write(flow))

    async def revoke(self, key_id: str, *, actor: str = Actor.OPERATOR.value) -> bool:
        """End a key now, and with it its sessions; gives whether it was in force."""

        async def flow(transaction: Transaction) -> bool:
            return bool(await transaction.run("keys_revoke", id=key_id, name=None, actor=actor))

        revoked = await self._store.write(flow)
        if not revoked and key_id not in {key.id for key in await self.all()}:
            raise NotFound("key", key_id, hint="`reel keys` lists those that there are")
        return self._changed(key_id, revoked)

    async def authenticate(self, text: str, kind: KeyKind = KeyKind.KEY) -> Key:
        """The key that this text is, if it is in force."""
        match = _TEXT.fullmatch(text)
        if match is None or match[3] != _checksum(match[1], match[2]):
            raise KeyRefused("this is not a key", hint="a key reads reel_<id>_<secret>: see that all of it was copied")
        known = await self._known(match[1])
        right = hmac.compare_digest(known.digest if known else _NOBODY, self._digest(match[2]))
        if known is None or not right or known.key.kind is not kind:
            hint = "ask an admin for one: `reel keys create`, for a worker `reel workers register`"
            raise KeyRefused("the key is not in force", hint=hint)
        return known.key

    async def in_force(self, key_id: str, *, fresh: bool = False) -> bool:
        """Whether a key that was authenticated earlier still is: for answers that take long, or may not be late."""
        return await (self._read(key_id) if fresh else self._known(key_id)) is not None

    async def open_code(self, key: Key, *, lifetime: float = CODE_LIFETIME) -> str:
        """A code that can be traded once for a session with what this key may do."""
        draft = _Draft(
            kind=KeyKind.CODE,
            name=key.name,
            user_id=key.user_id,
            scopes=key.scopes,
            actor=key.actor,
            lifetime=lifetime,
            parent=key.id,
        )
        return (await self._store.write(lambda transaction: self._make(transaction, draft))).text

    async def trade(self, code: str) -> MadeKey:
        """Trade a code for a session; the second who tries gets nothing."""
        match = _TEXT.fullmatch(code)

        async def flow(transaction: Transaction) -> MadeKey | None:
            if match is None:
                return None
            spent = await transaction.run("keys_spend", id=match[1], digest=self._digest(match[2]))
            if not spent:
                return None
            return await self._open(transaction, _session(*spent[0]))

        session = await self._store.write(flow)
        if session is None:
            raise KeyRefused(
                "the code is not good any more",
                hint="it is good once, for ten minutes; a server that starts prints one",
            )
        return session

    async def open_session(self, key: Key) -> MadeKey:
        """A session with what this key may do."""
        draft = _session(key.name, key.user_id, key.scopes, key.id)
        return await self._store.write(lambda transaction: self._open(transaction, draft))

    async def close_session(self, session_id: str) -> None:
        """End a session now."""

        async def flow(transaction: Transaction) -> None:
            await transaction.run("keys_revoke", id=session_id, name=None, actor=f"session:{session_id}")

        await self._store.write(flow)
        self._cache.pop(session_id, None)

    async def _open(self, transaction: Transaction, draft: _Draft) -> MadeKey:
        await transaction.run("keys_prune")
        return await self._make(transaction, draft)

    async def _make(self, transaction: Transaction, draft: _Draft) -> MadeKey:
        key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
        (row,) = await transaction.run(
            "keys_create",
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
        return MadeKey(_key(row), f"reel_{key_id}_{secret}{_checksum(key_id, secret)}")

    async def _known(self, key_id: str) -> _Known | None:
        cached = self._cache.get(key_id)
        if cached is not None and time.monotonic() < cached.until:
            return cached
        return await self._read(key_id)

    async def _read(self, key_id: str) -> _Known | None:
        until = time.monotonic() + self._cache_seconds  # from before the question, so that the answer is not older

        async def flow(transaction: Transaction) -> list[Row]:
            return await transaction.run("keys_find", id=key_id)

        found = await self._store.read(flow)
        if not found:
            self._cache.pop(key_id, None)
            return None
        *row, digest, unnoticed = found[0]
        if unnoticed:
            await self._notice(key_id)
        known = _Known(_key(tuple(row)), digest, until)
        self._cache[key_id] = known
        self._cache.move_to_end(key_id)
        if len(self._cache) > CACHED_KEYS:
            self._cache.popitem(last=False)
        return known

    async def _notice(self, key_id: str) -> None:
        """Note that a key was used, about once a minute. A store that can't be written to refuses nobody."""

        async def flow(transaction: Transaction) -> None:
            await transaction.run("keys_used", id=key_id)

        try:
            await self._store.write(flow)
        except StoreError as error:
            logger.warning("the use of key %s is not noted: %s", key_id, error)

    def _changed(self, key_id: str, answer: T) -> T:
        self._cache.pop(key_id, None)
        return answer

    def _digest(self, secret: str) -> str:
        return hmac.new(self._pepper, secret.encode(), hashlib.sha256).hexdigest()


def _session(name: str, user_id: str, scopes: Collection[str], parent: str | None) -> _Draft:
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


def _name(name: str) -> str:
    if not name.strip():
        raise InvalidRequest("name", "a key has a name", hint="say who or what will use it")
    return plain_text("name", name, TEXT_LIMIT)


def _scopes(scopes: Collection[str], user_id: str) -> frozenset[Scope]:
    known = [str(scope) for scope in Scope]
    for scope in scopes:
        if scope not in known:
            raise InvalidRequest("scopes", f"{scope!r} is not a scope", hint=f"one or more of {', '.join(known)}")
    if not scopes:
        raise InvalidRequest("scopes", "a key is made for something", hint=f"one or more of {', '.join(known)}")
    found = frozenset(Scope(scope) for scope in scopes)
    if not user_id and found & {Scope.READ, Scope.WRITE} and Scope.ADMIN not in found:
        raise InvalidRequest("user_id", "a key for jobs belongs to a user", hint="name the user whose jobs it sees")
    return found


def _lifetime(field: str, seconds: float | None) -> float | None:
    if seconds is not None and not 0 <= seconds <= LONGEST_LIFETIME:
        raise InvalidRequest(field, f"{seconds!r} is not a duration", hint="seconds from now")
    return seconds


def _key(row: Row) -> Key:
    values = dict(zip(Key.__dataclass_fields__, row, strict=True))
    scopes = frozenset(Scope(scope) for scope in values["scopes"])
    return Key(**{**values, "kind": KeyKind(values["kind"]), "scopes": scopes})
