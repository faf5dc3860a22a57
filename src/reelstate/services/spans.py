"""spans: the state of every task of a job, as runs of neighbouring parts that are in the same state.

A job of 100,000 parts has few spans, so a page shows it whole from some kilobytes. What spans leave out, workers and
times, is read for the parts that somebody looks at (`grid.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from reelstate.core.errors import NotFound
from reelstate.core.machine import ACTIVE_JOBS
from reelstate.services.archive import read_job
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.grid import MAX_TASKS
from reelstate.services.jobs import NOW
from reelstate.services.observe import OBSERVE_JOB
from reelstate.services.rows import stage_name
from reelstate.stores.store import Statement, Store, Transaction

INTERVALS: Final = 240
"""Intervals by which the pace of a job is reported."""
MIN_INTERVAL: Final = 1.0
"""Seconds."""
PAST_EVERY_STAGE: Final = 2**15 - 1


class EndRow(NamedTuple):
    stage: int
    part: int


class SpanRow(NamedTuple):
    """The first or the last task of a span."""

    stage: int
    part: int
    is_first: bool
    is_last: bool
    status: str
    version: int
    attempt: int
    max_attempts: int
    lost: int
    percent: float


class PaceRow(NamedTuple):
    stage: int
    number: int
    tasks: int


END = Statement("observe_end", EndRow)
SPANS = Statement("observe_spans", SpanRow)
PACE = Statement("observe_pace", PaceRow)


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring parts of a stage that are in the same state."""

    first: int
    last: int
    status: str
    version: int
    attempt: int
    max_attempts: int
    lost: int
    percent: float


@dataclass(frozen=True, slots=True)
class StageSpans:
    """The tasks of one stage."""

    name: str
    stage: int
    spans: Sequence[Span]
    finished: Sequence[int]
    """Tasks that finished in each interval since the start of the job; empty for a job that does not run."""


@dataclass(frozen=True, slots=True)
class JobSpans:
    """The tasks of a job by stage."""

    job_id: int
    version: int
    now: int
    """The time of the store in milliseconds since 1970."""
    since: int | None
    """When the job started, in milliseconds since 1970."""
    interval: float
    """Seconds of an interval."""
    stages: list[StageSpans]
    truncated: bool


async def task_spans(store: Store, catalogue: Catalogue, job_id: int, *, owner: str | None = None) -> JobSpans:
    """Return the state of every task of a job as spans. Raise `NotFound` for a job that is missing or of others."""

    async def flow(transaction: Transaction) -> JobSpans:
        found = await transaction.run(OBSERVE_JOB, job_id=job_id, owner=owner)
        if not found:
            raise NotFound("job", job_id)
        (job,) = found
        (clock,) = await transaction.run(NOW)
        declared = (await catalogue.load(transaction, [job.pipeline_id])).get(job.pipeline_id)
        ends = await transaction.run(END, job_id=job_id, tasks=MAX_TASKS)
        end_stage, end_part = ends[0] if ends else (PAST_EVERY_STAGE, 0)
        until = {"job_id": job_id, "end_stage": end_stage, "end_part": end_part}
        rows = await transaction.run(SPANS, **until)
        interval = _interval(job.started_at, clock.at)
        pace: Sequence[PaceRow] = ()
        if job.status in ACTIVE_JOBS and job.started_at is not None:
            pace = await transaction.run(PACE, **until, since=job.started_at, width=interval)
        return JobSpans(
            job_id=job_id,
            version=job.version,
            now=round(clock.at.timestamp() * 1000),
            since=None if job.started_at is None else round(job.started_at.timestamp() * 1000),
            interval=interval,
            stages=_by_stage(rows, pace, declared),
            truncated=bool(ends),
        )

    return await read_job(store, job_id, flow)


def _interval(started: datetime | None, now: datetime) -> float:
    """Return the seconds of an interval, so that the time since the start has `INTERVALS` at most."""
    return max(MIN_INTERVAL, (now - started).total_seconds() / INTERVALS) if started else MIN_INTERVAL


def _by_stage(rows: Iterable[SpanRow], pace: Iterable[PaceRow], declared: Declared | None) -> list[StageSpans]:
    spans: dict[int, list[Span]] = {}
    finished: dict[int, list[int]] = {}
    first: SpanRow | None = None
    for row in rows:
        first = row if row.is_first else first
        if row.is_last and first is not None:
            spans.setdefault(row.stage, []).append(_span(first, row))
    for stage, number, tasks in pace:
        counts = finished.setdefault(stage, [0] * (INTERVALS + 1))
        counts[min(number, INTERVALS)] += tasks
    numbers = sorted({*spans, *range(len(declared.graph.stages) if declared else 0)})
    return [
        StageSpans(stage_name(declared, number), number, spans.get(number, ()), finished.get(number, ()))
        for number in numbers
    ]


def _span(first: SpanRow, last: SpanRow) -> Span:
    return Span(
        first=first.part,
        last=last.part,
        status=first.status,
        version=first.version,
        attempt=first.attempt,
        max_attempts=first.max_attempts,
        lost=first.lost,
        percent=first.percent,
    )
