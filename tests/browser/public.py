"""A video made by the real pipeline, at the addresses that its users get from the API."""

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from reelstate.media.planning.plan import Plan
from reelstate.media.sources.facts import AudioFacts, SourceFacts, VideoFacts
from tests.api.api_server import api_server
from tests.api.video_server import VIDEOS
from tests.browser.chromium import Browser
from tests.library.local_library import library
from tests.media.streams import builds

PLAYBACK_RATE = 4
AAC_FRAME = 1024
TIMEOUT = 600.0
OPENERS = {"hls.js": "openHls", "dash.js": "openDashJs", "Shaka": "openDash"}


@dataclass(frozen=True)
class Address:
    """Where a video is played from, and how long it is as planned."""

    hls: str
    dash: str
    frames: int
    seconds: float
    tracks: int
    """How many sound tracks it has."""
    rungs: int
    segment: float
    """Seconds of a segment of the grid."""
    joins: tuple[float, ...]
    """Where a chunk ends and the next one begins."""
    facts: SourceFacts
    """Of the source as it was submitted."""
    plan: Plan
    degraded: tuple[str, ...]

    def sound_lost(self, kind: str) -> float:
        """Seconds of sound that ffmpeg may lose.

        Over DASH it opens every segment anew, and discards what the edit list of the header names as priming of the
        encoder each time: a frame of AAC a segment. It ends with the first of the tracks, too.
        """
        frame = max((AAC_FRAME / track.sample_rate for track in self.plan.audio), default=0.0)
        return frame * (2 + (ceil(self.seconds / self.segment) if kind == "dash" else 0))

    @property
    def video(self) -> VideoFacts:
        assert self.facts.video
        return self.facts.video

    @property
    def sound(self) -> AudioFacts:
        """The first sound track."""
        return self.facts.audio[0]


@asynccontextmanager
async def public_address(folder: Path, source: Path, profile: Any, **spec: Any) -> AsyncIterator[Address]:
    """The public addresses of a video made of this source, as long as its server runs."""
    database, storage = f"sqlite:///{folder / 'library.db'}", str(folder / "media")
    async with library(folder, keep=86_400) as made, api_server(made.engine, database, storage_url=storage) as api:
        job = await made.made(source, profile=profile, **spec)
        answer = await api.ask("admin", "POST", f"{VIDEOS}/{job.resource_id}/playback")
        assert answer.status_code == 201, answer.text
        detail = await made.engine.job(job.id)
        plan = Plan.from_json(detail.plan["fetch"]["plan"])
        grid = plan.grid
        yield Address(
            hls=answer.json()["url"],
            dash=answer.json()["dash"],
            frames=grid.frames,
            seconds=float(grid.duration),
            tracks=len(plan.audio),
            rungs=len(plan.rungs),
            segment=float(grid.time(grid.segment_frames)),
            joins=tuple(float(grid.time(chunk.first_frame)) for chunk in grid.chunks() if chunk.number),
            facts=SourceFacts.from_json(detail.plan["probe"]),
            plan=plan,
            degraded=tuple(detail.job.degraded or ()),
        )


def played_in_browser(
    chromium: Browser, player_page: str, player: str, url: str, tracks: int = 0, joins: Sequence[float] = ()
) -> Any:
    """Play each sound track for a moment and the stream to its end; returns the state of the player there.

    Where joins are given, only what is around each of them and the end is played.
    """
    with chromium.page(player_page) as page:
        page.run(f"{OPENERS[player]}({json.dumps(url)})", TIMEOUT)
        heard = page.run("hearEachTrack()", TIMEOUT) if tracks else []
        if joins:
            page.run(f"playOver({json.dumps(list(joins))}, {PLAYBACK_RATE})", TIMEOUT)
        return {**page.run(f"playToEnd({PLAYBACK_RATE})", TIMEOUT), "heard": heard}


@dataclass(frozen=True)
class Decoded:
    frames: int
    sound: tuple[float, ...]
    """Seconds of each track."""
    errors: str
    """What it reported as errors."""


def played_by_ffmpeg(url: str, build: str, rung: int = 0) -> Decoded:
    """Decode one quality and every sound track of a stream to its end."""
    argv = [builds()[build], "-nostdin", "-hide_banner", "-loglevel", "error", "-i", url]
    argv += ["-map", f"0:v:{rung}", "-map", "0:a?", "-fps_mode", "passthrough", "-f", "framecrc", "-"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    rates = {int(found[1]): int(found[2]) for found in re.finditer(r"#sample_rate (\d+): (\d+)", done.stdout)}
    rows = [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines() if line[0] != "#"]
    samples = {stream: sum(int(row[3]) for row in rows if int(row[0]) == stream) for stream in rates}
    sound = tuple(samples[stream] / rate for stream, rate in sorted(rates.items()))
    return Decoded(sum(row[0] == "0" for row in rows), sound, done.stderr)


async def aside(function: Any, *arguments: Any) -> Any:
    """Run a player in a thread while the loop of the test serves it."""
    return await asyncio.to_thread(function, *arguments)
