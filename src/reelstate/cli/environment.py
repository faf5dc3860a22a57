"""Checks of the environment for `reel doctor`: this machine, the storage, Redis and the clocks.

A check is an error if it makes tasks fail, and a warning if it may.
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
"""Free bytes below which a disk counts as full."""
NEARLY_FULL: Final = 5 * GIBIBYTE
MAX_SKEW: Final = 5.0
"""Seconds that the clocks of this machine and of the database may differ."""
PROBE_TIMEOUT: Final = 20.0
MAX_FLAGGED: Final = 10
"""Flagged jobs that are listed."""


class Status(StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class EnvironmentCheck:
    """The result of one check."""

    name: str
    status: Status
    detail: str
    hint: str = ""


async def check_machine(settings: Settings) -> list[EnvironmentCheck]:
    """Check what needs no database: disks, ffmpeg, its sandbox, the storage."""
    build = await _find_ffmpeg(settings)
    return [
        *await asyncio.to_thread(check_disks, _paths(settings)),
        _check_ffmpeg(build),
        await _check_sandbox(settings, build),
        await _run_check("storage", lambda: _check_storage(settings)),
    ]


async def check_services(settings: Settings, engine: Engine) -> list[EnvironmentCheck]:
    """Check what needs the database: its schema, the clocks, flagged jobs; and Redis."""
    return [
        await _run_check("schema", lambda: _check_schema(engine)),
        await _run_check("clock", lambda: _check_clock(engine)),
        await _run_check("flagged jobs", lambda: _check_flagged(engine)),
        check_redis(engine.dispatch.health(), required=settings.dispatch == "redis"),
    ]


def check_disks(paths: Iterable[tuple[str, Path]]) -> list[EnvironmentCheck]:
    """Check the free space of every disk that these paths are on."""
    disks: dict[int, tuple[list[str], int]] = {}
    for name, path in paths:
        existing = next(folder for folder in (path, *path.parents) if folder.exists())
        names, _ = disks.setdefault(existing.stat().st_dev, ([], shutil.disk_usage(existing).free))
        names.append(f"{name} {path}")
    return [check_free_space(", ".join(names), free) for names, free in disks.values()]


def check_free_space(names: str, free: int) -> EnvironmentCheck:
    space = f"{free / GIBIBYTE:.1f} GiB free for {names}"
    if free < FULL:
        return EnvironmentCheck("disk", Status.ERROR, f"full: {space}", "free disk space: results can't be stored")
    if free < NEARLY_FULL:
        return EnvironmentCheck(
            "disk", Status.WARNING, f"nearly full: {space}", "free disk space, or lower REEL_KEEP_VERSIONS"
        )
    return EnvironmentCheck("disk", Status.OK, space)


def check_redis(health: DispatchHealth, *, required: bool) -> EnvironmentCheck:
    """Check that Redis is reachable, if it is used."""
    circuit = health.circuit
    if circuit is None:
        return EnvironmentCheck("redis", Status.OK, "not used")
    if circuit.state is Circuit.CLOSED:
        return EnvironmentCheck("redis", Status.OK, f"in use ({health.queue})")
    status = Status.ERROR if required else Status.WARNING
    return EnvironmentCheck(
        "redis", status, f"unreachable: {circuit.last_error}", "check REEL_REDIS_URL and that Redis runs"
    )


def _paths(settings: Settings) -> list[tuple[str, Path]]:
    """Return the folders that this machine writes to."""
    paths = [("scratch", Path(settings.scratch or tempfile.gettempdir()))]
    storage = open_storage(settings.storage_url)
    if isinstance(storage, Folder):
        paths.append(("storage", storage.root))
    if settings.database_url.startswith("sqlite:") and (path := database_path(settings.database_url)) is not None:
        paths.append(("database", path.parent))
    return [(name, path.absolute()) for name, path in paths]


async def _find_ffmpeg(settings: Settings) -> Build | ReelstateError:
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
        hint = "ffmpeg opens sources without a sandbox: set REEL_SANDBOX=auto"
        return EnvironmentCheck("sandbox", Status.WARNING, "switched off", hint)
    if isinstance(build, ReelstateError):
        return EnvironmentCheck("sandbox", Status.WARNING, "not checked: no ffmpeg found", "install ffmpeg")
    wall = await find_isolation(Path(build.path))
    if wall.kind != LIMITS:
        return EnvironmentCheck("sandbox", Status.OK, str(wall))
    status = Status.ERROR if settings.sandbox == REQUIRE else Status.WARNING
    return EnvironmentCheck(
        "sandbox", status, str(wall), "install bubblewrap, or use a kernel with Landlock (5.13 or newer)"
    )


async def _check_storage(settings: Settings) -> EnvironmentCheck:
    """Write, read and delete a small file. A folder that does not exist yet is not created for this."""
    storage, url = open_storage(settings.storage_url), mask_passwords(settings.storage_url)
    if isinstance(storage, Folder) and not storage.root.exists():
        above = next(folder for folder in storage.root.absolute().parents if folder.exists())
        if above.is_dir() and os.access(above, os.W_OK):
            return EnvironmentCheck("storage", Status.OK, f"{url} does not exist yet")
        return EnvironmentCheck("storage", Status.ERROR, f"{url} can't be created in {above}", "set REEL_STORAGE_URL")
    key = f"doctor/{uuid.uuid4().hex}"
    try:
        await storage.put_bytes(key, b"doctor")
        whole = await storage.get_bytes(key) == b"doctor"
    finally:
        await storage.delete(key)
    if not whole:
        return EnvironmentCheck(
            "storage", Status.ERROR, f"{url} returns other bytes than were written", "check the storage"
        )
    return EnvironmentCheck("storage", Status.OK, f"{url} can be written and read")


async def _check_schema(engine: Engine) -> EnvironmentCheck:
    await engine.ready()
    return EnvironmentCheck("schema", Status.OK, "up to date")


async def _check_clock(engine: Engine) -> EnvironmentCheck:
    before = datetime.now(UTC)
    database = await read_clock(engine.store)
    after = datetime.now(UTC)
    skew = max((before - database).total_seconds(), (database - after).total_seconds(), 0.0)
    if skew > MAX_SKEW:
        hint = "synchronise both machines (NTP): leases use the clock of the database"
        return EnvironmentCheck("clock", Status.WARNING, f"{skew:.0f} s off the clock of the database", hint)
    return EnvironmentCheck("clock", Status.OK, "agrees with the database")


async def _check_flagged(engine: Engine) -> EnvironmentCheck:
    """Check for jobs without progress that an operator must decide about."""
    page = await engine.jobs(flagged=True, limit=MAX_FLAGGED)
    if not page.items:
        return EnvironmentCheck("flagged jobs", Status.OK, "none")
    listed = ", ".join(str(job.id) for job in page.items) + (", …" if page.after else "")
    return EnvironmentCheck(
        "flagged jobs", Status.WARNING, listed, "`reel jobs --flagged` shows the reasons; cancel or force them"
    )


async def _run_check(name: str, check: Callable[[], Awaitable[EnvironmentCheck]]) -> EnvironmentCheck:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            return await check()
    except TimeoutError:
        return EnvironmentCheck(
            name, Status.ERROR, f"no response within {PROBE_TIMEOUT:g} s", "check that it is reachable"
        )
    except ReelstateError as error:
        return EnvironmentCheck(name, Status.ERROR, error.message, error.hint)
    except OSError as error:
        return EnvironmentCheck(name, Status.ERROR, str(error), "check the path and its permissions")
