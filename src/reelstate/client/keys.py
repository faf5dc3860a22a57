"""Keys over HTTP, with the verbs of `Keys`. The key decides who acts, so `actor` is not sent."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.client.records import items_of, made_key_of, object_of, parser_of, record_of
from reelstate.client.requests import Requests, given, segment
from reelstate.services.keys import Key, MadeKey, Scope


class HttpKeys:
    """The keys of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def all(self) -> list[Key]:
        return await self._requests.get("/keys", lambda found: items_of(found, parser_of(Key)))

    async def create(
        self, name: str, *, scopes: Collection[str], actor: str = "", user_id: str = "", lifetime: float | None = None
    ) -> MadeKey:
        del actor
        body = {"name": name, "scopes": list(scopes), "user_id": user_id, **given(lifetime=lifetime)}
        return await self._requests.post("/keys", made_key_of, body)

    async def register_worker(self, name: str, *, actor: str = "", lifetime: float | None = None) -> MadeKey:
        return await self.create(name, scopes=[Scope.WORKER], actor=actor, lifetime=lifetime)

    async def rotate(
        self, key_id: str, *, actor: str = "", overlap: float = 86_400.0, lifetime: float | None = None
    ) -> MadeKey:
        del actor
        body = {"overlap": overlap, **given(lifetime=lifetime)}
        return await self._requests.post(f"/keys/{segment(key_id, 'key')}/rotate", made_key_of, body)

    async def revoke(self, key_id: str, *, actor: str = "") -> bool:
        del actor
        return await self._requests.post(
            f"/keys/{segment(key_id, 'key')}/revoke", lambda found: record_of(bool, object_of(found).get("revoked"))
        )
