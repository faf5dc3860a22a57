"""A source that has been fetched, how one hears of its way, and how large it may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reelstate.media.sources.errors import UnusableSource

OnProgress = Callable[[int, int | None], None]
"""Called with the bytes that have come and, where known, how many there are."""


@dataclass(frozen=True, slots=True)
class FetchedSource:
    size: int
    sha256: str


def check_limit(place: str, size: int, limit: int) -> None:
    if size > limit:
        raise UnusableSource(
            "too_large", f"{place} is larger than {limit:,} bytes", hint="raise REEL_INPUT_LIMIT, or submit less"
        )
