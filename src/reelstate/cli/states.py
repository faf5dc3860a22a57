"""`reel states`: show the states that the tasks of a job reported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from reelstate.cli.documents import print_json, print_line
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console, moment, table
from reelstate.cli.verbs import EngineVerbs, state_versions
from reelstate.core.machine import ACTIVE_JOBS
from reelstate.core.model import Entity, Event
from reelstate.core.state import FINISHED, NOT_STARTED, Severity, State, StateKey, stage_job, validate_tag
from reelstate.documents import state_document, states_document
from reelstate.feed.subscriber import SETTLED
from reelstate.services.states import States, StatesGrid

MAX_TASKS: Final = 50
"""Rows of a grid that are printed; `--json` has all."""
JOB_AND_STATES: Final[tuple[Entity, ...]] = ("job", "state")
SIGNS: Final = {Severity.ERROR: "🔴", Severity.WARNING: "🟡"}
UNDER_WAY, FINISHED_SIGN, NOTHING = "🟢", "⚫", "·"
STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


def states(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="The id of the job, JOB.STAGE, or any id of the state manager.")
    ],
    stage: Annotated[str | None, typer.Option(help="Only this stage.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only this tag.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print every state from the first, until the job is inactive.")
    ] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the states that the tasks of a job reported: the lowest state, and a grid of tasks and tags.

    With --follow, --json prints one document per line.

    Example: `reel states 244813922304 --stage encode`
    """
    run(_show(database, job, stage, tag, follow=follow, as_json=as_json))


async def _show(
    database: str | None, job: str, stage: str | None, tag: str | None, *, follow: bool, as_json: bool
) -> None:
    async with connect(database, wait=follow) as engine:
        if tag is not None:
            validate_tag(tag)
        if follow:
            await _print_all(_all_states(engine, job, stage), tag, as_json=as_json)
            return
        found = _filter_tag(await engine.states(job, stage), tag)
    if as_json:
        print_json(states_document(found))
        return
    screen = console()
    for grid in found.stages:
        _print(screen, grid)
    if not found.stages:
        screen.print("no states reported")


def _filter_tag(states: States, tag: str | None) -> States:
    """Return the states of one tag, which every task is then expected to report."""
    if tag is None:
        return states
    return States(
        tuple(
            StatesGrid(
                grid.name, replace(grid.job, tags=(tag,)), tuple(each for each in grid.states if each.tag == tag)
            )
            for grid in states.stages
        )
    )


async def _print_all(states: AsyncIterator[State], tag: str | None, *, as_json: bool) -> None:
    screen = console()
    async for state in states:
        if tag not in (None, state.tag):
            continue
        if as_json:
            print_line(state_document(state))
        else:
            line = Text.assemble((f"{moment(state.timestamp)} ", "dim"), f"{state.job_id}/{state.task} {state.tag} ")
            screen.print(line.append_text(_describe(state)), soft_wrap=True)


def _all_states(engine: EngineVerbs, job: str, stage: str | None) -> AsyncIterator[State]:
    """Yield every version of every state: of a job until it is inactive, of a state manager until ctrl-C."""
    if job.isdecimal():
        return _of_job(engine, int(job), stage)
    return state_versions(engine, job)


async def _of_job(engine: EngineVerbs, job_id: int, stage: str | None) -> AsyncIterator[State]:
    await engine.states(job_id, stage)  # raises for a stage that is not there
    stage_id = None if stage is None else stage_job(job_id, stage)
    after, inactive = None, False
    while True:
        async with aclosing(engine.subscribe(job_id, after=after, only=JOB_AND_STATES, settle=True)) as messages:
            async for message in messages:
                after = message.cursor or after
                if isinstance(message.item, State) and stage_id in (None, message.item.job_id):
                    yield message.item
                elif isinstance(message.item, Event):
                    inactive = message.item.target not in ACTIVE_JOBS
                elif inactive and message.kind in SETTLED:
                    return


def _print(screen: Console, grid: StatesGrid) -> None:
    lowest = grid.lowest
    position = f"task {lowest.task}" + (f", {lowest.tag}" if lowest.tag else "")
    screen.print(
        Text.assemble((grid.name, "bold"), "  ", _describe(lowest), (f"  ({position})", "dim")), soft_wrap=True
    )
    shown = table("task", *grid.tags, flexible=grid.tags)
    by_key = {state.key: state for state in grid.states}
    for task in range(min(grid.job.tasks, MAX_TASKS)):
        cells = [by_key.get(StateKey(task, tag)) for tag in grid.tags]
        shown.add_row(str(task), *(Text(NOTHING, style="dim") if cell is None else _describe(cell) for cell in cells))
    screen.print(shown)
    if grid.job.tasks > MAX_TASKS:
        screen.print(Text(f"… and {grid.job.tasks - MAX_TASKS} more tasks; --json has all of them", style="dim"))


def _describe(state: State) -> Text:
    """Describe a state; the sign and colour show its severity."""
    text = {NOT_STARTED: "not started", FINISHED: "finished"}.get(state.status, str(state.status))
    if state.message and state.message != text:
        text = f"{text} {state.message}"
    return Text(f"{_sign(state)} {text}", style=STYLES.get(state.severity, ""))


def _sign(state: State) -> str:
    if state.severity in SIGNS:
        return SIGNS[state.severity]
    if state.status == NOT_STARTED:
        return NOTHING
    return FINISHED_SIGN if state.finished else UNDER_WAY
