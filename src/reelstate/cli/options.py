"""Options that several commands have, spelled once."""

from typing import Annotated

import typer

Database = Annotated[
    str,
    typer.Option(
        "--database",
        "-d",
        envvar="REEL_DATABASE_URL",
        help="Where the store is: sqlite:///jobs.db or postgresql://user@host/name.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

DEFAULT_DATABASE = "sqlite:///reelstate.db"
