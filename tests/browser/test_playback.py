"""Streams as viewers have them: a real browser plays what the pipeline made."""

import json

import pytest

from tests.browser.chromium import Page
from tests.browser.conftest import Published
from tests.browser.files import Files
from tests.browser.numbered import DURATION, FRAMES, HEIGHTS, JOINS, RATE
from tests.browser.test_growing import WAITING

AROUND = [frame + step for frame in reversed(JOINS) for step in (-1, 0, 1)]
"""The last join first, so that each is a leap to where nothing is loaded yet."""

EXACT = {"maxFragLookUpTolerance": 0}
"""Keeps hls.js from treating a position just before a segment as inside it and skipping the gap."""


def middle(frame: int) -> float:
    """A time at which this frame is shown and no other."""
    return float((frame + 0.5) / RATE)


def open_hls(page: Page, files: Files, published: Published, height: int | None = None, options: object = None) -> None:
    url = files.url(f"media/{published.stream.outputs['master']}")
    page.run(f"openHls({json.dumps(url)}, {json.dumps(height)}, {json.dumps(options or {})})")


def assert_untroubled(page: Page) -> None:
    state = page.run("state()")
    assert set(state["errors"]) <= {WAITING}, "a busy machine may show a frame later, but every frame"
    assert state["error"] is None
    assert state["corrupted"] == 0


def assert_numbered(page: Page) -> list[int]:
    """What was shown is what belongs at that time, in whatever rung; gives the numbers of the frames."""
    frames = page.run("frames")
    wrong = [(time, number) for time, number in frames if round(time * RATE) != number]
    assert wrong == []
    return [number for _, number in frames]


def test_a_stream_plays_from_its_first_frame_over_every_join_to_its_end(
    page: Page, files: Files, published: Published
) -> None:
    assert [len(rung["chunks"]) for rung in published.stream.manifest["rungs"]] == [FRAMES // JOINS.step] * 2
    open_hls(page, files, published)
    assert page.run("shown()") == 0
    page.run("play(2)")
    page.run("until(() => video.ended, 'at the end')")
    assert_untroubled(page)
    state = page.run("state()")
    assert state["duration"] == pytest.approx(DURATION, abs=0.05)
    assert len(state["spans"]) == 1
    numbers = assert_numbered(page)
    chunks = {number // JOINS.step for number in numbers}
    assert chunks == set(range(FRAMES // JOINS.step))


@pytest.mark.parametrize("height", HEIGHTS)
def test_a_seek_shows_the_very_frame_on_both_sides_of_every_join(
    page: Page, files: Files, published: Published, height: int
) -> None:
    open_hls(page, files, published, height, EXACT)
    shown = [page.run(f"seek({middle(frame)})") for frame in AROUND]
    assert shown == AROUND
    assert page.run("state()")["height"] == height
    assert_untroubled(page)


def test_a_player_changes_the_rung_while_it_plays(page: Page, files: Files, published: Published) -> None:
    open_hls(page, files, published, min(HEIGHTS))
    assert page.run("state()")["height"] == min(HEIGHTS)
    page.run("play(2)")
    page.run(f"choose({max(HEIGHTS)})")
    page.run(f"choose({min(HEIGHTS)})")
    page.run("until(() => video.ended, 'at the end')")
    assert_untroubled(page)
    assert_numbered(page)


def test_the_dash_manifest_plays_the_same_frames_in_another_player(
    page: Page, files: Files, published: Published
) -> None:
    url = files.url(f"media/{published.stream.outputs['dash']}")
    page.run(f"openDash({json.dumps(url)})")
    assert [page.run(f"seek({middle(frame)})") for frame in sorted(AROUND)] == sorted(AROUND)
    page.run(f"seek({middle(FRAMES - 30)})")
    page.run("play()")
    page.run("until(() => video.ended, 'at the end')")
    assert_untroubled(page)
    assert_numbered(page)


def test_a_player_asks_for_spans_of_the_chunks_and_never_for_a_whole_one(
    page: Page, files: Files, published: Published
) -> None:
    open_hls(page, files, published)
    page.run("until(() => state().spans.some(([_, end]) => end > video.duration - 0.1), 'all loaded')")
    chunks = [span for path, span in files.requests if "/encode/" in path and not path.endswith("-init.mp4")]
    assert chunks
    assert None not in chunks
