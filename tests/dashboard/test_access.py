"""Signing in, what a key may see and do, and what peers of other projects got wrong there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.dashboard.conftest import Watched, open_page, sign_in, until_live
from tests.dashboard.deployment import Deployment, started
from tests.dashboard.test_pages import FIXED, settle
from tests.docs.pages import ROOT

CHANGES = re.compile(
    r"^(cancel|retry|quarantine|force|reprioriti[sz]e|delete|drain|enable|disable|revoke|pause|resume|pin|upload|new |"
    r"create|add|rotate|roll ?back|submit)",
    re.IGNORECASE,
)
"""The names of buttons that change something."""
FIELD = "input[type=password], input[name=key]"


def test_the_printed_address_signs_in_once(page: Page, context: BrowserContext, deployment: Deployment) -> None:
    address = deployment.sign_in_url()
    page.goto(address)
    until_live(page)
    assert page.url == f"{deployment.url}/ui/"
    page.goto(address)
    until_live(page)  # it is signed in already
    assert [cookie["httpOnly"] for cookie in context.cookies()] == [True]


def test_a_used_address_leads_to_the_sign_in_page_and_a_key_goes_on(
    page: Page, deployment: Deployment, watched: Watched
) -> None:
    watched.ignored = ("401",)
    page.goto(f"{deployment.url}/signin?code=used")
    field = page.locator(FIELD)
    field.fill(deployment.admin_key)
    field.press("Enter")
    until_live(page)
    page.get_by_role("button", name="Account").click()
    page.get_by_text("Sign out").click()
    field.wait_for()


def test_a_reader_gets_no_buttons_and_the_server_refuses(page: Page, deployment: Deployment, watched: Watched) -> None:
    watched.ignored = ("403",)
    made = deployment.make_key("reader", "read", user_id="ada")
    job, gates = deployment.submit(1, user_id="ada")
    deployment.until_running(job, 1)
    sign_in(page, deployment, made["key"])
    for address in (*FIXED, f"jobs/{job}"):
        open_page(page, deployment, address)
        settle(page)
        # Not the states of a diagram, which can be chosen too and may be called `cancelled`.
        names = [each.inner_text().strip() for each in page.locator("button").all() if each.is_visible()]
        assert names, address
        assert [name for name in names if CHANGES.match(name)] == [], address
    ask = """async ([path, body]) => (await fetch(new URL('../api/v1/' + path, document.baseURI), {
        method: 'POST', body: JSON.stringify(body), headers: {'content-type': 'application/json', 'x-reelstate': '1'},
    })).status"""
    for path, body in (
        (f"jobs/{job}/cancel", {}),
        (f"jobs/{job}/retry", {}),
        (f"jobs/{job}/reprioritise", {"priority": 9}),
        ("jobs/bulk", {"action": "cancel", "status": ["running"]}),
        ("workers/worker-1/drain", {}),
        ("keys", {"name": "x", "scopes": ["admin"]}),
        ("pauses", {"everything": True}),
    ):
        assert page.evaluate(ask, [path, body]) == 403, path
    (gates / "all").touch()
    deployment.until_status(job, "completed")


def test_a_revoked_key_ends_the_session_of_its_pages(page: Page, deployment: Deployment, watched: Watched) -> None:
    watched.ignored = ("401",)
    made = deployment.make_key("short", "read", user_id="ada")
    sign_in(page, deployment, made["key"], "jobs")
    deployment.post(f"keys/{made['id']}/revoke")
    expect(page.locator(FIELD)).to_be_visible(timeout=30_000)
    assert "revoked" in page.locator("body").inner_text()


def test_an_address_is_kept_while_signing_in(page: Page, deployment: Deployment, watched: Watched) -> None:
    watched.ignored = ("401",)
    page.goto(f"{deployment.url}/ui/jobs?status=failed")
    field = page.locator(FIELD)
    field.fill(deployment.admin_key)
    field.press("Enter")
    until_live(page)
    assert page.url == f"{deployment.url}/ui/jobs?status=failed"


def test_large_ids_are_shown_exactly(signed_in: Page, deployment: Deployment) -> None:
    job, gates = deployment.submit(1)
    (gates / "all").touch()
    deployment.until_status(job, "completed")
    assert job > 2**47
    open_page(signed_in, deployment, f"jobs/{job}")
    settle(signed_in)
    expect(signed_in.locator("main, header").get_by_text(str(job)).first).to_be_visible()
    assert signed_in.evaluate(f"String(JSON.parse('{job}')) === '{job}'")


def test_names_with_slashes_have_pages(signed_in: Page, deployment: Deployment, watched: Watched) -> None:
    watched.ignored = ("404", "422")  # there is nothing of that name
    for address in ("videos?q=a%2Fb", "schedules/a%2Fb", "webhooks/x%2Fy"):
        signed_in.goto(f"{deployment.url}/ui/{address}")
        until_live(signed_in)
        settle(signed_in)
        assert "/ui/" in signed_in.url


def test_a_copy_button_works_without_the_clipboard_of_secure_pages(page: Page, deployment: Deployment) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.add_init_script("document.addEventListener('copy', () => { window.copied = String(getSelection()) })")
    job, gates = deployment.submit(1)
    (gates / "all").touch()
    sign_in(page, deployment, deployment.admin_key, f"jobs/{job}")
    settle(page)
    button = page.get_by_role("button", name=re.compile("copy", re.IGNORECASE)).first
    button.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()


def test_a_slow_network_shows_the_page_that_was_asked_for_last(signed_in: Page, deployment: Deployment) -> None:
    job, gates = deployment.submit(1)
    (gates / "all").touch()
    deployment.until_status(job, "completed")
    held: list[Route] = []
    signed_in.route(re.compile(rf"/api/v1/jobs/{job}(\?|$)"), lambda route: held.append(route))  # noqa: PLW0108 - a bound method of a list cannot be registered
    open_page(signed_in, deployment, f"jobs/{job}")
    signed_in.keyboard.press("g")
    signed_in.keyboard.press("w")
    expect(signed_in).to_have_title(re.compile("^Workers"))
    for route in held:
        route.continue_()
    settle(signed_in)
    assert signed_in.url.endswith("/ui/workers")
    assert signed_in.title().startswith("Workers")


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory, built: None) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("prefixed")
    with started(folder, f"sqlite:///{folder / 'jobs.db'}", workers=1, REEL_PATH_PREFIX="/team/reel") as running:
        yield running


def test_the_dashboard_works_below_a_path_prefix(page: Page, prefixed: Deployment) -> None:
    base = f"{prefixed.url}/team/reel"
    page.goto(prefixed.sign_in_url().replace(prefixed.url, base))
    until_live(page)
    assert page.url == f"{base}/ui/"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("Jobs", "Workers"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_title(re.compile(f"^{name}"))
        settle(page)
    page.reload()
    until_live(page)
    assert page.url == f"{base}/ui/workers"
    assert [url for url in asked if not url.startswith(f"{base}/") or "//" in url.partition("://")[2]] == []


def test_the_types_of_the_page_are_those_of_the_api(built: None, tmp_path: Path) -> None:
    node, script = shutil.which("node"), ROOT / "web/scripts/schema.mjs"
    if node is None or not (ROOT / "web/node_modules").is_dir():
        pytest.skip("THE TYPES OF THE DASHBOARD ARE NOT COMPARED: there is no node, or web/node_modules")
    made = tmp_path / "schema.ts"
    subprocess.run([node, script, made], env={**os.environ, "PYTHON": sys.executable}, check=True, timeout=300)
    committed = ROOT / "web/src/api/schema.ts"
    assert made.read_text() == committed.read_text(), "run `npm --prefix web run schema`"


def test_the_server_ends_its_streams_when_it_stops(tmp_path: Path, page: Page, watched: Watched, built: None) -> None:
    watched.ignored = ("ERR_", "Failed to load")
    with started(tmp_path, f"sqlite:///{tmp_path / 'jobs.db'}", workers=1) as running:
        sign_in(page, running, running.admin_key, "jobs")
    assert running.process.returncode == 0
    expect(page.locator("[data-connection=lost]")).to_be_visible()
    with pytest.raises(httpx.TransportError):
        running.client("x").get("jobs")
