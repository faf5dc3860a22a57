"""`reel pipelines`: list the versions of pipelines, or pin the one that new jobs run."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.page import pipelines_table
from reelstate.cli.session import call
from reelstate.cli.signatures import list_by_default
from reelstate.cli.terminal import console
from reelstate.documents import pipeline_document
from reelstate.services.catalogue import SHOWN_DIGEST

NEWEST = "newest"
pipelines = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")


@list_by_default(pipelines, "List versions of pipelines, or pin the one that new jobs run.", "reel pipelines --json")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List every version of every pipeline, which one new jobs run, and which workers have its code.

    Example: `reel pipelines list`
    """
    found = call(database, lambda engine: engine.pipelines())
    if as_json:
        print_json([pipeline_document(version) for version in found])
        return
    console().print(pipelines_table(found) if found else "no pipelines declared; start a worker with `reel worker`")


@pipelines.command()
def use(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the pipeline.")],
    digest: Annotated[
        str, typer.Argument(metavar="DIGEST", help=f"The version, by the start of its digest; or {NEWEST!r}.")
    ],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Pin the version that new jobs of a pipeline run; `newest` unpins it.

    Example: `reel pipelines use thumbs 3f9a1c`
    """
    chosen = None if digest == NEWEST else digest
    current = call(database, lambda engine: engine.use_pipeline(name, chosen), wait=True)
    if as_json:
        print_json(pipeline_document(current))
        return
    how = "pinned" if current.pinned else NEWEST
    console().print(Text(f"{name}: new jobs run version {current.digest[:SHOWN_DIGEST]} ({how})"), soft_wrap=True)
