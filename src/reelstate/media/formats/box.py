"""Read MP4 boxes. Every size is checked against the bytes that are there."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from reelstate.core.errors import ReelstateError

BROKEN = "the encoder was stopped, or the file is damaged: encode it again"
NOT_FRAGMENTED = "encode it with -movflags frag_keyframe+default_base_moof"
HEADER = struct.Struct(">I4s")


class MalformedBoxes(ReelstateError):
    """The file is truncated, or not a fragmented MP4 of one track."""


class BoxReader:
    """Reads the fields of a box in order."""

    def __init__(self, data: bytes, box: str) -> None:
        self._data, self._box, self._offset = data, box, 0

    def read(self, layout: str) -> tuple[int, ...]:
        shape = struct.Struct(f">{layout}")
        if self._offset + shape.size > len(self._data):
            raise MalformedBoxes(f"the {self._box} box of {len(self._data)} bytes is truncated", hint=BROKEN)
        values = shape.unpack_from(self._data, self._offset)
        self._offset += shape.size
        return values

    def read_int(self, layout: str) -> int:
        return self.read(layout)[-1]

    def read_optional(self, present: int, layout: str, default: int) -> int:
        return self.read_int(layout) if present else default


def child_boxes(data: bytes, parent: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and body of each box in the body of `parent`."""
    offset = 0
    while offset < len(data):
        if offset + HEADER.size > len(data):
            raise MalformedBoxes(f"the {parent} box ends inside the header of a child", hint=BROKEN)
        size, name = HEADER.unpack_from(data, offset)
        if size < HEADER.size or offset + size > len(data):
            raise MalformedBoxes(f"a box of {size:,} bytes does not fit into its {parent} box", hint=BROKEN)
        yield name.decode("latin-1"), data[offset + HEADER.size : offset + size]
        offset += size


def single_box(data: bytes, kind: str, parent: str) -> bytes:
    """Return the body of the only box of this kind in the body of `parent`."""
    found = [body for name, body in child_boxes(data, parent) if name == kind]
    if len(found) != 1:
        raise MalformedBoxes(f"the {parent} box has {len(found)} {kind} boxes", hint="expected one track per file")
    return found[0]
