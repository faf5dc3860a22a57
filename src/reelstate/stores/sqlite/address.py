"""The address of a SQLite database: a path or a URL, and whether a database can be kept there."""

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
    """Return the address as a URL; a plain path is that of a SQLite file."""
    if not address or address.startswith("://"):
        return address
    return address if _SCHEME.match(address) else f"sqlite:///{address}"


def database_path(address: str | os.PathLike[str]) -> Path | None:
    """Return the file of an address; None for a database in memory."""
    text = os.fspath(address)
    if not _SCHEME.match(text):
        return None if text == ":memory:" else _file(text)
    if text in {"sqlite://", "sqlite:///", "sqlite:///:memory:"}:
        return None
    if not text.startswith("sqlite:///"):
        raise InvalidRequest(
            "database_url",
            f"{text!r} is not a SQLite address",
            hint="use sqlite:///relative.db, sqlite:////absolute/path.db, sqlite:// for memory, or a plain path",
        )
    return _file(text.removeprefix("sqlite:///"))


def require_usable_path(path: Path) -> None:
    """Raise with a reason if no database can be kept at this path; SQLite would only report a failure."""
    if path.is_dir():
        raise StoreUnavailable(f"{path} is a folder, not a database file", hint="name a file in it")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"there is no folder {path.parent}", hint="create it, or name a file in another")
    kind = filesystem(path.resolve(), MOUNTS.read_text()) if MOUNTS.exists() else ""
    if is_networked(kind):
        raise StoreUnavailable(
            f"{path} is on a network filesystem ({kind})",
            hint="use a local disk, which has the locks and shared memory that SQLite needs, or PostgreSQL",
        )
    for each in (path, path.parent):
        if each.exists() and not os.access(each, os.W_OK):
            raise StoreReadOnly(
                f"{each} is not writable",
                hint="the database file and its folder must be writable for this user",
            )


def filesystem(path: Path, mounts: str) -> str:
    """Return the type of the filesystem of a path, from the kernel's table of mounts; empty if unknown."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        mount = _unescape(left.split(" ")[4])
        inside = str(path) == mount or str(path).startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):  # of two mounts on one folder the later hides the earlier
            best, kind = mount, right.split(" ")[0]
    return kind


def is_networked(kind: str) -> bool:
    """Return whether other machines may change files of this filesystem."""
    return NETWORKED.fullmatch(kind) is not None


def _file(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
