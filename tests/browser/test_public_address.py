"""The addresses that users get play to their end, over HLS and DASH, in players that share no code."""

from pathlib import Path

import pytest

from tests.browser.chromium import Browser
from tests.browser.public import Address, aside, played_by_ffmpeg, played_in_browser, public_address
from tests.browser.test_growing import WAITING
from tests.media.source_videos import make_video, profile
from tests.media.streams import builds

SECONDS = 11
PROFILE = profile(segment_seconds=2, chunk_seconds=4)


async def assert_plays(address: Address, chromium: Browser, player_page: str) -> None:
    """Every player shows the whole stream, from its first to its last frame."""
    for player, url in (("hls.js", address.hls), ("dash.js", address.dash), ("Shaka", address.dash)):
        state = await aside(played_in_browser, chromium, player_page, player, url)
        assert set(state["errors"]) <= {WAITING}, player
        assert (state["error"], state["corrupted"]) == (None, 0), player
        assert state["duration"] == pytest.approx(address.seconds, abs=0.1), player
        assert state["time"] == pytest.approx(address.seconds, abs=0.1), player
    for build in builds():
        for kind, url in (("hls", address.hls), ("dash", address.dash)):
            decoded = await aside(played_by_ffmpeg, url, build)
            assert decoded.frames == address.frames, (build, url, decoded.errors)
            assert decoded.sound == pytest.approx([address.seconds] * address.tracks, abs=address.sound_lost(kind)), (
                build,
                url,
            )


async def test_a_video_plays_to_its_end_from_both_public_addresses(
    tmp_path: Path, chromium: Browser, player_page: str
) -> None:
    source = make_video(tmp_path / "source.mp4", SECONDS)
    async with public_address(tmp_path, source, PROFILE) as address:
        await assert_plays(address, chromium, player_page)
