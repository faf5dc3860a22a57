"""The permit of the current run, which a remote storage sends with each request."""

from __future__ import annotations

from contextvars import ContextVar

from reelstate.core.model import Permit

current_permit: ContextVar[Permit | None] = ContextVar("permit", default=None)
"""The permit of the current run, in its asyncio task and those that it starts; None where no remote worker runs it."""
