"""Parses the key=value lines that ffmpeg writes with `-progress`."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_LINE = 4096
MAX_NUMBER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Advance:
    """One progress report of ffmpeg; None for what it does not know yet."""

    frame: int | None = None
    out_time_us: int | None = None
    speed: float | None = None
    total_size: int | None = None
    ended: bool = False

    @property
    def position(self) -> tuple[int | None, int | None, int | None]:
        """What changes as long as the command advances."""
        return self.frame, self.out_time_us, self.total_size


class AdvanceReader:
    """Parses bytes as they arrive; ignores lines that are too long or not numbers."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}
        self.newest: Advance | None = None

    def feed(self, data: bytes) -> None:
        """Parse the lines that are complete with these bytes."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: MAX_LINE + 1]
        for line in lines:
            if len(line) <= MAX_LINE:
                self._line(line)

    def _line(self, line: bytes) -> None:
        name, _, value = line.strip().partition(b"=")
        if name == b"progress":
            self.newest = _advance(self._fields, ended=value == b"end")
            self._fields = {}
        elif name in _NAMES:
            self._fields[name] = value.strip()


# Not out_time_ms, which holds microseconds too.
_NAMES = (b"frame", b"out_time_us", b"speed", b"total_size")


def _advance(values: dict[bytes, bytes], *, ended: bool) -> Advance:
    frame, out_time_us, total_size = (
        _whole(values.get(name, b"")) for name in (b"frame", b"out_time_us", b"total_size")
    )
    return Advance(frame, out_time_us, _speed(values.get(b"speed", b"")), total_size, ended)


def _whole(value: bytes) -> int | None:
    """Return a whole number, or None: before the first frame the time is negative or N/A."""
    if not value.isdigit() or len(value) > len(str(MAX_NUMBER)):
        return None
    return min(int(value), MAX_NUMBER)


def _speed(value: bytes) -> float | None:
    try:
        speed = float(value.removesuffix(b"x"))
    except ValueError:
        return None
    return speed if 0 <= speed < math.inf else None
