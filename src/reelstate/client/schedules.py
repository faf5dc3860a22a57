"""Schedules over HTTP, with the verbs of `Schedules`. The key decides who acts, so `actor` is not sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from reelstate.client.records import items_of, parser_of, schedule_detail_of
from reelstate.client.requests import Requests, segment
from reelstate.core.schedule import (
    Backfill,
    Overlap,
    Schedule,
    ScheduleChanges,
    ScheduleDetail,
    ScheduleOptions,
    ScheduleRun,
)

SCHEDULE = parser_of(Schedule)


class HttpSchedules:
    """The schedules of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def create(
        self, /, name: str, pipeline: str, timing: str, *, actor: str = "", **options: Unpack[ScheduleOptions]
    ) -> Schedule:
        del actor
        body = {"name": name, "pipeline": pipeline, "timing": timing, **_body(options)}
        return await self._requests.post("/schedules", SCHEDULE, body)

    async def all(self) -> list[Schedule]:
        return await self._requests.get("/schedules", lambda found: items_of(found, SCHEDULE))

    async def get(self, name: str) -> ScheduleDetail:
        return await self._requests.get(_path(name), schedule_detail_of)

    async def update(self, /, name: str, *, actor: str = "", **changes: Unpack[ScheduleChanges]) -> Schedule:
        del actor
        return await self._requests.patch(_path(name), SCHEDULE, _body(changes))

    async def pause(self, name: str, note: str = "", *, actor: str = "") -> Schedule:
        del actor
        return await self._requests.post(f"{_path(name)}/pause", SCHEDULE, {"note": note})

    async def resume(self, name: str, *, actor: str = "") -> Schedule:
        del actor
        return await self._requests.post(f"{_path(name)}/resume", SCHEDULE)

    async def delete(self, name: str, *, actor: str = "") -> None:
        del actor
        await self._requests.delete(_path(name))

    async def trigger(self, name: str) -> ScheduleRun:
        return await self._requests.post(f"{_path(name)}/trigger", parser_of(ScheduleRun))

    async def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        overlap: Overlap | str = Overlap.ALLOW,
        dry_run: bool = False,
    ) -> Backfill:
        body = _body({"start": start, "end": end, "overlap": overlap, "dry_run": dry_run})
        return await self._requests.post(f"{_path(name)}/backfill", parser_of(Backfill), body)


def _path(name: str) -> str:
    return f"/schedules/{segment(name, 'schedule')}"


def _body(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in options.items()}
