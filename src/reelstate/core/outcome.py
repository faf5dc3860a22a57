"""What a run comes to: `done` with a result, or whatever its handler raised. One match decides what is reported."""

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

RunOutcome = Completion | Failure
"""A run that has come to an end of its own, as it is reported."""


class Fail(Exception):
    """Raise it when another attempt can't help: `raise rs.Fail("the file is not a video")`."""


class Retry(Exception):
    """Raise it to be tried again: `raise rs.Retry("the service is busy", after=30)`; left out, the backoff decides."""

    def __init__(self, message: str = "", *, after: float | None = None) -> None:
        super().__init__(message)
        if after is not None and not isinstance(after, int | float):
            raise InvalidRequest("after", f"{after!r} is not a delay", hint="seconds, for example after=30")
        self.after = after


class Skip(Exception):
    """Raise it when there is nothing to do: the task counts as finished, and what follows goes on."""


class Stopped(BaseException):
    """Raised inside a blocking handler whose task is no longer this worker's: clean up and let it pass."""


def completion(task: ClaimedTask, result: Json) -> Completion:
    return Completion(key=task.key, token=task.token, result=result)


def outcome_of(task: ClaimedTask, raised: BaseException) -> RunOutcome:
    """The report on a run that raised: skipped, failed for good, or to be tried again."""
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
    return Failure(key=task.key, token=task.token, error=error, retryable=retryable, retry_in=retry_in)


def timeout_failure(task: ClaimedTask) -> Failure:
    """The report on a run that its worker has ended at the timeout of its stage."""
    return failure(task, {"type": "Timeout", "message": f"timed out after {task.timeout:g} s"})


def describe_error(raised: BaseException, *, traced: bool = False) -> dict[str, str]:
    """An exception as it is stored: its name, its words and, for one that nobody meant, where it came from."""
    error = {"type": type(raised).__name__, "message": mask_passwords(_words(raised)) or type(raised).__name__}
    if traced:
        whole = traceback.format_exception(type(raised), raised, _from_their_code(raised.__traceback__))
        lines = _shortened("".join(whole).splitlines())
        error["trace"] = mask_passwords("\n".join(lines))
    return error


def _words(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception as error:  # noqa: BLE001 - an exception may be unable to say what it is
        return f"it can't be told: {type(error).__name__} in its __str__"


def _shortened(lines: list[str]) -> list[str]:
    """The head of a trace, where the handler's own lines are, and its tail, where it ended."""
    left_out = len(lines) - 2 * TRACE_LINES
    return lines if left_out <= 0 else [*lines[:TRACE_LINES], f"  … {left_out} lines …", *lines[-TRACE_LINES:]]


def _from_their_code(trace: TracebackType | None) -> TracebackType | None:
    """A trace without the way through this package to the handler."""
    rest = trace
    while rest is not None and rest.tb_frame.f_code.co_filename.startswith(PACKAGE):
        rest = rest.tb_next
    return rest or trace


def mask_passwords(text: str) -> str:
    """The text with the passwords and signatures of addresses in it blotted out."""
    return _NAMED_PASSWORD.sub(r"\1***", _PASSWORD.sub(r"\1***@", text))
