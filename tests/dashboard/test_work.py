"""What an operator does with the dashboard, seen on the page and in the store, on both stores."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.dashboard.conftest import Watched, open_page, sign_in
from tests.dashboard.deployment import Deployment
from tests.dashboard.test_pages import settle


def grid(page: Page, stage: str = "work") -> Locator:
    return page.get_by_role("application", name=re.compile(f"^Tasks of {stage}"))


def counts(page: Page, text: str) -> Locator:
    return page.locator(".cells-counts").get_by_text(text, exact=True)


def cell(page: Page, part: int) -> Locator:
    """The sentence about a cell of the grid, which the keyboard moves to; its worker is read then."""
    canvas = grid(page)
    canvas.focus()
    canvas.press("Home")
    for _ in range(part):
        canvas.press("ArrowRight")
    return page.locator(".cells-cursor")


def agree(page: Page, verb: str, reason: str = "") -> None:
    """Answer the question that a dialog asks."""
    dialog = page.get_by_role("dialog")
    if reason:
        dialog.get_by_label(re.compile("^Reason")).fill(reason)
    dialog.get_by_role("button", name=verb, exact=True).click()
    dialog.wait_for(state="detached")


def test_the_grid_fills_and_a_chunk_moves_when_its_worker_is_killed(signed_in: Page, deployment: Deployment) -> None:
    job, gates = deployment.submit(5)
    open_page(signed_in, deployment, f"jobs/{job}")
    running = deployment.until_running(job, 2)
    expect(counts(signed_in, "2 running")).to_be_visible()
    (gates / str(running[0]["part"])).touch()
    expect(counts(signed_in, "1 done")).to_be_visible()
    deployment.until_running(job, 2)
    victim = next(task for task in deployment.tasks(job, status="running") if task["worker"] == "worker-2")
    expect(cell(signed_in, victim["part"])).to_contain_text("worker-2")
    deployment.kill_worker("worker-2")
    (gates / "all").touch()
    deployment.until_status(job, "completed")
    expect(counts(signed_in, "5 done")).to_be_visible()
    moved = next(task for task in deployment.tasks(job) if task["part"] == victim["part"])
    assert (moved["lost"], moved["status"]) == (1, "done")
    expect(cell(signed_in, victim["part"])).to_contain_text("attempt 2")
    runs = deployment.get(f"jobs/{job}/attempts", stage="work")
    outcomes = [
        runs["outcomes"][outcome]
        for part, outcome in zip(runs["part"], runs["outcome"], strict=True)
        if part == victim["part"]
    ]
    assert outcomes == ["lost", "done"]


def test_parts_that_failed_are_chosen_in_the_grid_and_retried(signed_in: Page, deployment: Deployment) -> None:
    job, gates = deployment.submit(4)
    for part in (0, 1, 3):
        (gates / str(part)).touch()
    (gates / "fail-2").touch()
    deployment.until_status(job, "failed")
    open_page(signed_in, deployment, f"jobs/{job}")
    expect(signed_in.locator("main").get_by_text("part 2 must fail").first).to_be_visible()
    (gates / "fail-2").unlink()
    (gates / "2").touch()
    before = {task["part"]: task["token"] for task in deployment.tasks(job)}
    cell(signed_in, 2)
    grid(signed_in).press(" ")
    signed_in.get_by_role("button", name="Retry this part").click()
    agree(signed_in, "Retry", "the file is there now")
    deployment.until_status(job, "completed")
    expect(counts(signed_in, "4 done")).to_be_visible()
    after = {task["part"]: task["token"] for task in deployment.tasks(job)}
    assert [part for part in after if after[part] != before[part]] == [2]


def test_a_job_is_cancelled_with_its_reason(signed_in: Page, deployment: Deployment) -> None:
    job, _ = deployment.submit(2)
    deployment.until_running(job, 2)
    open_page(signed_in, deployment, f"jobs/{job}")
    signed_in.get_by_role("button", name="Cancel", exact=True).click()
    agree(signed_in, "Cancel", "wrong folder")
    deployment.until_status(job, "cancelled")
    expect(signed_in.locator("main").get_by_text("cancelled", exact=True).first).to_be_visible()
    assert deployment.get(f"jobs/{job}")["reason"] == "wrong folder"


def test_a_worker_is_drained_and_enabled(signed_in: Page, deployment: Deployment) -> None:
    open_page(signed_in, deployment, "workers?name=worker-1")
    panel = signed_in.locator("[data-worker=worker-1]:not([data-status=offline])")
    panel.get_by_role("button", name="Drain").click()
    agree(signed_in, "Drain", "new disk")
    expect(panel).to_have_attribute("data-status", "draining")
    job, gates = deployment.submit(2)
    (running,) = deployment.until_running(job, 1)
    assert running["worker"] == "worker-2"
    panel.get_by_role("button", name="Enable").click()
    agree(signed_in, "Enable")
    deployment.until_running(job, 2)
    (gates / "all").touch()
    deployment.until_status(job, "completed")


def test_a_change_from_elsewhere_shows_on_every_page_at_once(
    signed_in: Page, deployment: Deployment, page: Page
) -> None:
    other = signed_in.context.new_page()
    job, gates = deployment.submit(1)
    open_page(signed_in, deployment, f"jobs/{job}")
    open_page(other, deployment, "jobs")
    row = other.locator("main").get_by_text(str(job)).first
    expect(row).to_be_visible()
    (gates / "all").touch()
    deployment.until_status(job, "completed")
    for shown in (signed_in, other):
        expect(shown.locator("main").get_by_text("completed").first).to_be_visible()


def test_a_user_sees_only_jobs_of_its_own(page: Page, deployment: Deployment, watched: Watched) -> None:
    watched.ignored = ("404",)
    made = deployment.make_key("bob", "read", "write", user_id="bob")
    job, gates = deployment.submit(1, user_id="ada")
    mine, _ = deployment.submit(1, user_id="bob")
    sign_in(page, deployment, made["key"], "jobs")
    expect(page.locator("main").get_by_text(str(mine)).first).to_be_visible()
    assert str(job) not in page.locator("main").inner_text()
    open_page(page, deployment, f"jobs/{job}")
    settle(page)
    assert "no job" in page.locator("main").inner_text().lower()
    (gates / "all").touch()
    deployment.post(f"jobs/{mine}/cancel")


def test_a_lost_connection_is_shown_and_caught_up(
    signed_in: Page, deployment: Deployment, watched: Watched, tmp_path: Path
) -> None:
    watched.ignored = ("ERR_INTERNET_DISCONNECTED", "Failed to load resource")
    job, gates = deployment.submit(2)
    deployment.until_running(job, 2)
    open_page(signed_in, deployment, f"jobs/{job}")
    expect(counts(signed_in, "2 running")).to_be_visible()
    signed_in.context.set_offline(True)
    (gates / "all").touch()
    deployment.until_status(job, "completed")
    signed_in.context.set_offline(False)
    signed_in.reload()
    expect(counts(signed_in, "2 done")).to_be_visible()
