"""Addresses of SQLite databases; network filesystems are refused."""

from pathlib import Path

import pytest

from reelstate.core.errors import InvalidRequest, StoreUnavailable
from reelstate.stores.sqlite.address import database_path, filesystem, is_networked
from reelstate.stores.sqlite.store import SQLiteStore


@pytest.mark.parametrize(
    "address, expected",
    [
        ("sqlite:///relative.db", Path.cwd() / "relative.db"),
        ("sqlite:////var/absolute.db", Path("/var/absolute.db")),
        ("plain.db", Path.cwd() / "plain.db"),
        ("sqlite://", None),
        ("sqlite:///:memory:", None),
        (":memory:", None),
    ],
)
def test_an_address_is_a_url_or_a_path(address: str, expected: Path | None) -> None:
    assert database_path(address) == expected


@pytest.mark.parametrize("address", ["sqlite://jobs.db", "sqlite:jobs.db", "postgresql://host/name"])
def test_an_invalid_sqlite_address_is_refused_with_the_valid_forms(address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"sqlite:///relative\.db"):
        database_path(address)


MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:40 / /home/my\040share rw,relatime shared:1 - nfs4 server:/share rw
24 22 0:41 / /mnt rw,relatime - fuse.sshfs ada@host: rw
25 24 0:42 / /mnt/local rw,relatime - tmpfs tmpfs rw"""


@pytest.mark.parametrize(
    "path, kind, networked",
    [
        ("/var/jobs.db", "ext4", False),
        ("/home/my share/jobs.db", "nfs4", True),
        ("/home/my shares/jobs.db", "ext4", False),
        ("/mnt/jobs.db", "fuse.sshfs", True),
        ("/mnt/local/jobs.db", "tmpfs", False),
    ],
)
def test_a_network_filesystem_is_distinguished_from_a_local_one(path: str, kind: str, networked: bool) -> None:
    assert filesystem(Path(path), MOUNTS) == kind
    assert is_networked(kind) is networked


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.s3fs", "ceph"])
def test_files_that_another_machine_may_change_are_networked(kind: str) -> None:
    assert is_networked(kind)


async def test_a_network_filesystem_is_refused_at_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n23 22 0:40 / {tmp_path} rw - nfs4 host:/ rw\n")
    monkeypatch.setattr("reelstate.stores.sqlite.address.MOUNTS", table)
    with pytest.raises(StoreUnavailable, match=r"network filesystem \(nfs4\)"):
        await SQLiteStore(tmp_path / "jobs.db").migrate()
