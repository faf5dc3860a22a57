"""Schedules over HTTP: each user has their own."""

import asyncio
from typing import Any

import reelstate as rs
from tests.api.api_server import Server

PATH = "/api/v1/schedules"
NEW: dict[str, Any] = {"name": "nightly", "pipeline": "simple", "timing": "30 2 * * *", "timezone": "Europe/Berlin"}
PAST = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z"}


async def create(api: Server, role: str, **body: Any) -> dict[str, Any]:
    answer = await api.ask(role, "POST", PATH, json={**NEW, **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_schedule_is_created_shown_changed_and_deleted(api: Server) -> None:
    made = await create(api, "ada", spec={"source": "https://user:hidden@example.com/a.mov"})
    assert (made["user_id"], made["actor"], made["overlap"], made["last"]) == ("ada", "user:ada", "skip", None)
    path = f"{PATH}/nightly"
    shown = await api.ask("ada", "GET", path)
    assert (len(shown.json()["upcoming"]), shown.json()["runs"]) == (10, [])
    assert "hidden" not in shown.text
    changed = await api.ask("ada", "PATCH", path, json={"timing": "every 15m", "ends_at": "2099-01-01T00:00:00Z"})
    assert (changed.json()["timing"], changed.json()["timezone"]) == ("every 15m", "Europe/Berlin")
    assert (await api.ask("ada", "PATCH", path, json={"ends_at": None})).json()["ends_at"] is None
    paused = (await api.ask("ada", "POST", f"{path}/pause", json={"note": "why"})).json()
    assert (paused["paused"], paused["note"], paused["next_tick"]) == (True, "why", None)
    assert (await api.ask("ada", "POST", f"{path}/resume")).json()["next_tick"] is not None
    run = (await api.ask("ada", "POST", f"{path}/trigger")).json()
    assert (run["source"], run["outcome"]) == ("trigger", "submitted")
    assert (await api.ask("ada", "GET", f"/api/v1/jobs/{run['job_id']}")).status_code == 200
    preview = (await api.ask("ada", "POST", f"{path}/backfill", json={**PAST, "dry_run": True})).json()
    assert (len(preview["ticks"]), preview["job_ids"], preview["done"]) == (193, [], [])
    assert (await api.ask("ada", "DELETE", path)).status_code == 204
    assert (await api.ask("ada", "GET", PATH)).json() == []


async def test_a_timing_is_previewed_without_a_schedule(api: Server) -> None:
    body = {"timing": "30 2 * * *", "timezone": "Europe/Berlin", "starts_at": "2099-07-01T00:00:00Z"}
    shown = await api.ask("reader", "POST", f"{PATH}/preview", json={**body, "ends_at": "2099-07-02T12:00:00Z"})
    assert shown.json() == {"ticks": ["2099-07-01T00:30:00Z", "2099-07-02T00:30:00Z"]}
    assert len((await api.ask("ada", "POST", f"{PATH}/preview", json={"timing": "every 15m"})).json()["ticks"]) == 10
    wrong = await api.ask("ada", "POST", f"{PATH}/preview", json={"timing": "61 * * * *"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "timing")
    assert (await api.ask("ada", "GET", PATH)).json() == []


async def test_a_user_sees_and_changes_only_their_own_schedules(api: Server) -> None:
    await create(api, "ada")
    path = f"{PATH}/nightly"
    requests: list[tuple[str, str, Any]] = [
        ("GET", path, None),
        ("PATCH", path, {"priority": 9}),
        ("POST", f"{path}/pause", {"note": "mine"}),
        ("POST", f"{path}/resume", None),
        ("POST", f"{path}/trigger", None),
        ("POST", f"{path}/backfill", PAST),
        ("DELETE", path, None),
    ]
    before = await api.engine.schedules.get("nightly")
    for method, target, body in requests:
        assert (await api.ask("bob", method, target, json=body)).status_code == 404, f"{method} {target}"
    assert await api.engine.schedules.get("nightly") == before
    assert (await api.ask("bob", "GET", PATH)).json() == []
    assert (await api.ask("bob", "POST", PATH, json=NEW)).status_code == 422
    for role in ("reader", "admin"):
        assert [each["name"] for each in (await api.ask(role, "GET", PATH)).json()] == ["nightly"]
    for method, target, body in requests:
        assert (await api.ask("ada", method, target, json=body)).status_code in (200, 204), f"{method} {target}"


async def test_only_an_admin_names_another_user(api: Server) -> None:
    assert (await api.ask("ada", "POST", PATH, json={**NEW, "user_id": "bob"})).status_code == 403
    assert (await create(api, "admin", user_id="bob"))["user_id"] == "bob"


async def test_bad_requests_say_what_is_wrong(api: Server) -> None:
    for body, field in [
        ({"timing": "*/1-999999999 * * * *"}, "timing"),
        ({"timing": "1," * 5000}, "timing"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"name": "a b"}, "name"),
        ({"pipeline": "gone"}, "pipeline"),
        ({"overlap": "perhaps"}, "overlap"),
        ({"starts_at": "2026-01-01T00:00:00"}, "starts_at"),
        ({"priority": "urgent"}, "priority"),
    ]:
        answer = await api.ask("ada", "POST", PATH, json={**NEW, **body})
        assert answer.status_code == 422, answer.text
        assert field in answer.text
        assert len(answer.text) < 2000
    assert (await api.ask("ada", "PATCH", f"{PATH}/nightly", json={"timing": None})).status_code == 422


async def test_the_blocking_and_the_async_reel_have_the_verbs(api: Server, database_url: str) -> None:
    def block() -> list[str]:
        with rs.connect(database_url, migrate=False) as reel:
            reel.schedules.create("blocking", "simple", "@daily", overlap="allow")
            reel.schedules.pause("blocking", "a note")
            return [each.note for each in reel.schedules.list()]

    assert await asyncio.to_thread(block) == ["a note"]
    async with rs.open(database_url, migrate=False) as reel:
        await reel.schedules.resume("blocking")
        await reel.schedules.update("blocking", timing="@weekly")
        assert (await reel.schedules.trigger("blocking")).outcome == "submitted"
        assert (await reel.schedules.get("blocking")).schedule.timing == "@weekly"
        await reel.schedules.delete("blocking")
