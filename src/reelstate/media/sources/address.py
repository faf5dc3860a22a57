"""Addresses of sources: parsing, display without secrets, and the rules for what a worker may read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from reelstate.core.outcome import mask_passwords
from reelstate.media.sources.errors import UnusableSource

BUCKETS: Final = ("s3", "gs", "az")
MAX_ADDRESS: Final = 4_096
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
        """Return the URL without its user info and query, which may be secrets."""
        return redact_url(self.url)


@dataclass(frozen=True, slots=True)
class BucketAddress:
    bucket: str
    """The URL of the bucket, as `open_storage` takes it."""
    key: str

    def __str__(self) -> str:
        return f"{self.bucket}/{self.key}"


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """A source that was uploaded into the storage of the deployment."""

    sha256: str

    def __str__(self) -> str:
        return f"{STORED}{self.sha256}"


Address = LocalAddress | WebAddress | BucketAddress | StoredAddress


class InputSettings(Protocol):
    """The settings from which `input_rules` makes rules."""

    @property
    def input_limit(self) -> int: ...
    @property
    def input_roots(self) -> str: ...
    @property
    def input_hosts(self) -> str: ...


class ServedSource(Protocol):
    """The source of one job, served by the API server to a worker that can't read its path or bucket."""

    async def length(self) -> int: ...

    async def read(self, offset: int, length: int) -> bytes: ...

    async def fetch(self, path: Path, on_progress: Callable[[int, int | None], None] | None) -> tuple[int, str]:
        """Download it to a file; returns its size and sha256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRules:
    """What a worker may read, and its timeouts in seconds."""

    roots: tuple[Path, ...] = ()
    """Folders that local sources must be in; empty for any."""
    hosts: frozenset[str] = frozenset()
    """Hosts, or host:port, that may have private addresses."""
    limit: int = 200 * 1024**3
    connect: float = 10.0
    idle: float = 60.0
    """Timeout for the next bytes of a response."""
    part: float = 120.0
    """Timeout for the whole response to a range request, however its bytes trickle."""
    total: float = 12 * 3600.0
    attempts: int = 5
    """Attempts of a download that make no progress before it fails."""
    pause: float = 0.5
    """Delay before the first retry; doubled for each that follows."""
    served: ServedSource | None = None
    """Reads local and bucket sources through the server, on a remote worker."""


def input_rules(settings: InputSettings) -> InputRules:
    """Return the rules that the settings of a worker declare."""
    return InputRules(
        roots=tuple(Path(root).expanduser() for root in _split(settings.input_roots, ":")),
        hosts=frozenset(host.lower() for host in _split(settings.input_hosts, ",")),
        limit=settings.input_limit,
    )


def parse_address(text: str) -> Address:
    """Parse an absolute path or a URL: file://, http://, https://, s3://, gs://, az:// or stored://.

    Raises `UnusableSource` of kind `address`.
    """
    if not text:
        raise _invalid("the address is empty")
    if len(text) > MAX_ADDRESS:
        raise _invalid(f"the address has {len(text):,} characters, more than {MAX_ADDRESS:,}")
    if "\0" in text:
        raise _invalid(f"{text[:60]!r} contains a null character")
    scheme, separator, rest = text.partition("://")
    if not separator or text.startswith("/"):
        return _local(text)
    if any(ord(character) < ord(" ") for character in text):
        hint = "percent-encode it, for example %0A; only an absolute path may contain it unencoded"
        raise UnusableSource("address", f"{text[:60]!r} contains a control character", hint=hint)
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
            raise _invalid(f"{scheme[:20]}:// is not supported")


def redact_url(url: str) -> str:
    """Return a URL without its user info and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{'?…' if parts.query else ''}"


def redact_source(source: str) -> str:
    """Return any source address without secrets."""
    try:
        return str(parse_address(source))
    except UnusableSource:
        return mask_passwords(source)


def source_name(source: str) -> str:
    """Return the last component of the path of a source."""
    path = unquote(urlsplit(source).path) if source.lower().startswith(("http://", "https://")) else source
    return PurePosixPath(path).name


def _local(text: str) -> LocalAddress:
    if not text.startswith("/"):
        raise UnusableSource(
            "address",
            f"{text[:200]!r} is not an absolute path",
            hint="start it with /: a worker may have another working directory",
        )
    return LocalAddress(Path(text))


def _file_path(url: str) -> str:
    host, slash, path = url.partition("://")[2].partition("/")
    if host not in ("", "localhost"):
        raise _invalid(f"file://{host[:60]} names another machine")
    return unquote(slash + path)


def _web(url: str) -> WebAddress:
    try:
        host, _ = urlsplit(url).hostname, urlsplit(url).port
    except ValueError:
        host = None
    if not host:
        raise _invalid(f"{url.partition(':')[0]}:// needs a host and a path")
    return WebAddress(url)


def _bucket(scheme: str, rest: str) -> BucketAddress:
    bucket, _, key = rest.partition("/")
    if not bucket or not key or "@" in bucket:
        raise _invalid(f"{scheme}:// needs a bucket and a key")
    return BucketAddress(f"{scheme}://{bucket}", key)


def _stored(sha256: str) -> StoredAddress:
    if _SHA256.fullmatch(sha256) is None:
        raise _invalid(f"{STORED} needs the sha256 of an upload")
    return StoredAddress(sha256)


def _invalid(message: str) -> UnusableSource:
    return UnusableSource(
        "address", message, hint="expected an absolute path, file://, http(s)://, s3://, gs:// or az://"
    )


def _split(text: str, separator: str) -> Iterable[str]:
    return filter(None, (item.strip() for item in text.split(separator)))
