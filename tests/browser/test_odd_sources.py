"""Streams of odd sources play to their end from the address that users get: over HLS and DASH, in every player.

| player | HLS | DASH |
| --- | --- | --- |
| hls.js | yes | |
| dash.js | | yes |
| Shaka | yes | yes |
| each ffmpeg of this machine | every quality, every sound track | every quality, every sound track |
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Browser, PageFailed
from tests.browser.odd import ODD
from tests.browser.public import Address, aside, played_by_ffmpeg, played_in_browser, public_address
from tests.browser.test_growing import WAITING
from tests.media.source_videos import profile
from tests.media.streams import builds

FEW = ("many tracks", "one frame", "29.97 frames a second")
PLAYERS = (("hls.js", "hls"), ("Shaka", "hls"), ("dash.js", "dash"), ("Shaka", "dash"))
SEGMENTS = {"segment_seconds": 1, "chunk_seconds": 2}
STALLS = {WAITING, "bufferNudgeOnStall"}
"""Errors that hls.js reports on a busy machine before it continues; a gap in the stream shows in the buffer."""
FULLY_PLAYED = 60.0
"""Seconds up to which a stream is played whole; of a longer one, what is around every join of chunks, and the end."""


@pytest.mark.parametrize("name", FEW)
async def test_an_odd_source_plays_to_its_end_in_every_player(
    tmp_path: Path, chromium: Browser, player_page: str, name: str
) -> None:
    assert await faults_of(name, tmp_path, chromium, player_page) == []


@pytest.mark.prove
@pytest.mark.parametrize("name", [name for name in ODD if name not in FEW])
async def test_every_odd_source_plays_to_its_end_in_every_player(
    tmp_path: Path, chromium: Browser, player_page: str, name: str
) -> None:
    assert await faults_of(name, tmp_path, chromium, player_page) == []


async def faults_of(name: str, folder: Path, chromium: Browser, player_page: str) -> list[str]:
    """What is wrong in any player, after all have played; one line is printed for each."""
    odd, found = ODD[name], []
    async with public_address(folder, odd.make(folder), profile(**SEGMENTS | dict(odd.profile))) as address:
        assert address.tracks == odd.tracks
        assert odd.is_odd(address), (address.facts, address.plan, address.degraded)
        async for player, faults, words in _all_played(address, chromium, player_page):
            print(f"{name}: {player}: {'; '.join(faults) or 'plays to its end'} ({words})")  # noqa: T201 - the report of `make prove`
            found += [f"{player}: {fault}" for fault in faults]
    return found


async def _all_played(
    address: Address, chromium: Browser, player_page: str
) -> AsyncIterator[tuple[str, list[str], str]]:
    joins = address.joins if address.seconds > FULLY_PLAYED else ()
    for player, kind in PLAYERS:
        url = getattr(address, kind)
        try:
            state = await aside(played_in_browser, chromium, player_page, player, url, address.tracks, joins)
        except PageFailed as error:
            yield f"{player} over {kind}", [str(error)], "stopped"
            continue
        words = f"{state['time']:.3f} of {address.seconds:.3f} s, {state['decoded']} frames, {address.tracks} tracks"
        yield f"{player} over {kind}", list(_page_faults(state, address)), words
    for build in builds():
        for kind in ("hls", "dash"):
            for rung in range(address.rungs):
                decoded = await aside(played_by_ffmpeg, getattr(address, kind), build, rung)
                faults = []
                if decoded.frames != address.frames:
                    faults.append(f"{decoded.frames} frames, not {address.frames}")
                if decoded.sound != pytest.approx([address.seconds] * address.tracks, abs=address.sound_lost(kind)):
                    faults.append(f"sound of {decoded.sound} s, not {address.seconds:.3f} s")
                if decoded.errors:
                    faults.append(decoded.errors)
                yield f"ffmpeg ({build}) over {kind}, quality {rung}", faults, f"{decoded.frames} frames"


def _page_faults(state: dict[str, object], address: Address) -> Iterator[str]:
    time, duration = state["time"], state["duration"]
    if set(state["errors"]) - STALLS:  # type: ignore[call-overload]  # a list of texts
        yield f"errors {state['errors']}"
    if state["error"] is not None or state["corrupted"]:
        yield f"error {state['error']}, {state['corrupted']} corrupted frames"
    if duration != pytest.approx(address.seconds, abs=0.1):
        yield f"lasts {duration} s, not {address.seconds}"
    if time != pytest.approx(address.seconds, abs=min(address.segment, 0.1)):
        yield f"ends at {time} s, not {address.seconds}"
    if address.seconds <= FULLY_PLAYED and len(state["spans"]) != 1:  # type: ignore[arg-type]  # a list of pairs
        yield f"has holes between {state['spans']}"
    if not state["ended"]:
        yield "has not ended"
    if not state["decoded"]:
        yield "has decoded no frame"
    if address.tracks and not state["sound"]:
        yield "has decoded no sound"
    if state["heard"] != list(range(address.tracks)):
        yield f"plays the sound tracks {state['heard']} of {address.tracks}"
