"""A browser, a film that tells in every frame which one it is, and the server that both meet at."""

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
from tests.browser.numbered import film_profile, numbered_film
from tests.browser.packages import PackagesUnavailable
from tests.media.deployment import Stream, start_deployment

INSTALL = "install Node.js with npm, and Debian's `chromium` or Google Chrome"


def do_without(reason: str) -> NoReturn:
    words = f"PLAYBACK IS NOT TESTED IN A BROWSER, {INSTALL}: {reason}"
    if os.environ.get("REELSTATE_REQUIRE_BROWSER"):
        pytest.fail(words, pytrace=False)
    pytest.skip(words)


@pytest.fixture(scope="session")
def players() -> Path:
    try:
        return packages.players()
    except PackagesUnavailable as error:
        do_without(str(error))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this machine, else one that comes in a package."""
    with contextlib.ExitStack() as stack:
        yield _first(stack)


def _first(stack: contextlib.ExitStack) -> Browser:
    troubles = []
    for program in on_path():
        try:
            return stack.enter_context(browser(program))
        except BrowserUnavailable as error:
            troubles.append(str(error))
    try:
        shipped = packages.shipped_browser()
        return stack.enter_context(browser(str(shipped.program), shipped.libraries))
    except (PackagesUnavailable, BrowserUnavailable, OSError) as error:
        do_without("; ".join([*troubles, str(error)]))


@dataclass(frozen=True)
class Published:
    """A film that the pipeline has made a stream of, and where its storage is."""

    storage: Path
    stream: Stream


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("film")

    async def transcode() -> Published:
        async with start_deployment(folder) as here:
            stream = await here.stream(numbered_film(folder / "film.mp4"), profile=film_profile())
            return Published(here.storage, stream)

    return asyncio.run(transcode())


@pytest.fixture
def files(tmp_path: Path, published: Published, players: Path) -> Iterator[Files]:
    """What is published, and what a test makes in its own folder."""
    here = {"tests": Path(__file__).parent, "npm": players}
    with served(media=published.storage, own=tmp_path / "media", **here) as files:
        yield files


@pytest.fixture(scope="session")
def player_page(players: Path) -> Iterator[str]:
    """The address of the page with the players, which plays streams of any other server."""
    with served(tests=Path(__file__).parent, npm=players) as files:
        yield files.url("tests/player.html")


@pytest.fixture
def page(chromium: Browser, files: Files) -> Iterator[Page]:
    with chromium.page(files.url("tests/player.html")) as page:
        yield page
