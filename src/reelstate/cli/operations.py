"""Shared by retry, cancel, reprioritise, quarantine and force: select jobs, report each, set the exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.errors import hint_for
from reelstate.cli.options import (
    AsJson,
    Database,
    Expected,
    JobIds,
    OfGroup,
    OfPipeline,
    OfStatus,
    OfUser,
    Reason,
    RequiredReason,
)
from reelstate.cli.session import call, operator
from reelstate.cli.signatures import make_command, parameters_of
from reelstate.cli.terminal import console
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.errors import AccessRefused, ReelstateError, StoreError, TooManyRequests
from reelstate.core.machine import ACTIVE_JOBS, STOPPED_JOBS, JobStatus, job_statuses
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.services.operate.operation import Operated, Operation, Selection

REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Change:
    """An operation on jobs, and the text for a job that it changed."""

    verb: Callable[[EngineVerbs, Operation], Awaitable[list[Operated]]]
    done: str
    statuses: Collection[JobStatus] = (*ACTIVE_JOBS, *STOPPED_JOBS)
    """The statuses of the jobs of a group that it applies to, unless others are named."""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options of a change: jobs by id, or all of some statuses or a group.

    Without `expect` the latter are only counted.
    """

    job_ids: JobIds = None
    reason: Reason = None
    status: OfStatus = None
    pipeline: OfPipeline = None
    user: OfUser = None
    group: OfGroup = None
    expect: Expected = None
    database: Database = None
    as_json: AsJson = False

    def __post_init__(self) -> None:
        if self.job_ids and self.selects:
            raise typer.BadParameter(
                "expected either ids or --status or --group, not both", param_hint="JOB, --status, --group"
            )
        if not self.job_ids and not self.selects:
            raise typer.BadParameter("expected job ids, or --status or --group", param_hint="JOB")
        if self.job_ids and (self.pipeline, self.user, self.expect) != (None, None, None):
            raise typer.BadParameter("only allowed with --status or --group", param_hint="--pipeline, --user, --expect")

    @property
    def selects(self) -> bool:
        """Whether the jobs are named by what they are, and not by their ids."""
        return bool(self.status) or self.group is not None

    def selection(self, change: Change) -> Selection:
        return Selection(
            statuses=frozenset(job_statuses(self.status) or change.statuses),
            pipeline=self.pipeline,
            user_id=self.user,
            group=self.group,
            expected=self.expect or 0,
        )


def operation(command: Callable[..., Change]) -> Callable[..., None]:
    """Make a command that applies the change returned by a function, with the options of both."""
    return _operation(command, parameters_of(JobOptions))


def operation_with_reason(command: Callable[..., Change]) -> Callable[..., None]:
    """Make such a command whose --reason is required."""
    required = Parameter("reason", Parameter.KEYWORD_ONLY, annotation=RequiredReason)
    return _operation(command, [required if each.name == "reason" else each for each in parameters_of(JobOptions)])


def _operation(command: Callable[..., Change], shared: list[Parameter]) -> Callable[..., None]:
    names = [each.name for each in shared]

    def run_command(**options: Any) -> None:
        chosen = {name: options.pop(name) for name in names}
        change = command(**options)
        operate(JobOptions(**chosen), change)

    return make_command(command, run_command, [shared[0], *parameters_of(command), *shared[1:]])


def operate(options: JobOptions, change: Change) -> None:
    """Apply a change to each job and print the outcomes; exit with 1 if one is refused."""
    if options.selects and options.expect is None:
        count = call(options.database, lambda engine: engine.count_jobs(options.selection(change)))
        _preview(count, as_json=options.as_json)
        return
    outcomes = call(options.database, lambda engine: _outcomes(engine, options, change), wait=True)
    if options.as_json:
        print_json([_document(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            _show(outcome, change.done)
    raise typer.Exit(1 if any(outcome.error for outcome in outcomes) else 0)


def _preview(count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"matched": count})
    elif count:
        console().print(f"{count:,} {'job' if count == 1 else 'jobs'}; nothing was changed: add --expect {count}")
    else:
        console().print("no jobs found")


async def _outcomes(engine: EngineVerbs, options: JobOptions, change: Change) -> list[Operated]:
    if options.selects:
        selection = options.selection(change)
        return await change.verb(engine, Operation(actor=operator(), reason=options.reason, selection=selection))
    operations = [Operation(job_ids=[each], actor=operator(), reason=options.reason) for each in options.job_ids or ()]
    return [await _outcome(engine, change, operation) for operation in operations]


async def _outcome(engine: EngineVerbs, change: Change, operation: Operation) -> Operated:
    """Return the outcome of one job; a refusal does not stop the others; an error of the store or of the key does."""
    try:
        (outcome,) = await change.verb(engine, operation)
    except (StoreError, AccessRefused, TooManyRequests):
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
