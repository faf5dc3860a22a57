"""The aims of the engine as data, the ratios to other systems, and whether each aim is met."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.engine.contestants import CEILING, GRAPHILE, HUEY, OURS, OURS_ON_SQLITE, PGBOSS, PGQUEUER, PROCRASTINATE
from bench.engine.results import Results
from bench.engine.scenarios import (
    CLAIMER_DRAIN,
    CLAIMERS_DRAIN,
    DISPATCH,
    HISTORY_DRAIN,
    MEMORY_GROWTH,
    PARTITIONED_DRAIN,
    PARTITIONED_SIZE,
    PARTITIONED_SUBMIT,
    PARTITIONED_WAL,
    SIMPLE_DRAIN,
    SIMPLE_SIZE,
    SIMPLE_SUBMIT,
    SIMPLE_WAL,
    WORKER_DRAIN,
)


@dataclass(frozen=True)
class Pair:
    """A measure of the engine divided by a measure of another system."""

    system: str
    measure: str
    other_system: str
    other_measure: str

    @property
    def subject(self) -> str:
        return f"{self.system}, {self.measure}"

    @property
    def other(self) -> str:
        if self.measure == self.other_measure:
            return self.other_system
        return f"{self.other_system}, {self.other_measure}"


@dataclass(frozen=True)
class Verdict:
    """A ratio, and the aim for it where there is one."""

    subject: str
    other: str
    ratio: float
    aim: float | None
    at_most: bool = False

    @property
    def wanted(self) -> str:
        return "" if self.aim is None else f"{'≤' if self.at_most else '≥'} {self.aim:g}"

    @property
    def met(self) -> bool | None:
        if self.aim is None:
            return None
        return self.ratio <= self.aim if self.at_most else self.ratio >= self.aim


ON_POSTGRESQL: Final = (CEILING, PGQUEUER, GRAPHILE, PGBOSS, PROCRASTINATE)

PAIRS: Final = (
    *(Pair(OURS, SIMPLE_SUBMIT, other, SIMPLE_SUBMIT) for other in ON_POSTGRESQL),
    *(Pair(OURS, SIMPLE_DRAIN, other, SIMPLE_DRAIN) for other in ON_POSTGRESQL),
    Pair(OURS, PARTITIONED_SUBMIT, CEILING, PARTITIONED_SUBMIT),
    Pair(OURS, PARTITIONED_DRAIN, CEILING, PARTITIONED_DRAIN),
    *(Pair(OURS, PARTITIONED_DRAIN, other, SIMPLE_DRAIN) for other in ON_POSTGRESQL[1:]),
    Pair(OURS, HISTORY_DRAIN, OURS, PARTITIONED_DRAIN),
    Pair(OURS, CLAIMERS_DRAIN, OURS, CLAIMER_DRAIN),
    Pair(OURS, WORKER_DRAIN, OURS, PARTITIONED_DRAIN),
    *(Pair(OURS, DISPATCH, other, DISPATCH) for other in (PGQUEUER, GRAPHILE, PGBOSS)),
    Pair(OURS_ON_SQLITE, SIMPLE_SUBMIT, HUEY, SIMPLE_SUBMIT),
    Pair(OURS_ON_SQLITE, SIMPLE_DRAIN, HUEY, SIMPLE_DRAIN),
)

AT_LEAST: Final = {
    Pair(OURS, PARTITIONED_DRAIN, CEILING, PARTITIONED_DRAIN): 0.60,
    Pair(OURS, PARTITIONED_DRAIN, GRAPHILE, SIMPLE_DRAIN): 1.2,
    Pair(OURS, PARTITIONED_DRAIN, PGBOSS, SIMPLE_DRAIN): 1.2,
    Pair(OURS, PARTITIONED_DRAIN, PGQUEUER, SIMPLE_DRAIN): 1.5,
    Pair(OURS, SIMPLE_SUBMIT, CEILING, SIMPLE_SUBMIT): 0.60,
    Pair(OURS, SIMPLE_SUBMIT, PGQUEUER, SIMPLE_SUBMIT): 1.0,
    Pair(OURS, SIMPLE_DRAIN, CEILING, SIMPLE_DRAIN): 0.60,
    Pair(OURS, SIMPLE_DRAIN, PGQUEUER, SIMPLE_DRAIN): 1.2,
    Pair(OURS, SIMPLE_DRAIN, GRAPHILE, SIMPLE_DRAIN): 0.7,
    Pair(OURS, SIMPLE_DRAIN, PROCRASTINATE, SIMPLE_DRAIN): 10.0,
    Pair(OURS, HISTORY_DRAIN, OURS, PARTITIONED_DRAIN): 0.9,
    Pair(OURS, CLAIMERS_DRAIN, OURS, CLAIMER_DRAIN): 1.2,
    Pair(OURS, WORKER_DRAIN, OURS, PARTITIONED_DRAIN): 0.7,
    Pair(OURS_ON_SQLITE, SIMPLE_SUBMIT, HUEY, SIMPLE_SUBMIT): 4.0,
    Pair(OURS_ON_SQLITE, SIMPLE_DRAIN, HUEY, SIMPLE_DRAIN): 4.0,
}

AT_MOST: Final = {Pair(OURS, DISPATCH, other, DISPATCH): 1.0 for other in (PGQUEUER, GRAPHILE)}

MAX_MEMORY_GROWTH: Final = 1.10

BYTES_OF_SCHEMA_1: Final = {SIMPLE_WAL: 4840, SIMPLE_SIZE: 3075, PARTITIONED_WAL: 1871, PARTITIONED_SIZE: 1145}
"""What a job, or a task, took before migration 2, measured by this benchmark with 10,000 of them."""
MAX_BYTES: Final = 0.5


def judge(results: Results) -> list[Verdict]:
    """Return a verdict on every pair with both sides measured, on storage and on memory."""
    return [*_judge_rates(results), *_judge_storage(results), *_judge_memory(results)]


def _judge_rates(results: Results) -> Iterator[Verdict]:
    for pair in PAIRS:
        ratios = _ratios(pair, results)
        if ratios:
            most = AT_MOST.get(pair)
            aim = AT_LEAST.get(pair) if most is None else most
            yield Verdict(pair.subject, pair.other, statistics.median(ratios), aim, at_most=most is not None)


def _judge_storage(results: Results) -> Iterator[Verdict]:
    for measure, before in BYTES_OF_SCHEMA_1.items():
        bytes_now = results.runs(OURS, measure)
        if bytes_now:
            ratio = statistics.median(bytes_now.values()) / before
            yield Verdict(f"{OURS}, {measure}", f"schema 1 ({before:,})", ratio, MAX_BYTES, at_most=True)


def _judge_memory(results: Results) -> Iterator[Verdict]:
    growth = results.runs(OURS, MEMORY_GROWTH)
    if growth:
        ratio = statistics.median(growth.values())
        yield Verdict(f"{OURS}, {MEMORY_GROWTH}", "itself", ratio, MAX_MEMORY_GROWTH, at_most=True)


def _ratios(pair: Pair, results: Results) -> list[float]:
    """Return one ratio per run that has both sides: the noise of a run is in both."""
    ours = results.runs(pair.system, pair.measure)
    others = results.runs(pair.other_system, pair.other_measure)
    return [ours[run] / others[run] for run in ours.keys() & others.keys()]
