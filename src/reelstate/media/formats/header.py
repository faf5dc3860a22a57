"""What the header of a fragmented MP4 (ftyp, moov) says of its one track."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reelstate.media.formats.box import BROKEN, Fields, MalformedBoxes, inside, only
from reelstate.media.formats.codecs import UnknownCodec, channel_count, codec_string

_INSIDE = {"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "stsd": 8}
_ENTRY_HEADER = {"vide": 78, "soun": 28}
_LEFT_OUT = {"edts", "btrt", "sdtp"}
"""What no two chunks need to share: edit list, bit rates, and an empty table that only delay_moov writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    kind: str
    """video or audio"""
    timescale: int
    codec: str
    width: int = 0
    height: int = 0
    channels: int = 0
    sample_rate: int = 0
    media_time: int = 0
    """Where in the track the presentation starts, by the edit list."""
    delay: Fraction = Fraction(0)
    """How many seconds the presentation waits before it starts, by the edit list."""


@dataclass(frozen=True, slots=True)
class Description:
    """What moov says: the track, and what holds for samples that say nothing themselves."""

    track: Track
    handler: str
    number: int
    default_duration: int
    default_size: int
    default_flags: int


def described(moov: bytes) -> Description:
    """What the body of a moov box says."""
    trak = only(moov, "trak", "moov")
    mdia = only(trak, "mdia", "trak")
    extends = Fields(only(only(moov, "mvex", "moov"), "trex", "mvex"), "trex")
    _, number, _, duration, size, flags = extends.take("6I")
    handler = _handler(only(mdia, "hdlr", "mdia"))
    track = _track(handler, mdia, _edits(moov, trak))
    return Description(track, handler, number, duration, size, flags)


def _handler(body: bytes) -> str:
    handler = struct.pack(">I", Fields(body, "hdlr").one("3I")).decode("latin-1")
    if handler not in _ENTRY_HEADER:
        raise MalformedBoxes(f"a track of kind {handler!r}", hint="one video or one audio track a file")
    return handler


def _track(handler: str, mdia: bytes, edits: tuple[int, Fraction]) -> Track:
    timescale = _timescale(only(mdia, "mdhd", "mdia"), "mdhd")
    stsd = only(only(only(mdia, "minf", "mdia"), "stbl", "minf"), "stsd", "stbl")
    name, entry = next(inside(stsd[8:], "stsd"), ("", b""))
    fields = Fields(entry, "stsd")
    boxes = dict(inside(entry[_ENTRY_HEADER[handler] :], "stsd"))
    codec = _codec(name, boxes)
    if handler == "vide":
        *_, width, height = fields.take("24x2H")
        return Track(
            kind="video", timescale=timescale, codec=codec, width=width, height=height,
            media_time=edits[0], delay=edits[1],
        )  # fmt: skip
    channels, _, _, sample_rate = fields.take("16x2HII")
    return Track(
        kind="audio", timescale=timescale, codec=codec, channels=channel_count(boxes) or channels,
        sample_rate=sample_rate >> 16, media_time=edits[0], delay=edits[1],
    )  # fmt: skip


def _codec(name: str, boxes: Mapping[str, bytes]) -> str:
    try:
        return codec_string(name, boxes)
    except UnknownCodec as error:
        raise MalformedBoxes(error.message, hint=error.hint) from None


def _timescale(body: bytes, place: str) -> int:
    fields = Fields(body, place)
    timescale = fields.one("16xI" if fields.one("I") >> 24 else "8xI")
    if not timescale:
        raise MalformedBoxes(f"the {place} box says that a second has no ticks", hint=BROKEN)
    return timescale


def _edits(moov: bytes, trak: bytes) -> tuple[int, Fraction]:
    """Where the presentation starts in the track, and how many seconds it waits before."""
    lists = [only(body, "elst", "edts") for name, body in inside(trak, "trak") if name == "edts"]
    if not lists:
        return 0, Fraction(0)
    waits = 0
    for duration, start in _edit_list(lists[0]):
        if start >= 0:
            return start, Fraction(waits, _timescale(only(moov, "mvhd", "moov"), "mvhd"))
        waits += duration
    return 0, Fraction(0)


def _edit_list(body: bytes) -> Iterator[tuple[int, int]]:
    fields = Fields(body, "elst")
    long = fields.one("I") >> 24
    for _ in range(fields.one("I")):
        duration, start, _ = fields.take("QqI" if long else "IiI")
        yield duration, start


def init_hash(init: bytes, description: Description) -> str:
    """The same for headers of files that can be joined."""
    digest = hashlib.sha256()
    for name, body in _leaves(init, "file", _ENTRY_HEADER[description.handler]):
        digest.update(f"{name} {len(body)} ".encode())
        digest.update(body)
    return digest.hexdigest()


def _leaves(data: bytes, place: str, entry_header: int) -> Iterator[tuple[str, bytes]]:
    """What boxes hold that hold no others, by path; what a decoder does not need is left out."""
    for name, body in inside(data, place):
        path = f"{place}/{name}"
        skip = entry_header if place.endswith("/stsd") else _INSIDE.get(name)
        if name in _LEFT_OUT:
            continue
        if skip is None:
            yield path, body
            continue
        yield path, body[:skip]
        yield from _leaves(body[skip:], path, entry_header)
