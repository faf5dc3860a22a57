"""Results as Markdown tables, written into a page between two marks so that its prose stays."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.engine.aims import judge
from bench.engine.report import RATIO_NOTE, met_text, runs_text, versions_text
from bench.engine.results import Results

BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"


def write(results: Results, path: Path) -> None:
    """Replace what stands between the marks; a page without them gets both at its end."""
    page = path.read_text() if path.exists() else ""
    if BEGIN not in page:
        page += f"{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{tables(results)}\n{END}{after}")


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
    return table(("ours", "over", "ratio", "aim", "met"), rows)


def rates(results: Results) -> str:
    headings = ("measure", "system", "count", "median per second", "runs")
    rows = (
        (row.measure, row.system, f"{row.count:,}", row.text(row.rate), runs_text(row)) for row in results.sorted_rows()
    )
    return table(headings, rows)


def contestants(results: Results) -> str:
    rows = ((name, versions_text(versions), results.settings[name]) for name, versions in results.versions.items())
    return table(("system", "versions", "settings"), rows)


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
