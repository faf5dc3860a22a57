"""A source that has been fetched, and how one hears of its way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int | None], None]
"""Called with the bytes that have come and, where known, how many there are."""


@dataclass(frozen=True, slots=True)
class Fetched:
    size: int
    sha256: str
