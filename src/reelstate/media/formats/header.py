"""Parse the header (ftyp, moov) of a fragmented MP4 with one track."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reelstate.media.formats.box import BROKEN, BoxReader, MalformedBoxes, child_boxes, single_box
from reelstate.media.formats.codecs import UnknownCodec, channel_count, codec_string

_CONTAINERS = {"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "stsd": 8}
_ENTRY_HEADER = {"vide": 78, "soun": 28}
_IGNORED = {"edts", "btrt", "sdtp"}
"""Boxes that may differ between chunks: edit list, bit rates, and an empty table of delay_moov."""


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
    """The start of the presentation in the track, by the edit list."""
    delay: Fraction = Fraction(0)
    """Seconds before the presentation starts, by the edit list."""


@dataclass(frozen=True, slots=True)
class TrackHeader:
    """The content of a moov box: the track, and the defaults of its samples."""

    track: Track
    handler: str
    number: int
    default_duration: int
    default_size: int
    default_flags: int


def parse_moov(moov: bytes) -> TrackHeader:
    """Parse the body of a moov box."""
    trak = single_box(moov, "trak", "moov")
    mdia = single_box(trak, "mdia", "trak")
    extends = BoxReader(single_box(single_box(moov, "mvex", "moov"), "trex", "mvex"), "trex")
    _, number, _, duration, size, flags = extends.read("6I")
    handler = _handler(single_box(mdia, "hdlr", "mdia"))
    track = _track(handler, mdia, _edits(moov, trak))
    return TrackHeader(track, handler, number, duration, size, flags)


def _handler(body: bytes) -> str:
    handler = struct.pack(">I", BoxReader(body, "hdlr").read_int("3I")).decode("latin-1")
    if handler not in _ENTRY_HEADER:
        raise MalformedBoxes(f"unexpected track of kind {handler!r}", hint="expected one video or audio track per file")
    return handler


def _track(handler: str, mdia: bytes, edits: tuple[int, Fraction]) -> Track:
    timescale = _timescale(single_box(mdia, "mdhd", "mdia"), "mdhd")
    stsd = single_box(single_box(single_box(mdia, "minf", "mdia"), "stbl", "minf"), "stsd", "stbl")
    name, entry = next(child_boxes(stsd[8:], "stsd"), ("", b""))
    fields = BoxReader(entry, "stsd")
    boxes = dict(child_boxes(entry[_ENTRY_HEADER[handler] :], "stsd"))
    codec = _codec(name, boxes)
    if handler == "vide":
        *_, width, height = fields.read("24x2H")
        return Track(
            kind="video", timescale=timescale, codec=codec, width=width, height=height,
            media_time=edits[0], delay=edits[1],
        )  # fmt: skip
    channels, _, _, sample_rate = fields.read("16x2HII")
    return Track(
        kind="audio", timescale=timescale, codec=codec, channels=channel_count(boxes) or channels,
        sample_rate=sample_rate >> 16, media_time=edits[0], delay=edits[1],
    )  # fmt: skip


def _codec(name: str, boxes: Mapping[str, bytes]) -> str:
    try:
        return codec_string(name, boxes)
    except UnknownCodec as error:
        raise MalformedBoxes(error.message, hint=error.hint) from None


def _timescale(body: bytes, box: str) -> int:
    fields = BoxReader(body, box)
    timescale = fields.read_int("16xI" if fields.read_int("I") >> 24 else "8xI")
    if not timescale:
        raise MalformedBoxes(f"the timescale of the {box} box is 0", hint=BROKEN)
    return timescale


def _edits(moov: bytes, trak: bytes) -> tuple[int, Fraction]:
    """Return the start of the presentation in the track, and the seconds before it starts."""
    lists = [single_box(body, "elst", "edts") for name, body in child_boxes(trak, "trak") if name == "edts"]
    if not lists:
        return 0, Fraction(0)
    delay = 0
    for duration, start in _edit_list(lists[0]):
        if start >= 0:
            return start, Fraction(delay, _timescale(single_box(moov, "mvhd", "moov"), "mvhd"))
        delay += duration
    return 0, Fraction(0)


def _edit_list(body: bytes) -> Iterator[tuple[int, int]]:
    fields = BoxReader(body, "elst")
    long = fields.read_int("I") >> 24
    for _ in range(fields.read_int("I")):
        duration, start, _ = fields.read("QqI" if long else "IiI")
        yield duration, start


def init_hash(init: bytes, header: TrackHeader) -> str:
    """Return a hash that is equal for files that can be joined."""
    digest = hashlib.sha256()
    for name, body in _leaves(init, "file", _ENTRY_HEADER[header.handler]):
        digest.update(f"{name} {len(body)} ".encode())
        digest.update(body)
    return digest.hexdigest()


def _leaves(data: bytes, parent: str, entry_header: int) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the boxes without children, except ignored ones."""
    for name, body in child_boxes(data, parent):
        path = f"{parent}/{name}"
        skip = entry_header if parent.endswith("/stsd") else _CONTAINERS.get(name)
        if name in _IGNORED:
            continue
        if skip is None:
            yield path, body
            continue
        yield path, body[:skip]
        yield from _leaves(body[skip:], path, entry_header)
