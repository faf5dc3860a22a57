"""`reel schedules`: created, listed, shown, changed, triggered, backfilled and deleted."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel


async def nothing(_: Engine) -> None:
    """The store exists after this."""


async def run_due(engine: Engine) -> int:
    return await engine.schedules.run_due()


def test_a_schedule_is_created_listed_shown_changed_and_deleted(reel: Reel) -> None:
    reel.engine(nothing)
    assert reel("schedules").text == "no schedules; `reel schedules create` creates one"
    zone = ("--timezone", "Europe/Berlin")
    made = reel("schedules", "create", "nightly", "simple", "30 2 * * *", *zone, "--spec", '{"a": 1}', "--json").json
    assert (made["timing"], made["timezone"], made["spec"], made["overlap"]) == (
        "30 2 * * *",
        "Europe/Berlin",
        {"a": 1},
        "skip",
    )
    listing = reel("schedules").text
    assert "nightly" in listing
    assert "02:30:00" in listing
    shown = reel("schedules", "show", "nightly")
    assert shown.text.count("02:30:00 CE") == 11
    assert "no runs yet" in shown.text
    changed = reel("schedules", "update", "nightly", "--timing", "@daily", "--overlap", "allow", "-p", "high").text
    assert "00:00:00 CE" in changed
    assert reel("schedules", "pause", "nightly", "--note", "the disk is full").text.endswith("paused: the disk is full")
    assert "paused: the disk is full" in reel("schedules", "list").text
    assert "00:00:00 CE" in reel("schedules", "resume", "nightly").text
    assert reel("schedules", "delete", "nightly").text == "schedule nightly: deleted"
    assert reel("schedules", "--json").json == []


def test_a_schedule_is_triggered_and_backfilled(reel: Reel) -> None:
    reel.engine(nothing)
    reel("schedules", "create", "nightly", "simple", "@daily", "--ends-at", "2099-01-01")
    job = reel("schedules", "trigger", "nightly", "--json").json["job_id"]
    assert str(job) in reel("schedules", "show", "nightly").text
    assert "pending" in reel("schedules").text
    terms = ("schedules", "backfill", "nightly", "2026-01-01", "2026-01-03")
    preview = reel(*terms, "--dry-run").text
    assert "2026-01-02 00:00:00 UTC" in preview
    assert "3 ticks would run" in preview
    assert len(reel(*terms, "--json").json["job_ids"]) == 3
    assert reel(*terms).text == "schedule nightly: 0 ticks run, 3 have run before"
    assert reel.engine(run_due) == 0
    assert len(reel("schedules", "show", "nightly", "--json").json["runs"]) == 4


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    reel.engine(nothing)
    for arguments, hint in [
        (("create", "x", "simple", "* * *"), "every 15m"),
        (("create", "x", "simple", "@daily", "--timezone", "Mars"), "Europe/Berlin"),
        (("create", "x", "gone", "@daily"), "simple"),
        (("create", "x", "simple", "@daily", "--spec", "{"), "--spec"),
        (("create", "x", "simple", "@daily", "--starts-at", "tomorrow"), "2026-01-31"),
        (("show", "nightly"), "`reel schedules` lists them"),
    ]:
        answer = reel("schedules", *arguments)
        assert answer.code != 0
        assert hint in answer.text, answer.text
