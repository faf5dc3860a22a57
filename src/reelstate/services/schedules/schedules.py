"""schedules: create, list, change, pause, trigger, backfill and delete schedules, and run their ticks."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar, Unpack

from reelstate.core.document import encode, plain_text
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import Actor
from reelstate.core.model import Submission
from reelstate.core.schedule import (
    Backfill,
    Overlap,
    RunOutcome,
    RunSource,
    Schedule,
    ScheduleChanges,
    ScheduleDetail,
    ScheduleOptions,
    ScheduleRun,
)
from reelstate.services.jobs import NOW
from reelstate.services.keep import ADD_KEEPER_ROW
from reelstate.services.schedules.definition import (
    DEFAULTS,
    MAX_NOTE,
    RunRow,
    ScheduleRow,
    check_choice,
    check_definition,
    check_name,
    check_time,
    next_of,
    run_of,
    schedule_of,
    submission_of,
    tick_text,
    timing_of,
)
from reelstate.services.schedules.ticks import (
    MAX_QUEUED,
    QUEUED,
    Decision,
    OutdatedVersion,
    ScheduleId,
    Submitter,
    Ticked,
    active_jobs,
    apply_decision,
    decide,
    new_run,
    run_due,
)
from reelstate.services.schedules.timing import Timing
from reelstate.services.submit import USER_LIMIT, CheckedRequest
from reelstate.stores.store import NoRow, Statement, Transaction

R = TypeVar("R")
SHOWN: Final = 10
"""Ticks and runs that the page of a schedule shows."""
MAX_SCHEDULES: Final = 1000
"""Schedules of a user."""
MAX_BACKFILL: Final = 1000
"""Ticks of one backfill."""
OPERATOR: Final = Actor.OPERATOR.value
BACKFILL_OVERLAPS: Final = (Overlap.ALLOW, Overlap.QUEUE_ALL)
_TIMED: Final = frozenset({"timing", "timezone", "jitter", "starts_at", "ends_at"})
_DATA_LIMIT: Final = 4096
_INSTANT: Final = timedelta(microseconds=1)


class TickRow(NamedTuple):
    tick: datetime


CREATE = Statement("schedules_create", NoRow)
LIST: Statement[Any] = Statement("schedules_list", ScheduleRow)
UPDATE: Statement[Any] = Statement("schedules_update", ScheduleRow)
LOCK: Statement[Any] = Statement("schedules_lock", ScheduleRow)
REMOVE = Statement("schedules_remove", ScheduleId)
LAST = Statement("schedules_last", RunRow)
RUNS = Statement("schedules_runs", RunRow)
DONE = Statement("schedules_done", TickRow)
RECORD = Statement("schedules_record", NoRow)


class Schedules:
    """The schedules of a store. `owner` restricts a verb to the schedules of a user."""

    def __init__(self, submitter: Submitter, on_ticked: Callable[[Ticked], None]) -> None:
        self._submitter = submitter
        self._store = submitter.store
        self._on_ticked = on_ticked

    async def create(
        self, /, name: str, pipeline: str, timing: str, *, actor: str = OPERATOR, **options: Unpack[ScheduleOptions]
    ) -> Schedule:
        """Create a schedule, whose first tick is the next one; the options are fields of `Schedule`.

        `timing` is a cron expression, an alias such as @daily, or an interval such as `every 15m`. Raises
        `InvalidRequest`, also for a spec that the pipeline refuses, and `UnknownPipeline`.
        """
        given = {**DEFAULTS, **options, "pipeline": pipeline, "timing": timing}
        columns = check_definition(given, self._submitter.limits)
        columns |= {
            "id": secrets.randbits(52),
            "name": check_name(name),
            "user_id": plain_text("user_id", given["user_id"], USER_LIMIT),
        }
        await self._submitter.check(submission_of(columns, given["spec"]))
        terms = timing_of(name, columns)

        async def flow(transaction: Transaction) -> Any:
            (store_time,) = await transaction.run(NOW)
            following = next_of(terms, store_time.at)
            if following["next_tick"] is None:
                raise InvalidRequest("ends_at", "no tick is due until then", hint="choose a later end")
            await transaction.run(CREATE, **columns, **following, actor=actor, most=MAX_SCHEDULES)
            rows = await transaction.run(LIST, name=name, owner=None)
            if not rows:
                raise InvalidRequest("name", f"there are {MAX_SCHEDULES} schedules already", hint="delete one of them")
            if rows[0].id != columns["id"]:
                raise InvalidRequest("name", f"{name!r} is taken", hint="choose another name, or update the schedule")
            await _record(transaction, "schedule created", actor, rows[0])
            return rows[0]

        return schedule_of(await self._store.write(flow))

    async def all(self, *, owner: str | None = None) -> list[Schedule]:
        """List schedules by name, each with its next tick and its last run."""

        async def flow(transaction: Transaction) -> list[Schedule]:
            rows = await transaction.run(LIST, name=None, owner=owner)
            last = {run.schedule_id: run for run in await transaction.run(LAST, ids=[row.id for row in rows])}
            return [schedule_of(row, last.get(row.id)) for row in rows]

        return await self._store.read(flow)

    async def preview(
        self,
        timing: str,
        *,
        timezone: str = "UTC",
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
    ) -> list[datetime]:
        """Return the next ten ticks of a timing. Raises `InvalidRequest`."""
        first, last = check_time("starts_at", starts_at), check_time("ends_at", ends_at)
        found = Timing.parse("", timing, timezone, starts_at=first, ends_at=last)

        async def flow(transaction: Transaction) -> datetime:
            (store_time,) = await transaction.run(NOW)
            return store_time.at

        return list(islice(found.upcoming(found.following(await self._store.read(flow))), SHOWN))

    async def get(self, name: str, *, owner: str | None = None) -> ScheduleDetail:
        """Return a schedule with its next ten ticks and its last ten runs. Raises `NotFound`."""

        async def flow(transaction: Transaction) -> ScheduleDetail:
            row = _one(await transaction.run(LIST, name=name, owner=owner), name)
            runs = await transaction.run(RUNS, id=row.id, limit=SHOWN)
            return ScheduleDetail(
                schedule=schedule_of(row, runs[0] if runs else None),
                upcoming=_upcoming(row),
                runs=tuple(map(run_of, runs)),
            )

        return await self._store.read(flow)

    async def update(
        self,
        /,
        name: str,
        *,
        actor: str = OPERATOR,
        owner: str | None = None,
        **changes: Unpack[ScheduleChanges],
    ) -> Schedule:
        """Change a schedule; what is left out stays. Another timing counts from now on.

        Raises `NotFound`, `InvalidRequest` and `UnknownPipeline`.
        """
        found = (await self.get(name, owner=owner)).schedule
        merged = {field: changes.get(field, getattr(found, field)) for field in ScheduleChanges.__annotations__}
        columns = check_definition(merged, self._submitter.limits)
        terms = timing_of(name, columns)
        await self._submitter.check(submission_of({**columns, "user_id": found.user_id}, merged["spec"]))

        def change(row: Any, now: datetime) -> dict[str, Any]:
            own = {field: columns[field] for field in changes}
            if row.paused or _TIMED.isdisjoint(changes):
                return own
            return {**own, **next_of(terms, now)}

        return await self._change(name, "schedule updated", change, actor=actor, owner=owner)

    async def pause(self, name: str, note: str = "", *, actor: str = OPERATOR, owner: str | None = None) -> Schedule:
        """Pause a schedule: it submits nothing until it is resumed. The note says why. Raises `NotFound`."""
        text = plain_text("note", note, MAX_NOTE)

        def change(row: Any, now: datetime) -> dict[str, Any]:  # noqa: ARG001 - the signature of a change
            return {"paused": True, "note": text, "next_tick": None, "next_run_at": None}

        return await self._change(name, "schedule paused", change, actor=actor, owner=owner, reason=text or None)

    async def resume(self, name: str, *, actor: str = OPERATOR, owner: str | None = None) -> Schedule:
        """Resume a schedule with the next tick; those of the pause are not run, see `backfill`. Raises `NotFound`."""

        def change(row: Any, now: datetime) -> dict[str, Any]:
            following = next_of(timing_of(row.name, row._asdict()), now) if row.paused else {}
            return {"paused": False, "note": "", **following}

        return await self._change(name, "schedule resumed", change, actor=actor, owner=owner)

    async def delete(self, name: str, *, actor: str = OPERATOR, owner: str | None = None) -> None:
        """Delete a schedule and the record of its runs; its jobs stay. Raises `NotFound`."""

        async def flow(transaction: Transaction) -> None:
            row = _one(await transaction.run(LOCK, name=name, owner=owner), name)
            await transaction.run(REMOVE, name=name, owner=owner)
            await _record(transaction, "schedule deleted", actor, row)

        await self._store.write(flow)

    async def trigger(self, name: str, *, owner: str | None = None) -> ScheduleRun:
        """Submit a job of a schedule now, also while it is paused or a job is active. Raises `NotFound`."""
        number = secrets.token_hex(8)

        async def flow(transaction: Transaction, row: Any, request: CheckedRequest) -> tuple[Ticked, ScheduleRun]:
            (store_time,) = await transaction.run(NOW)
            run = new_run(store_time.at, RunSource.TRIGGER, f"trigger:{number}")
            ticked = await apply_decision(transaction, self._submitter, row, request, Decision(submit=[run]))
            runs = await transaction.run(RUNS, id=row.id, limit=SHOWN * SHOWN)
            return ticked, next(run_of(each) for each in runs if each.key == run.key)

        return await self._locked(name, owner, flow)

    async def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        overlap: Overlap | str = Overlap.ALLOW,
        dry_run: bool = False,
        owner: str | None = None,
    ) -> Backfill:
        """Submit a job for each tick from `start` until `end` that has none; with `dry_run`, only list them.

        `overlap` is `allow` (all at once) or `queue_all` (one after the other). A repeated backfill submits nothing
        twice. Raises `NotFound`, and `InvalidRequest` for a time in the future or more than 1,000 ticks.
        """
        policy = check_choice(Overlap, "overlap", overlap)
        if policy not in BACKFILL_OVERLAPS:
            raise InvalidRequest("overlap", f"a backfill can't {policy}", hint="allow or queue_all")
        first, last = check_time("start", start), check_time("end", end)
        if first is None or last is None or last < first:
            raise InvalidRequest("end", "is before start", hint="both belong to the backfill")

        async def flow(transaction: Transaction, row: Any, request: CheckedRequest) -> tuple[Ticked, Backfill]:
            (store_time,) = await transaction.run(NOW)
            if last > store_time.at:
                raise InvalidRequest("end", "is in the future", hint="a backfill runs ticks of the past")
            ticks = _ticks_between(row, first, last)
            keys = [tick_text(tick) for tick in ticks]
            done = {each.tick for each in await transaction.run(DONE, id=row.id, keys=keys)} if keys else set()
            fresh = [tick for tick in ticks if tick not in done]
            result = Backfill(dry_run=dry_run, ticks=tuple(fresh), done=tuple(sorted(done)))
            if dry_run or not fresh:
                return Ticked(), result
            decision = await self._decide_backfill(transaction, row, policy, fresh)
            ticked = await apply_decision(transaction, self._submitter, row, request, decision)
            return ticked, replace(result, job_ids=tuple(job_id for job_id, _ in ticked.created))

        return await self._locked(name, owner, flow)

    async def run_due(self) -> int:
        """Run every tick that is due, and queued runs whose turn it is; returns how many were decided."""
        return await run_due(self._submitter, self._on_ticked)

    async def _decide_backfill(
        self, transaction: Transaction, row: Any, policy: Overlap, ticks: Sequence[datetime]
    ) -> Decision:
        active = await active_jobs(transaction, row.id)
        queued = len(await transaction.run(QUEUED, id=row.id, limit=MAX_QUEUED))
        decision = decide(policy, [new_run(tick, RunSource.BACKFILL) for tick in ticks], active, queued)
        if any(RunOutcome.SKIPPED in each for each in decision.others):
            raise InvalidRequest("end", f"more than {MAX_QUEUED} runs would wait", hint="choose a shorter time")
        return decision

    async def _locked(
        self,
        name: str,
        owner: str | None,
        flow: Callable[[Transaction, Any, CheckedRequest], Awaitable[tuple[Ticked, R]]],
    ) -> R:
        """Run a flow with a locked schedule and its checked submission."""
        refresh = False
        while True:
            found = (await self.get(name, owner=owner)).schedule
            submission = Submission(
                pipeline=found.pipeline, spec=found.spec, priority=found.priority, user_id=found.user_id
            )
            request = await self._submitter.check(submission, refresh=refresh)

            async def locked(
                transaction: Transaction, version: int = found.version, request: CheckedRequest = request
            ) -> tuple[Ticked, R]:
                row = _one(await transaction.run(LOCK, name=name, owner=owner), name)
                if row.version != version:
                    raise OutdatedVersion
                return await flow(transaction, row, request)

            try:
                ticked, result = await self._store.write(locked)
            except OutdatedVersion:
                refresh = True
                continue
            self._on_ticked(ticked)
            return result

    async def _change(
        self,
        name: str,
        event: str,
        change: Callable[[Any, datetime], dict[str, Any]],
        *,
        actor: str,
        owner: str | None,
        reason: str | None = None,
    ) -> Schedule:
        """Change the row of a schedule; the update names the version that was locked."""

        async def flow(transaction: Transaction) -> Any:
            row = _one(await transaction.run(LOCK, name=name, owner=owner), name)
            (store_time,) = await transaction.run(NOW)
            columns = row._asdict()
            columns["spec"] = encode("spec", columns["spec"], self._submitter.limits.spec)
            columns |= change(row, store_time.at)
            given = {name: columns[name] for name in _UPDATED}
            rows = await transaction.run(UPDATE, **given, actor=actor)
            await _record(transaction, event, actor, rows[0], reason)
            return rows[0]

        return schedule_of(await self._store.write(flow))


_UPDATED: Final = ("id", "version", "paused", "note", "next_tick", "next_run_at", *ScheduleChanges.__annotations__)


async def _record(transaction: Transaction, target: str, actor: str, row: Any, reason: str | None = None) -> None:
    """Write a change of a schedule to the log of events."""
    data = {"schedule": row.name, "timing": row.timing, "timezone": row.timezone, "pipeline": row.pipeline}
    await transaction.run(ADD_KEEPER_ROW)
    await transaction.run(RECORD, target=target, actor=actor, reason=reason, data=encode("data", data, _DATA_LIMIT))


def _upcoming(row: Any) -> tuple[datetime, ...]:
    """Return the next ticks of a schedule; none for one with a timing that manual SQL has broken."""
    try:
        timing = timing_of(row.name, row._asdict())
    except InvalidRequest:
        return ()
    return tuple(islice(timing.upcoming(row.next_tick), SHOWN))


def _ticks_between(row: Any, first: datetime, last: datetime) -> list[datetime]:
    """Return the ticks of a time that includes its ends, also those before the start of the schedule."""
    timing = replace(timing_of(row.name, row._asdict()), starts_at=None, ends_at=last)
    tick = timing.following(first.replace(microsecond=0) - _INSTANT)
    ticks = list(islice(timing.upcoming(tick), MAX_BACKFILL + 1))
    if len(ticks) > MAX_BACKFILL:
        raise InvalidRequest(
            "end", f"there are more than {MAX_BACKFILL:,} ticks until then", hint="choose a shorter time"
        )
    return ticks


def _one(rows: Sequence[Any], name: str) -> Any:
    if not rows:
        raise NotFound("schedule", name, hint="`reel schedules` lists them")
    return rows[0]
