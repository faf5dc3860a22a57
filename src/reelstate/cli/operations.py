"""Shared by retry, cancel, reprioritise, quarantine and force: select jobs, report each, set the exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.errors import hint_for
from reelstate.cli.options import StatusName
from reelstate.cli.session import connect, operator, run
from reelstate.cli.terminal import console
from reelstate.core.errors import ReelstateError, StoreError
from reelstate.core.machine import job_statuses
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.engine import Engine
from reelstate.services.operate.operation import Operated, Operation, Selection


@dataclass(frozen=True, slots=True)
class JobChoice:
    """Jobs by id, or all of some statuses; without `expected` the latter are only counted."""

    job_ids: Sequence[int] | None = None
    statuses: Collection[StatusName] | None = None
    pipeline: str | None = None
    user_id: str | None = None
    expected: int | None = None

    def __post_init__(self) -> None:
        if self.job_ids and self.statuses:
            raise typer.BadParameter("expected either ids or --status, not both", param_hint="JOB, --status")
        if not self.job_ids and not self.statuses:
            raise typer.BadParameter("expected job ids, or --status", param_hint="JOB")
        if self.job_ids and (self.pipeline, self.user_id, self.expected) != (None, None, None):
            raise typer.BadParameter("only allowed with --status", param_hint="--pipeline, --user, --expect")

    @property
    def selection(self) -> Selection:
        return Selection(
            statuses=frozenset(job_statuses(self.statuses) or ()),
            pipeline=self.pipeline,
            user_id=self.user_id,
            expected=self.expected or 0,
        )


Verb = Callable[[Engine, Operation], Awaitable[list[Operated]]]
REFUSED = "refused"


def operate(
    database: str | None, choice: JobChoice, verb: Verb, *, reason: str | None, done: str, as_json: bool
) -> None:
    """Apply an operation to each job and print the outcomes; exit with 1 if one is refused."""
    if choice.statuses and choice.expected is None:
        _preview(run(_count(database, choice)), as_json=as_json)
        return
    outcomes = run(_outcomes(database, choice, verb, reason))
    if as_json:
        print_json([_document(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            _show(outcome, done)
    raise typer.Exit(1 if any(outcome.error for outcome in outcomes) else 0)


async def _count(database: str | None, choice: JobChoice) -> int:
    async with connect(database) as engine:
        return await engine.count_jobs(choice.selection)


def _preview(count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"matched": count})
    elif count:
        console().print(f"{count:,} {'job' if count == 1 else 'jobs'}; nothing was changed: add --expect {count}")
    else:
        console().print("no jobs found")


async def _outcomes(database: str | None, choice: JobChoice, verb: Verb, reason: str | None) -> list[Operated]:
    async with connect(database, wait=True) as engine:
        if choice.statuses:
            return await verb(engine, Operation(actor=operator(), reason=reason, selection=choice.selection))
        operations = [Operation(job_ids=[job_id], actor=operator(), reason=reason) for job_id in choice.job_ids or ()]
        return [await _outcome(engine, verb, operation) for operation in operations]


async def _outcome(engine: Engine, verb: Verb, operation: Operation) -> Operated:
    """Return the outcome of one job; a refusal does not stop the others, a store error does."""
    try:
        (outcome,) = await verb(engine, operation)
    except StoreError:
        raise
    except ReelstateError as error:
        return Operated(operation.job_ids[0], None, error)
    return outcome


def _document(outcome: Operated) -> Document:
    error = outcome.error
    return {
        "id": outcome.job_id,
        "verdict": outcome.verdict or REFUSED,
        "error": error.message if error else None,
        "hint": hint_for(error) if error else None,
    }


def _show(outcome: Operated, done: str) -> None:
    if outcome.error:
        line = Text.assemble(
            f"job {outcome.job_id}: ", ("refused: ", "bold red"), outcome.error.message.removeprefix("job: ")
        )
        hint = hint_for(outcome.error)
        console(stderr=True).print(line, Text(f"({hint})" if hint else "", style="dim"), soft_wrap=True)
    else:
        text = done if outcome.verdict is Verdict.OK else "already done"
        console().print(Text(f"job {outcome.job_id}: {text}"), soft_wrap=True)
