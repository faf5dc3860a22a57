"""What the bytes of MP4, Matroska and MPEG-TS files say about themselves, read without a demuxer."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

from .protocol import Refused

HEAD: Final = 64 * 1024
BUFFER: Final = 64 * 1024
MAX_BOXES: Final = 100
MAX_INDEX: Final = 16 * 1024 * 1024
"""Bytes of an index that are searched for descriptions of tracks."""
TS_PACKET: Final = 188
DOLBY_VISION_ONLY: Final = 5
"""The profile of Dolby Vision that no other player can show."""
_BOX: Final = struct.Struct(">I4sQ")
"""The header of an MP4 box: its size, its name, and a 64-bit size if the first is 1."""
_EBML: Final = b"\x1a\x45\xdf\xa3"
_SEGMENT: Final = b"\x18\x53\x80\x67"
_CUES_ENTRY: Final = b"\x53\xab\x84\x1c\x53\xbb\x6b"
"""The entry of a Matroska SeekHead that points to the cues."""
_DOLBY_VISION: Final = re.compile(
    rb"\x00\x00\x00\x20dv[cvw]C(.{24})|\x41\xe7\x84dv[cvw]C.{0,40}?\x41\xed.(.{5})", re.DOTALL
)
"""The Dolby Vision configuration record, in MP4 and in Matroska."""
_ENCRYPTED: Final = re.compile(rb"sinf.{4}frma|\x62\x40.{1,20}?\x50\x33\x81\x01", re.DOTALL)
"""Protection of a track: in MP4 the original sample format, in Matroska the type of its encoding."""
_PLAYLIST: Final = re.compile(rb"\s*(#EXTM3U|ffconcat|<\?xml|<MPD|\[playlist\]|v=0\s)", re.IGNORECASE)
_MP4: Final = frozenset({b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip", b"styp", b"moof"})


def read_head(source: BinaryIO) -> bytes:
    source.seek(0)
    return _read_up_to(source, HEAD)


def _read_up_to(source: BinaryIO, length: int) -> bytes:
    data = bytearray()
    while len(data) < length and (more := source.read(min(length - len(data), BUFFER))):
        data += more
    return bytes(data)


def is_playlist(head: bytes) -> bool:
    return _PLAYLIST.match(head) is not None


def is_mp4(head: bytes) -> bool:
    return head[4:8] in _MP4


def is_matroska(head: bytes) -> bool:
    return head.startswith(_EBML)


def is_fragmented(source: BinaryIO) -> bool:
    """Return whether an MP4 has fragments; reads only the headers of its first boxes."""
    return any(name == b"moof" for name, _ in _boxes(source))


def has_cues(head: bytes) -> bool:
    """Return whether a Matroska file has an index of its key frames."""
    return _CUES_ENTRY in head and segment_end(head) is not None


def read_index(source: BinaryIO, head: bytes) -> bytes:
    """Return the bytes that describe the tracks: the moov box of an MP4, the head of any other file."""
    offset = next((offset for name, offset in _boxes(source) if name == b"moov"), None) if is_mp4(head) else None
    if offset is None:
        return head
    source.seek(offset)
    length = min(int.from_bytes(source.read(4), "big"), MAX_INDEX)
    source.seek(offset)
    return _read_up_to(source, length)


def _boxes(source: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the name and the offset of the first boxes of an MP4."""
    offset = 0
    for _ in range(MAX_BOXES):
        source.seek(offset)
        header = source.read(_BOX.size)
        if len(header) < _BOX.size:
            return
        size, name, large_size = _BOX.unpack(header)
        size = large_size if size == 1 else size
        yield name, offset
        if size == 0:
            return
        offset += max(size, _BOX.size // 2)


def check_segment_size(head: bytes, size: int) -> None:
    """Refuse a Matroska file that is shorter than its segment."""
    end = segment_end(head)
    if end is not None and end > size:
        raise Refused("truncated", f"it is truncated: it should have {end:,} bytes, but has {size:,}")


def segment_end(head: bytes) -> int | None:
    """Return the offset at which the segment of a Matroska file ends, if it is stated."""
    if not is_matroska(head):
        return None
    length, offset = _read_size(head, 4)
    offset += length or 0
    if head[offset : offset + 4] != _SEGMENT:
        return None
    length, offset = _read_size(head, offset + 4)
    return None if length is None else offset + length


def _read_size(data: bytes, offset: int) -> tuple[int | None, int]:
    """Return an EBML size, None if it is unknown, and the offset after it."""
    if offset >= len(data) or data[offset] == 0:
        return None, offset
    width = 9 - data[offset].bit_length()
    value = int.from_bytes(data[offset : offset + width], "big") & ((1 << 7 * width) - 1)
    return (None if value == (1 << 7 * width) - 1 else value), offset + width


def check_encryption(index: bytes) -> None:
    """Refuse a file that can't be decoded without a key."""
    if _ENCRYPTED.search(index) or _is_scrambled(index):
        raise Refused("encrypted", "it is encrypted")


def _is_scrambled(head: bytes) -> bool:
    """Return whether most packets of a transport stream are marked as scrambled."""
    if head[:1] != b"G" or head[TS_PACKET : TS_PACKET + 1] != b"G":
        return False
    flags = head[3::TS_PACKET]
    return 2 * sum(flag >> 6 != 0 for flag in flags) > len(flags)


def check_dolby_vision(index: bytes) -> None:
    """Refuse Dolby Vision without a compatible base layer: other players show it purple and green."""
    found = _DOLBY_VISION.search(index)
    if found is None:
        return
    record = found[1] or found[2]
    profile, compatible = record[2] >> 1, record[4] >> 4
    if profile == DOLBY_VISION_ONLY or (profile > DOLBY_VISION_ONLY + 2 and not compatible):
        raise Refused("dolby_vision", f"it is Dolby Vision profile {profile}, which has no compatible base layer")
