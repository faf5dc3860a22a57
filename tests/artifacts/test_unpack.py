"""Archives from outside: plain files are unpacked, an archive with anything else is refused."""

import gzip
import hashlib
import io
import resource
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reelstate.artifacts.unpack import ArchiveLimits, unpack
from reelstate.core.errors import InvalidRequest

LIMITS = ArchiveLimits(files=20, file_size=1_000_000, total=3_000_000, small=100_000, ratio=100)
GOOD = b"#EXTM3U\n"
Made = Callable[[tarfile.TarFile], None]


def archived(*makers: Made, form: int = tarfile.USTAR_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", format=form) as tar:
        for make in makers:
            make(tar)
    return target.getvalue()


def a_file(name: str, data: bytes = GOOD, **changes: object) -> Made:
    def make(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        for field, value in changes.items():
            setattr(info, field, value)
        tar.addfile(info, io.BytesIO(data))

    return make


def a_member(name: str, kind: bytes, link: str = "") -> Made:
    def make(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        tar.addfile(info)

    return make


def an_extended(**records: str) -> bytes:
    """A file with a PAX header."""
    return archived(a_file("a.mp4", pax_headers=records), form=tarfile.PAX_FORMAT)


def raw(header: bytes, body: bytes = b"") -> bytes:
    return gzip.compress(header + body + bytes(1024))


def a_header(
    name: bytes = b"a.mp4", size: bytes = b"0000000010", kind: bytes = b"0", magic: bytes = b"ustar\x0000"
) -> bytes:
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108] = b"0000644\0"
    block[124 : 124 + len(size)] = size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257 : 257 + len(magic)] = magic
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def with_checksum(block: bytearray) -> bytes:
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(records: bytes) -> bytes:
    return records.ljust(512, b"\0")


def base_256() -> bytes:
    """A size of ten gigabytes in GNU's base-256 encoding."""
    block = bytearray(a_header())
    block[124:136] = b"\x80" + (10 * 1024**3).to_bytes(11, "big")
    return raw(with_checksum(block))


def a_bomb(megabytes: int) -> bytes:
    return archived(a_file("a.mp4", bytes(megabytes * 1024**2)))


def sparse_old() -> bytes:
    return raw(a_header(kind=b"S"))


ATTACKS: dict[str, bytes] = {
    "absolute name": archived(a_file("/etc/cron.d/a.mp4")),
    "parent folder": archived(a_file("../a.mp4")),
    "parent folder within": archived(a_file("video/../../a.mp4")),
    "hidden file": archived(a_file(".ssh/a.mp4")),
    "name that begins with a dash": archived(a_file("-i.mp4")),
    "backslashes": archived(a_file("..\\..\\a.mp4")),
    "drive letter": archived(a_file("c:/a.mp4")),
    "new line in a name": archived(a_file("a\nb.mp4")),
    "quotes in a name": archived(a_file('a".mp4')),
    "letters of elsewhere": archived(a_file("fílm.mp4")),
    "unknown ending": archived(a_file("run.sh")),
    "no ending": archived(a_file("authorized_keys")),
    "page": archived(a_file("index.html")),
    "deep folders": archived(a_file("a/b/c/d/e.mp4")),
    "symbolic link": archived(a_member("a.mp4", tarfile.SYMTYPE, "/etc/passwd")),
    "hard link": archived(a_member("a.mp4", tarfile.LNKTYPE, "../../../etc/passwd")),
    "link, then a file through it": archived(a_member("video", tarfile.SYMTYPE, "/var"), a_file("video/a.mp4")),
    "hard link to a deeper link": archived(
        a_member("b.mp4", tarfile.SYMTYPE, "a/b/c"), a_member("a.mp4", tarfile.LNKTYPE, "b.mp4")
    ),
    "character device": archived(a_member("a.mp4", tarfile.CHRTYPE)),
    "block device": archived(a_member("a.mp4", tarfile.BLKTYPE)),
    "pipe": archived(a_member("a.mp4", tarfile.FIFOTYPE)),
    "folder": archived(a_member("video", tarfile.DIRTYPE)),
    "contiguous file": archived(a_member("a.mp4", tarfile.CONTTYPE)),
    "sparse file": sparse_old(),
    "long name of GNU": archived(a_file("v/" * 60 + "a.mp4"), form=tarfile.GNU_FORMAT),
    "kind of nobody": raw(a_header(kind=b"Z")),
    "same name twice": archived(a_file("a.mp4"), a_file("a.mp4", b"other")),
    "same name with a dot": archived(a_file("a.mp4"), a_file("./a.mp4", b"other")),
    "too many files": archived(*(a_file(f"{number}.mp4") for number in range(21))),
    "file too large": archived(a_file("a.mp4", bytes(range(256)) * 4000)),
    "all too large": archived(*(a_file(f"{number}.mp4", zlib.compress(bytes(9)) * 60_000) for number in range(4))),
    "bomb": a_bomb(50),
    "PAX header with another path": an_extended(path="../../etc/a.mp4"),
    "PAX header with another size": an_extended(size="99999999999"),
    "PAX header with a link": an_extended(linkpath="/etc/passwd"),
    "PAX header of a sparse file": an_extended(**{"GNU.sparse.major": "1", "GNU.sparse.realsize": "9" * 18}),
    "PAX header with a character set": an_extended(hdrcharset="BINARY"),
    "PAX header for all that follow": raw(a_header(kind=b"g", size=b"00000000030"), padded(b"24 path=../../b/a.mp4\n")),
    "PAX header without an end": raw(a_header(kind=b"x", size=b"00077777777")),
    "PAX header that lies about a record": raw(a_header(kind=b"x", size=b"00000000020"), padded(b"99 mtime=1\n")),
    "two PAX headers": raw(a_header(kind=b"x", size=b"00000000013"), padded(b"11 mtime=1\n") + a_header(kind=b"x")),
    "header of ten gigabytes": base_256(),
    "size that is no number": raw(a_header(size=b"0x1000")),
    "negative size": raw(a_header(size=b"-0000000001")),
    "damaged header": raw(a_header()[:140] + b"xx" + a_header()[142:]),
    "old tar without a magic": raw(a_header(magic=b"")),
    "breaks off in a file": gzip.compress(a_header(size=b"00000077777") + b"short"),
    "breaks off in the gzip": archived(a_file("a.mp4", bytes(range(256)) * 100))[:-40],
    "no end of the archive": gzip.compress(a_header(size=b"00000000000")),
    "something after its end": archived(a_file("a.mp4")) + b"#!/bin/sh",
    "a second archive after its end": archived(a_file("a.mp4")) * 2,
    "bytes after the last block": gzip.compress(a_header(size=b"00000000000") + bytes(1024) + b"#!/bin/sh"),
    "damaged gzip": archived(a_file("a.mp4"))[:20] + b"\xff" * 50,
    "not gzip": tarfile.TarInfo("a.mp4").tobuf() + bytes(1024),
    "zip": b"PK\x03\x04" + bytes(100),
    "empty": b"",
    "empty archive": archived(),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_archives_with_unsafe_members_are_refused(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(InvalidRequest) as refused:
        unpack(io.BytesIO(ATTACKS[name]), inside, LIMITS)
    assert "archive" in str(refused.value)
    assert refused.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert all(path.is_file() and not path.is_symlink() and path.name.isdecimal() for path in inside.iterdir())


def test_there_are_enough_unsafe_archives() -> None:
    assert len(ATTACKS) >= 30
    assert len(set(ATTACKS.values())) == len(ATTACKS)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_plain_files_are_unpacked_unchanged(form: int, tmp_path: Path) -> None:
    files = {"master.m3u8": GOOD, "video/180p.mp4": bytes(range(256)) * 3, "captions/0/a.vtt": b""}
    made = [a_file(name, data, mtime=1.5 if form == tarfile.PAX_FORMAT else 1) for name, data in files.items()]
    found = unpack(io.BytesIO(archived(*made, form=form)), tmp_path, LIMITS)
    assert {each.name: each.path.read_bytes() for each in found} == files
    assert [each.sha256 for each in found] == [hashlib.sha256(data).hexdigest() for data in files.values()]
    assert [each.size for each in found] == [len(data) for data in files.values()]


def test_archives_of_tar_itself_can_be_unpacked(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.mp4").write_bytes(GOOD)
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        tar.add(source / "a.mp4", "./a.mp4")
    inside = tmp_path / "inside"
    inside.mkdir()
    (found,) = unpack(io.BytesIO(target.getvalue()), inside, LIMITS)
    assert (found.name, found.path.read_bytes()) == ("a.mp4", GOOD)


def test_a_decompression_bomb_takes_no_memory(tmp_path: Path) -> None:
    bomb = b"".join(zeros(80))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidRequest):
        unpack(io.BytesIO(bomb), tmp_path, ArchiveLimits())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


def zeros(megabytes: int) -> Iterator[bytes]:
    """Return a gzip of a header and megabytes of zeros, written without holding them in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield packer.compress(a_header(size=b"77777777777"))
    for _ in range(megabytes):
        yield packer.compress(bytes(1024**2))
    yield packer.flush()
