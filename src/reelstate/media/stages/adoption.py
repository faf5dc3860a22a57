"""Adopts the files that an earlier attempt of the same task stored, so that the work is not done twice.

An attempt stores its record, `made.json`, after all of its files: the plan, the source and the encoder build that they
follow from, and the result with the size and the sha256 of each. A later attempt of the same task reads the records of
lower tokens, the highest first. It adopts one only if plan, source and build are its own, the result is as planned,
and every file has the recorded bytes and segments. Tokens from before an operator retried the stage are ignored.

Adopted files are copied under the token of the attempt that adopts them, so a result always names files of its own
token. The sweep of old tokens, or a late report of the earlier attempt, then deletes no file of the result.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Generic

from reelstate.artifacts import keys
from reelstate.artifacts.stored import stored
from reelstate.core.errors import InvalidRequest, StorageDamaged, StorageMissing
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import FragmentedMp4
from reelstate.media.result_checks import NotAsPlanned, require_planned, tracks_of
from reelstate.media.results import Fetched, MadeFile, MadeTrack, read_result, track_fields
from reelstate.media.stages.stage import Result
from reelstate.media.tools import MediaTools, report_waiting
from reelstate.worker.run import Run

Json = Any
Parse = Callable[[Path], FragmentedMp4]
"""Returns the track in a file; raises `MalformedBoxes` if it is not what the task has to make."""

RECORD: Final = "made.json"
MAX_RECORD: Final = 16 * 1024 * 1024
"""Bytes of a record; that of a track of 12 hours has half a million."""
FIRST: Final = "first_token"
"""The key in the checkpoint of a task that holds the token of its first attempt; an operator's retry clears it."""
ADOPT: Final = "adopt"
"""The type of the step that records an adoption."""


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Result]):
    """One attempt of a task, what its files follow from, and the kind of its result."""

    tools: MediaTools
    task: Run
    fetched: Fetched
    encoder: str
    kind: type[Result]

    async def record(self, result: Result) -> Result:
        """Store the record of a result whose files are all stored; return the result."""
        data = json.dumps({**self._recipe, "result": result.to_json()}, separators=(",", ":")).encode()
        await self.tools.store_bytes(self.task, data, RECORD)
        return result

    async def adopt(self, parse: Parse | None = None) -> Result | None:
        """Copy the files of an earlier attempt and return its result with the new keys; None if none is usable.

        `parse` reads the tracks of stages that make tracks.
        """
        first = _first_token(self.task.checkpoint)
        if first is None:
            await self.task.progress(checkpoint={FIRST: self.task.token})
            return None
        for token in await self._earlier_tokens(first):
            try:
                return await self._adopt(token, parse)
            except (StorageMissing, StorageDamaged, InvalidRequest, MalformedBoxes, ValueError) as error:
                self.task.log(f"files of token {token} of {self._name} are not adopted: {error}")
        return None

    @property
    def _recipe(self) -> dict[str, str]:
        return {"plan": self.fetched.plan.id, "source": self.fetched.source, "encoder": self.encoder}

    @property
    def _name(self) -> str:
        return f"{self.task.stage}/{self.task.part}"

    def _prefix(self, token: int) -> str:
        return keys.task(self.task.job_id, self.task.stage, self.task.part, token)

    async def _earlier_tokens(self, first: int) -> list[int]:
        """Return the tokens from `first` up to this attempt's under which files are stored, the highest first."""
        parts = f"{keys.version(self.task.job_id)}/{self.task.stage}/{self.task.part}"
        found = [int(name) for name in await self.tools.storage.folders(parts) if name.isdecimal()]
        return sorted((token for token in found if first <= token < self.task.token), reverse=True)

    async def _adopt(self, token: int, parse: Parse | None) -> Result:
        began, earlier = time.monotonic(), self._prefix(token)
        self.task.note(step=ADOPT)
        result = await self._read_record(earlier)
        made = await asyncio.to_thread(read_result, self.task.stage, result)
        files = require_planned(self.fetched.plan, self.task.part, earlier, made)
        async with (
            self.tools.folder(self.task) as folder,
            report_waiting(self.task, f"adopting files of token {token}"),
        ):
            for file in files:
                await self._fetch(file, folder / _file_name(file))
            for track, _ in tracks_of(self.fetched.plan, made):
                await asyncio.to_thread(_require_track, folder / _file_name(track), track, parse)
            for file in files:
                name = _file_name(file)
                await self.tools.storage.put_file(f"{self._prefix(self.task.token)}/{name}", folder / name)
        size = sum(file.size for file in files)
        self.task.log(f"adopted {len(files)} files of token {token} of {self._name}, {size:,} bytes")
        self.task.step([ADOPT, earlier], exit_code=0, seconds=time.monotonic() - began, type=ADOPT)
        own = _rebase(result, f"{earlier}/", f"{self._prefix(self.task.token)}/")
        return await self.record(self.kind.from_json(own))

    async def _read_record(self, earlier: str) -> Json:
        """Return the result in the record of an earlier attempt; raise if its plan, source or encoder differs."""
        key = f"{earlier}/{RECORD}"
        size = await self.tools.storage.size(key)
        if size is None:
            raise StorageMissing(f"{key} is not in the storage", hint="the attempt ended before all of it was stored")
        if size > MAX_RECORD:
            raise NotAsPlanned(key, f"has {size:,} bytes", hint=f"at most {MAX_RECORD:,} are read")
        record = json.loads(await self.tools.storage.get_bytes(key))
        if not isinstance(record, Mapping):
            raise NotAsPlanned(key, "is not an object")
        for name, value in self._recipe.items():
            if record.get(name) != value:
                raise NotAsPlanned(key, f"is of another {name}")
        return record.get("result")

    async def _fetch(self, file: MadeFile, path: Path) -> None:
        """Download a file; one of another size than recorded is not read."""
        size = await self.tools.storage.size(file.key)
        if size is not None and size != file.size:
            raise StorageDamaged(f"{file.key} has {size:,} bytes, not {file.size:,}", hint="it is made again")
        await self.tools.storage.download(file.key, path, sha256=file.sha256)


def _first_token(checkpoint: Json) -> int | None:
    """Return the lowest token whose files may be adopted; None for the first attempt."""
    found = checkpoint.get(FIRST) if isinstance(checkpoint, Mapping) else None
    return found if isinstance(found, int) else None


def _file_name(file: MadeFile) -> str:
    return PurePosixPath(file.key).name


def _require_track(path: Path, made: MadeTrack, parse: Parse | None) -> None:
    """Refuse a track whose record differs from its file."""
    if parse is None:
        raise NotAsPlanned(made.key, "holds a track, which this stage does not make")
    parsed = parse(path)
    for name, value in track_fields(parsed).items():
        if getattr(made, name) != value:
            raise NotAsPlanned(made.key, f"its {name} are not as recorded")
    if made.init is not None and made.init.sha256 != stored(made.init.key, parsed.init).sha256:
        raise NotAsPlanned(made.init.key, "is the header of another file")


def _rebase(value: Json, earlier: str, own: str) -> Json:
    """Return a result with one key prefix replaced by another."""
    if isinstance(value, dict):
        return {name: _rebase(item, earlier, own) for name, item in value.items()}
    if isinstance(value, list):
        return [_rebase(item, earlier, own) for item in value]
    return own + value.removeprefix(earlier) if isinstance(value, str) and value.startswith(earlier) else value
