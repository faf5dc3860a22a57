"""The command line: `python -m bench.media`."""

import argparse
import asyncio
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bench import page
from bench.media import clip, fleet, ladder, report, single
from bench.media.aims import Round
from bench.media.report import Results
from reelstate.media.ffmpeg.build import Build, find_ffmpeg

WORKERS = 2
TRIAL = 8
QUICK = 14
"""Seconds of video."""
CHUNK, QUICK_CHUNK = 30, 6
"""The longest chunk in seconds: the default of profiles, or less so that a short video is cut too."""


def main() -> int:
    arguments = parser().parse_args()
    console = Console()
    with TemporaryDirectory(prefix="reelstate-bench-", dir=arguments.folder) as folder:
        results = measured(arguments, Path(folder), console)
    page.show(console, results.machine, *report.tables(results))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(asdict(results), indent=2) + "\n")
    if arguments.markdown is not None:
        page.write(arguments.markdown, "media", results.machine, *report.tables(results))
    if arguments.quick:
        console.print("[yellow]A quick run shows that everything works; its ratios mean nothing.[/]")
        return 0
    if not results.met:
        console.print("[bold red]An aim is missed.[/]")
    return 0 if results.met else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m bench.media", description="A ladder by workers and by one ffmpeg.")
    made.add_argument("--quick", action="store_true", help=f"one run of {QUICK} seconds of video: does it work?")
    made.add_argument("--runs", type=int, default=3, help="interleaved runs of both (%(default)s)")
    made.add_argument("--seconds", type=int, default=120, help="length of the video (%(default)s)")
    made.add_argument("--ffmpeg", default="", metavar="FILE", help="the ffmpeg of both; else as a worker finds it")
    made.add_argument("--one-worker", action="store_true", help="measure one worker too, for the speed-up")
    made.add_argument("--folder", type=Path, metavar="FOLDER", help="where the files are while it runs")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables into a Markdown page")
    return made


def measured(arguments: argparse.Namespace, folder: Path, console: Console) -> Results:
    build = asyncio.run(find_ffmpeg(arguments.ffmpeg))
    seconds, runs = (QUICK, 1) if arguments.quick else (arguments.seconds, arguments.runs)
    video, part = folder / "video.mp4", folder / "part.mp4"
    console.print(f"making {seconds} s of video")
    clip.make(build.path, video, seconds)
    threads = {0: 0.0}
    if not arguments.quick:
        console.print("trying the single command with several numbers of threads")
        clip.make(build.path, part, TRIAL)
        threads = single.best_threads(build.path, part, folder / "single", candidates())
    results = Results(machine(build, video, seconds, next(iter(threads))), threads)
    environment, profile = {"REEL_FFMPEG": build.path}, ladder.profile(QUICK_CHUNK if arguments.quick else CHUNK)
    for number in range(runs):
        ours = fleet.run(video, profile, folder / "fleet", WORKERS, environment)
        alone = single.run(build.path, video, folder / "single", next(iter(threads)))
        results.rounds.append(Round(ours, alone))
        console.print(
            f"run {number + 1} of {runs}: ours {ours.seconds:.1f} s, the single command {alone.seconds:.1f} s"
        )
        if arguments.one_worker:
            results.lone.append(fleet.run(video, profile, folder / "fleet", 1, environment).seconds)
    return results


def candidates() -> list[int]:
    cores = len(os.sched_getaffinity(0))
    return sorted({0, 1, cores, 2 * cores})


def machine(build: Build, video: Path, seconds: int, threads: int) -> dict[str, str]:
    rate = video.stat().st_size * 8 / seconds / 1e6
    return {
        "processors": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "ffmpeg": build.version,
        "video": f"{seconds} s of 1920×1080 at {clip.RATE}, {rate:.0f} Mbit/s, a key frame every {clip.GOP} frames",
        "made": ladder.describe(),
        "ours": f"{WORKERS} × reel worker -c 1, SQLite, a folder, verified; no poster, no sprites",
        "single command": f"one decode, split, HLS in fragmented MP4, {threads or 'ffmpeg’s own number of'} threads"
        " an encoder, the best of those tried",
    }


if __name__ == "__main__":
    sys.exit(main())
