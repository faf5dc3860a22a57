"""The forms of keys, webhooks, schedules, pipelines and limits, groups, the search, and why something waits.

What is filled in is seen in what the deployment then does.
"""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import pytest
from playwright.sync_api import Locator, Page, expect
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.dashboard.conftest import Watched, open_page, sign_in
from tests.dashboard.deployment import Deployment, started
from tests.dashboard.test_work import agree
from tests.waiting import until_true

Request = tuple[dict[str, str], bytes]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, built: None) -> Iterator[Deployment]:
    """A deployment that may send webhooks to this machine."""
    folder = tmp_path_factory.mktemp("forms")
    with started(folder, f"sqlite:///{folder / 'jobs.db'}", workers=1, REEL_WEBHOOK_ALLOW="127.0.0.1") as running:
        yield running


@pytest.fixture
def admin(page: Page, served: Deployment) -> Page:
    return sign_in(page, served, served.admin_key)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, "Queue[Request]"]]:
    """The address of a receiver of webhooks on this machine, and what it received."""
    received: Queue[Request] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.put((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", received
    server.shutdown()
    thread.join()
    server.server_close()


def secret(page: Page) -> str:
    """The secret that a dialog shows once; the dialog is closed then."""
    shown = page.locator("[data-secret]")
    text = shown.inner_text()
    page.get_by_role("button", name="I have stored it").click()
    expect(shown).to_have_count(0)
    return text


def status_with(served: Deployment, key: str, path: str = "jobs") -> int:
    with served.client(key) as client:
        return client.get(path).status_code


def choose(page: Page, name: str) -> None:
    page.get_by_role("button", name="More actions").click()
    page.locator(".menu-item").get_by_text(name).click()


def is_signed(request: Request, with_secret: str) -> bool:
    headers, body = request
    try:
        Webhook(with_secret).verify(body, {name.lower(): value for name, value in headers.items()})
    except WebhookVerificationError:
        return False
    return True


def test_a_key_is_made_rotated_and_revoked(admin: Page, served: Deployment) -> None:
    open_page(admin, served, "keys")
    admin.get_by_role("button", name="New key").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_role("textbox", name=re.compile("^Name")).fill("uploader")
    create = dialog.get_by_role("button", name="Create the key")
    expect(create).to_be_disabled()
    dialog.get_by_role("textbox", name=re.compile("^User")).fill("ada")
    dialog.get_by_label("jobs:write").uncheck()
    create.click()
    first = secret(admin)
    (made,) = [key for key in served.get("keys") if key["name"] == "uploader"]
    assert (made["user_id"], made["scopes"], made["expires_at"]) == ("ada", ["jobs:read"], None)
    assert status_with(served, first) == 200

    def row(key: str) -> Locator:
        return admin.locator(f"[data-key='{key.split('_')[1]}']")

    row(first).get_by_role("button", name="Rotate").click()
    admin.get_by_role("dialog").get_by_label("The old key ends").select_option(label="in 1 hour")
    admin.get_by_role("button", name="Make a new key").click()
    second = secret(admin)
    assert status_with(served, second) == status_with(served, first) == 200
    row(second).get_by_role("button", name="Revoke").click()
    agree(admin, "Revoke")
    expect(row(second)).to_have_count(0)
    until_true(lambda: status_with(served, second) == 401, "the key is refused")
    assert status_with(served, first) == 200


def test_a_webhook_is_made_redelivered_rotated_and_removed(
    admin: Page, served: Deployment, endpoint: tuple[str, "Queue[Request]"]
) -> None:
    address, received = endpoint
    open_page(admin, served, "webhooks")
    admin.get_by_role("button", name="New webhook").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Address").fill(address)
    dialog.get_by_label("Description").fill("the receiver")
    dialog.get_by_label("job.completed").check()
    dialog.get_by_role("button", name="Create the webhook").click()
    first = secret(admin)

    job, gates = served.submit(1)
    (gates / "all").touch()
    assert is_signed(delivered := received.get(timeout=120), first)
    admin.get_by_role("link", name="the receiver").click()
    delivery = admin.locator("[data-delivery]").filter(has_text=str(job))
    expect(delivery).to_contain_text("status 204")

    admin.get_by_role("button", name="Rotate secret").click()
    admin.get_by_role("dialog").get_by_label("The old secret signs too").select_option(label="not at all")
    admin.get_by_role("button", name="Make a new secret").click()
    second = secret(admin)
    delivery.get_by_role("button", name="Redeliver").click()
    again = received.get(timeout=120)
    assert (is_signed(again, first), is_signed(again, second)) == (False, True)
    assert again[0]["webhook-id"] == delivered[0]["webhook-id"]
    delivery.get_by_role("button", name=re.compile("^Attempts")).click()
    expect(delivery.locator(".delivery-attempt")).to_have_count(2)

    admin.get_by_role("button", name="Remove").click()
    agree(admin, "Remove")
    expect(admin.get_by_text("No webhooks yet")).to_be_visible()
    assert served.get("webhooks") == []


def test_a_schedule_is_made_paused_triggered_and_backfilled(admin: Page, served: Deployment) -> None:
    gates = served.folder / "scheduled"
    gates.mkdir()
    (gates / "all").touch()
    open_page(admin, served, "schedules")
    admin.get_by_role("button", name="New schedule").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly")
    dialog.get_by_label("Timing").fill("30 2 * * *")
    dialog.get_by_label("Time zone").fill("UTC")
    dialog.get_by_label("Pipeline").select_option("gated")
    dialog.locator("textarea").fill(f'{{"parts": 1, "folder": "{gates}"}}')
    dialog.get_by_role("button", name="Create the schedule").click()
    expect(admin).to_have_title(re.compile("^nightly"))
    expect(admin.locator("main").get_by_text("02:30").first).to_be_visible()

    admin.get_by_role("button", name="Pause").click()
    agree(admin, "Pause", "the disk is full")
    expect(admin.locator(".notice")).to_contain_text("the disk is full")
    assert served.get("schedules/nightly")["note"] == "the disk is full"
    admin.get_by_role("button", name="Trigger now").click()
    runs = until_true(lambda: served.get("schedules/nightly")["runs"], "the run")
    served.until_status(runs[0]["job_id"], "completed")
    expect(admin.locator("main table").get_by_role("link", name=str(runs[0]["job_id"]))).to_be_visible()
    expect(admin.locator("main table")).to_contain_text("completed")
    admin.get_by_role("button", name="Resume").click()
    until_true(lambda: not served.get("schedules/nightly")["paused"], "the resumption")

    choose(admin, "Backfill")
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("From").fill("2026-01-01T00:00")
    dialog.get_by_label("To").fill("2026-01-04T00:00")
    dialog.get_by_role("button", name="Show the ticks").click()
    expect(dialog.locator(".notice")).to_contain_text("3 ticks would make a job")
    assert len(served.get("schedules/nightly")["runs"]) == 1
    dialog.get_by_label("To").fill("2026-01-02T00:00")
    dialog.get_by_role("button", name="Show the ticks").click()
    dialog.get_by_role("button", name="Submit 1 job").click()
    until_true(lambda: len(served.get("schedules/nightly")["runs"]) == 2, "the backfill")

    choose(admin, "Delete")
    dialog = admin.get_by_role("dialog")
    verb = dialog.get_by_role("button", name="Delete", exact=True)
    expect(verb).to_be_disabled()
    dialog.get_by_label(re.compile("^Type")).fill("nightly")
    verb.click()
    until_true(lambda: served.get("schedules") == [], "the deletion")


def test_a_limit_is_set_seen_with_its_keys_changed_and_removed(admin: Page, served: Deployment) -> None:
    open_page(admin, served, "limits")
    expect(admin.get_by_text("No limits yet")).to_be_visible()
    admin.get_by_role("button", name="New limit").click()
    dialog = admin.get_by_role("dialog")
    submit = dialog.get_by_role("button", name="Set the limit")
    dialog.locator("[name=name]").fill("users")
    dialog.get_by_label("Pipeline").select_option("gated")
    dialog.get_by_label("Stage").select_option("work")
    expect(submit).to_be_disabled()
    dialog.locator("[name=running]").fill("1")
    dialog.locator("[name=starts]").fill("100")
    expect(submit).to_be_disabled()
    dialog.locator("[name=period]").fill("3600")
    dialog.locator("[name=per]").fill("user")
    dialog.locator("[name=weights]").fill("ada=2\nbob")
    expect(dialog.get_by_role("alert")).to_contain_text("bob")
    dialog.locator("[name=weights]").fill("ada=2")
    dialog.locator("[name=reason]").fill("fair use")
    submit.click()
    row = admin.locator("[data-limit=users]")
    expect(row).to_contain_text("1 running and 100 starts in 3600 s per user in gated.work")
    expect(row).to_contain_text("fair use")
    (limit,) = served.get("limits")
    assert (limit["running"], limit["starts"], limit["period"], limit["weights"]) == (1, 100, 3600, {"ada": 2})

    job, gates = served.submit(3, user_id="ada")
    served.until_running(job, 1)
    row.get_by_role("link", name="users").click()
    use = admin.locator("[data-use=ada]")
    expect(use.get_by_role("cell")).to_have_text(["ada", "1 of 1", "1 of 100", "2"])
    admin.get_by_role("button", name="Change").click()
    dialog.locator("[name=running]").fill("2")
    submit.click()
    expect(use).to_contain_text("2 of 2")
    assert served.get("limits/users")["weights"] == {"ada": 2}
    (gates / "all").touch()
    served.until_status(job, "completed")

    admin.get_by_role("button", name="Remove").click()
    agree(admin, "Remove", "no need")
    expect(admin.get_by_text("No limits yet")).to_be_visible()
    assert served.get("limits") == []
    (removed,) = served.get("limits", removed=True)
    assert (removed["removed_at"] is not None, removed["reason"]) == (True, "no need")


def test_a_group_is_opened_from_a_job_cancelled_and_retried(admin: Page, served: Deployment) -> None:
    failed, gates = served.submit(1, group="nightly", user_id="ada")
    (gates / "fail-0").touch()
    served.until_status(failed, "failed")
    running, _ = served.submit(1, group="nightly", user_id="ada")
    served.until_running(running, 1)
    open_page(admin, served, f"jobs/{running}")
    admin.get_by_role("link", name="nightly").click()
    expect(admin).to_have_title(re.compile("^nightly"))
    main = admin.locator("main")
    expect(main.get_by_role("link", name="1 running")).to_be_visible()
    expect(main.locator("[data-job]")).to_have_count(2)
    admin.get_by_role("button", name="Cancel the group").click()
    agree(admin, "Cancel the group", "a new disk")
    expect(main.get_by_role("link", name="1 cancelled")).to_be_visible()
    assert (served.status(running), served.status(failed)) == ("cancelled", "failed")
    expect(admin.get_by_role("button", name="Cancel the group")).to_have_count(0)

    (gates / "fail-0").unlink()
    (gates / "all").touch()
    admin.get_by_role("button", name="Retry the group").click()
    agree(admin, "Retry the group")
    expect(main.get_by_role("link", name="1 completed")).to_be_visible()
    assert served.status(failed) == "completed"
    main.get_by_role("link", name="All in Jobs").click()
    expect(admin.locator("[data-job]")).to_have_count(2)
    admin.get_by_role("link", name="Groups").click()
    expect(admin.locator("[data-group=nightly]")).to_contain_text("100 %")

    reader = served.make_key("reader of groups", "read", user_id="ada")
    sign_in(admin, served, reader["key"], "groups")
    admin.get_by_role("link", name="nightly").click()
    expect(main.locator("[data-job]")).to_have_count(2)
    expect(admin.get_by_role("button", name="Retry the group")).to_have_count(0)
    expect(admin.get_by_role("navigation", name="Pages").get_by_role("link", name="Limits")).to_have_count(0)


def test_a_version_of_a_pipeline_is_pinned_and_unpinned_again(admin: Page, served: Deployment) -> None:
    (current,) = [each for each in served.get("pipelines") if each["name"] == "gated"]
    open_page(admin, served, "pipelines/gated")
    row = admin.locator(f"[data-version='{current['digest']}']")
    row.get_by_role("button", name="Pin").click()
    agree(admin, "Pin this version")
    expect(row).to_contain_text("pinned")
    assert [each["pinned"] for each in served.get("pipelines") if each["name"] == "gated"] == [True]
    row.get_by_role("button", name="Unpin").click()
    agree(admin, "Unpin")
    expect(row).not_to_contain_text("pinned")
    assert [each["pinned"] for each in served.get("pipelines") if each["name"] == "gated"] == [False]


def test_a_form_shows_why_the_server_refuses_it_and_keeps_what_was_written(
    admin: Page, served: Deployment, watched: Watched
) -> None:
    watched.ignored = ("422",)
    open_page(admin, served, "webhooks")
    admin.get_by_role("button", name="New webhook").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Address").fill("https://10.0.0.1/hook")
    dialog.get_by_role("button", name="Create the webhook").click()
    expect(dialog.get_by_role("alert")).to_contain_text("10.0.0.1")
    expect(dialog.get_by_label("Address")).to_have_value("https://10.0.0.1/hook")
    assert served.get("webhooks") == []


def test_jobs_are_searched_by_the_keyboard_with_suggestions(admin: Page, served: Deployment, watched: Watched) -> None:
    watched.ignored = ("422",)  # a search that is not understood
    jobs = {}
    for user in ("ada", "bob"):
        jobs[user], gates = served.submit(1, user_id=user)
        (gates / "all").touch()
    open_page(admin, served, "jobs")
    expect(admin.locator(f"[data-job='{jobs['bob']}']")).to_be_visible()
    admin.keyboard.press("/")
    field = admin.get_by_role("combobox", name="Search jobs")
    expect(field).to_be_focused()
    admin.keyboard.type("us")
    option = admin.get_by_role("option", name=re.compile("^user:"))
    expect(option).to_be_visible()
    expect(admin.get_by_role("option")).to_have_count(1)
    admin.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == option.get_attribute("id")
    admin.keyboard.press("Enter")
    expect(field).to_have_value("user:")
    admin.keyboard.type("ada created:<1d")
    admin.keyboard.press("Enter")
    expect(admin.locator(f"[data-job='{jobs['ada']}']")).to_be_visible()
    expect(admin.locator(f"[data-job='{jobs['bob']}']")).to_have_count(0)
    expect(admin.get_by_role("button", name="All that match")).to_have_count(0)
    admin.reload()
    expect(field).to_have_value("user:ada created:<1d")
    field.fill("created:soon")
    field.press("Enter")
    expect(admin.get_by_role("alert")).to_contain_text("soon")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill(str(jobs["bob"]))
    field.press("Enter")
    expect(admin).to_have_url(re.compile(f"/jobs/{jobs['bob']}$"))


def test_a_job_and_a_task_say_why_they_wait(admin: Page, served: Deployment) -> None:
    served.post("pauses", {"pipeline": "gated", "reason": "a new disk"})
    job, gates = served.submit(2)
    open_page(admin, served, f"jobs/{job}")
    why = admin.locator(".why")
    expect(why).to_contain_text("a new disk")
    served.post("pauses/resume", {"pipeline": "gated"})
    served.until_running(job, 1)
    expect(why).to_have_count(0)
    (waits,) = served.tasks(job, status="ready")
    admin.get_by_role("tab", name="Tasks").click()
    admin.get_by_role("button", name=f"work/{waits['part']}").click()
    expect(admin.get_by_role("dialog").locator(".why")).to_contain_text("slot")
    (gates / "all").touch()
    served.until_status(job, "completed")
    expect(why).to_have_count(0)
