"""`reel doctor`: check a store against every invariant, and mend it when told to."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reelstate.breaker import Circuit
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import opened, run
from reelstate.dispatch.dispatch import DispatchHealth
from reelstate.services.doctor import REMEDIES, Diagnosis
from reelstate.services.repair import Finding


def doctor(
    database: Database = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found; every repair is audited.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the stored state. Exits with 1 while there is something wrong.

    Example: `reel doctor --database sqlite:///jobs.db --repair`
    """
    diagnosis = run(_examine(database, repair=repair))
    if as_json:
        typer.echo(json.dumps({part: [asdict(f) for f in found] for part, found in _parts(diagnosis)}, indent=2))
    else:
        _show(diagnosis)
    raise typer.Exit(0 if diagnosis.healthy else 1)


async def _examine(database: str | None, *, repair: bool) -> Diagnosis:
    async with opened(database, patient=True) as engine:
        _show_redis(engine.dispatch.health())
        return await engine.doctor(repair=repair)


def _show_redis(health: DispatchHealth) -> None:
    if health.circuit is not None:
        word = "in use" if health.circuit.state is Circuit.CLOSED else f"away: {health.circuit.last_error}"
        typer.echo(f"Redis ({health.queue}): {word}", err=True)


def _parts(diagnosis: Diagnosis) -> list[tuple[str, tuple[Finding, ...]]]:
    return [("repaired", diagnosis.repaired), ("findings", diagnosis.findings)]


def _show(diagnosis: Diagnosis) -> None:
    console = Console()
    for part, found in _parts(diagnosis):
        if found:
            console.print(_table(part, found))
    if diagnosis.healthy:
        console.print("healthy: every invariant holds")
    else:
        console.print("run it again with --repair to mend this")


def _table(title: str, findings: tuple[Finding, ...]) -> Table:
    table = Table("check", "row", "what", "repair", title=title)
    for finding in findings:
        table.add_row(finding.check, finding.place, escape(finding.detail), REMEDIES[finding.check])
    return table
