"""Adopts what an earlier attempt of the same task has stored, so that the work is not done twice.

An attempt stores its record, `made.json`, after all of its files: the plan, the source and the encoder build that they
follow from, and the result with the size and the sha256 of each. A later attempt of the same task reads the records of
lower tokens, the highest first. It adopts one only if plan, source and build are its own, the result is as planned,
and every file has the recorded bytes, which must hold what the result says. Tokens from before an operator had the
stage run again do not count: what they made is to be made anew.

Adopted files are copied under the token of the attempt that adopts them. So the rule stays that a result names files
of its own token: the sweep of dead tokens, or a late report of the earlier attempt, deletes nothing that counts.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.stored import stored
from reelstate.core.errors import InvalidRequest, StorageDamaged, StorageMissing
from reelstate.media.formats.box import MalformedBoxes
from reelstate.media.formats.fragmented_mp4 import Fragmented
from reelstate.media.planning.plan import Plan
from reelstate.media.records import document_of
from reelstate.media.result_checks import NotAsPlanned, require_planned, tracks_of
from reelstate.media.results import MadeFile, MadeTrack, read_result, track_fields
from reelstate.media.tools import MediaTools, telling
from reelstate.worker.run import Run

Json = Any
Parse = Callable[[Path], Fragmented]
"""Returns the track in a file, if it is all that the task has to make."""

RECORD: Final = "made.json"
MAX_RECORD: Final = 16 * 1024 * 1024
"""Bytes of a record that is read; one of a track of 12 hours has half a million."""
FIRST: Final = "first_token"
"""In the checkpoint of a task: the token of its first attempt. A retry of its stage by an operator clears it."""
ADOPT: Final = "adopt"
"""The type of the step that says so."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a task, and what its files follow from."""

    tools: MediaTools
    task: Run
    plan: Plan
    source: str
    encoder: str

    async def record(self, result: Json) -> Json:
        """Store the record of a result whose files are all stored; returns the result."""
        data = json.dumps({**self._recipe, "result": result}, separators=(",", ":")).encode()
        await self.tools.storage.put_bytes(f"{self._prefix(self.task.token)}/{RECORD}", data)
        return result

    async def adopted(self, parse: Parse | None = None) -> Json | None:
        """The result of an earlier attempt with its files stored again as this attempt's; None if none verifies."""
        first = _first_token(self.task.checkpoint)
        if first is None:
            await self.task.progress(checkpoint={FIRST: self.task.token})
            return None
        for token in await self._earlier_tokens(first):
            try:
                return await self._adopt(token, parse)
            except (StorageMissing, StorageDamaged, InvalidRequest, MalformedBoxes, ValueError) as error:
                self.task.log(f"what token {token} of {self._name} stored is not adopted: {error}")
        return None

    @property
    def _recipe(self) -> dict[str, str]:
        return {"plan": self.plan.id, "source": self.source, "encoder": self.encoder}

    @property
    def _name(self) -> str:
        return f"{self.task.stage}/{self.task.part}"

    def _prefix(self, token: int) -> str:
        return keys.task(self.task.job_id, self.task.stage, self.task.part, token)

    async def _earlier_tokens(self, first: int) -> list[int]:
        """Tokens from `first` up to this attempt's under which something is stored, the highest first."""
        parts = f"{keys.version(self.task.job_id)}/{self.task.stage}/{self.task.part}"
        found = [int(name) for name in await self.tools.storage.folders(parts) if name.isdecimal()]
        return sorted((token for token in found if first <= token < self.task.token), reverse=True)

    async def _adopt(self, token: int, parse: Parse | None) -> Json:
        began, earlier = time.monotonic(), self._prefix(token)
        self.task.note(step=ADOPT)
        result = await self._recorded(earlier)
        made = await asyncio.to_thread(read_result, self.task.stage, result)
        files = require_planned(self.plan, self.task.part, earlier, made)
        async with self.tools.folder(self.task) as folder, telling(self.task, f"adopting what token {token} stored"):
            for file in files:
                await self._fetch(file, folder / _file_name(file))
            for track, _ in tracks_of(self.plan, made):
                await asyncio.to_thread(_require_track, folder / _file_name(track), track, parse)
            for file in files:
                name = _file_name(file)
                await self.tools.storage.put_file(f"{self._prefix(self.task.token)}/{name}", folder / name)
        size = sum(file.size for file in files)
        self.task.log(f"adopted what token {token} of {self._name} stored: {len(files)} files, {size:,} bytes")
        self.task.step([ADOPT, earlier], exit_code=0, seconds=time.monotonic() - began, type=ADOPT)
        return await self.record(_rebased(result, f"{earlier}/", f"{self._prefix(self.task.token)}/"))

    async def _recorded(self, earlier: str) -> Json:
        """The result in the record of an earlier attempt, if it follows from the same as this attempt's."""
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
        """Have the recorded bytes of a file at a path; one of another size is not read."""
        size = await self.tools.storage.size(file.key)
        if size is not None and size != file.size:
            raise StorageDamaged(f"{file.key} has {size:,} bytes, not {file.size:,}", hint="it is made again")
        await self.tools.storage.download(file.key, path, sha256=file.sha256)


def _first_token(checkpoint: Json) -> int | None:
    """The lowest token whose files may be adopted; None for the first attempt."""
    found = checkpoint.get(FIRST) if isinstance(checkpoint, Mapping) else None
    return found if isinstance(found, int) else None


def _file_name(file: MadeFile) -> str:
    return PurePosixPath(file.key).name


def _require_track(path: Path, made: MadeTrack, parse: Parse | None) -> None:
    """Refuse a track whose record is not what its file holds."""
    if parse is None:
        raise NotAsPlanned(made.key, "holds a track, which this stage does not make")
    parsed = parse(path)
    document = document_of(made)
    for name, value in track_fields(parsed).items():
        if document[name] != value:
            raise NotAsPlanned(made.key, f"its {name} are not as recorded")
    if made.init is not None and made.init.sha256 != stored(made.init.key, parsed.init).sha256:
        raise NotAsPlanned(made.init.key, "is the header of another file")


def _rebased(value: Json, earlier: str, own: str) -> Json:
    """A result with every key of one prefix under another."""
    if isinstance(value, dict):
        return {name: _rebased(item, earlier, own) for name, item in value.items()}
    if isinstance(value, list):
        return [_rebased(item, earlier, own) for item in value]
    return own + value.removeprefix(earlier) if isinstance(value, str) and value.startswith(earlier) else value
