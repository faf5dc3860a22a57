"""Results as tables, for the terminal and for a page of Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench import page
from bench.states.aims import Measured, judge

Cells = tuple[str, ...]
AIMS: Cells = ("measure", "found", "aim", "met")
FIGURES: Cells = ("scene", "measure", "found")
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


def aims(results: Results) -> Iterator[Cells]:
    for verdict in judge(results.measured):
        wanted = f"≤ {verdict.aim.most:g} {verdict.aim.unit}"
        yield verdict.subject, f"{verdict.found:,.4g}", wanted, "yes" if verdict.met else "no"


def figures(results: Results) -> Iterator[Cells]:
    for scene, values in results.measured.items():
        for measure, value in values.items():
            yield scene, measure, f"{value:,.4g} {UNITS[measure]}"


def show(results: Results, console: Console) -> None:
    for name, value in results.machine.items():
        console.print(f"{name}: {value}", highlight=False)
    for title, headings, rows in (("Figures", FIGURES, figures(results)), ("Aims", AIMS, aims(results))):
        table = Table(*headings, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row, style="bold red" if "no" in row else None)
        console.print(table)


def markdown(results: Results) -> str:
    machine = "\n".join(f"- {name}: {value}" for name, value in results.machine.items())
    return "\n".join((f"{machine}\n", page.table(AIMS, aims(results)), page.table(FIGURES, figures(results))))
