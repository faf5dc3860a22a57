"""What the commands that stay have in common: their log, and how they say what they do."""

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
"""Set by `reel up` in the workers it starts: they heed its words on their stdin, and stop when it is gone."""


class PrintableFormatter(logging.Formatter):
    """Formats a record as one line, with control characters escaped; a traceback follows in lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name that logging calls
        record.message = printable_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - same
        return printable_text(super().formatException(ei))


def set_up_logging(settings: Settings) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter(FORMAT, datefmt="%H:%M:%S"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would tell every address, signed ones too
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store says itself when the database is away
    for slip in unknown_variable_warnings(os.environ) if SUPERVISED not in os.environ else ():
        logging.getLogger("reelstate.config").warning("%s", slip)


def freeze_garbage() -> None:
    """What is loaded by now stays to the end: the collector of garbage need not go through it again and again."""
    gc.freeze()


def store_options(url: str) -> dict[str, Any]:
    """Options of a store that is waited for however long its server is not there: what stays may start before it."""
    return {} if url.startswith("sqlite:") else {"arrival": math.inf}


def print_status(text: str) -> None:
    echo(text, err=True)


def stop_signals() -> list[signal.Signals]:
    """What asks a process to stop: ctrl-C, a supervisor, the end of its terminal unless `nohup` is to outlive it."""
    hung_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hung_up]
