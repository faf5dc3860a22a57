"""The command line: `python -m bench.dispatch`."""

import argparse
import asyncio
import json
import os
import platform
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
import redis
from rich.console import Console

from bench import page
from bench.dispatch import measures, outages
from bench.dispatch.measures import MODES, Mode
from bench.dispatch.outages import FAULTS, Outage
from bench.page import Table
from tests.postgres import PostgresServer, memory_folder
from tests.redis_server import RedisServer

HEADINGS = ("mode", "start p50, ms", "start p99, ms", "idle transactions/s", "jobs/s, 4 processes", "over NOTIFY")
OUTAGES = ("Redis is", "first start, s", "next start, s", "used again after, s")
NO_WORSE = 0.9
"""The smallest accepted ratio of the throughput with Redis to that with NOTIFY, within a run; both are noisy."""


@dataclass(frozen=True)
class Figures:
    """The results of one dispatch mode, run by run."""

    mode: str
    p50: float
    p99: float
    idle: float
    throughput: list[float]


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="reelstate-bench-") as folder,
        RedisServer(Path(folder)) as mirror,
        PostgresServer(folder=memory_folder(), settings={"max_connections": "300"}) as postgres,
    ):
        figures = asyncio.run(measured(arguments, postgres, mirror.url, console))
        found = asyncio.run(all_outages(postgres, mirror, console))
        machine = machine_of(postgres, mirror.url) | {
            "idle workers": str(arguments.workers),
            "jobs": f"{arguments.jobs:,}",
        }
    rows = [(each.fault, f"{each.first:.2f}", f"{each.later:.2f}", f"{each.back:.2f}") for each in found]
    tables = Table("Dispatch", HEADINGS, rows_of(figures)), Table("Outages of Redis, hybrid, poll 1 s", OUTAGES, rows)
    page.show(console, machine, *tables)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n")
    if arguments.markdown is not None:
        page.write(arguments.markdown, "dispatch", machine, *tables)
    met = all(ratio >= NO_WORSE for ratio in ratios(figures).values())
    if not met and not arguments.quick:
        console.print("[bold red]An aim is missed.[/]")
    return 0 if met or arguments.quick else 1


def machine_of(postgres: PostgresServer, redis_url: str) -> dict[str, str]:
    with psycopg.connect(postgres.url) as connection:
        database = connection.info.parameter_status("server_version") or "?"
    with redis.Redis.from_url(redis_url) as client:
        version = client.info("server")["redis_version"]
    return {
        "processors": str(os.cpu_count()),
        "Python": platform.python_version(),
        "PostgreSQL": f"{database} in memory, over TCP loopback",
        "Redis": f"{version} without a disk, over TCP loopback, redis-py {redis.__version__}",
    }


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench.dispatch", description="Compare four dispatch modes.")
    made.add_argument("--quick", action="store_true", help="small numbers: does it work?")
    made.add_argument("--runs", type=int, default=3, help="interleaved runs of the throughput (%(default)s)")
    made.add_argument("--starts", type=int, default=200, help="tasks whose start is timed (%(default)s)")
    made.add_argument("--workers", type=int, default=200, help="of the idle fleet (%(default)s)")
    made.add_argument("--seconds", type=float, default=20.0, help="that it is idle (%(default)s)")
    made.add_argument("--jobs", type=int, default=30_000, help="of the throughput (%(default)s)")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the table into a Markdown page")
    return made


async def measured(
    arguments: argparse.Namespace, postgres: PostgresServer, redis: str, console: Console
) -> list[Figures]:
    if arguments.quick:
        arguments.runs, arguments.starts, arguments.workers, arguments.seconds, arguments.jobs = 1, 10, 20, 3.0, 500
    rates: dict[str, list[float]] = {mode.name: [] for mode in MODES}
    for run in range(arguments.runs):
        for mode in MODES:
            console.print(f"run {run + 1}: throughput, {mode.name}")
            database = postgres.new_database()
            rates[mode.name] += [await measures.throughput(mode, database, redis, processes=4, jobs=arguments.jobs)]
    return [await figures_of(mode, arguments, postgres, redis, rates[mode.name], console) for mode in MODES]


async def figures_of(
    mode: Mode,
    arguments: argparse.Namespace,
    postgres: PostgresServer,
    redis: str,
    rates: list[float],
    console: Console,
) -> Figures:
    console.print(f"start and idleness, {mode.name}")
    count = max(10, arguments.starts // 5) if mode.name == "poll" else arguments.starts
    starts = sorted(await measures.latency(mode, postgres.new_database(), redis, count))
    quiet = await measures.idle(
        mode, postgres.new_database(), redis, workers=arguments.workers, seconds=arguments.seconds
    )
    p99 = starts[min(len(starts) - 1, int(len(starts) * 0.99))]
    return Figures(mode.name, statistics.median(starts), p99, quiet, rates)


async def all_outages(postgres: PostgresServer, redis: RedisServer, console: Console) -> list[Outage]:
    found = []
    for fault in FAULTS:
        console.print(f"outage: Redis is {fault}")
        found.append(await outages.outage(fault, postgres.new_database(), redis))
    return found


def ratios(figures: list[Figures]) -> dict[str, float]:
    """Return the throughput of each mode relative to NOTIFY in the same run, the median of all runs."""
    (base,) = [each.throughput for each in figures if each.mode == "NOTIFY"]
    return {
        each.mode: statistics.median(rate / other for rate, other in zip(each.throughput, base, strict=True))
        for each in figures
    }


def rows_of(figures: list[Figures]) -> list[tuple[str, ...]]:
    over = ratios(figures)
    return [
        (
            each.mode,
            f"{each.p50:.1f}",
            f"{each.p99:.1f}",
            f"{each.idle:.1f}",
            f"{statistics.median(each.throughput):,.0f}",
            f"{over[each.mode]:.2f}",
        )
        for each in figures
    ]


if __name__ == "__main__":
    raise SystemExit(main())
