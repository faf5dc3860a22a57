"""What the commands that stay have in common: their log, and how they say what they do."""

from __future__ import annotations

import gc
import logging
import math
import os
import signal
from typing import Any

import typer

from reelstate.config import Settings, slips

FORMAT = "%(asctime)s %(levelname)-7s %(name)s  %(message)s"
SUPERVISED = "REEL_SUPERVISED"
"""Set by `reel up` in the workers it starts: they heed its words on their stdin, and stop when it is gone."""


def set_up_logging(settings: Settings) -> None:
    logging.basicConfig(level=settings.log_level.upper(), format=FORMAT, datefmt="%H:%M:%S")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would tell every address, signed ones too
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store says itself when the database is away
    for slip in slips(os.environ) if SUPERVISED not in os.environ else ():
        logging.getLogger("reelstate.config").warning("%s", slip)


def settle_in() -> None:
    """What is loaded by now stays to the end: the collector of garbage need not go through it again and again."""
    gc.freeze()


def waiting_for(url: str) -> dict[str, Any]:
    """Options of a store that is waited for however long its server is not there: what stays may start before it."""
    return {} if url.startswith("sqlite:") else {"arrival": math.inf}


def say(text: str) -> None:
    typer.echo(text, err=True)


def stopping_signals() -> list[signal.Signals]:
    """What asks a process to stop: ctrl-C, a supervisor, the end of its terminal unless `nohup` is to outlive it."""
    hung_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hung_up]
