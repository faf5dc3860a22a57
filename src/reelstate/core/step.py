"""Check a reported step, mask passwords in it and cut it to the limits."""

from __future__ import annotations

import math
from dataclasses import replace

from reelstate.core.document import DocumentLimits, shorten, shorten_list, whole_number
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Step
from reelstate.core.outcome import mask_passwords

MAX_INTEGER = 2**31 - 1
MAX_TYPE_LENGTH = 64
LATEST_START = 4_102_444_800.0
"""The year 2100 in seconds since 1970; a later start is refused."""


def normalise_step(step: Step, limits: DocumentLimits) -> Step:
    """Return a step as stored. Raises `InvalidRequest` with the name of the field."""
    return replace(
        step,
        number=whole_number("step.number", step.number, MAX_INTEGER),
        argv=shorten_list([mask_passwords(word) for word in _argv(step)], limits.argv),
        exit_code=_exit_code(step),
        seconds=_seconds(step),
        output=shorten(mask_passwords(str(step.output)), limits.output),
        type=shorten(str(step.type) or _program(step), MAX_TYPE_LENGTH),
        started=_started(step),
    )


def _argv(step: Step) -> list[str]:
    if isinstance(step.argv, list | tuple):
        return [str(word) for word in step.argv]
    raise InvalidRequest(
        "step.argv", f"invalid value {step.argv!r:.80}", hint='expected a list, for example ["ffmpeg", "-version"]'
    )


def _program(step: Step) -> str:
    return _argv(step)[0].rpartition("/")[2] if step.argv else "command"


def _started(step: Step) -> float | None:
    started: object = step.started
    if started is None or (isinstance(started, int | float) and 0 <= started < LATEST_START):
        return None if started is None else float(started)
    raise InvalidRequest("step.started", f"invalid value {started!r}", hint="expected seconds since 1970, or None")


def _exit_code(step: Step) -> int | None:
    if step.exit_code is None or (type(step.exit_code) is int and abs(step.exit_code) <= MAX_INTEGER):
        return step.exit_code
    raise InvalidRequest("step.exit_code", f"invalid value {step.exit_code!r}", hint="expected a whole number, or None")


def _seconds(step: Step) -> float:
    seconds: object = step.seconds
    if isinstance(seconds, int | float) and 0 <= seconds < math.inf:
        return float(seconds)
    raise InvalidRequest("step.seconds", f"invalid value {seconds!r}", hint="expected seconds, for example 1.5")
