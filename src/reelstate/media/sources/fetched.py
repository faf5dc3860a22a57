"""The result of fetching a source, its progress callback, and its size limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reelstate.media.sources.errors import UnusableSource

OnProgress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the total, if known."""


@dataclass(frozen=True, slots=True)
class FetchedSource:
    size: int
    sha256: str


def check_limit(name: str, size: int, limit: int) -> None:
    """Raise `UnusableSource` if a source is larger than the limit."""
    if size > limit:
        raise UnusableSource(
            "too_large",
            f"{name} is larger than {limit:,} bytes",
            hint="raise REEL_INPUT_LIMIT, or submit a smaller file",
        )
