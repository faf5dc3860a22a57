"""What the stages work with on this machine: storage, sources at hand, the ffmpeg, and a folder for each task."""

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
from reelstate.media.ffmpeg.exit_cause import Finished, ToolFailed
from reelstate.media.planning.plan import ENCODER
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.sandbox.sandbox import Sandbox
from reelstate.media.sandbox.scratch import scratch_folder
from reelstate.media.sources.address import InputRules, InputSettings, ServedSource, input_rules
from reelstate.worker.capabilities import adjust
from reelstate.worker.run import Run

TELL_EVERY: Final = 20.0


class MediaToolsSettings(InputSettings, Protocol):
    """The settings that a studio is made of."""

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
    storage: Storage
    cache: SourceCache
    rules: InputRules
    sandbox: Sandbox
    scratch: Path
    ffmpeg: str = ""
    threads: int = 1
    """Threads that one encoder may use."""
    capabilities: str = ""
    """What the operator adds to the capabilities of the worker, or takes away from them."""

    async def build(self) -> Build:
        """The ffmpeg of this worker, without the encoders that its operator has taken away."""
        build = await find_ffmpeg(self.ffmpeg)
        left = adjust(frozenset(f"{ENCODER}{name}" for name in build.encoders), self.capabilities)
        return replace(build, encoders=frozenset(name for name in build.encoders if f"{ENCODER}{name}" in left))

    @asynccontextmanager
    async def source(self, task: Run, sha256: str) -> AsyncIterator[Path]:
        """A source as a file that stays while the context lasts."""
        task.note(step="source")
        async with AsyncExitStack() as held:
            async with telling(task, "fetching the source"):
                path = await held.enter_async_context(self.cache.held(sha256))
            yield path

    @asynccontextmanager
    async def folder(self, task: Run) -> AsyncIterator[Path]:
        """A folder that only this run of a task uses, and that goes with it."""
        # In threads: to look through a large folder, or to delete a large file, may take seconds.
        held = ExitStack()
        scratch = scratch_folder(self.scratch, task.job_id, task.stage, task.part, task.token)
        entering = asyncio.create_task(asyncio.to_thread(held.enter_context, scratch))
        try:
            yield await asyncio.shield(entering)
        finally:
            await asyncio.shield(asyncio.create_task(_left(entering, held)))

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
        """Run a command of ffmpeg for a task, and keep a record of it whatever it comes to."""
        require_allowed(argv, folder, reads)
        task.note(step="ffmpeg")
        try:
            finished = await run_tool(
                argv, folder=folder, limits=limits, on_progress=on_progress, sandbox=self.sandbox.reading(*reads)
            )
        except ToolFailed as failed:
            _record(task, failed.finished)
            raise
        _record(task, finished)
        return finished

    async def keep(self, task: Run, path: Path, file: str) -> Stored:
        """Put a file that a task made where only this run of it writes."""
        task.note(step="store")
        key = keys.made(task.job_id, task.stage, task.part, task.token, file)
        async with telling(task, f"storing {file}"):
            return await self.storage.put_file(key, path)


async def _left(entering: asyncio.Task[Path], held: ExitStack) -> None:
    """Let go of a folder, also of one that a stopped task had only begun to make."""
    await asyncio.wait([entering])
    await asyncio.to_thread(held.close)


@asynccontextmanager
async def telling(task: Run, words: str) -> AsyncIterator[None]:
    """Say now and then that something goes on whose end nobody can foretell: it is not to be taken for a stall."""
    teller = asyncio.create_task(_tell(task, words))
    try:
        yield
    finally:
        teller.cancel()


async def _tell(task: Run, words: str) -> None:
    """What was said before is no progress, so the time is said too."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(TELL_EVERY)
        task.note(message=f"{words}, since {time.monotonic() - began:.2f} s")


def studio_of(
    settings: MediaToolsSettings, *, storage: Storage | None = None, served: ServedSource | None = None
) -> MediaTools:
    """The studio that settings describe; a remote worker's has its storage, and some sources, from its server."""
    storage = storage or open_storage(settings.storage_url)
    scratch = Path(settings.scratch or tempfile.gettempdir()).expanduser().absolute()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return MediaTools(
        storage=storage,
        cache=SourceCache(storage, scratch / "reelstate-sources", settings.source_cache),
        rules=replace(input_rules(settings), served=served),
        sandbox=Sandbox(settings.sandbox),
        scratch=scratch,
        ffmpeg=settings.ffmpeg,
        capabilities=settings.worker_capabilities,
        threads=settings.encode_threads or max(1, cores // settings.worker_concurrency),
    )


def _record(task: Run, finished: Finished) -> None:
    task.step(
        finished.argv, exit_code=finished.exit_code, seconds=finished.seconds, output=finished.output, type="ffmpeg"
    )
