"""The command `reel`: one Typer application. Its commands are listed in `commands.py`, each has its own module."""

import logging
import sys
from typing import Annotated

import typer

from reelstate.cli.commands import CommandGroup
from reelstate.core.errors import ReelstateError

WRONG_USE = 2
reel = typer.Typer(name="reel", cls=CommandGroup, rich_markup_mode="markdown")


def _show_version(wanted: bool) -> None:
    if wanted:
        from reelstate import __version__  # noqa: PLC0415 - it imports the whole package

        typer.echo(f"reel {__version__}")
        raise typer.Exit


@reel.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does it
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Run media pipelines on a fleet of workers without losing a job."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_USE)


def app() -> None:
    """Run the command; an error of ours is shown as what was wrong and what to do, without a traceback."""
    try:
        reel(prog_name="reel")  # also when it was started as `python -m reelstate`
    except ReelstateError as error:
        _exit_with(error)
    except OSError as error:
        from reelstate.cli import errors  # noqa: PLC0415 - rich is slow to load

        told = errors.from_os_error(error)
        if told is None:
            raise
        logging.getLogger("reelstate").debug("where it was refused", exc_info=True)
        _exit_with(told)


def _exit_with(error: ReelstateError) -> None:
    from reelstate.cli import errors  # noqa: PLC0415 - rich is slow to load

    errors.print_error(error)
    sys.exit(1)
