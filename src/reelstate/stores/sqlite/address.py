"""The address of a SQLite database: a path or a URL, and whether a database may live there at all."""

from __future__ import annotations

import os
import re
from pathlib import Path

from reelstate.core.errors import InvalidRequest, StoreReadOnly, StoreUnavailable

MOUNTS = Path("/proc/self/mountinfo")
NETWORKED = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|smb[23]?|smbfs|vboxsf"
    r"|vmhgfs|fuse\.(blobfuse2?|ceph-fuse|cephfs|curlftpfs|davfs|gcsfuse|glusterfs|goofys|juicefs|mount-s3"
    r"|mountpoint-s3|rclone|s3fs|seaweedfs|smbnetfs|sshfs|vmhgfs-fuse)"
)


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def database_url(address: str) -> str:
    """The address as a URL: a plain path names a SQLite file."""
    if not address or address.startswith("://"):
        return address
    return address if _SCHEME.match(address) else f"sqlite:///{address}"


def database_path(address: str | os.PathLike[str]) -> Path | None:
    """The file that an address names; None is a database in memory."""
    text = os.fspath(address)
    if not _SCHEME.match(text):
        return None if text == ":memory:" else _file(text)
    if text in {"sqlite://", "sqlite:///", "sqlite:///:memory:"}:
        return None
    if not text.startswith("sqlite:///"):
        raise InvalidRequest(
            "database_url",
            f"{text!r} is not a SQLite address",
            hint="sqlite:///relative.db, sqlite:////absolute/path.db, sqlite:// for memory, or a plain path",
        )
    return _file(text.removeprefix("sqlite:///"))


def require_place(path: Path) -> None:
    """Refuse a place where a database can't be kept, with a reason; SQLite would only say that it failed."""
    if path.is_dir():
        raise StoreUnavailable(f"{path} is a folder, not a database file", hint="name a file in it")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"there is no folder {path.parent}", hint="make it, or name a file in another")
    kind = filesystem(path.resolve(), MOUNTS.read_text()) if MOUNTS.exists() else ""
    if is_networked(kind):
        raise StoreUnavailable(
            f"{path} is on a network filesystem ({kind})",
            hint="SQLite needs locks and shared memory that only a local disk has; use one, or PostgreSQL",
        )
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise StoreReadOnly(
                f"{place} can't be written to",
                hint="the database file and its folder must be writable for this user",
            )


def filesystem(path: Path, mounts: str) -> str:
    """The type of the filesystem that a path is on, by the kernel's table of mounts; else empty."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        place = _unescaped(left.split(" ")[4])
        inside = str(path) == place or str(path).startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):  # of two mounts on one place the later hides the earlier
            best, kind = place, right.split(" ")[0]
    return kind


def is_networked(kind: str) -> bool:
    """Whether files of this filesystem may be changed by another machine."""
    return NETWORKED.fullmatch(kind) is not None


def _file(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _unescaped(place: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)
