"""When schedules are due: daylight saving time, intervals, bounds, and expressions that are refused."""

import random
import time
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.schedule import CatchUp
from reelstate.services.schedules.timing import ALIASES, BATCH, Timing
from tests.schedules.oracle import fixed_times, wall_clock

ZONES = {
    "America/New_York": 2026,
    "Europe/Berlin": 2026,
    "Australia/Lord_Howe": 2026,  # the clock is set by half an hour
    "America/Sao_Paulo": 2018,  # the clock was set at midnight
}


def timing(text: str, zone: str = "UTC", **options: object) -> Timing:
    return Timing.parse("nightly", text, zone, **options)  # type: ignore[arg-type]  # the keywords of parse


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks_of(each: Timing, start: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda tick: tick <= end, each.upcoming(each.following(start))))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "expression, times",
    [
        ("30 1 * * *", [(1, 30)]),
        ("45 1 * * *", [(1, 45)]),
        ("30 2 * * *", [(2, 30)]),
        ("15 2 * * *", [(2, 15)]),
        ("0 0 * * *", [(0, 0)]),
        ("30 0 * * *", [(0, 30)]),
        ("0,30 1,2 * * *", [(1, 0), (1, 30), (2, 0), (2, 30)]),
    ],
)
def test_a_fixed_time_is_due_once_a_day_whatever_the_clock_does(
    zone: str, expression: str, times: list[tuple[int, int]]
) -> None:
    start, end = datetime(ZONES[zone], 1, 1, tzinfo=UTC), datetime(ZONES[zone] + 1, 1, 1, tzinfo=UTC)
    found = ticks_of(timing(expression, zone), start, end)
    assert found == fixed_times(zone, times, start, end)
    if len(times) == 1:
        assert len(found) in (365, 366)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression, minutes", [("*/30 * * * *", {0, 30}), ("@hourly", {0})])
def test_an_expression_with_a_star_follows_the_clock_on_the_wall(zone: str, expression: str, minutes: set[int]) -> None:
    for month in (2, 10):  # the clocks of these zones are set in these and the next month
        start = datetime(ZONES[zone], month, 1, tzinfo=UTC)
        end = start + timedelta(days=65 if month == 2 else 40)
        assert ticks_of(timing(expression, zone), start, end) == wall_clock(zone, minutes, start, end)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", ["30 1 * * *", "30 2 * * *", "0,30 1,2 * * *", "*/47 * * * *", "every 7h"])
def test_the_tick_after_and_before_any_time_are_those_of_the_sequence(zone: str, expression: str) -> None:
    each, chance = timing(expression, zone), random.Random(7)
    start = datetime(ZONES[zone], 1, 1, tzinfo=UTC)
    for month in (3, 4, 10, 11):
        begin = start.replace(month=month)
        sequence = ticks_of(each, begin - timedelta(days=2), begin + timedelta(days=40))
        for _ in range(40):
            moment = begin + timedelta(seconds=chance.uniform(0, 30 * 86_400))
            assert each.following(moment) == min(tick for tick in sequence if tick > moment)
            assert each.ticks.preceding(moment) == max(tick for tick in sequence if tick <= moment)


def test_a_tick_is_never_before_the_time_it_follows_in_the_hour_that_the_clock_shows_twice() -> None:
    again = at("2026-11-01T06:10:00")  # 01:10 in New York for the second time
    assert timing("30 1 * * *", "America/New_York").following(again) == at("2026-11-02T06:30:00")


def test_aliases_and_intervals() -> None:
    start = at("2026-01-01T12:20:00")
    firsts = {alias: timing(alias).following(start) for alias in ALIASES}
    assert firsts == {
        "@hourly": at("2026-01-01T13:00:00"),
        "@daily": at("2026-01-02T00:00:00"),
        "@midnight": at("2026-01-02T00:00:00"),
        "@weekly": at("2026-01-04T00:00:00"),
        "@monthly": at("2026-02-01T00:00:00"),
        "@yearly": at("2027-01-01T00:00:00"),
        "@annually": at("2027-01-01T00:00:00"),
    }
    assert timing("every 15m").following(start) == at("2026-01-01T12:30:00")
    assert timing("every 1d").following(start) == at("2026-01-02T00:00:00")
    anchored = timing("every 1h", starts_at=at("2026-01-01T12:07:00"))
    assert anchored.following(at("2025-01-01T00:00:00")) == at("2026-01-01T12:07:00")
    assert anchored.following(start) == at("2026-01-01T13:07:00")


def test_start_and_end_bound_the_ticks_and_belong_to_them() -> None:
    each = timing("@daily", starts_at=at("2026-02-01T00:00:00"), ends_at=at("2026-02-03T00:00:00"))
    found = list(each.upcoming(each.following(at("2026-01-01T00:00:00"))))
    assert found == [at(f"2026-02-0{day}T00:00:00") for day in (1, 2, 3)]


@pytest.mark.parametrize("text, jitter", [("*/5 * * * *", 3600.0), ("@daily", 600.0), ("every 10s", 1.0)])
def test_jitter_stays_within_its_bound_and_before_the_next_tick(text: str, jitter: float) -> None:
    each = timing(text, jitter=jitter)
    ticks = list(islice(each.upcoming(each.following(at("2026-01-01T00:00:00"))), 200))
    delays = [(each.run_at(tick) - tick).total_seconds() for tick in ticks]
    assert all(0 <= delay <= jitter for delay in delays)
    assert all(each.run_at(tick) < following for tick, following in pairwise(ticks))
    assert len(set(delays)) > 100
    assert [each.run_at(tick) for tick in ticks] == [timing(text, jitter=jitter).run_at(tick) for tick in ticks]


def test_what_was_missed_is_caught_up_by_the_policy() -> None:
    each, first, now = timing("@hourly"), at("2026-01-01T01:00:00"), at("2026-01-03T05:30:00")
    latest = each.plan(first, now, CatchUp.LATEST, 0)
    assert (latest.ticks, latest.next_tick) == ((at("2026-01-03T05:00:00"),), at("2026-01-03T06:00:00"))
    assert latest.missed == (first, at("2026-01-03T04:00:00"))
    window = each.plan(first, now, CatchUp.ALL, 3 * 3600.0)
    assert window.ticks == tuple(at(f"2026-01-03T0{hour}:00:00") for hour in (3, 4, 5))
    assert window.missed == (first, at("2026-01-03T02:00:00"))
    none = each.plan(first, now, CatchUp.NONE, 3 * 3600.0)
    assert (none.ticks, none.next_tick) == ((), at("2026-01-03T06:00:00"))
    assert none.missed == (first, at("2026-01-03T05:00:00"))
    in_time = each.plan(first, first + timedelta(seconds=50), CatchUp.NONE, 0)
    assert (in_time.ticks, in_time.missed) == ((first,), None)


def test_many_missed_ticks_are_run_in_batches_and_a_year_of_minutes_is_planned_at_once() -> None:
    each, first = timing("* * * * *"), at("2026-01-01T00:00:00")
    plan = each.plan(first, first + timedelta(days=1), CatchUp.ALL, 86_400.0)
    assert len(plan.ticks) == BATCH
    assert plan.next_tick == first + timedelta(minutes=BATCH)
    begun = time.process_time()
    latest = each.plan(first, at("2027-01-01T00:00:30"), CatchUp.LATEST, 0)
    assert latest.ticks == (at("2027-01-01T00:00:00"),)
    assert time.process_time() - begun < 1.0


def test_a_jittered_tick_is_not_due_before_its_delay() -> None:
    each, first = timing("@hourly", jitter=3000.0), at("2026-01-01T01:00:00")
    late = first + timedelta(hours=5)
    while each.run_at(late) - late < timedelta(minutes=2):
        late += timedelta(hours=1)
    plan = each.plan(first, late + timedelta(minutes=1), CatchUp.LATEST, 0)
    assert plan.ticks == (late - timedelta(hours=1),)
    assert plan.next_tick == late


@pytest.mark.parametrize(
    "text",
    [
        "*/1-999999999 * * * *",
        "0-999999999 * * * *",
        "*/999999999999999999999999 * * * *",
        "1," * 5000 + "1 * * * *",
        "x" * 10_000,
        "* " * 5000,
        ",".join(["1-59"] * 70) + " * * * *",
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "",
        "* * * *",
        "* * * * * * *",
        "@reboot",
        "@daily @daily",
        "61 * * * *",
        "*/0 * * * *",
        "L/2 L L L L",
        "every",
        "every 0s",
        "every 99999999s",
        "every 367d",
        "every -5m",
        "every 15 minutes",
        "5 4 * * \x00",
        "٣ * * * *",
    ],
)
def test_a_hostile_or_wrong_timing_is_refused_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidRequest) as refused:
        timing(text)
    assert refused.value.field == "timing"
    assert len(str(refused.value)) < 600
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "", "x" * 10_000, "UTC\x00", "Europe"]
)
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidRequest, match="time zone") as refused:
        timing("@daily", zone)
    assert refused.value.field == "timezone"
