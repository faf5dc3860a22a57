"""The results as tables."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.page import Cells, Table
from bench.states.aims import Measured, judge

UNITS = {
    "p50": "ms",
    "p95": "ms",
    "p99": "ms",
    "manager": "s, from the states of a stage",
    "feed": "s, from the feed of its job",
    "delivered": "messages",
    "per second": "messages a second",
    "before": "MiB resident without subscribers",
    "subscriber": "KiB more for each subscriber, under load",
    "growth": "times the size after the first rounds, at the end",
}


@dataclass(frozen=True)
class Results:
    machine: dict[str, str]
    measured: Measured = field(default_factory=dict)

    @property
    def met(self) -> bool:
        return all(verdict.met for verdict in judge(self.measured))


def tables(results: Results) -> tuple[Table, ...]:
    return (
        Table("Aims", ("measure", "found", "aim", "met"), list(aims(results))),
        Table("Figures", ("scene", "measure", "found"), list(figures(results))),
    )


def aims(results: Results) -> Iterator[Cells]:
    for verdict in judge(results.measured):
        wanted = f"≤ {verdict.aim.most:g} {verdict.aim.unit}"
        yield verdict.subject, f"{verdict.found:,.4g}", wanted, "yes" if verdict.met else "no"


def figures(results: Results) -> Iterator[Cells]:
    for scene, values in results.measured.items():
        for measure, value in values.items():
            yield scene, measure, f"{value:,.4g} {UNITS[measure]}"
