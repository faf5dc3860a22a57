"""Where bytes are kept: one protocol, a folder or a bucket behind it.

A key is written once. The same bytes again are no error, other bytes are one; `replace_bytes` alone puts new bytes in
the place of old ones, and a reader sees either.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from reelstate.artifacts.bucket import Bucket
from reelstate.artifacts.folder import Folder
from reelstate.artifacts.stored import Listed, Stored
from reelstate.core.errors import InvalidRequest

BUCKETS: Final = ("s3", "gs", "az")


class Storage(Protocol):
    @property
    def url(self) -> str:
        """Its address, as people may see it."""

    async def put_file(self, key: str, path: Path, *, ours: bool = True) -> Stored:
        """Keep a file. One that is ours may be linked instead of copied, and must not be changed afterwards."""

    async def put_bytes(self, key: str, data: bytes) -> Stored: ...

    async def replace_bytes(self, key: str, data: bytes) -> Stored:
        """Put these bytes in the place of what is there, at once."""

    async def get_bytes(self, key: str, start: int | None = None, length: int | None = None) -> bytes:
        """The bytes, or a part of them; less than asked for at the end."""

    async def download(self, key: str, path: Path, *, sha256: str | None = None) -> Stored:
        """Write the bytes to a file, which appears only when it is whole and verified."""

    def local_path(self, key: str) -> Path | None:
        """The file itself, where there is one on this machine: to be read, never to be written."""

    async def size(self, key: str) -> int | None:
        """How many bytes there are, or None if there is no such key."""

    async def exists(self, key: str) -> bool: ...

    def list(self, prefix: str) -> AsyncIterator[Listed]:
        """Every file under the prefix, in no order."""

    async def folders(self, prefix: str) -> tuple[str, ...]:
        """The names of the next level under the prefix."""

    async def delete(self, prefix: str) -> int:
        """Delete the file of that key and every one under it; how many there were."""


def open_storage(url: str) -> Storage:
    """The storage at an address: a folder, or file://, s3://, gs:// or az:// with a prefix.

    Nothing is touched yet. Credentials of buckets come from where their own tools take them (`AWS_…`, `GOOGLE_…`,
    `AZURE_…`), never from the address.
    """
    scheme, separator, _ = url.partition("://")
    if not separator:
        return Folder(_folder(url))
    if scheme == "file":
        return Folder(_folder(_file_path(url)))
    if scheme not in BUCKETS:
        raise _wrong(f"{scheme[:20]}:// is not known", "a folder, or file://, s3://, gs:// or az:// with a prefix")
    if not urlsplit(url).netloc:
        raise _wrong(f"{url} names no bucket", f"for example {scheme}://bucket/prefix")
    _check_plain(url)
    return Bucket(url.rstrip("/"))


def _folder(text: str) -> Path:
    if not text or "\0" in text:
        raise _wrong("no folder is named", "for example media, or /srv/media")
    return Path(text).expanduser().absolute()


def _file_path(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise _wrong(f"{parts.netloc!r} is another machine", "three slashes begin a folder of this one: file:///srv")
    return unquote(parts.path)


def _check_plain(url: str) -> None:
    """Refuse what could carry a secret into logs, and what no bucket is called."""
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise _wrong("more than a bucket and a prefix is named", "credentials belong into the environment")
    if any(word in {"", ".", ".."} for word in parts.path.strip("/").split("/")) and parts.path.strip("/"):
        raise _wrong(f"{parts.path} is not a prefix", "words with single slashes between them")


def _wrong(message: str, hint: str) -> InvalidRequest:
    return InvalidRequest("storage_url", message, hint=hint)
