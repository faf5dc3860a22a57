"""A box of MP4, and the numbers and boxes in it. Nothing is believed: every length is checked against what is there."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from reelstate.core.errors import ReelstateError

BROKEN = "the encoder was stopped, or the file is damaged: make it again"
NOT_FRAGMENTED = "make it with -movflags frag_keyframe+default_base_moof"
HEADER = struct.Struct(">I4s")


class MalformedBoxes(ReelstateError):
    """The file is not a fragmented MP4 of one track, or breaks off."""


class Fields:
    """Numbers out of a box, one after the other."""

    def __init__(self, data: bytes, place: str) -> None:
        self._data, self._place, self._at = data, place, 0

    def take(self, layout: str) -> tuple[int, ...]:
        shape = struct.Struct(f">{layout}")
        if self._at + shape.size > len(self._data):
            raise MalformedBoxes(f"the {self._place} box of {len(self._data)} bytes ends too early", hint=BROKEN)
        values = shape.unpack_from(self._data, self._at)
        self._at += shape.size
        return values

    def one(self, layout: str) -> int:
        return self.take(layout)[-1]

    def optional(self, present: int, layout: str, otherwise: int) -> int:
        return self.one(layout) if present else otherwise


def inside(data: bytes, place: str) -> Iterator[tuple[str, bytes]]:
    """The boxes that follow each other in the body of another."""
    at = 0
    while at < len(data):
        if at + HEADER.size > len(data):
            raise MalformedBoxes(f"the {place} box ends inside the header of another", hint=BROKEN)
        size, name = HEADER.unpack_from(data, at)
        if size < HEADER.size or at + size > len(data):
            raise MalformedBoxes(f"a box of {size:,} bytes does not fit into its {place} box", hint=BROKEN)
        yield name.decode("latin-1"), data[at + HEADER.size : at + size]
        at += size


def only(data: bytes, kind: str, place: str) -> bytes:
    """The one box of a kind in the body of another."""
    found = [body for name, body in inside(data, place) if name == kind]
    if len(found) != 1:
        raise MalformedBoxes(f"the {place} box has {len(found)} {kind} boxes, not one", hint="one track a file")
    return found[0]
