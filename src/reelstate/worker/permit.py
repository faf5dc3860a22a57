"""The permit of the current run, which a remote storage sends with each request."""

from __future__ import annotations

from contextvars import ContextVar

from reelstate.core.model import Permit

_CURRENT: ContextVar[Permit | None] = ContextVar("permit", default=None)


def set_permit(permit: Permit | None) -> None:
    """Use this permit in the current asyncio task and in tasks that it starts from now on."""
    _CURRENT.set(permit)


def current_permit() -> Permit | None:
    """Return the permit of the current run; None outside of a remote worker's run."""
    return _CURRENT.get()
