"""The results: one row for each system and measure, with all its runs."""

import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.engine.scenarios import MEMORY_GROWTH


@dataclass
class Row:
    """The runs of one measure of one system, by number of the run; `rate` is their median."""

    system: str
    measure: str
    count: int
    runs: dict[int, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return statistics.median(self.runs.values())

    def text(self, value: float) -> str:
        return f"{value:.3f}" if self.measure == MEMORY_GROWTH else f"{value:,.0f}"


@dataclass
class Results:
    """Everything that a report needs."""

    machine: dict[str, str]
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Systems that this machine can't run, and why."""
    failures: dict[str, str] = field(default_factory=dict)
    """Scenarios that failed, with their errors."""

    def add(self, system: str, measure: str, count: int, run: int, value: float) -> None:
        row = self.rows.setdefault((system, measure), Row(system, measure, count))
        row.runs[run] = value

    def runs(self, system: str, measure: str) -> dict[int, float]:
        row = self.rows.get((system, measure))
        return {} if row is None else row.runs

    def sorted_rows(self) -> list[Row]:
        """Return the rows by measure, in the order of first appearance, the fastest first."""
        measures = list(dict.fromkeys(row.measure for row in self.rows.values()))
        return sorted(self.rows.values(), key=lambda row: (measures.index(row.measure), -row.rate))

    def write_json(self, path: Path) -> None:
        rows = [{**asdict(row), "runs": list(row.runs.values()), "rate": row.rate} for row in self.sorted_rows()]
        text = json.dumps({**asdict(self, dict_factory=_without_rows), "rows": rows}, indent=2)
        path.write_text(text + "\n")


def _without_rows(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in pairs if name != "rows"}
