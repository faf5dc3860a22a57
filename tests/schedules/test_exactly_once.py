"""Three keepers run the ticks of many schedules and are killed at random: every tick makes one job."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from reelstate.app import open_engine
from reelstate.core.schedule import RunOutcome
from reelstate.engine import Engine
from reelstate.services.schedules.schedules import LIST, RUNS
from reelstate.services.schedules.ticks import DUE
from tests.engines import SIMPLE
from tests.schedules.oracle import fixed_times
from tests.schedules.ticking import FileClock

ROOT = Path(__file__).parents[2]
KEEPERS = 3
ZONES = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"]
DAYS = {"*": range(1, 32), "1": [1], "15": [15]}


class Expected:
    """The schedules of a run, and the ticks that they must have."""

    def __init__(self, start: datetime, end: datetime) -> None:
        self.start = start
        self.end = end
        self.ticks: dict[str, list[datetime]] = {}

    async def create(self, engine: Engine, number: int) -> None:
        """Create a schedule in one of the zones, at an hour in which clocks are set, or an interval."""
        name, zone = f"schedule-{number}", ZONES[number % len(ZONES)]
        options = {"timezone": zone, "overlap": "allow", "catch_up": "all", "catch_up_window": 10 * 86_400.0}
        if number % 10 == 9:
            hours = 24 + number % 7
            await engine.schedules.create(name, "simple", f"every {hours}h", **options)  # type: ignore[arg-type]
            step = timedelta(hours=hours)
            first = (self.start - datetime.fromtimestamp(0, UTC)) // step + 1
            last = (self.end - datetime.fromtimestamp(0, UTC)) // step
            self.ticks[name] = [datetime.fromtimestamp(0, UTC) + each * step for each in range(first, last + 1)]
            return
        hour, minute = number % 4, (number * 15) % 60
        day = list(DAYS)[(number // 4) % 3] if number >= 10 else "*"
        await engine.schedules.create(name, "simple", f"{minute} {hour} {day} * *", **options)  # type: ignore[arg-type]
        every_day = fixed_times(zone, [(hour, minute)], self.start, self.end)
        self.ticks[name] = [tick for tick in every_day if _local_day(tick, zone) in DAYS[day]]

    async def verify(self, engine: Engine) -> int:
        """Compare every schedule with its record, and the record with the jobs; return the number of ticks."""
        jobs: list[int] = []
        rows = await engine.store.read(lambda transaction: transaction.run(LIST, name=None, owner=None))
        for row in rows:
            runs = await engine.store.read(
                lambda transaction, row=row: transaction.run(RUNS, id=row.id, limit=100_000)  # type: ignore[misc]
            )
            assert {run.outcome for run in runs} <= {RunOutcome.SUBMITTED}, row.name
            assert sorted(run.tick for run in runs) == self.ticks[row.name], row.name
            jobs += [run.job_id or 0 for run in runs]
        assert len(set(jobs)) == len(jobs) == sum(map(len, self.ticks.values()))
        assert (await engine.queue()).jobs == {"pending": len(jobs)}
        return len(jobs)


def _local_day(tick: datetime, zone: str) -> int:
    return tick.astimezone(ZoneInfo(zone)).day


@asynccontextmanager
async def keepers(url: str, clock: FileClock) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    processes = [await start(url, clock) for _ in range(KEEPERS)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            await process.wait()


async def start(url: str, clock: FileClock) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.schedules.ticking", url, str(clock.path), cwd=ROOT
    )


async def nothing_due(engine: Engine) -> None:
    while await engine.store.read(lambda transaction: transaction.run(DUE, limit=1)):  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # the keepers are other processes, and the clock is not theirs


async def run_time(
    url: str, folder: Path, *, schedules: int, start_at: datetime, days: int, step: timedelta, kill_every: int
) -> tuple[int, int]:
    """Let days pass under keepers that are killed; return the number of ticks and of kills."""
    clock, chosen, kills = FileClock(folder / "clock"), random.Random(11), 0
    clock.set(start_at)
    end = start_at + timedelta(days=days)
    expected = Expected(start_at, end)
    async with open_engine(url, pipelines=[SIMPLE], clock=clock, migrate=False) as engine:
        for number in range(schedules):
            await expected.create(engine, number)
        async with keepers(url, clock) as processes:
            steps = 0
            while clock() < end:
                clock.set(min(end, clock() + step))
                steps += 1
                if steps % kill_every == 0:
                    await asyncio.sleep(chosen.uniform(0, 0.05))  # anywhere in the work of this step
                    process = processes.pop(chosen.randrange(KEEPERS))
                    process.kill()
                    await process.wait()
                    kills += 1
                    processes.append(await start(url, clock))
                await nothing_due(engine)
        return await expected.verify(engine), kills


async def test_every_tick_makes_one_job_while_keepers_are_killed(database_url: str, tmp_path: Path) -> None:
    ticks, kills = await run_time(
        database_url,
        tmp_path,
        schedules=10,
        start_at=datetime(2026, 3, 7, tzinfo=UTC),  # three of the zones set their clocks until April 5
        days=31,
        step=timedelta(days=2),
        kill_every=4,
    )
    assert ticks > 250
    assert kills == 4


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_every_tick_of_500_schedules_in_a_year_makes_one_job(database_url: str, tmp_path: Path) -> None:
    ticks, kills = await run_time(
        database_url,
        tmp_path,
        schedules=500,
        start_at=datetime(2026, 1, 1, tzinfo=UTC),
        days=365,
        step=timedelta(days=1),
        kill_every=5,
    )
    assert ticks > 50_000
    assert kills == 73
