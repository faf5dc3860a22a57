"""The ticks of a year by another way: every minute, or every local time of every day, is looked at."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def fixed_times(zone: str, times: list[tuple[int, int]], start: datetime, end: datetime) -> list[datetime]:
    """The instants of local times of every day: the first of two, and the end of a gap for those in it."""
    found = set()
    day = start.date() - timedelta(days=2)
    while day <= end.date() + timedelta(days=2):
        for hour, minute in times:
            local = datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - the zone is added below
            while True:
                instant = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
                if instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local:
                    break
                local += MINUTE
            found.add(instant)
        day += timedelta(days=1)
    return sorted(each for each in found if start < each <= end)


def wall_clock(zone: str, minutes: set[int], start: datetime, end: datetime) -> list[datetime]:
    """Every instant at which a clock on the wall shows one of these minutes."""
    found, instant = [], start.replace(second=0, microsecond=0)
    while (instant := instant + MINUTE) <= end:
        if instant.astimezone(ZoneInfo(zone)).minute in minutes:
            found.append(instant)
    return found
