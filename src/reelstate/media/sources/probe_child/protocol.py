"""Frames between `probe.py` and its child process."""

from __future__ import annotations

import io
import struct
from typing import Any, BinaryIO, Final

Facts = dict[str, Any]
Request = dict[str, Any]

CHILD_FRAME: Final = struct.Struct(">cQI")
"""From the child: a kind (`READ` or `ANSWER`), an offset, a length."""
PARENT_FRAME: Final = struct.Struct(">cI")
"""From the parent: `DATA`, a length."""
READ: Final = b"R"
ANSWER: Final = b"A"
DATA: Final = b"D"


class Refused(Exception):
    """The source is refused; `kind` is a `SourceFault` of `errors.py`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class RemoteFile(io.RawIOBase):
    """A file whose bytes are read from the parent."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, size: int) -> None:
        self._stdin, self._stdout, self._size = stdin, stdout, size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = max(0, offset + (0, self._position, self._size)[whence])
        return self._position

    def read(self, size: int = -1) -> bytes:
        length = max(0, min(size if size >= 0 else self._size, self._size - self._position))
        data = self._request(self._position, length) if length else b""
        self._position += len(data)
        return data

    def _request(self, offset: int, length: int) -> bytes:
        self._stdout.write(CHILD_FRAME.pack(READ, offset, length))
        self._stdout.flush()
        return receive(self._stdin)


def receive(stdin: BinaryIO) -> bytes:
    """Read the data of one frame of the parent; raises `EOFError` if the parent is gone."""
    _, length = PARENT_FRAME.unpack(_read_exactly(stdin, PARENT_FRAME.size))
    return _read_exactly(stdin, length)


def _read_exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) != length:
        raise EOFError
    return data
