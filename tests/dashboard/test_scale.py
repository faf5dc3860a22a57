"""What the dashboard promises at scale: first view, frames, memory, and the time from a commit to the page."""

import sqlite3
import statistics
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.dashboard.conftest import open_page, sign_in, until_live
from tests.dashboard.deployment import Deployment, started
from tests.waiting import until_true

pytestmark = pytest.mark.prove
TASKS = 100_000
JOBS = 1_000_000
FIRST_VIEW = 1000.0
"""Milliseconds from the navigation to the first view."""
MEMORY = 150e6
FRAMES_PER_SECOND = 50.0
TO_PIXEL = 0.4
"""Seconds from a commit to the page, of 95 in 100."""
LONGEST_TASK = 100.0
"""Milliseconds for which the page may be unable to answer."""
SEEN = """() => {
    window.seen = {}
    const look = () => {
        const text = document.querySelector('main').innerText
        for (const [id] of text.matchAll(/\\b\\d{15}\\b/g)) seen[id] ??= Date.now()
    }
    const changes = {subtree: true, childList: true, characterData: true}
    new MutationObserver(() => requestAnimationFrame(look)).observe(document.body, changes)
    look()
}"""
SCROLL = """async ([selector, pixels]) => {
    const target = document.querySelector(selector) ?? document.scrollingElement
    const times = []
    let last = performance.now()
    for (let step = 0; step < 120; step++) {
        target.scrollTop += pixels
        target.dispatchEvent(new WheelEvent('wheel', {deltaY: pixels, bubbles: true}))
        const at = await new Promise(requestAnimationFrame)
        times.push(at - last)
        last = at
    }
    return times.slice(1)
}"""
LONG_TASKS = """
window.longest = 0
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration)
}).observe({entryTypes: ['longtask']})
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, built: None) -> Iterator[Deployment]:
    """A deployment with a million jobs, and one of 100,000 tasks."""
    folder = tmp_path_factory.mktemp("large")
    with started(folder, f"sqlite:///{folder / 'jobs.db'}") as running:
        first, gates = running.submit(1)
        (gates / "all").touch()
        running.until_status(first, "completed")
    _add_jobs(folder / "jobs.db", first)
    with started(folder, f"sqlite:///{folder / 'jobs.db'}", concurrency=4) as running:
        yield running


def _add_jobs(path: Path, like: int) -> None:
    """Copy a completed job with smaller ids, without the checks of the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    unique = ("id", "request")
    names = [row[1] for row in connection.execute("PRAGMA table_info(jobs)") if row[1] not in unique]
    connection.execute("BEGIN")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(
        f"INSERT INTO jobs (id, {', '.join(names)}) WITH RECURSIVE numbers (n) AS"
        f" (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {JOBS}) SELECT {like} - n, {', '.join(names)}"
        f" FROM numbers CROSS JOIN jobs WHERE jobs.id = {like}"
    )
    for _, text in triggers:
        connection.execute(text)
    connection.execute("COMMIT")
    connection.close()


def heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics: Any = session.send("Performance.getMetrics")
    return float(next(each["value"] for each in metrics["metrics"] if each["name"] == "JSHeapUsedSize"))


def first_view(page: Page, url: str, script: str) -> float:
    """Return the milliseconds from a navigation until a condition holds on the page, the best of three."""
    taken = []
    for _ in range(3):
        page.goto("about:blank")
        page.goto(url, wait_until="commit")
        until_true(lambda: page.evaluate(f"Boolean({script})"), "the first view")
        taken.append(float(page.evaluate("performance.now()")))
    return min(taken)


def show(**figures: float) -> None:
    print(", ".join(f"{name.replace('_', ' ')}: {figure:,.1f}" for name, figure in figures.items()))  # noqa: T201 - the figures


def test_a_list_of_a_million_jobs(page: Page, large: Deployment) -> None:
    sign_in(page, large, large.admin_key)
    took = first_view(page, f"{large.url}/ui/jobs", "document.querySelectorAll('main a[href*=\"jobs/\"]').length > 10")
    until_live(page)
    frames = page.evaluate(SCROLL, ["main .virtual, main [data-virtual], main .scroll", 300])
    rate, memory = 1000 / statistics.median(frames), heap(page)
    show(first_view_ms=took, frames_per_second=rate, heap_mb=memory / 1e6)
    assert took <= FIRST_VIEW
    assert rate >= FRAMES_PER_SECOND
    assert memory <= MEMORY


def test_a_job_of_100_000_tasks(page: Page, large: Deployment) -> None:
    job, gates = large.submit(TASKS)
    (gates / "all").touch()
    until_true(lambda: large.get(f"jobs/{job}")["status"] == "processing", "the job runs")
    page.add_init_script(LONG_TASKS)
    sign_in(page, large, large.admin_key)
    took = first_view(
        page, f"{large.url}/ui/jobs/{job}", "document.querySelector('[role=application][aria-label*=\"100,000\"]')"
    )
    until_live(page)
    frames = page.evaluate(SCROLL, [".cells .canvas-scroller, .cells-scroll, [role=application]", 200])
    longest = [float(page.evaluate("longest"))]
    open_page(page, large, f"jobs/{job}?tab=timeline")
    page.locator("canvas").first.wait_for()
    moved = page.evaluate(SCROLL, ["main canvas", 200])
    rate, timeline = 1000 / statistics.median(frames), 1000 / statistics.median(moved)
    longest.append(float(page.evaluate("longest")))
    memory = heap(page)
    show(
        first_view_ms=took,
        grid_fps=rate,
        timeline_fps=timeline,
        heap_mb=memory / 1e6,
        longest_task_of_grid_ms=longest[0],
        longest_task_of_timeline_ms=longest[1],
    )
    large.post(f"jobs/{job}/cancel")
    assert took <= FIRST_VIEW
    assert min(rate, timeline) >= FRAMES_PER_SECOND
    assert max(longest) <= LONGEST_TASK
    assert memory <= MEMORY


def test_a_commit_is_on_the_page_within_400_ms(page: Page, deployment: Deployment) -> None:
    sign_in(page, deployment, deployment.admin_key, "jobs")
    page.evaluate(SEEN)
    delays = []
    for _ in range(30):
        job, gates = deployment.submit(1)
        (gates / "all").touch()
        at = datetime.fromisoformat(deployment.get(f"jobs/{job}")["created_at"]).timestamp()
        seen = until_true(partial(page.evaluate, f"window.seen['{job}']"), "the job on the page")
        delays.append(seen / 1000 - at)
        deployment.until_status(job, "completed")
    high = sorted(delays)[int(0.95 * len(delays)) - 1]
    show(median_ms=statistics.median(delays) * 1000, p95_ms=high * 1000)
    assert high <= TO_PIXEL
