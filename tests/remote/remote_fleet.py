"""A server process and remote worker processes that know nothing but its URL and a key."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Task
from tests.chaos.fleet import SETTINGS, Fleet, Member
from tests.chaos.reel_process import HERE
from tests.media.deployment import Stream
from tests.media.source_videos import profile

TRANSCODE = "tests.chaos.transcode_pipeline:every"
"""`transcode` with leases that are short enough for a test to wait for."""
TASKS = "tests.chaos.pipelines:every"
ENCODE = "encode"
TIMEOUT = 300.0
SERVER_VARIABLES = ("REEL_DATABASE_URL", "REEL_STORAGE_URL")


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


@dataclass
class RemoteFleet:
    fleet: Fleet
    server_folder: Path
    worker_folder: Path
    port: int
    app: str = ""
    """The pipelines of server and workers; by default the built-in ones."""
    keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def of(cls, fleet: Fleet, server_folder: Path, worker_folder: Path) -> RemoteFleet:
        return cls(fleet, server_folder, worker_folder, free_port())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def storage(self) -> Path:
        return self.server_folder / "media"

    async def serve(self, name: str = "server", **settings: Any) -> Member:
        """Start `reel serve`, and wait until it answers."""
        given = {
            "storage_url": self.storage,
            "scratch": self.server_folder / "scratch",
            "app": self.app,
            "serve_port": self.port,
        }
        member = self.fleet._start(name, HERE, ["serve"], {**given, **settings})
        await self.fleet.wait_for(self.answers, "the server answers", TIMEOUT)
        return member

    async def answers(self) -> bool:
        try:
            async with httpx.AsyncClient(trust_env=False) as client:
                return (await client.get(f"{self.url}/livez")).status_code == 200
        except httpx.TransportError:
            return False

    async def key(self, name: str) -> str:
        """Return the key of a remote worker, created with `reel workers register`."""
        if name not in self.keys:
            self.keys[name] = self.fleet.reel("workers", "register", name)["key"]
        return self.keys[name]

    async def worker(self, name: str, *, url: str = "", **settings: Any) -> Member:
        """Start `reel worker --server` in a separate folder, without the variables of the server."""
        folder = self.worker_folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text(f"{await self.key(name)}\n")
        given = {
            **SETTINGS,
            "app": self.app,
            "scratch": folder,
            "encode_threads": 1,
            "worker_concurrency": 1,
            **settings,
        }
        environment = {
            name: value for name, value in self.fleet._environment(given).items() if name not in SERVER_VARIABLES
        }
        environment["REEL_SERVER_KEY_FILE"] = str(folder / "key")
        environment["REEL_SERVER_URL"] = url or self.url
        command = [sys.executable, "-m", "tests.chaos.reel_process", HERE, "worker"]
        member = Member(name, command, environment, self.server_folder / f"{name}.log")
        self.fleet._members.append(member)
        await self.fleet.wait_ready(name)
        return member

    async def submit(self, source: Path | str, **spec: Any) -> int:
        given = {"source": str(source), "profile": profile(), **spec}
        return (await self.fleet.engine.submit("transcode", given)).job_id

    async def stream(self, job: int) -> Stream:
        await self.fleet.wait_status(job, JobStatus.COMPLETED, TIMEOUT)
        return Stream(self.storage, await self.fleet.engine.job(job))

    async def wait_chunks(self, job: int, count: int) -> dict[int, Task]:
        """Wait until `count` chunks are done, and return them."""

        async def look() -> dict[int, Task] | None:
            found = {task.part: task for task in await self.fleet.tasks(job, TaskStatus.DONE, stage=ENCODE)}
            return found if len(found) >= count else None

        return await self.fleet.wait_for(look, f"{count} chunks are done", TIMEOUT)

    async def encodes(self, job: int) -> list[tuple[int, int]]:
        """Return part and token of every encode that ended."""
        return await self._steps(job, "ffmpeg")

    async def adopted(self, job: int) -> list[tuple[int, int]]:
        """Return part and token of every chunk that was adopted from an earlier attempt."""
        return await self._steps(job, "adopt")

    async def _steps(self, job: int, kind: str) -> list[tuple[int, int]]:
        names = [stage.name for stage in (await self.fleet.engine.job(job)).stages]
        steps = (await self.fleet.engine.steps(job)).items
        return [(step.part, step.token) for step in steps if (names[step.stage], step.type) == (ENCODE, kind)]
