"""The results as tables."""

from rich.console import Console

from bench import page
from bench.engine.aims import Verdict, judge
from bench.engine.results import Results, Row
from bench.page import Table

RATIO_NOTE = "A rate is the median of its runs; a ratio is the median of the ratios within each run."


def show(results: Results, console: Console) -> None:
    page.show(console, results.machine, *tables(results))
    for name, reason in results.left_out.items():
        console.print(f"[bold red]LEFT OUT: {name}: {reason}[/]")
    for name, reason in results.failures.items():
        console.print(f"[bold red]FAILED: {name}:[/]")
        console.print(reason, markup=False, highlight=False)


def tables(results: Results) -> tuple[Table, ...]:
    return aims(results), rates(results), contestants(results)


def aims(results: Results) -> Table:
    rows = [
        (verdict.subject, verdict.other, f"{verdict.ratio:.2f}", verdict.wanted, met_text(verdict))
        for verdict in judge(results)
    ]
    return Table(
        "Ratios and aims", ("ours", "over", "ratio", "aim", "met"), rows, numbers={"ratio", "aim"}, note=RATIO_NOTE
    )


def rates(results: Results) -> Table:
    rows = [
        (row.measure, row.system, f"{row.count:,}", row.text(row.rate), runs_text(row)) for row in results.sorted_rows()
    ]
    headings = ("measure", "system", "count", "median per second", "runs")
    return Table("Rates", headings, rows, numbers=headings[2:])


def contestants(results: Results) -> Table:
    rows = [(name, versions_text(versions), results.settings[name]) for name, versions in results.versions.items()]
    return Table("Contestants", ("system", "versions", "settings"), rows)


def met_text(verdict: Verdict) -> str:
    return {True: "yes", False: "no", None: ""}[verdict.met]


def versions_text(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def runs_text(row: Row) -> str:
    return " ".join(row.text(value) for value in row.runs.values())
