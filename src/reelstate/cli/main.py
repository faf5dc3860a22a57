"""The command `reel`. Its subcommands are listed in `commands.py` and have one module each."""

import logging
import sys
from typing import Annotated

import typer

from reelstate.cli.commands import CommandGroup
from reelstate.core.errors import ReelstateError

USAGE_ERROR = 2
reel = typer.Typer(name="reel", cls=CommandGroup, rich_markup_mode="markdown")


def _show_version(requested: bool) -> None:
    if requested:
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
        raise typer.Exit(USAGE_ERROR)


def app() -> None:
    """Run the command; a `ReelstateError` is printed with its hint, without a traceback."""
    try:
        reel(prog_name="reel")  # also when it was started as `python -m reelstate`
    except ReelstateError as error:
        _exit_with(error)
    except OSError as error:
        from reelstate.cli import errors  # noqa: PLC0415 - rich is slow to load

        converted = errors.from_os_error(error)
        if converted is None:
            raise
        logging.getLogger("reelstate").debug("operating system error", exc_info=True)
        _exit_with(converted)


def _exit_with(error: ReelstateError) -> None:
    from reelstate.cli import errors  # noqa: PLC0415 - rich is slow to load

    errors.print_error(error)
    sys.exit(1)
