"""The outcome of a run: a completion with its result, or what follows from the exception of its handler."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from types import TracebackType

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import ClaimedTask, Completion, Failure, Json

TRACE_LINES = 20
PACKAGE = str(Path(__file__).parents[1])
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s/]+@")
_NAMED_PASSWORD = re.compile(
    r"(?<![a-z0-9])((?:[a-z]*password|passwd|secret|signature|sig|(?:[a-z]+[-_])?token|api[-_]?key)=)[^&\s]+",
    re.IGNORECASE,
)
_KEY = re.compile(r"(reel_[0-9a-f]{12}_)[0-9a-f]{72}")

RunOutcome = Completion | Failure
"""What is reported of a run that returned or raised."""


class Fail(Exception):
    """Raise it to fail a task without another attempt: `raise rs.Fail("the file is not a video")`."""


class Retry(Exception):
    """Raise it to retry a task: `raise rs.Retry("the service is busy", after=30)`; or after the backoff."""

    def __init__(self, message: str = "", *, after: float | None = None) -> None:
        super().__init__(message)
        if after is not None and not isinstance(after, int | float):
            raise InvalidRequest("after", f"invalid value {after!r}", hint="expected seconds, for example after=30")
        self.after = after


class Skip(Exception):
    """Raise it to skip a task: it counts as finished, and the next stages go on."""


class Stopped(BaseException):
    """Raised inside a blocking handler whose lease is lost: clean up and re-raise it."""


def completion(task: ClaimedTask, result: Json) -> Completion:
    """Return the completion of a run."""
    return Completion(key=task.key, token=task.token, result=result)


def outcome_of(task: ClaimedTask, raised: BaseException) -> RunOutcome:
    """Return what to report of a run that raised: skipped, failed, or failed with a retry."""
    match raised:
        case Skip():
            reason = str(raised)
            result = {"skipped": reason} if reason else None
            return Completion(key=task.key, token=task.token, result=result, skipped=True)
        case Fail():
            return failure(task, describe_error(raised), retryable=False)
        case Retry(after=after):
            return failure(task, describe_error(raised), retry_in=None if after is None else max(0.0, after))
        case _:
            return failure(task, describe_error(raised, traced=True))


def failure(task: ClaimedTask, error: Json, *, retryable: bool = True, retry_in: float | None = None) -> Failure:
    """Return the failure of a run."""
    return Failure(key=task.key, token=task.token, error=error, retryable=retryable, retry_in=retry_in)


def timeout_failure(task: ClaimedTask) -> Failure:
    """Return the failure of a run that its worker stopped at the stage's timeout."""
    return failure(task, {"type": "Timeout", "message": f"timed out after {task.timeout:g} s"})


def describe_error(raised: BaseException, *, traced: bool = False) -> dict[str, str]:
    """Return an exception as stored: type, message and, if `traced`, the traceback; passwords are masked."""
    error = {"type": type(raised).__name__, "message": mask_passwords(_message(raised)) or type(raised).__name__}
    if traced:
        whole = traceback.format_exception(type(raised), raised, _user_frames(raised.__traceback__))
        lines = _cut_middle("".join(whole).splitlines())
        error["trace"] = mask_passwords("\n".join(lines))
    return error


def _message(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception as error:  # noqa: BLE001 - the exception is the user's
        return f"no message: {type(error).__name__} in its __str__"


def _cut_middle(lines: list[str]) -> list[str]:
    """Keep the first and the last lines of a traceback."""
    left_out = len(lines) - 2 * TRACE_LINES
    return lines if left_out <= 0 else [*lines[:TRACE_LINES], f"  … {left_out} lines …", *lines[-TRACE_LINES:]]


def _user_frames(trace: TracebackType | None) -> TracebackType | None:
    """Drop the frames of this package at the start of a traceback."""
    rest = trace
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(PACKAGE):
        rest = rest.tb_next
    return rest or trace


def mask_passwords(text: str) -> str:
    """Mask passwords, tokens, signatures and keys in a text."""
    return _KEY.sub(r"\1***", _NAMED_PASSWORD.sub(r"\1***", _PASSWORD.sub(r"\1***@", text)))
