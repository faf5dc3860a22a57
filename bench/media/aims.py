"""The aims of the pipeline as data, and whether the medians of the runs meet them."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bench.media.fleet import Measured
from bench.media.single import Alone


@dataclass(frozen=True)
class Round:
    """A run of the pipeline, and the run of the single command next to it."""

    ours: Measured
    single: Alone

    @property
    def ratio(self) -> float:
        return self.ours.seconds / self.single.seconds


@dataclass(frozen=True)
class Aim:
    subject: str
    most: float
    value: Callable[[Round], float]
    form: str


@dataclass(frozen=True)
class Verdict:
    subject: str
    found: str
    wanted: str
    runs: str
    met: bool


AIMS: Final = (
    Aim("wall time, over the single command", 1.10, lambda each: each.ratio, "{:.2f}"),
    Aim("CPU that is not ffmpeg's, of all CPU", 0.03, lambda each: each.ours.other / each.ours.cpu, "{:.1%}"),
    Aim("from the first claim to the end of the plan, seconds", 1.0, lambda each: each.ours.planned, "{:.2f}"),
    Aim("viewable, of the whole time", 0.25, lambda each: each.ours.viewable / each.ours.seconds, "{:.1%}"),
)


def judge(rounds: list[Round]) -> list[Verdict]:
    return [_judged(aim, [aim.value(each) for each in rounds]) for aim in AIMS]


def _judged(aim: Aim, values: list[float]) -> Verdict:
    middle = statistics.median(values)
    runs = " ".join(map(aim.form.format, values))
    return Verdict(aim.subject, aim.form.format(middle), f"≤ {aim.form.format(aim.most)}", runs, middle <= aim.most)
