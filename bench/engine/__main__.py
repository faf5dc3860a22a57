"""The command line: `python -m bench.engine`."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from bench import page
from bench.engine import interleave, report
from bench.engine.contestants import CONTESTANTS, Contestant
from bench.engine.scenarios import SCENARIOS


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    results = interleave.run(plan(arguments), console.print)
    report.show(results, console)
    if arguments.quick:
        console.print("[yellow]A quick run shows that everything works; its ratios mean nothing.[/]")
    if arguments.json is not None:
        results.write_json(arguments.json)
    if arguments.markdown is not None:
        left_out = {f"left out: {name}": reason for name, reason in results.left_out.items()}
        page.write(arguments.markdown, "measured", results.machine | left_out, *report.tables(results))
    return 1 if results.failures else 0


def parser() -> argparse.ArgumentParser:
    names = ", ".join(contestant.name for contestant in CONTESTANTS)
    made = argparse.ArgumentParser(prog="python -m bench.engine", description="The engine beside its peers.")
    made.add_argument("--quick", action="store_true", help="one run of 2,000 tasks: does everything work?")
    made.add_argument("--runs", type=int, default=3, help="interleaved runs of everything (%(default)s)")
    made.add_argument("--tasks", type=int, default=20_000, help="jobs or tasks of a run (%(default)s)")
    made.add_argument("--history", type=int, default=1_000_000, help="finished tasks of a long history")
    made.add_argument("--memory", type=int, default=200_000, help="tasks of the drain that memory is watched in")
    made.add_argument("--only", type=chosen, default=CONTESTANTS, metavar="NAME,NAME", help=f"of {names}")
    made.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this one; can be repeated")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables into a Markdown page")
    return made


def chosen(text: str) -> tuple[Contestant, ...]:
    names = text.split(",")
    unknown = set(names) - {contestant.name for contestant in CONTESTANTS}
    if unknown:
        raise argparse.ArgumentTypeError(f"no such contestant: {', '.join(sorted(unknown))}")
    return tuple(contestant for contestant in CONTESTANTS if contestant.name in names)


def plan(arguments: argparse.Namespace) -> interleave.Plan:
    wanted = arguments.scenario or SCENARIOS
    contestants = tuple(
        replace(each, scenarios=tuple(name for name in each.scenarios if name in wanted)) for each in arguments.only
    )
    if arguments.quick:
        return interleave.Plan(contestants, runs=1, tasks=2_000, history=20_000, memory=20_000)
    return interleave.Plan(contestants, arguments.runs, arguments.tasks, arguments.history, arguments.memory)


if __name__ == "__main__":
    sys.exit(main())
