#!/usr/bin/env python3
"""Takes the pictures of the dashboard in README and docs: `python docs/screenshots.py`.

Runs `reel demo --stay` with a longer video, signs in with Chromium, and writes docs/images/dashboard-*.png while a
worker is killed and the grid fills. The pictures show what this machine did.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"
TIMEOUT: Final = 600.0
SIZE: Final = {"width": 1280, "height": 860}
HALF: Final = 0.5
"""The share of the chunks that are done in the picture of the job."""
BROWSERS: Final = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
GRID: Final = re.compile(r"Tasks of encode: ([\d,]+) of ([\d,]+) done")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reelstate", "demo", "--folder", folder, "--seconds", "112", "--stay"]
        demo = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
        try:
            take(_address(Path(folder), demo))
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(TIMEOUT)


def _address(folder: Path, demo: subprocess.Popen[bytes]) -> str:
    """Return the address that signs in, when the demo has written it."""
    path = folder / "dashboard.signin"
    while not path.exists():
        if demo.poll() is not None:
            raise SystemExit("the demo has ended")
        time.sleep(0.2)
    return path.read_text().strip()


def take(address: str) -> None:
    """Take the pictures: the job in progress, the overview, and the video that plays."""
    program = next((each for each in BROWSERS if Path(each).exists()), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="dark", reduced_motion="reduce")  # type: ignore[arg-type]  # a dict of these
        page.set_default_timeout(TIMEOUT * 1000)
        page.goto(address)
        page.locator("[data-connection=live]").wait_for()
        base = page.url
        page.goto(f"{base}jobs")
        page.locator("main a[href*='jobs/']").first.click()
        _until_half_done(page)
        _save(page, "job")
        page.goto(base)
        _save(page, "overview")
        page.goto(f"{base}videos")
        page.get_by_text("ready").first.wait_for()
        page.locator(".video-title").first.click()
        page.locator("video").wait_for()
        page.evaluate("const video = document.querySelector('video'); video.muted = true; video.play()")
        while page.evaluate("document.querySelector('video').currentTime") < 1:
            time.sleep(0.1)
        _save(page, "video")
        page.emulate_media(color_scheme="light")
        page.goto(f"{base}jobs")
        page.locator("main a[href*='jobs/']").first.click()
        page.get_by_role("tab", name="Timeline").click()
        _save(page, "timeline")
        browser.close()


def _until_half_done(page: Page) -> None:
    grid = page.get_by_role("application", name=GRID)
    grid.wait_for()
    while True:
        found = GRID.search(grid.get_attribute("aria-label") or "")
        if found and int(found[1].replace(",", "")) >= HALF * int(found[2].replace(",", "")):
            return
        time.sleep(0.2)


def _save(page: Page, name: str) -> None:
    page.locator("[data-connection=live]").wait_for()
    page.wait_for_timeout(1500)  # charts have drawn, and pictures are loaded
    page.screenshot(path=IMAGES / f"dashboard-{name}.png")


if __name__ == "__main__":
    main()
