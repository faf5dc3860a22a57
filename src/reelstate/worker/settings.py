"""On what terms a worker works: who it is, what it can do, how much at once, how patient."""

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
    name: str
    concurrency: int = 4
    capabilities: frozenset[str] = frozenset()
    prefetch: int = 500
    heartbeat: float = 10.0
    poll: float = 1.0
    grace: float = 30.0
    kill_after: float = 5.0
    gpu_grace: float = 60.0

    def registration(self, digests: Mapping[str, str]) -> dict[str, Any]:
        """How the worker describes itself to the store; `digests` are those of its pipelines, by their names."""
        process = own_process()
        metadata: dict[str, Any] = {"pipelines": dict(digests)}
        if process:
            metadata["process"] = process
        return {
            "hostname": socket.gethostname(),
            "software": version("reelstate"),
            "slots": self.concurrency,
            "capabilities": self.capabilities,
            "metadata": metadata,
        }


def worker_settings(settings: Settings) -> WorkerSettings:
    """The terms that the settings name, with what is found on this machine."""
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
    )


def host_name() -> str:
    """The host's name, as a worker may be called."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip("._-") or "worker"
