"""Ingest: submit every file of a folder as a video, once it is complete, and only once.

A file is complete when its size and modification time have not changed for a while and no process is known to write it.
Path, size and modification time make its idempotency key: another ingest, or this one after a restart, finds the
existing job. A replaced file is another video. No file is read: a folder of terabytes costs no more than its listing.
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
"""The default patterns of video files."""
PARTIAL: Final = (".part", ".partial", ".crdownload", ".download", ".filepart", ".tmp", ".temp", ".aria2", "~")
"""Suffixes of files that are still being written."""
RESCAN_EVERY: Final = 60.0
"""Seconds between scans of the folder where inotify reports changes, for those it missed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies the contents of a file at a path."""

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """Which files of which folder are submitted, and how."""

    folder: Path
    patterns: Sequence[str] = PATTERNS
    settle: float = 3.0
    poll: float = 2.0
    rescan: float = RESCAN_EVERY
    watch: bool = False
    spec: Mapping[str, Json] = field(default_factory=dict)
    priority: int | str = 5
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """The result for one file."""

    path: Path
    verdict: Verdict | None
    """None for a file that was skipped."""
    video_id: int | None = None
    job_id: int | None = None
    reason: str = ""


Report = Callable[[IngestedFile], None]


def is_wanted(relative: Path, patterns: Sequence[str]) -> bool:
    """Return whether a file is submitted, by its path relative to the folder."""
    if any(piece.startswith(".") for piece in relative.parts):
        return False
    name = relative.name.lower()
    return not name.endswith(PARTIAL) and any(fnmatchcase(name, pattern.lower()) for pattern in patterns)


def idempotency_key(path: Path, identity: Identity) -> str:
    """Return the idempotency key of a file."""
    parts = b"\0".join([os.fsencode(path), str(identity.size).encode(), str(identity.modified).encode()])
    return f"ingest-{hashlib.sha256(parts).hexdigest()}"


@dataclass(slots=True)
class _Seen:
    identity: Identity
    since: float
    writing: bool = False
    returned: bool = False


class Settling:
    """Decide which files are complete from what is observed; the time is an argument."""

    def __init__(self, settle: float) -> None:
        self._settle = settle
        self._files: dict[Path, _Seen] = {}

    def see(self, path: Path, identity: Identity | None, now: float) -> None:
        """Record a file as it is now; None when it does not exist any more."""
        known = self._files.get(path)
        if identity is None:
            self._files.pop(path, None)
        elif known is None:
            self._files[path] = _Seen(identity, now)
        elif known.identity != identity:
            self._files[path] = _Seen(identity, now, writing=known.writing)

    def see_all(self, found: Mapping[Path, Identity], now: float) -> None:
        """Record all files of the folder."""
        for path in self._files.keys() - found.keys():
            del self._files[path]
        for path, identity in found.items():
            self.see(path, identity, now)

    def set_writing(self, path: Path, *, writing: bool) -> None:
        """Record whether a process writes to a file."""
        if path in self._files:
            self._files[path].writing = writing

    def forget_writers(self) -> None:
        """Assume that no process writes to any file."""
        for seen in self._files.values():
            seen.writing = False

    def complete(self, now: float) -> list[tuple[Path, Identity]]:
        """Return files that became complete, each once, sorted by path."""
        due = [path for path, seen in self._files.items() if self._waits(seen) and now >= seen.since + self._settle]
        for path in due:
            self._files[path].returned = True
        return [(path, self._files[path].identity) for path in sorted(due)]

    def next_due(self) -> float | None:
        """Return when the next file may be complete; None while there is no candidate."""
        return min((seen.since + self._settle for seen in self._files.values() if self._waits(seen)), default=None)

    @property
    def waiting(self) -> bool:
        """Whether some file was not returned as complete yet."""
        return any(not seen.returned for seen in self._files.values())

    @staticmethod
    def _waits(seen: _Seen) -> bool:
        return not seen.returned and not seen.writing


async def ingest(engine: Engine, terms: Ingest, report: Report, stop: asyncio.Event) -> None:
    """Submit every file of a folder; with `watch`, also new ones until `stop` is set."""
    require_folder(terms.folder)
    terms = replace(terms, folder=terms.folder.resolve())  # a file has one path, also through symbolic links
    with contextlib.closing(_Folder(terms)) as folder:
        while not stop.is_set():
            for path, identity in folder.complete():
                report(await _submit(engine, terms, path, identity))
            if not terms.watch and not folder.waiting:
                return
            await folder.change(stop)


def require_folder(folder: Path) -> None:
    """Raise `InvalidRequest` unless the folder exists and is readable."""
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise InvalidRequest("folder", f"{folder} {problem}", hint="name a folder with video files")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise InvalidRequest(
            "folder", f"cannot read {folder}: {error.strerror}", hint="check its permissions"
        ) from None


class _Folder:
    """The files of a folder as they change: by inotify where it is available, else by polling."""

    def __init__(self, terms: Ingest) -> None:
        self._terms = terms
        self._settling = Settling(terms.settle)
        self._notices = Inotify.open() if terms.watch else None
        self._notified = asyncio.Event()
        self._next_scan = 0.0
        self._unreadable: set[Path] = set()
        if self._notices:
            asyncio.get_running_loop().add_reader(self._notices.fileno(), self._notified.set)
        self._scan()

    def close(self) -> None:
        if self._notices:
            asyncio.get_running_loop().remove_reader(self._notices.fileno())
            self._notices.close()
            self._notices = None

    @property
    def waiting(self) -> bool:
        return self._settling.waiting

    def complete(self) -> list[tuple[Path, Identity]]:
        """Return complete files, checked once more: a notice of their last change may have been lost."""
        found = self._settling.complete(_now())
        return [(path, identity) for path, identity in found if self._is_unchanged(path, identity)]

    async def change(self, stop: asyncio.Event) -> None:
        """Wait for a change, or until a file may be complete, and update the state of files."""
        due = self._settling.next_due()
        until = min(self._next_scan, due if due is not None else self._next_scan)
        await _wait_first(self._notified, stop, seconds=max(0.0, until - _now()))
        if self._notices and self._notified.is_set():
            self._notified.clear()
            self._handle(list(self._notices.read()))
        if _now() >= self._next_scan:
            self._scan()

    def _handle(self, notices: Sequence[Notice]) -> None:
        if any(notice.path is None for notice in notices):
            self._settling.forget_writers()  # the lost notice may be that a writer closed its file
        if any(notice.path is None or notice.folder for notice in notices):
            self._scan()
        for notice in notices:
            if notice.path is not None and not notice.folder and self._wants(notice.path):
                self._settling.see(notice.path, identity_of(notice.path), _now())
                if notice.writing or notice.settled:
                    self._settling.set_writing(notice.path, writing=notice.writing)

    def _scan(self) -> None:
        """Read the whole folder. Each folder is watched before it is read, so that no change is missed."""
        found = {
            path: identity for path in self._walk(self._terms.folder) if (identity := identity_of(path)) is not None
        }
        self._settling.see_all(found, _now())
        self._next_scan = _now() + (self._terms.rescan if self._notices else self._terms.poll)

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
                logger.warning("folder not readable folder=%s error=%s", folder, error.strerror)
            self._unreadable.add(folder)
            return []

    def _watch(self, folder: Path) -> None:
        if self._notices is None:
            return
        try:
            self._notices.add(folder)
        except OSError:  # no more watches available: poll from now on
            self.close()

    def _wants(self, path: Path) -> bool:
        return is_wanted(path.relative_to(self._terms.folder), self._terms.patterns)

    def _is_unchanged(self, path: Path, identity: Identity) -> bool:
        found = identity_of(path)
        self._settling.see(path, found, _now())
        return found == identity


def identity_of(path: Path) -> Identity | None:
    """Return the identity of a file; None if there is no regular file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return Identity(found.st_size, found.st_mtime_ns) if S_ISREG(found.st_mode) else None


async def _submit(engine: Engine, terms: Ingest, path: Path, identity: Identity) -> IngestedFile:
    if identity.size == 0:
        return IngestedFile(path, None, reason="is empty")
    if not os.access(path, os.R_OK):
        return IngestedFile(path, None, reason="is not readable")
    try:
        answer = await Videos(engine).submit(str(path), **_options(terms, path, identity))
    except IdempotencyConflict as error:  # submitted before with other options
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
        "idempotency_key": idempotency_key(path, identity),
    }


async def _wait_first(*events: asyncio.Event, seconds: float) -> None:
    """Wait for one of the events, at most `seconds`."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def _now() -> float:
    return asyncio.get_running_loop().time()
