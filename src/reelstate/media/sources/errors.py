"""What is wrong with a source: it can't be used at all, it can't be had now, or it can't be read in parts."""

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
    """Something is wrong with a source."""

    retryable: ClassVar[bool] = False
    """Whether another attempt may help."""


class UnusableSource(SourceError):
    """The source can't be used, and another attempt can't help; `kind` says in one word why."""

    def __init__(self, kind: SourceFault, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class SourceUnavailable(SourceError):
    """The source can't be had now."""

    retryable = True


class SourceUnseekable(SourceError):
    """The source can't be read in parts: it must be fetched first."""
