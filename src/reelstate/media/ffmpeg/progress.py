"""How far an ffmpeg is, read from the key=value lines that `-progress` writes."""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST_LINE = 4096
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Advance:
    """One report of an ffmpeg. What it does not know (yet) is None."""

    frame: int | None = None
    out_time_us: int | None = None
    speed: float | None = None
    total_size: int | None = None
    ended: bool = False

    @property
    def place(self) -> tuple[int | None, int | None, int | None]:
        """What changes as long as it advances."""
        return self.frame, self.out_time_us, self.total_size


class AdvanceReader:
    """Takes bytes as they come. Lines that are too long, no text or no numbers are passed over."""

    def __init__(self) -> None:
        self._rest = b""
        self._said: dict[bytes, bytes] = {}
        self.newest: Advance | None = None

    def hear(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: LONGEST_LINE + 1]
        for line in lines:
            if len(line) <= LONGEST_LINE:
                self._line(line)

    def _line(self, line: bytes) -> None:
        name, _, value = line.strip().partition(b"=")
        if name == b"progress":
            self.newest = _advance(self._said, ended=value == b"end")
            self._said = {}
        elif name in _NAMES:
            self._said[name] = value.strip()


# Not out_time_ms, which holds microseconds too.
_NAMES = (b"frame", b"out_time_us", b"speed", b"total_size")


def _advance(said: dict[bytes, bytes], *, ended: bool) -> Advance:
    frame, out_time_us, total_size = (_whole(said.get(name, b"")) for name in (b"frame", b"out_time_us", b"total_size"))
    return Advance(frame, out_time_us, _speed(said.get(b"speed", b"")), total_size, ended)


def _whole(value: bytes) -> int | None:
    """A number that can be; before the first frame the time is negative or N/A."""
    if not value.isdigit() or len(value) > len(str(LARGEST)):
        return None
    return min(int(value), LARGEST)


def _speed(value: bytes) -> float | None:
    try:
        speed = float(value.removesuffix(b"x"))
    except ValueError:
        return None
    return speed if 0 <= speed < math.inf else None
