"""`reel webhooks`: a secret is printed once, and deliveries are listed and repeated."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel

URL = "https://example.com/hook?token=hidden"


async def nothing(_: Engine) -> None:
    """The store exists after this."""


async def cancelled(engine: Engine) -> int:
    job = await engine.submit("simple")
    await engine.cancel(job.id)
    return job.id


def test_a_webhook_is_added_listed_rotated_changed_and_removed(reel: Reel) -> None:
    reel.engine(nothing)
    made = reel("webhooks", "add", URL, "--event", "job.cancelled", "--json").json
    assert made["secret"].startswith("whsec_")
    listing = reel("webhooks")
    assert made["id"] in listing.text
    assert "whsec" not in listing.text
    assert "hidden" not in listing.text
    rotated = reel("webhooks", "rotate", made["id"], "--secret-file", "hook.secret")
    assert "whsec" not in rotated.text
    assert (reel.folder / "hook.secret").read_text().startswith("whsec_")
    assert reel("webhooks", "update", made["id"], "--disable").text == f"webhook {made['id']}: disabled"
    assert reel("webhooks", "remove", made["id"]).code == 0
    assert reel("webhooks", "list").text == "no webhooks; `reel webhooks add` adds one"


def test_deliveries_are_listed_and_repeated(reel: Reel) -> None:
    reel.engine(nothing)
    made = reel("webhooks", "add", URL, "--event", "job.cancelled", "--json").json
    job_id = reel.engine(cancelled)
    (delivery,) = reel("webhooks", "deliveries", made["id"], "--json").json
    assert (delivery["type"], delivery["job_id"], delivery["status"]) == ("job.cancelled", job_id, "pending")
    assert "job.cancelled" in reel("webhooks", "deliveries", made["id"], "--job", job_id).text
    assert reel("webhooks", "deliveries", made["id"], "--status", "failed").text == "no deliveries"
    assert reel("webhooks", "redeliver", made["id"], delivery["id"]).text == f"delivery {delivery['id']}: pending"


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    reel.engine(nothing)
    plain = reel("webhooks", "add", "http://example.com/hook")
    assert (plain.code, "REEL_WEBHOOK_ALLOW" in plain.text) == (1, True)
    unknown = reel("webhooks", "add", URL, "--event", "job.exploded")
    assert "video.ready" in unknown.text
    assert "hidden" not in unknown.text
    missing = reel("webhooks", "rotate", "wh_0")
    assert "`reel webhooks` lists them" in missing.text
    callback = reel("submit", "simple", "--callback", "ftp://example.com")
    assert (callback.code, "callback" in callback.text) == (1, True)


def test_a_callback_is_submitted(reel: Reel) -> None:
    reel.engine(nothing)
    submitted = reel("submit", "simple", "--callback", "https://example.com/done", "--json").json
    (callbacks,) = reel("webhooks", "--json").json
    assert callbacks["kind"] == "callback"
    assert callbacks["id"].startswith("cb_")
    assert submitted["verdict"] == "ok"
