"""What all handlers of `transcode` share: their tools, their errors, and their results as records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final, Protocol, Self, TypeVar

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.core.errors import InvalidRequest, StorageError, StorageMissing
from reelstate.core.outcome import Fail, Retry
from reelstate.media.ffmpeg.progress import Advance
from reelstate.media.packaging.manifest import MANIFEST, Manifest, read_manifest
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.sandbox.sandbox import AUTO, REQUIRE
from reelstate.media.sources.errors import SourceError
from reelstate.media.tools import MediaTools
from reelstate.worker.run import Run

Json = Any
SHORT_TIMEOUT: Final = 3600.0
"""Seconds that a command other than an encode may take."""
STALL: Final = 120.0
"""Seconds without progress after which a command is stopped."""
ENCODED_PERCENT: Final = 98.0
"""Progress when the last frame is encoded; checking and storing are still to come."""


class StageGroup:
    """Base class of handlers that share the tools of a worker."""

    def __init__(self, tools: MediaTools) -> None:
        self._tools = tools
        self._storage = tools.storage

    def require_sandbox(self) -> None:
        """Refuse to run a tool without a sandbox from now on, unless the settings turn the sandbox off."""
        if self._tools.sandbox.mode == AUTO:
            self._tools = replace(self._tools, sandbox=replace(self._tools.sandbox, mode=REQUIRE))


class StageResult(Protocol):
    """A record with a JSON form."""

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, document: Any) -> Self: ...


Group = TypeVar("Group", bound=StageGroup)
Result = TypeVar("Result", bound=StageResult)


def handler(method: Callable[[Group, Run], Awaitable[StageResult]]) -> Callable[[Group, Run], Awaitable[Json]]:
    """Make a method that returns a record a handler that returns JSON.

    Errors of the source, the storage and the request become `Retry` if another attempt may succeed, else `Fail`.
    """

    @wraps(method)
    async def run(self: Group, task: Run) -> Json:
        try:
            return (await method(self, task)).to_json()
        except (SourceError, StorageError) as error:
            raise (Retry if error.retryable else Fail)(str(error)) from error
        except InvalidRequest as error:
            raise Fail(str(error)) from error

    return run


async def read_results(task: Run, stage: str, kind: type[Result]) -> list[Result]:
    """Return the results of all done parts of a stage, in a thread: a long video has 100,000 segments."""
    documents = [document async for document in task.results(stage)]
    return await asyncio.to_thread(lambda: [kind.from_json(document) for document in documents])


class EncodeProgress:
    """Reports the time that an encoder has reached as progress of a task."""

    def __init__(self, task: Run, plan: Plan) -> None:
        self._task = task
        self._microseconds = float(plan.grid.duration) * 1e6

    async def report(self, advance: Advance) -> None:
        """Report one progress message of ffmpeg."""
        if advance.out_time_us:
            await self._task.progress(ENCODED_PERCENT * min(advance.out_time_us / self._microseconds, 1))


async def read_earlier(storage: Storage, request: TranscodeRequest) -> Manifest | None:
    """Return the manifest of the version that a request reuses; None if it reuses none, or it is not stored."""
    if request.reuse_from is None:
        return None
    try:
        data = await storage.get_bytes(f"{keys.version(request.reuse_from)}/{MANIFEST}")
    except StorageMissing:
        return None
    return await asyncio.to_thread(read_manifest, data)
