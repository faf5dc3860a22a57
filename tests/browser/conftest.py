"""A browser, a published video with numbered frames, and the server that serves it."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from tests.browser import packages
from tests.browser.chromium import Browser, BrowserUnavailable, Page, browser, on_path
from tests.browser.files import Files, served
from tests.browser.numbered import make_numbered_video, numbered_profile
from tests.browser.packages import PackagesUnavailable
from tests.media.deployment import Stream, start_deployment

INSTALL = "install Node.js with npm, and Debian's `chromium` or Google Chrome"


def skip_browser(reason: str) -> NoReturn:
    message = f"PLAYBACK IS NOT TESTED IN A BROWSER, {INSTALL}: {reason}"
    if os.environ.get("REELSTATE_REQUIRE_BROWSER"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def players() -> Path:
    try:
        return packages.players()
    except PackagesUnavailable as error:
        skip_browser(str(error))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the installed browser, or else one from a package."""
    with contextlib.ExitStack() as stack:
        yield _start_browser(stack)


def _start_browser(stack: contextlib.ExitStack) -> Browser:
    errors = []
    for program in on_path():
        try:
            return stack.enter_context(browser(program))
        except BrowserUnavailable as error:
            errors.append(str(error))
    try:
        shipped = packages.shipped_browser()
        return stack.enter_context(browser(str(shipped.program), shipped.libraries))
    except (PackagesUnavailable, BrowserUnavailable, OSError) as error:
        skip_browser("; ".join([*errors, str(error)]))


@dataclass(frozen=True)
class Published:
    """A stream that the pipeline has made, and the path of its storage."""

    storage: Path
    stream: Stream


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("published")

    async def transcode() -> Published:
        async with start_deployment(folder) as here:
            stream = await here.stream(make_numbered_video(folder / "source.mp4"), profile=numbered_profile())
            return Published(here.storage, stream)

    return asyncio.run(transcode())


@pytest.fixture
def files(tmp_path: Path, published: Published, players: Path) -> Iterator[Files]:
    """Serve the published stream, and what a test writes to its own folder."""
    here = {"tests": Path(__file__).parent, "npm": players}
    with served(media=published.storage, own=tmp_path / "media", **here) as files:
        yield files


@pytest.fixture(scope="session")
def player_page(players: Path) -> Iterator[str]:
    """Return the address of the page with the players, which plays streams of any server."""
    with served(tests=Path(__file__).parent, npm=players) as files:
        yield files.url("tests/player.html")


@pytest.fixture
def page(chromium: Browser, files: Files) -> Iterator[Page]:
    with chromium.page(files.url("tests/player.html")) as page:
        yield page
