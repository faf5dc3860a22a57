"""Storage in a folder. A file is written under a temporary name, brought to the disk and linked into its place.

A link fails where a file already is: of two writers of one key, one is first and the other is compared with it.
The folder itself and the sources in it are created for this user alone; whoever lets others into the folder, such as a
web server, lets them read streams and no sources.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.keys import SOURCES, checked
from reelstate.artifacts.stored import Listed, Stored, chunks, digest_of, stored, unchanged, verified
from reelstate.runtime.private_files import FILE_MODE, FOLDER_MODE

INCOMING: Final = ".incoming"
"""No key begins with a dot, so files on their way are never listed."""
PRIVATE: Final = frozenset({INCOMING, SOURCES})
"""Folders of the storage that are created for this user alone, with all that is in them."""
TRIES: Final = 10
NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS, errno.EACCES}


class Folder:
    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def url(self) -> str:
        return str(self.root)

    async def put_file(self, key: str, path: Path, *, ours: bool = True) -> Stored:
        return await asyncio.to_thread(self._put_file, checked(key), path, ours)

    async def put_bytes(self, key: str, data: bytes) -> Stored:
        return await asyncio.to_thread(self._put_bytes, checked(key), data)

    async def replace_bytes(self, key: str, data: bytes) -> Stored:
        return await asyncio.to_thread(self._replace_bytes, checked(key), data)

    async def get_bytes(self, key: str, start: int | None = None, length: int | None = None) -> bytes:
        return await asyncio.to_thread(self._get_bytes, checked(key), start or 0, length)

    async def download(self, key: str, path: Path, *, sha256: str | None = None) -> Stored:
        return await asyncio.to_thread(self._download, checked(key), path, sha256)

    def local_path(self, key: str) -> Path | None:
        return self.root / checked(key)

    async def size(self, key: str) -> int | None:
        with folder_faults(self._place(key)):
            try:
                found = await asyncio.to_thread((self.root / checked(key)).stat)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    async def exists(self, key: str) -> bool:
        return await self.size(key) is not None

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        for found in await asyncio.to_thread(self._list, checked(prefix)):
            yield found

    async def folders(self, prefix: str) -> tuple[str, ...]:
        return await asyncio.to_thread(self._folders, checked(prefix))

    async def delete(self, prefix: str) -> int:
        return await asyncio.to_thread(self._delete, checked(prefix))

    def _place(self, key: str) -> str:
        return str(self.root / key)

    def _put_file(self, key: str, path: Path, ours: bool) -> Stored:
        with folder_faults(self._place(key)), self._incoming() as incoming:
            if ours and _linked(path, incoming):
                _to_disk(incoming)
                new = Stored(key, incoming.stat().st_size, digest_of(incoming))
            else:
                new = _copied(key, path, incoming)
            return self._enter(new, incoming)

    def _put_bytes(self, key: str, data: bytes) -> Stored:
        with folder_faults(self._place(key)), self._incoming() as incoming:
            _write(incoming, data)
            return self._enter(stored(key, data), incoming)

    def _enter(self, new: Stored, incoming: Path) -> Stored:
        """Give a written file its place, unless other bytes have it."""
        target = self.root / new.key
        if self._is_private(target):
            incoming.chmod(FILE_MODE)
        try:
            self._place_file(target, partial(_settle, incoming, target))
        except FileExistsError:
            return unchanged(new, Stored(new.key, target.stat().st_size, digest_of(target)))
        return new

    def _replace_bytes(self, key: str, data: bytes) -> Stored:
        target = self.root / key
        with folder_faults(self._place(key)), self._incoming() as incoming:
            _write(incoming, data)
            self._place_file(target, partial(incoming.replace, target))
        return stored(key, data)

    def _get_bytes(self, key: str, start: int, length: int | None) -> bytes:
        with folder_faults(self._place(key)), (self.root / key).open("rb") as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def _download(self, key: str, path: Path, sha256: str | None) -> Stored:
        part = path.with_name(f"{path.name}.part")
        with folder_faults(self._place(key)):
            try:
                found = verified(_copied(key, self.root / key, part), sha256)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        return found

    def _list(self, prefix: str) -> tuple[Listed, ...]:
        with folder_faults(self._place(prefix)):
            return tuple(self._listed(path) for path in _files(self.root / prefix))

    def _listed(self, path: Path) -> Listed:
        found = path.stat()
        return Listed(
            path.relative_to(self.root).as_posix(), found.st_size, datetime.fromtimestamp(found.st_mtime, tz=UTC)
        )

    def _folders(self, prefix: str) -> tuple[str, ...]:
        with folder_faults(self._place(prefix)):
            try:
                return tuple(sorted(entry.name for entry in os.scandir(self.root / prefix) if entry.is_dir()))
            except FileNotFoundError:
                return ()

    def _delete(self, prefix: str) -> int:
        place = self.root / prefix
        with folder_faults(self._place(prefix)):
            count = len(_files(place))
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
            self._drop_empty(place.parent)
        return count

    def _drop_empty(self, folder: Path) -> None:
        while folder != self.root and folder.is_relative_to(self.root):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    @contextmanager
    def _incoming(self) -> Iterator[Path]:
        path = self.root / INCOMING / uuid.uuid4().hex
        self._make_folder(path.parent)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _place_file(self, target: Path, enter: Callable[[], object]) -> None:
        """Move a file into its folder, which is created again if a sweep removed it as empty."""
        for left in reversed(range(TRIES)):
            try:
                self._make_folder(target.parent)
                enter()
            except FileNotFoundError:
                if not left:
                    raise
            else:
                break
        _to_disk(target.parent)

    def _make_folder(self, folder: Path) -> None:
        """Make a folder with those above it, and bring their names to the disk."""
        if folder.is_dir():
            return
        self._make_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE if self._is_private(folder) else 0o777)
        _to_disk(folder.parent)

    def _is_private(self, path: Path) -> bool:
        if path == self.root:
            return True
        return path.is_relative_to(self.root) and path.relative_to(self.root).parts[0] in PRIVATE


def _files(place: Path) -> tuple[Path, ...]:
    if place.is_file():
        return (place,)
    return tuple(Path(folder) / name for folder, _, names in os.walk(place) for name in names)


def _linked(path: Path, target: Path) -> bool:
    """Whether the file could be linked; another file system needs a copy."""
    try:
        os.link(path.resolve(), target)
    except OSError as error:
        if error.errno in NO_LINKS:
            return False
        raise
    return True


def _settle(incoming: Path, target: Path) -> None:
    """Give a file its name, and fail if that is taken; where there are no links, the look comes before the move."""
    try:
        os.link(incoming, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if target.exists():
            raise FileExistsError(target) from None
        incoming.replace(target)


def _copied(key: str, path: Path, target: Path) -> Stored:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, target.open("wb") as file:
        for chunk in chunks(source):
            digest.update(chunk)
            size += file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return Stored(key, size, digest.hexdigest())


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
