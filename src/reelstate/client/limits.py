"""Limits over HTTP, with the verbs of `Limits`. The key decides who acts, so `actor` is not sent."""

from __future__ import annotations

from typing import Any, Unpack

from reelstate.client.records import items_of, object_of, parser_of, record_of
from reelstate.client.requests import Requests, given, segment
from reelstate.core.limit import Limit, LimitOptions, LimitRecord, LimitUse
from reelstate.services.limits.limits import LimitStatus


class HttpLimits:
    """The limits of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def all(self, *, removed: bool = False) -> list[LimitRecord]:
        return await self._requests.get("/limits", lambda found: items_of(found, _limit_of), removed=removed)

    async def get(self, name: str) -> LimitStatus:
        return await self._requests.get(_path(name), _status_of)

    async def set(
        self, name: str, *, actor: str = "", reason: str | None = None, **options: Unpack[LimitOptions]
    ) -> LimitRecord:
        del actor
        Limit(name, **options).check()  # with the sentences of the engine, where the server has those of its schema
        return await self._requests.put(_path(name), _limit_of, {**options, **given(reason=reason)})

    async def remove(self, name: str, *, actor: str = "", reason: str | None = None) -> LimitRecord:
        del actor
        return await self._requests.remove(_path(name), _limit_of, given(reason=reason))


def _path(name: str) -> str:
    return f"/limits/{segment(name, 'limit')}"


def _limit_of(document: Any) -> LimitRecord:
    found = object_of(document)
    return record_of(LimitRecord, {**found, "limit": record_of(Limit, found)})


def _status_of(document: Any) -> LimitStatus:
    return LimitStatus(_limit_of(document), items_of(object_of(document).get("uses"), parser_of(LimitUse)))
