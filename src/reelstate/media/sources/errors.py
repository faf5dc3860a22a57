"""Errors of sources: unusable, unavailable for now, or not readable in parts."""

from __future__ import annotations

from typing import ClassVar, Literal

from reelstate.core.errors import ReelstateError

SourceFault = Literal[
    "address",
    "forbidden",
    "missing",
    "denied",
    "too_large",
    "empty",
    "not_a_video",
    "format",
    "codec",
    "truncated",
    "damaged",
    "dolby_vision",
    "encrypted",
    "too_many_streams",
    "too_many_pixels",
    "bomb",
]


class SourceError(ReelstateError):
    """A source can't be read or used."""

    retryable: ClassVar[bool] = False
    """Whether a retry may succeed."""


class UnusableSource(SourceError):
    """The source can't be used and a retry can't succeed; `kind` is the reason."""

    def __init__(self, kind: SourceFault, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class SourceUnavailable(SourceError):
    """The source can't be read now; a retry may succeed."""

    retryable = True


class SourceUnseekable(SourceError):
    """The source can't be read in parts and must be fetched first."""
