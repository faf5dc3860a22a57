"""`reel doctor`: check every invariant of the store, repair it, and check the environment."""

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
from reelstate.cli.session import connect_store, run, settings_for
from reelstate.cli.terminal import console, table
from reelstate.core.errors import ReelstateError
from reelstate.services.doctor import REMEDIES, Diagnosis
from reelstate.services.repair import Finding

STATUS_STYLES: Final = {Status.OK: "green", Status.WARNING: "yellow", Status.ERROR: "bold red"}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings in the store and in the environment."""

    diagnosis: Diagnosis
    environment: list[EnvironmentCheck]

    @property
    def healthy(self) -> bool:
        return self.diagnosis.healthy and not _errors(self.environment)


def doctor(
    database: Database = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair the findings; every repair is recorded in the history.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the stored state and the environment: disk, ffmpeg, sandbox, storage, schema, clock, Redis.

    Exits with 1 if a check fails.

    Example: `reel doctor --database sqlite:///jobs.db --repair`
    """
    report = run(_examine(database, repair=repair, as_json=as_json))
    if as_json:
        document = {part: [asdict(finding) for finding in found] for part, found in _parts(report.diagnosis)}
        echo(json.dumps({**document, "environment": [asdict(check) for check in report.environment]}, indent=2))
    else:
        _show(report)
    raise typer.Exit(0 if report.healthy else 1)


async def _examine(database: str | None, *, repair: bool, as_json: bool) -> DoctorReport:
    settings = settings_for(database)
    machine = await check_machine(settings)
    try:
        async with connect_store(database, wait=True) as engine:
            environment = [*machine, *await check_services(settings, engine)]
            return DoctorReport(await engine.doctor(repair=repair), environment)
    except ReelstateError:
        if not as_json:  # the environment may be the reason for the error
            console(stderr=True).print(_environment_table(machine))
        raise


def _errors(environment: Sequence[EnvironmentCheck]) -> list[EnvironmentCheck]:
    return [check for check in environment if check.status is Status.ERROR]


def _parts(diagnosis: Diagnosis) -> list[tuple[str, Sequence[Finding]]]:
    return [("repaired", diagnosis.repaired), ("findings", diagnosis.findings)]


def _show(report: DoctorReport) -> None:
    screen = console()
    screen.print(_environment_table(report.environment))
    for part, found in _parts(report.diagnosis):
        if found:
            screen.print(_table(part, found))
    if report.diagnosis.healthy:
        screen.print("healthy: every invariant holds")
    else:
        screen.print("run it again with --repair to repair this")
    if errors := _errors(report.environment):
        screen.print(f"the environment has errors: {', '.join(check.name for check in errors)}")


def _environment_table(environment: Sequence[EnvironmentCheck]) -> Table:
    made = table("environment", "", "details", "hint", flexible=["details", "hint"])
    for check in environment:
        made.add_row(check.name, Text(check.status, style=STATUS_STYLES[check.status]), check.detail, check.hint)
    return made


def _table(title: str, findings: Sequence[Finding]) -> Table:
    table = Table("check", "row", "details", "repair", title=title)
    for finding in findings:
        table.add_row(finding.check, finding.key, finding.detail, REMEDIES[finding.check])
    return table
