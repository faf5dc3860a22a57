"""`reel doctor`: check a store against every invariant and repair it when told to, and check the environment."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from reelstate.cli.environment import EnvironmentCheck, Status, check_machine, check_services
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, run, settings_for
from reelstate.cli.terminal import console, table
from reelstate.core.errors import ReelstateError
from reelstate.services.doctor import REMEDIES, Diagnosis
from reelstate.services.repair import Finding

STATUS_STYLES: Final = {Status.OK: "green", Status.WARNING: "yellow", Status.ERROR: "bold red"}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found: in the store, and around it."""

    diagnosis: Diagnosis
    environment: list[EnvironmentCheck]

    @property
    def healthy(self) -> bool:
        return self.diagnosis.healthy and not _errors(self.environment)


def doctor(
    database: Database = None,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what is found; every repair is audited.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the stored state, and the environment: disk, ffmpeg, sandbox, storage, schema, clock, Redis.

    Exits with 1 while there is something wrong.

    Example: `reel doctor --database sqlite:///jobs.db --repair`
    """
    examined = run(_examine(database, repair=repair, as_json=as_json))
    if as_json:
        document = {part: [asdict(finding) for finding in found] for part, found in _parts(examined.diagnosis)}
        echo(json.dumps({**document, "environment": [asdict(check) for check in examined.environment]}, indent=2))
    else:
        _show(examined)
    raise typer.Exit(0 if examined.healthy else 1)


async def _examine(database: str | None, *, repair: bool, as_json: bool) -> DoctorReport:
    settings = settings_for(database)
    machine = await check_machine(settings)
    try:
        async with connect(database, wait=True) as engine:
            environment = [*machine, *await check_services(settings, engine)]
            return DoctorReport(await engine.doctor(repair=repair), environment)
    except ReelstateError:
        if not as_json:  # what is known without a database may be the reason why there is none
            console(stderr=True).print(_environment_table(machine))
        raise


def _errors(environment: Sequence[EnvironmentCheck]) -> list[EnvironmentCheck]:
    return [check for check in environment if check.status is Status.ERROR]


def _parts(diagnosis: Diagnosis) -> list[tuple[str, Sequence[Finding]]]:
    return [("repaired", diagnosis.repaired), ("findings", diagnosis.findings)]


def _show(examined: DoctorReport) -> None:
    screen = console()
    screen.print(_environment_table(examined.environment))
    for part, found in _parts(examined.diagnosis):
        if found:
            screen.print(_table(part, found))
    if examined.diagnosis.healthy:
        screen.print("healthy: every invariant holds")
    else:
        screen.print("run it again with --repair to mend this")
    if errors := _errors(examined.environment):
        screen.print(f"the environment is not: {', '.join(check.name for check in errors)}")


def _environment_table(environment: Sequence[EnvironmentCheck]) -> Table:
    made = table("environment", "", "what", "hint", flexible=["what", "hint"])
    for check in environment:
        made.add_row(check.name, Text(check.status, style=STATUS_STYLES[check.status]), check.detail, check.hint)
    return made


def _table(title: str, findings: Sequence[Finding]) -> Table:
    table = Table("check", "row", "what", "repair", title=title)
    for finding in findings:
        table.add_row(finding.check, finding.key, finding.detail, REMEDIES[finding.check])
    return table
