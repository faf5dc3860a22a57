"""The command `reel`: one Typer application, to which every command's own module is added here."""

from typing import Annotated

import typer

from reelstate import __version__

app = typer.Typer(
    name="reel",
    no_args_is_help=True,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reel {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Runs media pipelines on a fleet of workers without losing a job."""
