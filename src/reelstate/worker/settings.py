"""The settings of one worker: its name, capabilities, concurrency and timings."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from reelstate.config import Settings
from reelstate.runtime.process_identity import own_process
from reelstate.worker import capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Durations are in seconds."""

    name: str
    concurrency: int = 4
    capabilities: frozenset[str] = frozenset()
    prefetch: int = 500
    heartbeat: float = 10.0
    poll: float = 1.0
    grace: float = 30.0
    """How long running tasks may continue after `stop`."""
    kill_after: float = 5.0
    """How long a stopped handler may take to end."""
    gpu_grace: float = 60.0
    retry_delay: float = 1.0
    """How long to wait before a call that the store refused or did not answer is repeated."""
    unknown_stage_delay: float = 10.0
    """How long no task of a pipeline is claimed after one of a stage that this code does not have."""
    isolated_task_wait: tuple[float, float] = (5.0, 15.0)
    """Least and most time that an isolated task waits before this worker stops claiming other tasks."""
    log_tasks: str = "info"
    """The level at which the start and the completion of each task are logged."""
    shutdown_timeout: float = 10.0
    """How long a stopping worker waits for the store to accept its last reports."""

    def registration(self, digests: Mapping[str, str]) -> dict[str, Any]:
        """Return the description that the worker registers with; `digests` are those of its pipelines, by name."""
        metadata: dict[str, Any] = {"pipelines": dict(digests)}
        if process := own_process():
            metadata["process"] = process
        return {
            "hostname": socket.gethostname(),
            "software": version("reelstate"),
            "slots": self.concurrency,
            "capabilities": self.capabilities,
            "metadata": metadata,
        }


def worker_settings(settings: Settings) -> WorkerSettings:
    """Return the settings of a worker on this machine, with the capabilities that are detected here."""
    return WorkerSettings(
        name=settings.worker_name or host_name(),
        concurrency=settings.worker_concurrency,
        capabilities=capabilities.adjust(capabilities.detect(settings.ffmpeg), settings.worker_capabilities),
        prefetch=settings.worker_prefetch,
        heartbeat=settings.heartbeat,
        poll=settings.poll,
        grace=settings.worker_grace,
        kill_after=settings.worker_kill_after,
        gpu_grace=settings.gpu_grace,
        log_tasks=settings.log_tasks,
    )


def host_name() -> str:
    """Return the host's name, reduced to the characters that a worker's name may have."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip("._-") or "worker"
