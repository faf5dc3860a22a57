"""Shared by long-running commands: logging, status messages and signals."""

from __future__ import annotations

import gc
import logging
import math
import os
import signal
from typing import Any

from reelstate.cli.plain import echo
from reelstate.config import Settings, unknown_variable_warnings
from reelstate.core.printable import printable_line, printable_text

FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
SUPERVISED = "REEL_SUPERVISED"
"""Set by `reel up` in its workers: they read commands from stdin, and stop when it is closed."""


class PrintableFormatter(logging.Formatter):
    """Formats a record as one line with control characters escaped; a traceback follows on further lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        record.message = printable_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - same
        return printable_text(super().formatException(ei))


def set_up_logging(settings: Settings) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter(FORMAT, datefmt="%H:%M:%S"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every URL, signed ones too
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store logs when the database is unreachable
    for warning in unknown_variable_warnings(os.environ) if SUPERVISED not in os.environ else ():
        logging.getLogger("reelstate.config").warning("%s", warning)


def freeze_garbage() -> None:
    """Exclude everything loaded so far from garbage collection."""
    gc.freeze()


def store_options(url: str) -> dict[str, Any]:
    """Return store options that wait without limit for an unreachable database server at the start."""
    return {} if url.startswith("sqlite:") else {"arrival": math.inf}


def print_status(text: str) -> None:
    """Print a message to stderr."""
    echo(text, err=True)


def stop_signals() -> list[signal.Signals]:
    """Return the signals that stop a process: SIGINT, SIGTERM, and SIGHUP unless `nohup` ignores it."""
    hang_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hang_up]
