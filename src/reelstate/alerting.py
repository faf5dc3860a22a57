"""Alerting: the keeper's duties that look for what no transition tells, and fold what was noted into deliveries."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from reelstate.config import Settings
from reelstate.core.alert import AlertType, alert_types
from reelstate.core.pause import PauseScope, Target
from reelstate.engine import Engine
from reelstate.keeper import Duty
from reelstate.services.alerts import AlertTerms, enable_alerts, fold_alerts
from reelstate.stores.sqlite.address import database_path

FOLD_EVERY: Final = 2.0
LOOK_EVERY: Final = 60.0
PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True)
class Disk:
    """The free space of a folder."""

    path: str
    free: int
    total: int

    @property
    def percent(self) -> float:
        return PERCENT * self.free / self.total if self.total else PERCENT


class Alerting:
    """Notes alerts about queues and disks, and folds all alerts into deliveries."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._enabled = False
        self._terms = AlertTerms(
            types=alert_types(settings.alert_events),
            cooldown=settings.alert_cooldown,
            failures=settings.alert_failures,
            window=settings.alert_window,
            noun=engine.extension.noun,
        )

    def duties(self) -> list[Duty]:
        """Return the duties for a keeper."""
        return [
            Duty("alerts", FOLD_EVERY, self.fold),
            Duty("look at queues", LOOK_EVERY, self.look_at_queues),
            # On every machine with a keeper: each has disks of its own.
            Duty("look at disks", LOOK_EVERY, self.look_at_disks, leader_only=False),
        ]

    async def enable(self) -> None:
        """Let the store note alerts, once per process."""
        if not self._enabled:
            await enable_alerts(self._engine.store, self._settings.alert_secret)
            self._enabled = True

    async def fold(self) -> int:
        """Write deliveries for what was noted and is not in its cooldown; return how many."""
        await self.enable()
        return await fold_alerts(self._engine.store, self._terms)

    async def look_at_queues(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """Note the pipelines whose oldest ready task waits for too long, unless an operator has paused them."""
        if not self._settings.alert_queue_age:
            return
        await self.enable()
        paused = {each.target for each in await self._engine.pauses()}
        if Target(PauseScope.ALL) in paused:
            return
        for waiting in (await self._engine.queue()).pipelines:
            if Target(PauseScope.PIPELINE, waiting.pipeline) in paused:
                continue
            age = (now() - waiting.oldest).total_seconds() if waiting.oldest else 0.0
            if age > self._settings.alert_queue_age:
                message = f"{waiting.ready} tasks are ready, the oldest for {age / 60:.0f} min"
                await self._engine.alert(AlertType.QUEUE_STUCK, waiting.pipeline, message)

    async def look_at_disks(self) -> None:
        """Note the folders of this machine with little space."""
        await self.enable()
        for disk in await asyncio.to_thread(_disks, self._folders()):
            if disk.percent < self._settings.alert_disk_free:
                message = f"{disk.percent:.1f} % free ({disk.free // 1024**2:,} MiB)"
                await self._engine.alert(AlertType.DISK_LOW, f"{socket.gethostname()}:{disk.path}", message)

    def _folders(self) -> Sequence[Path]:
        settings = self._settings
        found = [Path(settings.scratch or tempfile.gettempdir())]
        if "://" not in settings.storage_url or settings.storage_url.startswith("file://"):
            found.append(Path(settings.storage_url.removeprefix("file://")).expanduser())
        if settings.database_url.startswith("sqlite:") and (path := database_path(settings.database_url)) is not None:
            found.append(path.parent)
        return found


def _disks(folders: Sequence[Path]) -> list[Disk]:
    """Return the space of folders that exist, one per file system."""
    found: dict[int, Disk] = {}
    for folder in folders:
        try:
            usage, device = shutil.disk_usage(folder), folder.stat().st_dev
        except OSError:
            continue
        found.setdefault(device, Disk(str(folder), usage.free, usage.total))
    return list(found.values())
