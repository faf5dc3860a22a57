"""Webhooks over HTTP: each user has their own, and a secret is shown once."""

import asyncio
from typing import Any

import reelstate as rs
from tests.api.api_server import Server
from tests.engines import a_worker, done

HOOKS = "/api/v1/webhooks"
URL = "https://example.com/hook?token=hidden"


async def add(api: Server, role: str, **body: Any) -> dict[str, Any]:
    answer = await api.ask(role, "POST", HOOKS, json={"url": URL, **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def finish(api: Server, **body: Any) -> int:
    job_id = await api.submit("ada", **body)
    worker = await a_worker(api.engine)
    await api.engine.complete([done(task) for task in (await api.engine.claim(worker, 10)).tasks])
    return job_id


async def test_a_secret_is_shown_once_and_a_url_without_its_query(api: Server) -> None:
    made = await add(api, "ada", events=["job.completed"], description="mine")
    assert made["secret"].startswith("whsec_")
    assert (made["url"], made["user_id"], made["actor"]) == ("https://example.com/hook?…", "ada", "user:ada")
    rotated = (await api.ask("ada", "POST", f"{HOOKS}/{made['id']}/rotate")).json()
    assert rotated["secret"] not in ("", made["secret"])
    listing = await api.ask("ada", "GET", HOOKS)
    shown = await api.ask("ada", "GET", f"{HOOKS}/{made['id']}")
    changed = await api.ask("ada", "PATCH", f"{HOOKS}/{made['id']}", json={"enabled": False})
    for answer in (listing, shown, changed):
        assert answer.status_code == 200
        assert "whsec" not in answer.text
        assert "hidden" not in answer.text
    assert [each["id"] for each in listing.json()] == [made["id"]]
    assert changed.json()["enabled"] is False


async def test_a_user_sees_and_changes_only_their_own_webhooks(api: Server) -> None:
    mine = await add(api, "ada", events=["job.completed"])
    await finish(api)
    page = (await api.ask("ada", "GET", f"{HOOKS}/{mine['id']}/deliveries")).json()
    (delivery,) = page["items"]
    path = f"{HOOKS}/{mine['id']}"
    requests = [
        ("GET", path, None),
        ("PATCH", path, {"enabled": False}),
        ("POST", f"{path}/rotate", {}),
        ("GET", f"{path}/deliveries", None),
        ("POST", f"{path}/deliveries/{delivery['id']}/redeliver", None),
        ("DELETE", path, None),
    ]
    for method, target, body in requests:
        assert (await api.ask("bob", method, target, json=body)).status_code == 404, f"{method} {target}"
    assert (await api.ask("bob", "GET", HOOKS)).json() == []
    assert [each["id"] for each in (await api.ask("reader", "GET", HOOKS)).json()] == [mine["id"]]
    assert [each["id"] for each in (await api.ask("admin", "GET", HOOKS)).json()] == [mine["id"]]
    for method, target, body in requests:
        answer = await api.ask("ada", method, target, json=body)
        assert answer.status_code in (200, 204), f"{method} {target} {answer.text}"
    assert (await api.ask("admin", "GET", HOOKS)).json() == []


async def test_only_an_admin_names_another_user(api: Server) -> None:
    answer = await api.ask("ada", "POST", HOOKS, json={"url": URL, "user_id": "bob"})
    assert answer.status_code == 403
    assert (await add(api, "admin", user_id="bob"))["user_id"] == "bob"
    assert (await add(api, "admin"))["user_id"] == ""


async def test_users_get_no_events_of_others_and_no_user_sees_the_webhooks_of_all(api: Server) -> None:
    everybody, bobs = await add(api, "admin"), await add(api, "bob")
    await finish(api)
    assert (await api.ask("ada", "GET", f"{HOOKS}/{everybody['id']}")).status_code == 404
    assert (await api.ask("bob", "GET", f"{HOOKS}/{bobs['id']}/deliveries")).json()["items"] == []
    assert len((await api.ask("admin", "GET", f"{HOOKS}/{everybody['id']}/deliveries")).json()["items"]) == 2


async def test_a_callback_is_submitted_with_a_job_and_its_deliveries_are_shown(api: Server) -> None:
    job_id = await finish(api, callback="https://callback.test/done")
    await finish(api)
    (callbacks,) = (await api.ask("ada", "GET", HOOKS)).json()
    assert (callbacks["kind"], callbacks["url"]) == ("callback", "")
    path = f"{HOOKS}/{callbacks['id']}"
    found = (await api.ask("ada", "GET", f"{path}/deliveries", params={"job_id": job_id})).json()["items"]
    assert [(each["type"], each["url"], each["status"]) for each in found] == [
        ("job.completed", "https://callback.test/done", "pending"),
        ("job.started", "https://callback.test/done", "pending"),
    ]
    assert (await api.ask("ada", "DELETE", path)).status_code == 422
    assert (await api.ask("ada", "PATCH", path, json={"events": ["job.failed"]})).status_code == 422


async def test_bad_requests_say_what_is_wrong(api: Server) -> None:
    bad: list[dict[str, Any]] = [
        {"url": "http://example.com/"},
        {"url": "https://10.0.0.1/"},
        {"url": URL, "events": ["job.exploded"]},
        {"url": "x" * 3000},
        {},
    ]
    for body in bad:
        answer = await api.ask("ada", "POST", HOOKS, json=body)
        assert answer.status_code in (413, 422), answer.text
        assert "hidden" not in answer.text
    answer = await api.ask("ada", "POST", "/api/v1/jobs", json={"pipeline": "simple", "callback": "ftp://x"})
    assert answer.status_code == 422


async def test_the_blocking_and_the_async_reel_have_the_verbs(api: Server, database_url: str) -> None:
    def block() -> list[str]:
        with rs.connect(database_url, migrate=False) as reel:
            made = reel.webhooks.add("https://example.com/hook")
            return [each.id for each in reel.webhooks.list()] if made.secret else []

    ids = await asyncio.to_thread(block)
    async with rs.open(database_url, migrate=False) as reel:
        assert [each.id for each in await reel.webhooks.list()] == ids
        assert (await reel.webhooks.deliveries(ids[0])).items == []
