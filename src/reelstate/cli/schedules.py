"""`reel schedules`: submit jobs at given times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, priority
from reelstate.cli.session import connect, operator, run
from reelstate.cli.submit import spec_document
from reelstate.cli.terminal import console, table
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.model import Json
from reelstate.core.schedule import Backfill, CatchUp, Overlap, Schedule, ScheduleDetail, ScheduleRun
from reelstate.documents import (
    backfill_document,
    run_document,
    schedule_detail_document,
    schedule_document,
)
from reelstate.services.schedules.timing import parse_zone

R = TypeVar("R")
schedules = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule, see `reel schedules`.")]
TIMING_HELP = "A cron expression, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`."
Spec = Annotated[str | None, typer.Option(help="The spec of its jobs: JSON, @FILE, or - for standard input.")]
Urgency = Annotated[
    int | None, typer.Option("--priority", "-p", metavar="0-10|NAME", parser=priority, help="10 is most urgent.")
]
Zone = Annotated[str | None, typer.Option(metavar="ZONE", help="An IANA time zone such as Europe/Berlin.")]
OverlapOption = Annotated[
    Overlap | None, typer.Option(help="What happens to a tick while an earlier job is active; skip by default.")
]
CatchUpOption = Annotated[
    CatchUp | None, typer.Option(help="Which missed ticks are run after an outage; latest by default.")
]
Window = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="How far --catch-up all looks back; a day by default.")
]
Jitter = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="Submit up to so much later, before the next tick.")
]
Start = Annotated[str | None, typer.Option(metavar="TIME", help="No tick is before it: 2026-01-01 or with a time.")]
End = Annotated[str | None, typer.Option(metavar="TIME", help="No tick is after it.")]


@schedules.callback(invoke_without_command=True)
def show_all(context: typer.Context, database: Database = None, as_json: AsJson = False) -> None:
    """List schedules; or create, show, change, pause, resume, trigger, backfill or delete one.

    Example: `reel schedules --json`
    """
    if context.invoked_subcommand is None:
        listing(database=database, as_json=as_json)


@schedules.command("list")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List schedules with the next run and the last outcome. Times are in the zone of the schedule.

    Example: `reel schedules list`
    """
    found = run(_call(database, lambda engine: engine.schedules.all()))
    if as_json:
        print_json([schedule_document(each) for each in found])
        return
    made = table("name", "pipeline", "timing", "zone", "next run", "last run", "outcome", flexible=["outcome"])
    for each in found:
        last = each.last
        made.add_row(
            each.name,
            each.pipeline,
            each.timing,
            each.timezone,
            _next(each),
            "" if last is None else _local(last.tick, each.timezone),
            "" if last is None else _outcome(last),
        )
    console().print(made if found else "no schedules; `reel schedules create` creates one")


@schedules.command()
def show(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Show a schedule with its next ten ticks and its last ten runs.

    Example: `reel schedules show nightly`
    """
    detail = run(_call(database, lambda engine: engine.schedules.get(name)))
    print_json(schedule_detail_document(detail)) if as_json else _print_detail(detail)


@schedules.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that no other schedule has.")],
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline of its jobs.")],
    timing: Annotated[str, typer.Argument(metavar="TIMING", help=TIMING_HELP)],
    spec: Spec = None,
    urgency: Urgency = None,
    user: Annotated[str | None, typer.Option(help="The user that its jobs belong to.")] = None,
    timezone: Zone = None,
    overlap: OverlapOption = None,
    catch_up: CatchUpOption = None,
    catch_up_window: Window = None,
    jitter: Jitter = None,
    starts_at: Start = None,
    ends_at: End = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Create a schedule.

    Example: `reel schedules create nightly thumbs '30 2 * * *' --timezone Europe/Berlin`

    Example: `reel schedules create often thumbs 'every 15m' --overlap queue_one`
    """
    given = _given(
        spec=_spec(spec), priority=urgency, user_id=user, timezone=timezone, overlap=overlap, catch_up=catch_up,
        catch_up_window=catch_up_window, jitter=jitter, starts_at=_time("--starts-at", starts_at, timezone),
        ends_at=_time("--ends-at", ends_at, timezone),
    )  # fmt: skip
    made = run(
        _call(database, lambda engine: engine.schedules.create(name, pipeline, timing, actor=operator(), **given))
    )
    _print_changed(made, as_json=as_json)


@schedules.command()
def update(
    name: Name,
    pipeline: Annotated[str | None, typer.Option(help="Another pipeline.")] = None,
    timing: Annotated[str | None, typer.Option(help=TIMING_HELP)] = None,
    spec: Spec = None,
    urgency: Urgency = None,
    timezone: Zone = None,
    overlap: OverlapOption = None,
    catch_up: CatchUpOption = None,
    catch_up_window: Window = None,
    jitter: Jitter = None,
    starts_at: Start = None,
    ends_at: End = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Change a schedule; what is not named stays. Another timing counts from now on.

    Example: `reel schedules update nightly --timing '0 4 * * *'`
    """
    given = _given(
        pipeline=pipeline, timing=timing, spec=_spec(spec), priority=urgency, timezone=timezone, overlap=overlap,
        catch_up=catch_up, catch_up_window=catch_up_window, jitter=jitter,
        starts_at=_time("--starts-at", starts_at, timezone), ends_at=_time("--ends-at", ends_at, timezone),
    )  # fmt: skip
    changed = run(_call(database, lambda engine: engine.schedules.update(name, actor=operator(), **given)))
    _print_changed(changed, as_json=as_json)


@schedules.command()
def pause(
    name: Name,
    note: Annotated[str, typer.Option(help="Why it is paused.")] = "",
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Pause a schedule: it submits nothing until it is resumed.

    Example: `reel schedules pause nightly --note 'the disk is full'`
    """
    paused = run(_call(database, lambda engine: engine.schedules.pause(name, note, actor=operator())))
    _print_changed(paused, as_json=as_json)


@schedules.command()
def resume(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Resume a schedule with its next tick. Those of the pause are not run, see `reel schedules backfill`.

    Example: `reel schedules resume nightly`
    """
    resumed = run(_call(database, lambda engine: engine.schedules.resume(name, actor=operator())))
    _print_changed(resumed, as_json=as_json)


@schedules.command()
def trigger(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Submit a job of a schedule now, also while it is paused.

    Example: `reel schedules trigger nightly`
    """
    made = run(_call(database, lambda engine: engine.schedules.trigger(name)))
    print_json(run_document(made)) if as_json else console().print(f"schedule {name}: job {made.job_id}")


@schedules.command()
def backfill(
    name: Name,
    start: Annotated[str, typer.Argument(metavar="START", help="The first time: 2026-01-01 or with a time.")],
    end: Annotated[str, typer.Argument(metavar="END", help="The last time; both belong to the backfill.")],
    overlap: Annotated[
        Overlap, typer.Option(help="allow submits all at once, queue_all one after the other.")
    ] = Overlap.ALLOW,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the ticks.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Submit a job for each tick of a past time that has none. Times without a zone are in that of the schedule.

    Example: `reel schedules backfill nightly 2026-01-01 2026-01-31 --dry-run`
    """

    async def call(engine: EngineVerbs) -> tuple[str, Backfill]:
        zone = (await engine.schedules.get(name)).schedule.timezone
        first, last = _require_time("START", start, zone), _require_time("END", end, zone)
        return zone, await engine.schedules.backfill(name, first, last, overlap=overlap, dry_run=dry_run)

    zone, made = run(_call(database, call))
    if as_json:
        print_json(backfill_document(made))
        return
    if dry_run:
        for tick in made.ticks:
            console().print(_local(tick, zone))
    verb = "would run" if dry_run else "run"
    console().print(f"schedule {name}: {len(made.ticks)} ticks {verb}, {len(made.done)} have run before")


@schedules.command()
def delete(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Delete a schedule and the record of its runs. Its jobs stay.

    Example: `reel schedules delete nightly`
    """
    run(_call(database, lambda engine: engine.schedules.delete(name, actor=operator())))
    print_json({"name": name, "deleted": True}) if as_json else console().print(f"schedule {name}: deleted")


async def _call(database: str | None, call: Callable[[EngineVerbs], Awaitable[R]]) -> R:
    async with connect(database, wait=True) as engine:
        return await call(engine)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were named."""
    return {name: value for name, value in options.items() if value is not None}


def _spec(text: str | None) -> Json:
    if text is None:
        return None
    try:
        return spec_document(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint="--spec") from None


def _time(option: str, text: str | None, zone: str | None) -> datetime | None:
    return None if text is None else _require_time(option, text, zone or "UTC")


def _require_time(option: str, text: str, zone: str) -> datetime:
    """Parse a time; one without a zone is in that of the schedule."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time (expected 2026-01-31 or 2026-01-31T12:00:00+01:00)", param_hint=option
        ) from None
    return parsed.replace(tzinfo=parse_zone(zone)) if parsed.tzinfo is None else parsed


def _print_changed(schedule: Schedule, *, as_json: bool) -> None:
    if as_json:
        print_json(schedule_document(schedule))
    else:
        console().print(f"schedule {schedule.name}: next run {_next(schedule)}")


def _print_detail(detail: ScheduleDetail) -> None:
    schedule = detail.schedule
    facts = table("field", "value", flexible=["value"])
    for field in ("name", "pipeline", "timing", "timezone", "overlap", "catch_up", "jitter", "user_id", "priority"):
        facts.add_row(field.replace("_", " "), str(getattr(schedule, field)))
    facts.add_row("next run", _next(schedule))
    console().print(facts)
    console().print("next ticks" if detail.upcoming else "no tick to come")
    for tick in detail.upcoming:
        console().print(f"  {_local(tick, schedule.timezone)}")
    made = table("tick", "from", "outcome", "job", "reason", flexible=["reason"])
    for each in detail.runs:
        job = "" if each.job_id is None else str(each.job_id)
        made.add_row(_local(each.tick, schedule.timezone), each.source, _outcome(each), job, each.reason or "")
    console().print(made if detail.runs else "no runs yet")


def _next(schedule: Schedule) -> str:
    if schedule.paused:
        return f"paused: {schedule.note}" if schedule.note else "paused"
    return "none" if schedule.next_run_at is None else _local(schedule.next_run_at, schedule.timezone)


def _outcome(each: ScheduleRun) -> str:
    """Return the status of the job of a run, or why there is none."""
    return str(each.job_status or each.outcome)


def _local(time: datetime, zone: str) -> str:
    """Return a time in the zone of a schedule; in UTC where manual SQL has broken that."""
    try:
        local = time.astimezone(ZoneInfo(zone))
    except (ValueError, OSError, KeyError):
        local = time.astimezone(UTC)
    return f"{local:%Y-%m-%d %H:%M:%S %Z}"
