"""Results as tables, for the terminal and for a page of Markdown."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench import page
from bench.media.aims import Round, judge

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Results:
    machine: dict[str, str]
    """What was measured on and with."""
    threads: dict[int, float]
    """How long the single command took for a part of the clip, by threads of an encoder; the best first."""
    rounds: list[Round] = field(default_factory=list)
    lone: list[float] = field(default_factory=list)
    """Seconds that one worker took, where that was asked for."""

    @property
    def met(self) -> bool:
        return all(verdict.met for verdict in judge(self.rounds))


AIMS: Cells = ("ours", "median", "aim", "met", "runs")
TIMES: Cells = ("seconds", "median", "runs")


def aims(results: Results) -> Iterator[Cells]:
    for verdict in judge(results.rounds):
        yield verdict.subject, verdict.found, verdict.wanted, "yes" if verdict.met else "no", verdict.runs


def times(results: Results) -> Iterator[Cells]:
    rounds = results.rounds
    yield _times("single command", [each.single.seconds for each in rounds])
    yield _times("two workers", [each.ours.seconds for each in rounds])
    if results.lone:
        yield _times("one worker", results.lone)
    yield _times("two workers: viewable after", [each.ours.viewable for each in rounds])
    for stage in rounds[0].ours.stages:
        spans = [each.ours.stages[stage] for each in rounds]
        yield _times(f"stage {stage}", [end - begin for begin, end in spans])
    yield _times("CPU of the single command", [each.single.cpu for each in rounds])
    yield _times("CPU of two workers and all that they started", [each.ours.cpu for each in rounds])
    yield _times("of this, not ffmpeg's", [each.ours.other for each in rounds])
    yield _times("CPU until the workers were ready, not counted", [each.ours.start for each in rounds])


def _times(subject: str, values: list[float]) -> Cells:
    return subject, f"{statistics.median(values):.2f}", " ".join(f"{value:.2f}" for value in values)


def show(results: Results, console: Console) -> None:
    for name, value in results.machine.items():
        console.print(f"{name}: {value}", highlight=False)
    for title, headings, rows in (("Times", TIMES, times(results)), ("Aims", AIMS, aims(results))):
        table = Table(*headings, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row, style="bold red" if "no" in row else None)
        console.print(table)


def markdown(results: Results) -> str:
    machine = "\n".join(f"- {name}: {value}" for name, value in results.machine.items())
    return "\n".join((f"{machine}\n", page.table(AIMS, aims(results)), page.table(TIMES, times(results))))
