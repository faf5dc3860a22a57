"""The command line: `python -m bench.states`."""

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich.console import Console

from bench import page
from bench.engine import interleave
from bench.engine.interleave import DISK, ROOT, SERVER_SETTINGS
from bench.states import crowd, delivery, replay, report
from bench.states.report import Results
from tests.postgres import PostgresServer

DELIVERIES, STATES, SUBSCRIBERS, EVENTS = 400, 100_000, 500, 120
QUICK: Final = 20
"""The divisor of all counts in a quick run."""


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    results = measured(QUICK if arguments.quick else 1, console.print)
    page.show(console, results.machine, *report.tables(results))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results.measured, indent=2) + "\n")
    if arguments.markdown is not None:
        page.write(arguments.markdown, "states", results.machine, *report.tables(results))
    if arguments.quick:
        console.print("[yellow]A quick run shows that everything works; its figures mean little.[/]")
        return 0
    return 0 if results.met else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench.states", description="What subscribers get, and when.")
    made.add_argument("--quick", action="store_true", help=f"{QUICK} times less of everything: does it work?")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables into a Markdown page")
    return made


def measured(less: int, log: Callable[[str], None]) -> Results:
    with PostgresServer(settings=SERVER_SETTINGS, folder=DISK) as server:
        results = Results(machine(server))
        for store in ("PostgreSQL", "SQLite"):
            for scenario, measure in scenarios(less).items():
                with database(store, server) as url:
                    results.measured[f"{store}, {scenario}"] = values = measure(url)
                log(f"{store:<11} {scenario:<28} {' · '.join(f'{value:,.4g}' for value in values.values())}")
    return results


def scenarios(less: int) -> dict[str, Callable[[str], dict[str, float]]]:
    deliveries = DELIVERIES // less
    return {
        "delivery, with wake-ups": lambda url: asyncio.run(delivery.measure(url, "database", deliveries)),
        "delivery, by polling only": lambda url: asyncio.run(delivery.measure(url, "poll", deliveries)),
        f"replay of {STATES // less:,} states": lambda url: asyncio.run(replay.measure(url, STATES // less)),
        f"{SUBSCRIBERS // less} subscribers": lambda url: crowd_process(url, SUBSCRIBERS // less, EVENTS // less),
    }


def crowd_process(url: str, subscribers: int, events: int) -> dict[str, float]:
    """Measure the crowd in a separate process, so that the memory is only its own."""
    command = [sys.executable, "-m", crowd.__name__, url, str(subscribers), str(events)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    values: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return values


@contextmanager
def database(store: str, server: PostgresServer) -> Iterator[str]:
    if store == "SQLite":
        with tempfile.TemporaryDirectory(prefix="reelstate-bench-", dir=DISK) as folder:
            yield f"sqlite:///{folder}/bench.db"
    else:
        url = server.new_database()
        yield url
        server.drop_database(url)


def machine(server: PostgresServer) -> dict[str, str]:
    return {
        **interleave.machine(server),
        "reelstate": f"{version('reelstate')}, psycopg {version('psycopg')}, asyncio",
        "SQLite": f"{sqlite3.sqlite_version}, WAL, synchronous FULL",
    }


if __name__ == "__main__":
    sys.exit(main())
