"""`reel machines`: show the state machines."""

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from reelstate.cli.options import AsJson
from reelstate.cli.plain import echo
from reelstate.cli.terminal import console
from reelstate.core.diagram import mermaid, svg
from reelstate.core.machine import MACHINES, Machine
from reelstate.documents import machine_document


class MachineName(StrEnum):
    JOB = "job"
    TASK = "task"
    WORKER = "worker"


def machines(
    entity: Annotated[MachineName | None, typer.Argument(help="The machine; all by default.")] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print Mermaid source.")] = False,
    as_svg: Annotated[bool, typer.Option("--svg", help="Print an SVG picture (name one machine).")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the state machines, their transitions, and the actors of each.

    Example: `reel machines job --svg > job.svg`
    """
    selected = [MACHINES[entity]] if entity else list(MACHINES.values())
    if as_svg and len(selected) > 1:
        raise typer.BadParameter("expected one machine: job, task or worker", param_hint="--svg")
    if as_json:
        echo(json.dumps([machine_document(machine) for machine in selected], indent=2))
    elif as_mermaid or as_svg:
        echo("\n".join((svg if as_svg else mermaid)(machine) for machine in selected), nl=False)
    else:
        for machine in selected:
            console().print(_table(machine))


def _table(machine: Machine) -> Table:
    table = Table("from", "to", "actors", title=f"{machine.entity}: initial {' or '.join(machine.initial_states)}")
    for change in machine.transitions:
        table.add_row(change.origin, change.target, ", ".join(sorted(change.actors)))
    return table
