"""Addresses of sources: what they name, how people may see them, and what a worker may take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from reelstate.core.outcome import without_passwords
from reelstate.media.sources.errors import UnusableSource

BUCKETS: Final = ("s3", "gs", "az")
LONGEST_ADDRESS: Final = 4_096
STORED: Final = "stored://"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LocalAddress:
    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class WebAddress:
    url: str

    def __str__(self) -> str:
        """Without the user's name, password and query, any of which may be a secret."""
        return redact_url(self.url)


@dataclass(frozen=True, slots=True)
class BucketAddress:
    bucket: str
    """The address of the bucket, as `open_storage` takes it."""
    key: str

    def __str__(self) -> str:
        return f"{self.bucket}/{self.key}"


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """A source that is in our own storage already, because it was uploaded."""

    sha256: str

    def __str__(self) -> str:
        return f"{STORED}{self.sha256}"


Address = LocalAddress | WebAddress | BucketAddress | StoredAddress


class InputSettings(Protocol):
    """The settings that say what may be taken."""

    @property
    def input_limit(self) -> int: ...
    @property
    def input_roots(self) -> str: ...
    @property
    def input_hosts(self) -> str: ...


class ServedSource(Protocol):
    """The source of the job at hand, as a server gives it to a worker that can't see it where it lies."""

    async def length(self) -> int: ...

    async def read(self, offset: int, length: int) -> bytes: ...

    async def fetch(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> tuple[int, str]:
        """Have it as a file; gives its size and sha256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRules:
    """What a worker may take, and how long it may take for it. Durations are seconds."""

    roots: tuple[Path, ...] = ()
    """Folders below which local sources must lie; any when empty."""
    hosts: frozenset[str] = frozenset()
    """Hosts, or host:port, that may be on a private address."""
    limit: int = 200 * 1024**3
    connect: float = 10.0
    idle: float = 60.0
    """How long a server may say nothing."""
    part: float = 120.0
    """How long the answer to a question for a part may take as a whole: nobody waits for one that comes in drips."""
    total: float = 12 * 3600.0
    attempts: int = 5
    """How often a broken download is taken up again without a byte gained."""
    pause: float = 0.5
    """Before the first such attempt; doubled for each that follows."""
    served: ServedSource | None = None
    """Who gives a remote worker what lies on a path or in a bucket of the house."""


def input_rules(settings: InputSettings) -> InputRules:
    return InputRules(
        roots=tuple(Path(word).expanduser() for word in _words(settings.input_roots, ":")),
        hosts=frozenset(word.lower() for word in _words(settings.input_hosts, ",")),
        limit=settings.input_limit,
    )


def parse_address(text: str) -> Address:
    """What an address names: an absolute path, or file://, http://, https://, s3://, gs:// or az://."""
    if not text:
        raise _wrong("the address is empty")
    if len(text) > LONGEST_ADDRESS:
        raise _wrong(f"the address has {len(text):,} characters, more than {LONGEST_ADDRESS:,}")
    if "\0" in text:
        raise _wrong(f"{text[:60]!r} has a null character, which no path can have")
    scheme, separator, rest = text.partition("://")
    if not separator or text.startswith("/"):
        return _local(text)
    if any(ord(sign) < ord(" ") for sign in text):
        hint = "write it as %0A or the like; only an absolute path may have it as it is"
        raise UnusableSource("address", f"{text[:60]!r} has a line break or another control character", hint=hint)
    match scheme.lower():
        case "file":
            return _local(_file_path(text))
        case "http" | "https":
            return _web(text)
        case "s3" | "gs" | "az":
            return _bucket(scheme.lower(), rest)
        case "stored":
            return _stored(rest)
        case _:
            raise _wrong(f"{scheme[:20]}:// can't be read")


def redact_url(url: str) -> str:
    """A web address as people may see it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{'?…' if parts.query else ''}"


def redact_source(source: str) -> str:
    """Any source as people may see it."""
    try:
        return str(parse_address(source))
    except UnusableSource:
        return without_passwords(source)


def source_name(source: str) -> str:
    """What a source is called: the last word of its path, without what follows it in a web address."""
    path = unquote(urlsplit(source).path) if source.lower().startswith(("http://", "https://")) else source
    return PurePosixPath(path).name


def _local(text: str) -> LocalAddress:
    if not text.startswith("/"):
        raise UnusableSource(
            "address",
            f"{text[:200]!r} is not an absolute path",
            hint="a worker may stand in another folder: begin with /",
        )
    return LocalAddress(Path(text))


def _file_path(url: str) -> str:
    host, slash, path = url.partition("://")[2].partition("/")
    if host not in ("", "localhost"):
        raise _wrong(f"file://{host[:60]} is another machine")
    return unquote(slash + path)


def _web(url: str) -> WebAddress:
    try:
        host, _ = urlsplit(url).hostname, urlsplit(url).port
    except ValueError:
        host = None
    if not host:
        raise _wrong(f"{url.partition(':')[0]}:// wants a host and a path")
    return WebAddress(url)


def _bucket(scheme: str, rest: str) -> BucketAddress:
    bucket, _, key = rest.partition("/")
    if not bucket or not key or "@" in bucket:
        raise _wrong(f"{scheme}:// wants a bucket and a key")
    return BucketAddress(f"{scheme}://{bucket}", key)


def _stored(sha256: str) -> StoredAddress:
    if _SHA256.fullmatch(sha256) is None:
        raise _wrong(f"{STORED} wants the sha256 of an upload")
    return StoredAddress(sha256)


def _wrong(message: str) -> UnusableSource:
    return UnusableSource("address", message, hint="an absolute path, or file://, http(s)://, s3:// or gs://")


def _words(text: str, separator: str) -> Iterable[str]:
    return filter(None, (word.strip() for word in text.split(separator)))
