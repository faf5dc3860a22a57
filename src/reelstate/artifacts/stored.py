"""What is known of a file that is kept, and of bytes on their way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from reelstate.core.errors import StorageConflict, StorageDamaged

CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is kept, with what proves its bytes."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as a listing shows it."""

    key: str
    size: int
    modified: datetime


def chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def digest_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stored(key: str, data: bytes) -> Stored:
    """The record of some bytes."""
    return Stored(key, len(data), hashlib.sha256(data).hexdigest())


def verified(found: Stored, sha256: str | None) -> Stored:
    """The record, if its bytes are the expected ones."""
    if sha256 is not None and found.sha256 != sha256:
        raise StorageDamaged(
            f"{found.key} has sha256 {found.sha256}, not {sha256}",
            hint="it is fetched again at the next attempt; if that fails too, the stored file is damaged",
        )
    return found


def unchanged(new: Stored, kept: Stored) -> Stored:
    """The record, if what is kept under its key are the same bytes."""
    if (new.size, new.sha256) != (kept.size, kept.sha256):
        raise StorageConflict(
            f"{new.key} is already kept with other bytes (sha256 {kept.sha256}, new {new.sha256})",
            hint="a key is written once: use a new token, or delete what is there",
        )
    return new
