"""Results as Markdown tables, written into a page."""

from pathlib import Path

from bench import page
from bench.engine.aims import judge
from bench.engine.report import RATIO_NOTE, met_text, runs_text, versions_text
from bench.engine.results import Results


def write(results: Results, path: Path) -> None:
    page.write(path, "measured", tables(results))


def tables(results: Results) -> str:
    machine = "\n".join(f"- {name}: {value}" for name, value in results.machine.items())
    left_out = "".join(f"- Left out: {name}: {reason}\n" for name, reason in results.left_out.items())
    sections = [
        f"{machine}\n{left_out}",
        f"{aims(results)}\nA {RATIO_NOTE.removeprefix('a ')}.\n",
        rates(results),
        contestants(results),
    ]
    return "\n".join(sections)


def aims(results: Results) -> str:
    rows = (
        (verdict.subject, verdict.other, f"{verdict.ratio:.2f}", verdict.wanted, met_text(verdict))
        for verdict in judge(results)
    )
    return page.table(("ours", "over", "ratio", "aim", "met"), rows)


def rates(results: Results) -> str:
    headings = ("measure", "system", "count", "median per second", "runs")
    rows = (
        (row.measure, row.system, f"{row.count:,}", row.text(row.rate), runs_text(row)) for row in results.sorted_rows()
    )
    return page.table(headings, rows)


def contestants(results: Results) -> str:
    rows = ((name, versions_text(versions), results.settings[name]) for name, versions in results.versions.items())
    return page.table(("system", "versions", "settings"), rows)
