"""A tar.gz from outside, taken apart member by member. Nothing in it is obeyed: it may only name plain files.

The headers are read here and not by `tarfile`, which obeys what a header says (a path, a size, a sparse map) before
its caller can look at it. What an archive of plain files with short names needs is small enough to be read strictly.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from reelstate.core.errors import InvalidRequest, TooLarge

BLOCK: Final = 512
READ: Final = 64 * 1024
EMPTY: Final = bytes(BLOCK)
REGULAR: Final = (b"0", b"\0")
EXTENDED: Final = b"x"
"""A PAX header: tools write one for the fraction of a second in a time."""
LONGEST_EXTENDED: Final = 16 * 1024
HARMLESS: Final = frozenset({"mtime", "atime", "ctime", "uid", "gid", "uname", "gname", "comment", "SCHILY.dev"})
_NAME: Final = re.compile(r"(?:\./)?((?:[A-Za-z0-9_][A-Za-z0-9._=-]{0,99}/){0,3}[A-Za-z0-9_][A-Za-z0-9._=-]{0,99})")
_RECORD: Final = re.compile(rb"(\d{1,5}) ([^=\n]{1,100})=")
ENDINGS: Final = frozenset({".m3u8", ".mpd", ".mp4", ".m4s", ".vtt", ".json", ".jpg", ".png", ".webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much an archive may hold."""

    files: int = 10_000
    file_size: int = 64 * 1024**3
    total: int = 64 * 1024**3
    ratio: int = 100
    """Bytes that one compressed byte may become, beyond the first `small`."""
    small: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unpacked:
    name: str
    path: Path
    size: int
    sha256: str


def unpack(archive: BinaryIO, folder: Path, limits: ArchiveLimits) -> list[Unpacked]:
    """Write the files of an archive to a folder of ours, under numbers; refuse the whole where one is not plain.

    The folder must be empty and belong to this process alone.
    """
    stream = _Stream(archive, limits)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found: dict[str, Unpacked] = {}
        for name, size in _members(stream, limits):
            if name in found:
                _refuse(f"{name!r} is there twice")
            if len(found) >= limits.files:
                _refuse(f"there are more than {limits.files:,} files")
            found[name] = _written(stream, place, folder, str(len(found)), name, size)
    finally:
        os.close(place)
    if not found:
        _refuse("there is no file in it")
    return list(found.values())


def _members(stream: _Stream, limits: ArchiveLimits) -> Iterator[tuple[str, int]]:
    """The name and size of each member; its bytes must be read before the next is asked for."""
    while (header := stream.exactly(BLOCK)) != EMPTY:
        kind, size = _checked_header(header)
        if kind == EXTENDED:
            _check_extended(stream, size)
            header = stream.exactly(BLOCK)
            kind, size = _checked_header(header)
        if kind not in REGULAR:
            _refuse(f"a member is of kind {kind.decode('latin-1')!r}, which is no plain file")
        if size > limits.file_size:
            raise TooLarge("archive", size, limits.file_size, hint="send large files one by one")
        yield _checked_name(header), size
    stream.finish()


def _checked_header(header: bytes) -> tuple[bytes, int]:
    """The kind and size that a header tells, if it is one."""
    if header[257:262] != b"ustar":
        _refuse("it is not a tar archive, or an old one")
    blank = header[:148] + b" " * 8 + header[156:]
    if _number(header[148:156]) != sum(blank):
        _refuse("a header is damaged")
    return header[156:157], _number(header[124:136])


def _number(field: bytes) -> int:
    text = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{1,12}", text):
        _refuse("a number in a header is not one")
    return int(text, 8)


def _checked_name(header: bytes) -> str:
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    raw = b"/".join(filter(None, (prefix, header[:100].partition(b"\0")[0])))
    match = _NAME.fullmatch(raw.decode("latin-1"))
    if match is None or Path(match[1]).suffix not in ENDINGS:
        _refuse(f"{raw[:100]!r} can't be the name of a file: words of letters, digits, _ . = -, and a known ending")
    return match[1]


def _check_extended(stream: _Stream, size: int) -> None:
    """Read over a PAX header; it may tell times and owners, never another name, size or shape."""
    if size > LONGEST_EXTENDED:
        _refuse("a header is too long")
    data = stream.exactly(-(-size // BLOCK) * BLOCK)[:size]
    while data:
        record = _RECORD.match(data)
        length = int(record[1]) if record else 0
        if record is None or not record.end() < length <= len(data) or data[length - 1 : length] != b"\n":
            _refuse("a header is damaged")
        if record[2].decode("latin-1") not in HARMLESS:
            _refuse(f"a header wants to change {record[2].decode('latin-1')[:40]!r} of a member")
        data = data[length:]


def _written(stream: _Stream, place: int, folder: Path, number: str, name: str, size: int) -> Unpacked:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(number, flags, 0o644, dir_fd=place)
    digest, left = hashlib.sha256(), size
    with os.fdopen(descriptor, "wb") as file:
        while left:
            chunk = stream.exactly(min(left, READ))
            digest.update(chunk)
            left -= file.write(chunk)
    stream.exactly(-size % BLOCK)
    return Unpacked(name, folder / number, size, digest.hexdigest())


class _Stream:
    """The bytes inside a gzip file, never more than are allowed for what has been read of it."""

    def __init__(self, archive: BinaryIO, limits: ArchiveLimits) -> None:
        self._archive = archive
        self._limits = limits
        self._unzip = zlib.decompressobj(wbits=31)
        self._waiting = bytearray()
        self._read = self._given = 0

    def exactly(self, size: int) -> bytes:
        while len(self._waiting) < size:
            if not self._more():
                _refuse("it breaks off")
        found = bytes(self._waiting[:size])
        del self._waiting[:size]
        return found

    def finish(self) -> None:
        """The rest must be empty blocks, and nothing may follow the archive."""
        while True:
            if self._waiting.strip(b"\0"):
                _refuse("something follows its end")
            self._waiting.clear()
            if not self._more():
                break
        if not self._unzip.eof:
            _refuse("it breaks off")
        if self._unzip.unused_data or self._archive.read(1):
            _refuse("something follows its end")

    def _more(self) -> bool:
        if self._unzip.eof:
            return False
        data = self._unzip.unconsumed_tail or self._archive.read(READ)
        if not data:
            return False
        try:
            made = self._unzip.decompress(data, READ)
        except zlib.error:
            _refuse("it is not gzip, or damaged")
        self._read += len(data) - len(self._unzip.unconsumed_tail)
        self._given += len(made)
        self._waiting += made
        self._check()
        return True

    def _check(self) -> None:
        limits = self._limits
        if self._given > limits.total:
            raise TooLarge("archive", self._given, limits.total, hint="send large files one by one")
        if self._given > limits.small and self._given > self._read * limits.ratio:
            _refuse(f"it becomes more than {limits.ratio} times as large as it is")


def _refuse(words: str) -> NoReturn:
    raise InvalidRequest("archive", words, hint="a tar.gz of plain files; or send each with a PUT of its own")
