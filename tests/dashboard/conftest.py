"""The built dashboard, a deployment on each store, and pages of a browser that report every error."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Request, sync_playwright

import hatch_build
from tests.browser import packages
from tests.browser.chromium import on_path
from tests.browser.packages import PackagesUnavailable
from tests.dashboard.deployment import Deployment, started
from tests.docs.pages import ROOT
from tests.engines import DIALECTS
from tests.postgres import PostgresServer

OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--autoplay-policy=no-user-gesture-required",
]
TIMEOUT = 60_000
"""Milliseconds that a page may take to show something, on a machine that is several times overloaded."""
REPORT = """
window.reports = []
addEventListener('securitypolicyviolation', (event) => reports.push(`${event.violatedDirective} ${event.blockedURI}`))
"""
HERE = Path(__file__).parent


def skip_dashboard(reason: str) -> NoReturn:
    message = f"THE DASHBOARD IS NOT TESTED: {reason}"
    if os.environ.get("REELSTATE_REQUIRE_BROWSER"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def built() -> None:
    """The dashboard is built from these sources."""
    if not (hatch_build.static_of(ROOT) / "index.html").is_file():
        skip_dashboard("it is not built, run `npm --prefix web ci && npm --prefix web run build`")


@pytest.fixture(scope="module")
def chromium(built: None) -> Iterator[Browser]:
    """A headless browser of the machine.

    It ends with the module: while it runs, this thread has a running event loop, and asynchronous tests can't start
    theirs.
    """
    with sync_playwright() as playwright:
        errors = []
        for program in on_path():
            try:
                browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
            except Error as error:
                errors.append(str(error))
                continue
            yield browser
            browser.close()
            return
        skip_dashboard("; ".join(errors) or "there is no browser, install Debian's `chromium` or Google Chrome")


@pytest.fixture(scope="session")
def axe() -> Path:
    """The script that checks the accessibility of a page."""
    try:
        return packages.installed(HERE / "axe") / "node_modules/axe-core/axe.min.js"
    except PackagesUnavailable as error:
        skip_dashboard(str(error))


@pytest.fixture(scope="module", params=DIALECTS)
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, built: None
) -> Iterator[Deployment]:
    """A deployment on each store in turn, which the tests of a module share."""
    folder = tmp_path_factory.mktemp(f"up-{request.param}")
    if request.param == "sqlite":
        with started(folder, f"sqlite:///{folder / 'jobs.db'}") as running:
            yield running
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.new_database()
    with started(folder, url) as running:
        yield running
    server.drop_database(url)


@dataclass
class Watched:
    """What went wrong on pages: errors of scripts and of the console, refused resources, failed requests."""

    errors: list[str] = field(default_factory=list)
    ignored: tuple[str, ...] = ()

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("requestfailed", self._note_failed)

    def _note_failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page itself ends streams, and requests when it is left
            self.errors.append(f"{request.method} {request.url}: {request.failure}")

    def found(self) -> list[str]:
        return [each for each in self.errors if not any(text in each for text in self.ignored)]


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def context(chromium: Browser, watched: Watched) -> Iterator[BrowserContext]:
    """A browser profile of its own, at whose end no page may have reported an error."""
    context = chromium.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(REPORT)
    context.on("page", watched.watch)
    yield context
    reports = [report for page in context.pages for report in _reports(page)]
    context.close()
    assert watched.found() + reports == []


def _reports(page: Page) -> list[str]:
    try:
        found: list[str] = page.evaluate("window.reports ?? []")
    except Error:  # it is closed, or shows an error of the browser
        return []
    return found


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def signed_in(page: Page, deployment: Deployment) -> Page:
    """A page of an admin, at the overview."""
    return sign_in(page, deployment, deployment.admin_key)


def sign_in(page: Page, deployment: Deployment, key: str, path: str = "") -> Page:
    """Open a session with a key, and show a page."""
    answer = page.request.post(f"{deployment.url}/signin", data={"key": key})
    assert answer.ok, answer.text()
    open_page(page, deployment, path)
    return page


def open_page(page: Page, deployment: Deployment, path: str) -> None:
    """Show a page of the dashboard, and wait until it follows the events."""
    page.goto(f"{deployment.url}/ui/{path}")
    until_live(page)


def until_live(page: Page) -> None:
    page.locator("[data-connection=live]").wait_for()


def serious(page: Page, axe: Path) -> list[str]:
    """Return the serious findings of axe on a page."""
    page.evaluate(axe.read_text())
    found: Any = page.evaluate(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]} {node['any'][0]['message'] if node['any'] else ''}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
