"""Runs every contestant of every scenario in a separate process, in turns, and collects the results."""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from bench.engine.contestants import Contestant
from bench.engine.isolated import Answer
from bench.engine.results import Results
from bench.engine.scenarios import SCENARIOS, Order
from tests.postgres import PostgresServer
from tests.redis_server import RedisServer

ROOT: Final = Path(__file__).parents[2]
SERVER_SETTINGS: Final = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
}
DISK: Final = Path("/var/tmp")  # noqa: S108 - only ever a parent; /tmp may be memory, where fsync costs nothing


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    contestants: tuple[Contestant, ...]
    runs: int
    tasks: int
    history: int
    memory: int

    def turns(self) -> Iterator[tuple[int, str, Contestant]]:
        """Yield the contestants in turns: temporary noise affects all of them alike."""
        for run in range(1, self.runs + 1):
            for scenario in SCENARIOS:
                for contestant in self.contestants:
                    if scenario in contestant.scenarios:
                        yield run, scenario, contestant

    def count(self, scenario: str, contestant: Contestant) -> int:
        return self.memory if scenario == "memory" else contestant.count(self.tasks)


@dataclass
class Databases:
    """Creates a fresh database for every turn; a long history is filled once and kept."""

    server: PostgresServer
    kept: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def open(self, scenario: str, contestant: Contestant) -> Iterator[str]:
        if contestant.database == "sqlite":
            with tempfile.TemporaryDirectory(prefix="reelstate-bench-", dir=DISK) as folder:
                yield f"sqlite:///{folder}/bench.db"
        elif contestant.database == "redis":
            with tempfile.TemporaryDirectory(prefix="reelstate-bench-") as folder, RedisServer(Path(folder)) as redis:
                yield redis.url
        elif scenario == "history":
            if contestant.name not in self.kept:
                self.kept[contestant.name] = self.server.new_database()
            yield self.kept[contestant.name]
        else:
            url = self.server.new_database()
            yield url
            self.server.drop_database(url)


def run(plan: Plan, log: Callable[[str], None]) -> Results:
    with PostgresServer(settings=SERVER_SETTINGS, folder=DISK) as server:
        results = Results(machine(server))
        databases = Databases(server)
        for number, scenario, contestant in plan.turns():
            if contestant.name in results.left_out:
                continue
            count = plan.count(scenario, contestant)
            with databases.open(scenario, contestant) as url:
                order = Order(contestant.module, scenario, url, count, plan.history)
                outcome = take(order, contestant, number, results)
            log(f"run {number}  {scenario:<12} {contestant.name:<14} {outcome}")
    return results


def take(order: Order, contestant: Contestant, number: int, results: Results) -> str:
    """Run an order, record its results, and return a line for the log."""
    try:
        answer = ask(order)
    except subprocess.CalledProcessError as error:
        results.failures[f"{contestant.name}, {order.scenario}, run {number}"] = error.stderr
        return "[bold red]FAILED[/]"
    if answer.unavailable is not None:
        results.left_out[contestant.name] = answer.unavailable
        return f"[bold red]LEFT OUT: {answer.unavailable}[/]"
    results.versions[contestant.name] = answer.versions
    results.settings[contestant.name] = answer.settings + contestant.note
    for measure, value in answer.measured.items():
        results.add(contestant.name, measure, order.count, number, value)
    return " · ".join(f"{value:,.5g}" for value in answer.measured.values())


def ask(order: Order) -> Answer:
    command = [sys.executable, "-m", "bench.engine.isolated", json.dumps(asdict(order))]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Answer(**json.loads(process.stdout.splitlines()[-1]))


def machine(server: PostgresServer) -> dict[str, str]:
    settings = ", ".join(f"{name} {value}" for name, value in SERVER_SETTINGS.items())
    return {
        "processors": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "PostgreSQL": f"{server.version} over TCP loopback, {settings}",
    }
