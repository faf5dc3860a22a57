"""What the stages use on this machine: storage, cached sources, ffmpeg, and a scratch folder for each task."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from reelstate.artifacts import keys
from reelstate.artifacts.cache import SourceCache
from reelstate.artifacts.storage import Storage, open_storage
from reelstate.artifacts.stored import Stored
from reelstate.media.ffmpeg.arguments import require_allowed
from reelstate.media.ffmpeg.build import Build, find_ffmpeg
from reelstate.media.ffmpeg.command_run import OnProgress, run_tool
from reelstate.media.ffmpeg.exit_cause import ExitKind, Finished, ToolFailed
from reelstate.media.planning.plan import ENCODER
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.sandbox.sandbox import Sandbox
from reelstate.media.sandbox.scratch import scratch_folder
from reelstate.media.sources.address import InputRules, InputSettings, ServedSource, input_rules
from reelstate.telemetry.facts import ToolExited, emit
from reelstate.telemetry.logs import current_fields
from reelstate.worker.capabilities import adjust
from reelstate.worker.run import Run

REPORT_INTERVAL: Final = 20.0
"""Seconds between progress messages of work whose length is unknown."""


class MediaToolsSettings(InputSettings, Protocol):
    """The settings that `MediaTools` are created from."""

    @property
    def storage_url(self) -> str: ...
    @property
    def scratch(self) -> str: ...
    @property
    def source_cache(self) -> int: ...
    @property
    def ffmpeg(self) -> str: ...
    @property
    def sandbox(self) -> str: ...
    @property
    def encode_threads(self) -> int: ...
    @property
    def worker_concurrency(self) -> int: ...
    @property
    def worker_capabilities(self) -> str: ...


@dataclass(frozen=True, slots=True)
class MediaTools:
    """The tools and folders of one worker."""

    storage: Storage
    cache: SourceCache
    rules: InputRules
    sandbox: Sandbox
    scratch: Path
    ffmpeg: str = ""
    threads: int = 1
    """Threads that one encoder may use."""
    capabilities: str = ""
    """Capabilities that the operator adds to those of the worker, or removes from them."""

    @classmethod
    def from_settings(
        cls, settings: MediaToolsSettings, *, storage: Storage | None = None, served: ServedSource | None = None
    ) -> MediaTools:
        """Create the tools of a worker; a remote worker has `storage` and `served` sources from its server."""
        storage = storage or open_storage(settings.storage_url)
        scratch = Path(settings.scratch or tempfile.gettempdir()).expanduser().absolute()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return cls(
            storage=storage,
            cache=SourceCache(storage, scratch / "reelstate-sources", settings.source_cache),
            rules=replace(input_rules(settings), served=served),
            sandbox=Sandbox(settings.sandbox),
            scratch=scratch,
            ffmpeg=settings.ffmpeg,
            capabilities=settings.worker_capabilities,
            threads=settings.encode_threads or max(1, cores // settings.worker_concurrency),
        )

    async def build(self) -> Build:
        """Return the ffmpeg of this worker, without the encoders that its operator removed."""
        build = await find_ffmpeg(self.ffmpeg)
        left = adjust(frozenset(f"{ENCODER}{name}" for name in build.encoders), self.capabilities)
        return replace(build, encoders=frozenset(name for name in build.encoders if f"{ENCODER}{name}" in left))

    @asynccontextmanager
    async def source(self, task: Run, sha256: str) -> AsyncIterator[Path]:
        """Hold a source in the cache while the context is open; yield its path."""
        task.note(step="source")
        async with AsyncExitStack() as held:
            async with report_waiting(task, "fetching the source"):
                path = await held.enter_async_context(self.cache.held(sha256))
            yield path

    @asynccontextmanager
    async def folder(self, task: Run) -> AsyncIterator[Path]:
        """Create a folder for one run of a task, and delete it when the context closes."""
        # In threads: listing a large folder, or deleting a large file, may take seconds.
        held = ExitStack()
        scratch = scratch_folder(self.scratch, task.job_id, task.stage, task.part, task.token)
        entering = asyncio.create_task(asyncio.to_thread(held.enter_context, scratch))
        try:
            yield await asyncio.shield(entering)
        finally:
            await asyncio.shield(asyncio.create_task(_close_folder(entering, held)))

    async def run(
        self,
        task: Run,
        argv: Sequence[str],
        folder: Path,
        *,
        limits: ProcessLimits,
        on_progress: OnProgress | None = None,
        reads: Sequence[Path] = (),
    ) -> Finished:
        """Run a command of ffmpeg for a task, and record it as a step, also if it fails."""
        require_allowed(argv, folder, reads)
        task.note(step="ffmpeg")
        began = time.monotonic()
        try:
            finished = await run_tool(
                argv, folder=folder, limits=limits, on_progress=on_progress, sandbox=self.sandbox.reading(*reads)
            )
        except ToolFailed as failed:
            _record(task, failed.finished, failed.kind)
            raise
        except asyncio.CancelledError:
            emit(ToolExited(Path(argv[0]).name, "stopped", time.monotonic() - began, ids=current_fields()))
            raise
        _record(task, finished)
        return finished

    async def store(self, task: Run, path: Path, file: str) -> Stored:
        """Store a file under the token of this run."""
        task.note(step="store")
        key = keys.made(task.job_id, task.stage, task.part, task.token, file)
        async with report_waiting(task, f"storing {file}"):
            return await self.storage.put_file(key, path)

    async def store_bytes(self, task: Run, data: bytes, file: str) -> Stored:
        """Store some bytes as a file under the token of this run."""
        return await self.storage.put_bytes(keys.made(task.job_id, task.stage, task.part, task.token, file), data)


async def _close_folder(entering: asyncio.Task[Path], held: ExitStack) -> None:
    """Delete a folder, also one that a stopped task had only started to create."""
    await asyncio.wait([entering])
    await asyncio.to_thread(held.close)


@asynccontextmanager
async def report_waiting(task: Run, message: str, *, every: float = REPORT_INTERVAL) -> AsyncIterator[None]:
    """Report a message `every` so many seconds while the context is open, so that it does not count as a stall."""
    reporting = asyncio.create_task(_report_waiting(task, message, every))
    try:
        yield
    finally:
        reporting.cancel()


async def _report_waiting(task: Run, message: str, every: float) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(every)
        # With the time: a message that did not change is no progress.
        task.note(message=f"{message}, since {time.monotonic() - began:.2f} s")


def _record(task: Run, finished: Finished, kind: ExitKind | None = None) -> None:
    emit(ToolExited(finished.program, kind or "ok", finished.seconds, finished.exit_code, current_fields()))
    task.step(
        finished.argv, exit_code=finished.exit_code, seconds=finished.seconds, output=finished.output, type="ffmpeg"
    )
