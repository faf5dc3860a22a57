"""The command `reel`: one Typer application, to which every command's own module is added here."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from reelstate import __version__
from reelstate.cli import demo, doctor, machines, migrate
from reelstate.core.errors import ReelstateError

reel = typer.Typer(name="reel", no_args_is_help=True, rich_markup_mode="markdown")
reel.command()(demo.demo)
reel.command()(doctor.doctor)
reel.command()(machines.machines)
reel.command()(migrate.migrate)


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
        reel()
    except ReelstateError as error:
        console = Console(stderr=True)
        console.print(f"[bold red]error:[/] {escape(error.message)}", highlight=False)
        if error.hint:
            console.print(f"[dim]hint:[/]  {escape(error.hint)}", highlight=False)
        sys.exit(1)
