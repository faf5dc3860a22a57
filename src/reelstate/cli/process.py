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
from reelstate.telemetry.logs import LogSetup, current_setup, set_up

SUPERVISED = "REEL_SUPERVISED"
"""Set by `reel up` in its workers: they read commands from stdin, and stop when it is closed."""


def set_up_logging(settings: Settings) -> None:
    set_up(LogSetup(settings.log_level, settings.log_format, settings.job_logs))
    for warning in unknown_variable_warnings(os.environ) if SUPERVISED not in os.environ else ():
        logging.getLogger("reelstate.config").warning("%s", warning)


def freeze_garbage() -> None:
    """Exclude everything loaded so far from garbage collection."""
    gc.freeze()


def store_options(url: str) -> dict[str, Any]:
    """Return store options that wait without limit for an unreachable database server at the start."""
    return {} if url.startswith("sqlite:") else {"arrival": math.inf}


def print_status(text: str) -> None:
    """Print a message to stderr; where log lines are JSON, it is one of them."""
    setup = current_setup()
    if setup is not None and setup.format == "json":
        logging.getLogger("reelstate.cli").info("%s", text)
    else:
        echo(text, err=True)


def stop_signals() -> list[signal.Signals]:
    """Return the signals that stop a process: SIGINT, SIGTERM, and SIGHUP unless `nohup` ignores it."""
    hang_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hang_up]
