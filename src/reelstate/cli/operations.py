"""What retry, cancel, quarantine and force share: one job after the other, a verdict for each, the exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.errors import hint_for
from reelstate.cli.session import opened, operator, run
from reelstate.cli.terminal import console
from reelstate.core.errors import ReelstateError, StoreError
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.services.engine import Engine
from reelstate.services.operate.operation import Operated, Operation

Verb = Callable[[Engine, Operation], Awaitable[list[Operated]]]
REFUSED = "refused"


def operate(
    database: str | None, job_ids: Sequence[int], verb: Verb, *, reason: str | None, done: str, as_json: bool
) -> None:
    """Do it to each job and tell; exits with 1 when one of them could not be done."""
    outcomes = run(_outcomes(database, job_ids, verb, reason))
    if as_json:
        print_json([_document(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            _show(outcome, done)
    raise typer.Exit(1 if any(outcome.error for outcome in outcomes) else 0)


async def _outcomes(database: str | None, job_ids: Sequence[int], verb: Verb, reason: str | None) -> list[Operated]:
    async with opened(database, patient=True) as engine:
        operations = [Operation(job_ids=[job_id], actor=operator(), reason=reason) for job_id in job_ids]
        return [await _outcome(engine, verb, operation) for operation in operations]


async def _outcome(engine: Engine, verb: Verb, operation: Operation) -> Operated:
    """A job that can't be done holds up none of the others; a database that fails does."""
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
            f"job {outcome.job_id}: ", ("not done: ", "bold red"), outcome.error.message.removeprefix("job: ")
        )
        hint = hint_for(outcome.error)
        console(stderr=True).print(line, Text(f"({hint})" if hint else "", style="dim"), soft_wrap=True)
    else:
        words = done if outcome.verdict is Verdict.OK else "nothing to do, it is so already"
        console().print(Text(f"job {outcome.job_id}: {words}"), soft_wrap=True)
