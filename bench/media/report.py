"""The results as tables."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.media.aims import Round, judge
from bench.page import Cells, Table


@dataclass(frozen=True)
class Results:
    machine: dict[str, str]
    """The machine and the programs."""
    threads: dict[int, float]
    """Seconds of the single command for a part of the clip, by threads of an encoder; the best first."""
    rounds: list[Round] = field(default_factory=list)
    lone: list[float] = field(default_factory=list)
    """Seconds of a single worker, if measured."""

    @property
    def met(self) -> bool:
        return all(verdict.met for verdict in judge(self.rounds))


def tables(results: Results) -> tuple[Table, ...]:
    return (
        Table("Aims", ("ours", "median", "aim", "met", "runs"), list(aims(results))),
        Table("Times", ("seconds", "median", "runs"), list(times(results))),
    )


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
