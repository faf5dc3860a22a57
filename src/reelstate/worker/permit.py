"""The permit of the run that the calling code is part of: what a remote storage shows with each request."""

from __future__ import annotations

from contextvars import ContextVar

from reelstate.core.model import Permit

_CURRENT: ContextVar[Permit | None] = ContextVar("permit", default=None)


def carry(permit: Permit | None) -> None:
    """From here on this asyncio task, and what it starts, acts under this permit."""
    _CURRENT.set(permit)


def current_permit() -> Permit | None:
    """None outside of a remote worker's run."""
    return _CURRENT.get()
