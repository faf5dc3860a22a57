"""The command line: `python -m bench.api`."""

import argparse
import os
import platform
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from rich.console import Console

from bench import page
from bench.api import listing, remote, stream, submit
from bench.measured import HEADINGS, Measured
from bench.page import Table

SCENARIOS: tuple[ModuleType, ...] = (submit, listing, remote, stream)
"""Each has `measure(folder, quick=…)`, which yields its measurements."""


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    found: list[Measured] = []
    for scenario in arguments.only:
        with TemporaryDirectory(prefix="reelstate-bench-") as folder:
            for each in scenario.measure(Path(folder), quick=arguments.quick):
                console.print(f"{each.subject}: {each.shown}")
                found.append(each)
    table = Table("The API under load", HEADINGS, [each.row for each in found])
    page.show(console, machine(), table)
    if arguments.markdown is not None:
        page.write(arguments.markdown, "api", machine(), table)
    if arguments.quick:
        console.print("[yellow]A quick run shows that everything works; its numbers mean nothing.[/]")
        return 0
    return 0 if all(each.met for each in found) else 1


def machine() -> dict[str, str]:
    return {
        "processors": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }


def parser() -> argparse.ArgumentParser:
    names = ", ".join(map(name_of, SCENARIOS))
    made = argparse.ArgumentParser(prog="python -m bench.api", description="The HTTP API under load.")
    made.add_argument("--quick", action="store_true", help="a small run of each: does everything work?")
    made.add_argument("--only", type=chosen, default=SCENARIOS, metavar="NAME,NAME", help=f"of {names}")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the table into a Markdown page")
    return made


def chosen(text: str) -> tuple[ModuleType, ...]:
    known = {name_of(scenario): scenario for scenario in SCENARIOS}
    unknown = set(text.split(",")) - known.keys()
    if unknown:
        raise argparse.ArgumentTypeError(f"no such scenario: {', '.join(sorted(unknown))}")
    return tuple(known[name] for name in text.split(","))


def name_of(scenario: ModuleType) -> str:
    return scenario.__name__.rpartition(".")[2]


if __name__ == "__main__":
    sys.exit(main())
