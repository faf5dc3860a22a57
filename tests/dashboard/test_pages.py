"""Every page, in both themes and at three widths: no error, no report of the policy, no serious finding of axe."""

import contextlib
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.conftest import open_page, serious, sign_in
from tests.dashboard.deployment import Deployment
from tests.waiting import until_true

WIDTHS = PHONE, DESKTOP, WALL = (320, 1280, 2560)
Theme = Literal["dark", "light"]
FIXED = (
    "",
    "jobs",
    "groups",
    "videos",
    "schedules",
    "workers",
    "pauses",
    "limits",
    "pipelines",
    "machines",
    "webhooks",
    "keys",
    "archive",
    "settings",
)


@pytest.fixture(scope="module")
def pages(deployment: Deployment) -> list[str]:
    """The addresses of all pages, in a deployment where most of them have something to show."""
    deployment.put("limits/users", {"per": "user", "running": 50, "weights": {"ada": 2}, "reason": "fair use"})
    failed, gates = deployment.submit(3, group="nightly", user_id="ada")
    (gates / "fail-1").touch()
    for part in (0, 2):
        (gates / str(part)).touch()
    deployment.until_status(failed, "failed")
    running, _ = deployment.submit(4, group="nightly", user_id="ada")
    deployment.until_running(running, 2)
    deployment.make_key("readers", "read", user_id="ada")
    deployment.post("webhooks", {"url": "https://example.com/hook", "description": "a hook"})
    schedule = {"name": "nightly", "pipeline": "gated", "timing": "@daily", "spec": {"parts": 1, "folder": "gates"}}
    deployment.post("schedules", schedule)
    video = deployment.post("videos", {"source": "https://example.invalid/a/b.mp4", "title": "a/b: a video"})
    (hook,) = deployment.get("webhooks")
    found = [
        *FIXED,
        f"jobs/{running}",
        f"jobs/{failed}",
        f"videos/{video['id']}",
        "pipelines/gated",
        "schedules/nightly",
        "limits/users",
        "groups/nightly?user=ada",
    ]
    return [*found, f"webhooks/{hook['id']}", "jobs?status=failed", "no/such/page"]


def test_every_page_is_free_of_errors_and_accessible(
    deployment: Deployment, page: Page, pages: list[str], axe: Path
) -> None:
    """Each page is dark on one width and light on another, and the other way round with the other store."""
    themes: list[Theme] = ["dark", "light"]
    if not deployment.database.startswith("sqlite"):
        themes.reverse()
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    sign_in(page, deployment, deployment.admin_key)
    findings: list[str] = []
    wide = {}
    for address in pages:
        page.emulate_media(color_scheme=themes[0])
        page.set_viewport_size({"width": DESKTOP, "height": 900})
        open_page(page, deployment, address)
        settle(page)
        findings += [f"{address} {themes[0]} {DESKTOP}: {each}" for each in serious(page, axe)]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if (needed := settled_width(page, width)) > width:
                wide[address, width] = needed
        page.set_viewport_size({"width": PHONE, "height": 900})
        page.emulate_media(color_scheme=themes[1])
        open_page(page, deployment, address)
        settle(page)
        findings += [f"{address} {themes[1]} {PHONE}: {each}" for each in serious(page, axe)]
    assert not findings, "\n".join(findings)
    assert wide == {}, "nothing makes the page itself scroll sideways"
    assert asked - {""} == {urlsplit(deployment.url).netloc}, "nothing is fetched from elsewhere"


def settled_width(page: Page, width: int) -> int:
    """Return the width that a page needs, when its charts have followed a change of the window."""
    with contextlib.suppress(AssertionError):
        until_true(lambda: page.evaluate("document.documentElement.scrollWidth") <= width, seconds=5)
    return int(page.evaluate("document.documentElement.scrollWidth"))


def settle(page: Page) -> None:
    """Wait until what the page asked for is shown."""
    expect(page.locator(".skeleton")).to_have_count(0)


def test_the_overview_of_an_empty_deployment_says_what_to_do_next(page: Page, deployment: Deployment) -> None:
    made = deployment.make_key("empty", "read", "write", user_id="nobody yet")
    sign_in(page, deployment, made["key"], "jobs")
    settle(page)
    assert "submit" in page.locator("main").inner_text().lower()


def test_every_page_has_a_title_and_is_reached_by_keys(signed_in: Page) -> None:
    titles = {}
    for key, name in {"j": "Jobs", "w": "Workers", "v": "Videos", "k": "Keys", "o": "Overview"}.items():
        signed_in.keyboard.press("g")
        signed_in.keyboard.press(key)
        expect(signed_in).to_have_title(re.compile(f"^{name}"))
        titles[name] = urlsplit(signed_in.url).path
    assert titles["Jobs"] == "/ui/jobs"
    assert titles["Overview"] == "/ui/"
    signed_in.keyboard.press("?")
    signed_in.get_by_role("dialog").wait_for()
    signed_in.keyboard.press("Escape")
    signed_in.get_by_role("dialog").wait_for(state="detached")
