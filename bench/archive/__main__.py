"""The command line: `python -m bench.archive`."""

import argparse
import os
import platform
import sys
from pathlib import Path

from rich.console import Console

from bench import page
from bench.archive.measures import Sizes, measure
from bench.engine.interleave import DISK, SERVER_SETTINGS
from bench.measured import HEADINGS, Measured
from bench.page import Table
from tests.postgres import PostgresServer


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    sizes = Sizes(arguments.archived, arguments.finished, arguments.drained, arguments.runs)
    if arguments.quick:
        sizes = Sizes(archived=5_000, finished=2_000, drained=500, rounds=1)
    found: list[Measured] = []
    with PostgresServer(settings=SERVER_SETTINGS, folder=DISK) as server:
        facts = {
            "processors": str(len(os.sched_getaffinity(0))),
            "system": f"{platform.system()} {platform.machine()}",
            "PostgreSQL": f"{server.version}, "
            + ", ".join(f"{name} {value}" for name, value in SERVER_SETTINGS.items()),
        }
        for each in measure(server.new_database(), server.new_database(), sizes):
            console.print(f"{each.subject}: {each.shown}")
            found.append(each)
    table = Table("Old jobs", HEADINGS, [each.row for each in found])
    page.show(console, facts, table)
    if arguments.markdown is not None:
        page.write(arguments.markdown, "archive", facts, table)
    if arguments.quick:
        console.print("[yellow]A quick run shows that everything works; its numbers mean nothing.[/]")
        return 0
    return 0 if all(each.met for each in found) else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench.archive", description="What old jobs cost.")
    made.add_argument("--quick", action="store_true", help="a small run of each: does everything work?")
    made.add_argument("--runs", type=int, default=3, help="interleaved runs (%(default)s)")
    made.add_argument("--archived", type=int, default=5_000_000, help="jobs in the archive (%(default)s)")
    made.add_argument("--finished", type=int, default=1_000_000, help="finished jobs, which then move (%(default)s)")
    made.add_argument("--drained", type=int, default=20_000, help="jobs of a run (%(default)s)")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the table into a Markdown page")
    return made


if __name__ == "__main__":
    sys.exit(main())
