"""Log lines: one formatter for text and JSON, the ids of the run that logs, and a handler for the log of its job.

A line of this package is an event name and fields: `task completed job=… stage=…`. Fields of the context, which a
worker sets for each run, are added to every line that is logged inside of it, also by a handler and the libraries that
it uses.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

from reelstate.core.model import LogLevel, LogLine
from reelstate.core.outcome import mask_passwords
from reelstate.core.printable import printable_line, printable_text

TEXT_FORMAT: Final = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
OWN_LOGGERS: Final = "reelstate"
ID_FIELDS: Final = (
    "job", "stage", "part", "token", "attempt", "worker", "tag", "version", "event_id", "trace_id", "span_id",
)  # fmt: skip
"""The fields that identify what a line is about."""
_FIELD: Final = re.compile(r"(?:^|\s)([a-z_]+)=(\"[^\"]*\"|'[^']*'|\S+)")
_LEASE_TOKEN: Final = re.compile(r"((?<!\S)token=\d{1,19}(?!\S))")

LogSink = Callable[[LogLine], None]
"""Receives the lines of a run, for the log of its job."""

_NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})
_fields: ContextVar[Mapping[str, Any]] = ContextVar("log_fields", default=_NO_FIELDS)
_job_log: ContextVar[LogSink | None] = ContextVar("job_log", default=None)


@dataclass(frozen=True, slots=True)
class LogSetup:
    """How a process logs."""

    level: str = "info"
    format: str = "text"
    job_logs: str = "off"
    """The lowest level of lines of handlers that are also stored in the log of their job; `off` for none."""


_setup: LogSetup | None = None


@contextlib.contextmanager
def log_fields(**fields: Any) -> Iterator[None]:
    """Add fields to every line that is logged while the context is open."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


@contextlib.contextmanager
def job_log(sink: LogSink) -> Iterator[None]:
    """Send what handlers log while the context is open to the log of their job, if the setup says so."""
    token = _job_log.set(sink)
    try:
        yield
    finally:
        _job_log.reset(token)


def current_fields() -> dict[str, Any]:
    return dict(_fields.get())


def current_setup() -> LogSetup | None:
    """Return how this process logs; None if that was not set up here."""
    return _setup


def set_up(setup: LogSetup) -> None:
    """Configure the root logger of this process; child processes of handlers repeat it."""
    global _setup  # noqa: PLW0603 - a process has one root logger
    _setup = setup
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if setup.format == "json" else TextFormatter(TEXT_FORMAT, datefmt="%H:%M:%S"))
    handlers: list[logging.Handler] = [handler]
    if setup.job_logs != "off":
        handlers.append(JobLogHandler(setup.job_logs.upper()))
    logging.basicConfig(level=setup.level.upper(), handlers=handlers)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every URL, signed ones too
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store logs when the database is unreachable


def setup_document() -> dict[str, str] | None:
    """Return the setup as a child process gets it."""
    return None if _setup is None else asdict(_setup)


class TextFormatter(logging.Formatter):
    """Formats a record as one line with control characters escaped; a traceback follows on further lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        message = record.message
        extra = {name: value for name, value in _fields.get().items() if f"{name}=" not in message}
        named = "".join(f" {name}={value}" for name, value in extra.items())
        record.message = printable_line(_masked(record.name, message) + named)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - same
        return printable_text(mask_passwords(super().formatException(ei)))


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, event, message, and the ids that are known."""

    def format(self, record: logging.LogRecord) -> str:
        message = _masked(record.name, record.getMessage())
        fields = list(_FIELD.finditer(message)) if _is_own(record.name) else []
        document: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": message[: fields[0].start()].strip() if fields else message,
            "message": message,
        }
        for name, value in (field.groups() for field in fields):
            if name in ID_FIELDS:
                document[name] = int(value) if value.isdecimal() else value
        document |= {name: value for name, value in _fields.get().items() if value is not None}
        if record.exc_info:
            document["error"] = mask_passwords(self.formatException(record.exc_info))
        return json.dumps(document, ensure_ascii=False, default=str)


class JobLogHandler(logging.Handler):
    """Sends the lines of handlers, but not those of this package, to the log of the job of the current run."""

    def emit(self, record: logging.LogRecord) -> None:
        sink = _job_log.get()
        if sink is None or _is_own(record.name):
            return
        try:
            message, level = mask_passwords(record.getMessage()), _level(record.levelno)
            sink(LogLine(message=message, level=level, metadata={"logger": record.name}))
        except Exception:  # noqa: BLE001 - the convention of logging
            self.handleError(record)


def _is_own(logger: str) -> bool:
    return logger.partition(".")[0] == OWN_LOGGERS


def _masked(logger: str, message: str) -> str:
    """Mask secrets in a message. The number of a lease, which is called token too, stays in lines of this package."""
    if not _is_own(logger):
        return mask_passwords(message)
    return "".join(
        part if _LEASE_TOKEN.fullmatch(part) else mask_passwords(part) for part in _LEASE_TOKEN.split(message)
    )


def _level(number: int) -> LogLevel:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"
