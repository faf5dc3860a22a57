"""Codec strings for players (RFC 6381), read from the configuration boxes of an encoder."""

from __future__ import annotations

from collections.abc import Mapping

from reelstate.core.errors import ReelstateError

CONFIGURATION = {
    "avc1": "avcC",
    "avc3": "avcC",
    "hvc1": "hvcC",
    "hev1": "hvcC",
    "av01": "av1C",
    "mp4a": "esds",
}
"""The box with the configuration, by kind of sample entry."""

_STREAM_DESCRIPTOR, _DECODER_CONFIG, _DECODER_SPECIFIC = 3, 4, 5
_MPEG4_AUDIO = 0x40
_LONG_OBJECT_TYPE = 31
_EXPLICIT_RATE = 15
_CHANNELS = {**{number: number for number in range(1, 7)}, 7: 8}
"""The number of channels by channel configuration of AAC."""


class UnknownCodec(ReelstateError):
    """The codec is unknown, or its configuration can't be read."""


def codec_string(entry: str, boxes: Mapping[str, bytes]) -> str:
    """Return the codec string of a sample entry with these boxes; raises `UnknownCodec`."""
    box = CONFIGURATION.get(entry)
    if box is None:
        raise UnknownCodec(f"unknown sample entry {entry!r}", hint=f"expected one of {', '.join(CONFIGURATION)}")
    if box not in boxes:
        raise UnknownCodec(f"the sample entry {entry!r} has no {box} box")
    try:
        return _READERS[box](entry, boxes[box])
    except IndexError:
        raise UnknownCodec(f"the {box} box of {len(boxes[box])} bytes is truncated") from None


def _avc(entry: str, data: bytes) -> str:
    return f"{entry}.{data[1]:02x}{data[2]:02x}{data[3]:02x}"


def _hevc(entry: str, data: bytes) -> str:
    space = ("", "A", "B", "C")[data[1] >> 6]
    tier = "H" if data[1] & 0x20 else "L"
    profile = data[1] & 0x1F
    compatible = _reversed_bits(int.from_bytes(_exactly(data, 2, 4)))
    constraints = _exactly(data, 6, 6).rstrip(b"\0")
    parts = [entry, f"{space}{profile}", f"{compatible:X}", f"{tier}{data[12]}"]
    return ".".join(parts + [f"{byte:X}" for byte in constraints])


def _av1(entry: str, data: bytes) -> str:
    profile, level = data[1] >> 5, data[1] & 0x1F
    tier = "H" if data[2] & 0x80 else "M"
    return f"{entry}.{profile}.{level:02}{tier}.{_av1_bits(profile, data[2]):02}"


def _av1_bits(profile: int, flags: int) -> int:
    if not flags & 0x40:
        return 8
    return 12 if profile == 2 and flags & 0x20 else 10  # noqa: PLR2004 - the professional profile


def channel_count(boxes: Mapping[str, bytes]) -> int | None:
    """Return the channels in the configuration of MPEG-4 audio; None if it does not state them.

    The sample entry can't be trusted: encoders always write 2 there.
    """
    try:
        config = _decoder_config(boxes["esds"])
        specific = int.from_bytes(_descriptor(config[13:], _DECODER_SPECIFIC)[:8].ljust(8, b"\0"))
    except (KeyError, IndexError, UnknownCodec):
        return None
    skip = 5 if specific >> 59 != _LONG_OBJECT_TYPE else 11
    skip += 4 if specific >> (60 - skip) & 0xF != _EXPLICIT_RATE else 28
    return _CHANNELS.get(specific >> (60 - skip) & 0xF)


def _mpeg4_audio(entry: str, data: bytes) -> str:
    config = _decoder_config(data)
    if config[0] != _MPEG4_AUDIO:
        return f"{entry}.{config[0]:02x}"
    specific = _descriptor(config[13:], _DECODER_SPECIFIC)
    return f"{entry}.40.{_object_type(specific)}"


def _decoder_config(data: bytes) -> bytes:
    stream = _descriptor(data[4:], _STREAM_DESCRIPTOR)
    return _descriptor(stream[_stream_header(stream) :], _DECODER_CONFIG)


def _stream_header(stream: bytes) -> int:
    """Return the length of the header of a stream descriptor, which has three optional fields."""
    flags = stream[2]
    depends = 2 if flags & 0x80 else 0
    address = 1 + stream[3 + depends] if flags & 0x40 else 0
    return 3 + depends + address + (2 if flags & 0x20 else 0)


def _descriptor(data: bytes, tag: int) -> bytes:
    """Return the body of a descriptor; its length is written in groups of seven bits."""
    if data[0] != tag:
        raise UnknownCodec(f"the esds box has descriptor {data[0]}, expected {tag}")
    length, at = 0, 1
    while data[at] & 0x80 and at < 4:  # noqa: PLR2004 - a length has at most four groups
        length, at = length << 7 | data[at] & 0x7F, at + 1
    length, at = length << 7 | data[at] & 0x7F, at + 1
    return _exactly(data, at, length)


def _object_type(specific: bytes) -> int:
    kind = specific[0] >> 3
    if kind != _LONG_OBJECT_TYPE:
        return kind
    return 32 + ((specific[0] & 7) << 3 | specific[1] >> 5)


def _exactly(data: bytes, start: int, length: int) -> bytes:
    found = data[start : start + length]
    if len(found) < length:
        raise IndexError
    return found


def _reversed_bits(number: int) -> int:
    return int(f"{number:032b}"[::-1], 2)


_READERS = {"avcC": _avc, "hvcC": _hevc, "av1C": _av1, "esds": _mpeg4_audio}
