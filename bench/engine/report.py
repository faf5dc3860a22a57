"""Results as tables for the terminal."""

from rich.console import Console
from rich.table import Table

from bench.engine.aims import Verdict, judge
from bench.engine.results import Results, Row

RATIO_NOTE = "a rate is the median of its runs; a ratio is the median of the ratios within each run"


def show(results: Results, console: Console) -> None:
    console.print(" · ".join(f"{name} {value}" for name, value in results.machine.items()))
    console.print(contestants_table(results))
    console.print(rates_table(results))
    console.print(aims_table(judge(results)))
    for name, reason in results.left_out.items():
        console.print(f"[bold red]LEFT OUT: {name}: {reason}[/]")
    for name, reason in results.failures.items():
        console.print(f"[bold red]FAILED: {name}:[/]")
        console.print(reason, markup=False, highlight=False)


def contestants_table(results: Results) -> Table:
    table = Table("system", "versions", "settings", title="Contestants", title_justify="left")
    for name, versions in results.versions.items():
        table.add_row(name, versions_text(versions), results.settings[name])
    return table


def rates_table(results: Results) -> Table:
    table = Table(title="Rates per second", caption=RATIO_NOTE, title_justify="left", caption_justify="left")
    for heading in ("measure", "system"):
        table.add_column(heading)
    for heading in ("count", "median", "runs"):
        table.add_column(heading, justify="right")
    for row in results.sorted_rows():
        table.add_row(row.measure, row.system, f"{row.count:,}", row.text(row.rate), runs_text(row))
    return table


def aims_table(verdicts: list[Verdict]) -> Table:
    table = Table("ours", "over", title="Ratios and aims", title_justify="left")
    for heading in ("ratio", "aim"):
        table.add_column(heading, justify="right")
    table.add_column("met")
    for verdict in verdicts:
        style = "bold red" if verdict.met is False else None
        ratio = f"{verdict.ratio:.2f}"
        table.add_row(verdict.subject, verdict.other, ratio, verdict.wanted, met_text(verdict), style=style)
    return table


def met_text(verdict: Verdict) -> str:
    return {True: "yes", False: "no", None: ""}[verdict.met]


def versions_text(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def runs_text(row: Row) -> str:
    return " ".join(row.text(value) for value in row.runs.values())
