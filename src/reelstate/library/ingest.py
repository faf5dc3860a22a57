"""ingest: every file of a folder becomes a video, once it is complete, and once only.

A file is complete when its size and time of change have stayed as they are for a while, and nobody is known to write
it. It is known by its path, size and time of change, which make its idempotency key: another ingest, or this one after
a restart, finds the job that is there already. A file that was replaced is another film. Nothing is read to tell files
apart, so that a folder of terabytes costs no more than its listing.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from reelstate.core.errors import IdempotencyConflict, InvalidRequest, UnknownPipeline
from reelstate.core.model import Json, Verdict
from reelstate.engine import Engine
from reelstate.library.inotify import Inotify, Notice
from reelstate.library.videos import Videos

logger = logging.getLogger("reelstate.ingest")

SUFFIXES: Final = "3g2 3gp avi flv m2ts m4v mj2 mkv mov mp4 mpeg mpg mts ogv ts webm"
PATTERNS: Final = tuple(f"*.{suffix}" for suffix in SUFFIXES.split())
"""What is taken for a film unless other patterns are given."""
PARTIAL: Final = (".part", ".partial", ".crdownload", ".download", ".filepart", ".tmp", ".temp", ".aria2", "~")
"""How the names of files end that somebody is still making."""
LOOK_EVERY: Final = 60.0
"""Seconds between two looks at the whole folder where Linux tells what happens: for what it may have missed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a file is told apart by, beside its path."""

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """What is taken from where, and what is made of it."""

    folder: Path
    patterns: Sequence[str] = PATTERNS
    settle: float = 3.0
    poll: float = 2.0
    watch: bool = False
    spec: Mapping[str, Json] = field(default_factory=dict)
    priority: int | str = 5
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """What became of one file."""

    path: Path
    verdict: Verdict | None
    """None for a file that was left alone."""
    video_id: int | None = None
    job_id: int | None = None
    reason: str = ""


Tell = Callable[[IngestedFile], None]


def wanted(relative: Path, patterns: Sequence[str]) -> bool:
    """Whether a file is one to be taken, by its path beneath the folder."""
    if any(piece.startswith(".") for piece in relative.parts):
        return False
    name = relative.name.lower()
    return not name.endswith(PARTIAL) and any(fnmatchcase(name, pattern.lower()) for pattern in patterns)


def key_of(path: Path, identity: Identity) -> str:
    """The idempotency key of a file."""
    words = b"\0".join([os.fsencode(path), str(identity.size).encode(), str(identity.modified).encode()])
    return f"ingest-{hashlib.sha256(words).hexdigest()}"


@dataclass(slots=True)
class _Seen:
    identity: Identity
    since: float
    writing: bool = False
    given: bool = False


class Settling:
    """Which files are complete. It knows what it is told, and the time is an argument."""

    def __init__(self, settle: float) -> None:
        self._settle = settle
        self._files: dict[Path, _Seen] = {}

    def see(self, path: Path, identity: Identity | None, now: float) -> None:
        """A file as it is now; None when it is gone."""
        known = self._files.get(path)
        if identity is None:
            self._files.pop(path, None)
        elif known is None:
            self._files[path] = _Seen(identity, now)
        elif known.identity != identity:
            self._files[path] = _Seen(identity, now, writing=known.writing)

    def see_all(self, found: Mapping[Path, Identity], now: float) -> None:
        """All files there are."""
        for path in self._files.keys() - found.keys():
            del self._files[path]
        for path, identity in found.items():
            self.see(path, identity, now)

    def write(self, path: Path, *, writing: bool) -> None:
        """Somebody writes into a file, or no longer does."""
        if path in self._files:
            self._files[path].writing = writing

    def forget_writers(self) -> None:
        for seen in self._files.values():
            seen.writing = False

    def complete(self, now: float) -> list[tuple[Path, Identity]]:
        """Files that have become complete, each once, in the order of their paths."""
        due = [path for path, seen in self._files.items() if self._waits(seen) and now >= seen.since + self._settle]
        for path in due:
            self._files[path].given = True
        return [(path, self._files[path].identity) for path in sorted(due)]

    def next_due(self) -> float | None:
        """When the next file may be complete; None while none is on its way there."""
        return min((seen.since + self._settle for seen in self._files.values() if self._waits(seen)), default=None)

    @property
    def waiting(self) -> bool:
        """Whether some file has not been given out yet."""
        return any(not seen.given for seen in self._files.values())

    @staticmethod
    def _waits(seen: _Seen) -> bool:
        return not seen.given and not seen.writing


async def ingest(engine: Engine, terms: Ingest, tell: Tell, stop: asyncio.Event) -> None:
    """Take every file of a folder; with `watch`, go on with those that come, until told to stop."""
    require_folder(terms.folder)
    terms = replace(terms, folder=terms.folder.resolve())  # however it is spelled, a file has one path
    with contextlib.closing(_Folder(terms)) as folder:
        while not stop.is_set():
            for path, identity in folder.complete():
                tell(await _take(engine, terms, path, identity))
            if not terms.watch and not folder.waiting:
                return
            await folder.change(stop)


def require_folder(folder: Path) -> None:
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise InvalidRequest("folder", f"{folder} {problem}", hint="name the folder that films are put into")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise InvalidRequest("folder", f"{folder} can't be read: {error.strerror}", hint="check its rights") from None


class _Folder:
    """A folder as it changes: told by Linux where it can, else looked at again and again."""

    def __init__(self, terms: Ingest) -> None:
        self._terms = terms
        self._settling = Settling(terms.settle)
        self._notices = Inotify.open() if terms.watch else None
        self._touched = asyncio.Event()
        self._look_again = 0.0
        self._unreadable: set[Path] = set()
        if self._notices:
            asyncio.get_running_loop().add_reader(self._notices.fileno(), self._touched.set)
        self._look()

    def close(self) -> None:
        if self._notices:
            asyncio.get_running_loop().remove_reader(self._notices.fileno())
            self._notices.close()
            self._notices = None

    @property
    def waiting(self) -> bool:
        return self._settling.waiting

    def complete(self) -> list[tuple[Path, Identity]]:
        """Files to be taken now, looked at once more, as nobody may have told of their last change."""
        found = self._settling.complete(_now())
        return [(path, identity) for path, identity in found if self._is_still(path, identity)]

    async def change(self, stop: asyncio.Event) -> None:
        """Wait until there may be something new, and look."""
        due = self._settling.next_due()
        until = min(self._look_again, due if due is not None else self._look_again)
        await _first(self._touched, stop, seconds=max(0.0, until - _now()))
        if self._notices and self._touched.is_set():
            self._touched.clear()
            self._heed(list(self._notices.read()))
        if _now() >= self._look_again:
            self._look()

    def _heed(self, notices: Sequence[Notice]) -> None:
        if any(notice.path is None for notice in notices):
            self._settling.forget_writers()  # that one of them is done may be what was not told
        if any(notice.path is None or notice.folder for notice in notices):
            self._look()
        for notice in notices:
            if notice.path is not None and not notice.folder and self._wants(notice.path):
                self._settling.see(notice.path, identity_of(notice.path), _now())
                if notice.writing or notice.settled:
                    self._settling.write(notice.path, writing=notice.writing)

    def _look(self) -> None:
        """All there is. A folder is watched before it is read, so that nothing can come in between unseen."""
        found = {
            path: identity for path in self._walk(self._terms.folder) if (identity := identity_of(path)) is not None
        }
        self._settling.see_all(found, _now())
        self._look_again = _now() + (LOOK_EVERY if self._notices else self._terms.poll)

    def _walk(self, folder: Path) -> Iterator[Path]:
        self._watch(folder)
        for entry in self._entries(folder):
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from () if entry.name.startswith(".") else self._walk(path)
            elif self._wants(path):
                yield path

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            if folder not in self._unreadable:
                logger.warning("%s can't be read: %s", folder, error.strerror)
            self._unreadable.add(folder)
            return []

    def _watch(self, place: Path) -> None:
        if self._notices is None:
            return
        try:
            self._notices.add(place)
        except OSError:  # no room for more watches: from here on the folder is looked at instead
            self.close()

    def _wants(self, path: Path) -> bool:
        return wanted(path.relative_to(self._terms.folder), self._terms.patterns)

    def _is_still(self, path: Path, identity: Identity) -> bool:
        found = identity_of(path)
        self._settling.see(path, found, _now())
        return found == identity


def identity_of(path: Path) -> Identity | None:
    """A file as it is now; None for what is gone, or no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Identity(found.st_size, found.st_mtime_ns) if S_ISREG(found.st_mode) else None


async def _take(engine: Engine, terms: Ingest, path: Path, identity: Identity) -> IngestedFile:
    if identity.size == 0:
        return IngestedFile(path, None, reason="it is empty")
    if not os.access(path, os.R_OK):
        return IngestedFile(path, None, reason="it can't be read")
    try:
        answer = await Videos(engine).submit(str(path), **_options(terms, path, identity))
    except IdempotencyConflict as error:  # it was submitted before with other options, which is once
        job = (await engine.job(error.job_id)).job
        return IngestedFile(path, Verdict.REPEATED, job.resource_id, job.id)
    except UnknownPipeline:
        raise
    except InvalidRequest as error:
        return IngestedFile(path, None, reason=error.message)
    return IngestedFile(path, answer.verdict, answer.resource_id, answer.job_id)


def _options(terms: Ingest, path: Path, identity: Identity) -> dict[str, Any]:
    return {
        "title": path.stem,
        "spec": dict(terms.spec),
        "priority": terms.priority,
        "user_id": terms.user_id,
        "idempotency_key": key_of(path, identity),
    }


async def _first(*events: asyncio.Event, seconds: float) -> None:
    """Wait for one of these, so long at most."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def _now() -> float:
    return asyncio.get_running_loop().time()
