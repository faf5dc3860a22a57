"""Signing in: a key or a code becomes a session in a cookie, which pages of the server send with their requests."""

import httpx

from reelstate.engine import Engine
from tests.api.api_server import NOBODY, PLAIN, Server, api_server

JOBS = "/api/v1/jobs"
OURS = {"X-Reelstate": "1"}


def browser(api: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=api.url, verify=PLAIN, trust_env=False, timeout=60)


async def test_a_code_is_exchanged_once_for_a_session(api: Server) -> None:
    code = await api.context.keys.create_code(api.keys["ada"].key)
    async with browser(api) as first, browser(api) as second:
        answer = await first.get("/signin", params={"code": code})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert (await first.get(JOBS)).status_code == 200
        assert (await second.get("/signin", params={"code": code})).status_code == 401
        again = await second.get("/signin", params={"code": code}, headers={"Accept": "text/html"})
        assert (again.status_code, again.headers["location"]) == (303, "/ui/?signin=expired")
        assert (await second.get(JOBS)).status_code == 401


async def test_a_cookie_alone_changes_nothing(api: Server) -> None:
    body = {"pipeline": "simple"}
    async with browser(api) as page:
        assert (await page.post("/signin", json={"key": api.keys["ada"].text})).json()["user_id"] == "ada"
        refused = await page.post(JOBS, json=body)
        assert (refused.status_code, (await page.get(JOBS)).json()["items"]) == (403, [])
        assert (await page.post(JOBS, json=body, headers=OURS)).status_code == 201
        session = page.cookies["reelstate_session"]
        assert (await page.post("/signout", headers=OURS)).status_code == 204
        assert (await page.get(JOBS)).status_code == 401
        assert (await page.get(JOBS, headers={"Cookie": f"reelstate_session={session}"})).status_code == 401
        assert (await page.get(JOBS, headers={"Authorization": f"Bearer {session}"})).status_code == 401


async def test_an_invalid_key_opens_no_session(api: Server) -> None:
    async with browser(api) as page:
        answer = await page.post("/signin", json={"key": api.keys["ada"].text[:-1]})
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


async def test_signing_out_ends_the_session_and_not_a_key_that_is_sent_along(api: Server) -> None:
    async with browser(api) as page:
        await page.post("/signin", json={"key": api.keys["ada"].text})
        session = page.cookies["reelstate_session"]
        assert (await page.post("/signout", headers=api.headers("ada"))).status_code == 204
        assert (await page.get(JOBS, headers={"Cookie": f"reelstate_session={session}"})).status_code == 401
        strange = {**api.headers("ada"), "Cookie": "reelstate_session=x"}
        assert (await page.post("/signout", headers=strange)).status_code == 204
    assert (await api.ask("ada", "GET", JOBS)).status_code == 200


async def test_an_expired_session_is_not_a_guess_and_can_be_signed_out_of(engine: Engine, database_url: str) -> None:
    async with api_server(engine, database_url, rate_per_address=6) as api:  # one penalty takes the whole rate
        over = await api.context.keys.open_session(api.keys["admin"].key)
        await api.context.keys.close_session(over.key.id)
        headers = {"Cookie": f"reelstate_session={over.text}"}
        health = await api.ask(NOBODY, "GET", "/health", headers=headers)
        assert (health.status_code, health.json()["deployment"]) == (200, None)
        refused = await api.ask(NOBODY, "GET", JOBS, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (401, "urn:reelstate:error:key-refused")
        ended = await api.ask(NOBODY, "POST", "/signout", headers=headers)
        assert (ended.status_code, "max-age=0" in ended.headers["set-cookie"].lower()) == (204, True)
        assert (await api.ask(NOBODY, "GET", JOBS)).status_code == 401
        assert (await api.ask("ada", "GET", JOBS)).status_code == 200


async def test_a_page_of_another_site_can_not_sign_a_user_out(api: Server) -> None:
    async with browser(api) as page:
        await page.post("/signin", json={"key": api.keys["ada"].text})
        assert (await page.post("/signout")).status_code == 403
        assert (await page.get(JOBS)).status_code == 200
