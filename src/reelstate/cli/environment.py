"""The environment of `reel doctor`: what this machine, the storage, Redis and the clocks are like.

A check is an error when work fails because of it, and a warning when it may.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from reelstate.artifacts.folder import Folder
from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.connections.breaker import Circuit
from reelstate.core.errors import ReelstateError
from reelstate.core.outcome import mask_passwords
from reelstate.dispatch.dispatch import DispatchHealth
from reelstate.engine import Engine
from reelstate.media.ffmpeg.build import Build, find_ffmpeg
from reelstate.media.sandbox.sandbox import LIMITS, OFF, REQUIRE, find_isolation
from reelstate.services.doctor import read_clock
from reelstate.stores.sqlite.address import database_path

GIBIBYTE: Final = 1024**3
FULL: Final = GIBIBYTE // 4
"""Free bytes below which a disk counts as full: one result may need more."""
NEARLY_FULL: Final = 5 * GIBIBYTE
MAX_SKEW: Final = 5.0
"""Seconds that the clocks of this machine and of the database may differ."""
PROBE_TIMEOUT: Final = 20.0
MAX_FLAGGED: Final = 10
"""Flagged jobs that are named."""


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class EnvironmentCheck:
    """One thing that was looked at."""

    name: str
    status: Status
    detail: str
    hint: str = ""


async def check_machine(settings: Settings) -> list[EnvironmentCheck]:
    """What can be found without a database: disks, ffmpeg, its sandbox, the storage."""
    build = await _found(settings)
    return [
        *await asyncio.to_thread(check_disks, _places(settings)),
        _check_ffmpeg(build),
        await _check_sandbox(settings, build),
        await _guarded("storage", lambda: _check_storage(settings)),
    ]


async def check_services(settings: Settings, engine: Engine) -> list[EnvironmentCheck]:
    """What only a database that answers can tell: its schema, the clocks, flagged jobs; and Redis."""
    return [
        await _guarded("schema", lambda: _check_schema(engine)),
        await _guarded("clock", lambda: _check_clock(engine)),
        await _guarded("flagged jobs", lambda: _check_flagged(engine)),
        check_redis(engine.dispatch.health(), required=settings.dispatch == "redis"),
    ]


def check_disks(places: Iterable[tuple[str, Path]]) -> list[EnvironmentCheck]:
    """The room of every disk that we write to, once each."""
    disks: dict[int, tuple[list[str], int]] = {}
    for name, place in places:
        existing = next(folder for folder in (place, *place.parents) if folder.exists())
        names, _ = disks.setdefault(existing.stat().st_dev, ([], shutil.disk_usage(existing).free))
        names.append(f"{name} {place}")
    return [check_room(", ".join(names), free) for names, free in disks.values()]


def check_room(names: str, free: int) -> EnvironmentCheck:
    room = f"{free / GIBIBYTE:.1f} GiB free for {names}"
    if free < FULL:
        return EnvironmentCheck("disk", Status.ERROR, f"full: {room}", "free space: results wait until there is some")
    if free < NEARLY_FULL:
        return EnvironmentCheck(
            "disk", Status.WARNING, f"nearly full: {room}", "free space, or lower REEL_KEEP_VERSIONS"
        )
    return EnvironmentCheck("disk", Status.OK, room)


def check_redis(health: DispatchHealth, *, required: bool) -> EnvironmentCheck:
    """Whether Redis answers, where it is used."""
    circuit = health.circuit
    if circuit is None:
        return EnvironmentCheck("redis", Status.OK, "not used")
    if circuit.state is Circuit.CLOSED:
        return EnvironmentCheck("redis", Status.OK, f"in use ({health.queue})")
    status = Status.ERROR if required else Status.WARNING
    return EnvironmentCheck(
        "redis", status, f"unreachable: {circuit.last_error}", "check REEL_REDIS_URL and that Redis runs"
    )


def _places(settings: Settings) -> list[tuple[str, Path]]:
    """The folders that this machine writes to."""
    places = [("scratch", Path(settings.scratch or tempfile.gettempdir()))]
    storage = open_storage(settings.storage_url)
    if isinstance(storage, Folder):
        places.append(("storage", storage.root))
    if settings.database_url.startswith("sqlite:") and (path := database_path(settings.database_url)) is not None:
        places.append(("database", path.parent))
    return [(name, place.absolute()) for name, place in places]


async def _found(settings: Settings) -> Build | ReelstateError:
    try:
        return await find_ffmpeg(settings.ffmpeg)
    except ReelstateError as error:
        return error


def _check_ffmpeg(build: Build | ReelstateError) -> EnvironmentCheck:
    if isinstance(build, ReelstateError):
        return EnvironmentCheck("ffmpeg", Status.WARNING, build.message, build.hint)
    known = f"{build.version} from {build.path}"
    if build.weaknesses:
        worst = build.weaknesses[0]
        return EnvironmentCheck("ffmpeg", Status.WARNING, f"{known}: {worst.name}, {worst.detail}", worst.hint)
    return EnvironmentCheck("ffmpeg", Status.OK, known)


async def _check_sandbox(settings: Settings, build: Build | ReelstateError) -> EnvironmentCheck:
    if settings.sandbox == OFF:
        hint = "sources are opened by ffmpeg without a wall: set REEL_SANDBOX=auto"
        return EnvironmentCheck("sandbox", Status.WARNING, "switched off", hint)
    if isinstance(build, ReelstateError):
        return EnvironmentCheck("sandbox", Status.WARNING, "not tried: there is no ffmpeg", "install ffmpeg")
    wall = await find_isolation(Path(build.path))
    if wall.kind != LIMITS:
        return EnvironmentCheck("sandbox", Status.OK, str(wall))
    status = Status.ERROR if settings.sandbox == REQUIRE else Status.WARNING
    return EnvironmentCheck(
        "sandbox", status, str(wall), "install bubblewrap, or use a kernel with Landlock (5.13 or newer)"
    )


async def _check_storage(settings: Settings) -> EnvironmentCheck:
    """Write, read and delete a small file. A folder that does not exist yet is not created for this."""
    storage, place = open_storage(settings.storage_url), mask_passwords(settings.storage_url)
    if isinstance(storage, Folder) and not storage.root.exists():
        above = next(folder for folder in storage.root.absolute().parents if folder.exists())
        if above.is_dir() and os.access(above, os.W_OK):
            return EnvironmentCheck("storage", Status.OK, f"{place} does not exist yet")
        return EnvironmentCheck("storage", Status.ERROR, f"{place} can't be created in {above}", "set REEL_STORAGE_URL")
    key = f"doctor/{uuid.uuid4().hex}"
    try:
        await storage.put_bytes(key, b"doctor")
        whole = await storage.get_bytes(key) == b"doctor"
    finally:
        await storage.delete(key)
    if not whole:
        return EnvironmentCheck(
            "storage", Status.ERROR, f"{place} returns other bytes than were written", "check the storage"
        )
    return EnvironmentCheck("storage", Status.OK, f"{place} can be written and read")


async def _check_schema(engine: Engine) -> EnvironmentCheck:
    await engine.ready()
    return EnvironmentCheck("schema", Status.OK, "as this release needs it")


async def _check_clock(engine: Engine) -> EnvironmentCheck:
    before = datetime.now(UTC)
    theirs = await read_clock(engine.store)
    after = datetime.now(UTC)
    skew = max((before - theirs).total_seconds(), (theirs - after).total_seconds(), 0.0)
    if skew > MAX_SKEW:
        hint = "synchronise both machines (NTP): leases go by the clock of the database"
        return EnvironmentCheck("clock", Status.WARNING, f"{skew:.0f} s off the clock of the database", hint)
    return EnvironmentCheck("clock", Status.OK, "agrees with the database")


async def _check_flagged(engine: Engine) -> EnvironmentCheck:
    """Whether an operator must decide about jobs whose runs make no progress."""
    page = await engine.jobs(flagged=True, limit=MAX_FLAGGED)
    if not page.items:
        return EnvironmentCheck("flagged jobs", Status.OK, "none")
    listed = ", ".join(str(job.id) for job in page.items) + (", …" if page.after else "")
    return EnvironmentCheck(
        "flagged jobs", Status.WARNING, listed, "`reel jobs --flagged` says why; then cancel or force them"
    )


async def _guarded(name: str, check: Callable[[], Awaitable[EnvironmentCheck]]) -> EnvironmentCheck:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            return await check()
    except TimeoutError:
        return EnvironmentCheck(
            name, Status.ERROR, f"no answer within {PROBE_TIMEOUT:g} s", "check that it can be reached"
        )
    except ReelstateError as error:
        return EnvironmentCheck(name, Status.ERROR, error.message, error.hint)
    except OSError as error:
        return EnvironmentCheck(name, Status.ERROR, str(error), "check the path and its rights")
