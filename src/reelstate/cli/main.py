"""The command `reel`: one Typer application, to which every command's own module is added here."""

import logging
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from reelstate import __version__
from reelstate.cli import (
    cancel,
    config,
    demo,
    doctor,
    errors,
    force,
    history,
    ingest,
    job,
    jobs,
    keys,
    logs,
    machines,
    migrate,
    quarantine,
    retry,
    serve,
    states,
    steps,
    submit,
    up,
    videos,
    watch,
    worker,
    workers,
)
from reelstate.core.errors import ReelstateError

RUN, LOOK, CHANGE, KEEP = "Run", "Look", "Change", "Keep in order"

reel = typer.Typer(name="reel", no_args_is_help=True, rich_markup_mode="markdown")


def _add(panel: str, *commands: Callable[..., Any]) -> None:
    for command in commands:
        reel.command(rich_help_panel=panel)(command)


_add(RUN, demo.demo, up.up, serve.serve, worker.worker, submit.submit, ingest.ingest)
_add(LOOK, jobs.jobs, job.job, watch.watch, logs.logs, steps.steps, states.states, history.history)
_add(CHANGE, retry.retry, cancel.cancel, quarantine.quarantine, force.force)
reel.add_typer(videos.videos, name="videos", rich_help_panel=LOOK)
reel.add_typer(workers.workers, name="workers", rich_help_panel=KEEP)
reel.add_typer(keys.keys, name="keys", rich_help_panel=KEEP)
_add(KEEP, doctor.doctor, migrate.migrate, config.config, machines.machines)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reel {__version__}")
        raise typer.Exit


@reel.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Runs media pipelines on a fleet of workers without losing a job."""


def app() -> None:
    """Run the command; an error of ours is shown as what was wrong and what to do, without a traceback."""
    try:
        reel(prog_name="reel")  # also when it was started as `python -m reelstate`
    except ReelstateError as error:
        errors.show(error)
        sys.exit(1)
    except OSError as error:
        told = errors.of_system(error)
        if told is None:
            raise
        logging.getLogger("reelstate").debug("where it was refused", exc_info=True)
        errors.show(told)
        sys.exit(1)
